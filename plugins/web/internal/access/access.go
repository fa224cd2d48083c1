// Package access is who calls: tokens of programs, sessions of browsers, and how far each
// may go.
package access

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed-706843ae/harness/plugins/web/internal/problem"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Caller is who makes a request. The zero Caller is a stranger, who may nothing.
type Caller struct {
	// owner is the file of the owner's token, for the challenge of a stranger on this machine.
	owner string

	// Token is the caller's; without an id there is none.
	Token pluginsdk.Token
	// Open says that no token is demanded, and none was sent: the caller may everything.
	Open bool

	secret string
	barred string // why the caller has no right, whatever token was sent; empty: they may have
}

// May reports whether the caller has a scope.
func (c Caller) May(scope pluginsdk.TokenScope) bool { return c.Open || c.Token.Scope.Has(scope) }

// Scope returns what the caller may.
func (c Caller) Scope() pluginsdk.TokenScope {
	if c.Open {
		return pluginsdk.ScopeAdmin
	}
	return c.Token.Scope
}

// Known reports whether the caller has a token.
func (c Caller) Known() bool { return c.Token.ID != "" }

type callerKey struct{}

// With returns a context of a request that this caller makes.
func With(ctx context.Context, caller Caller) context.Context {
	ctx = context.WithValue(ctx, callerKey{}, caller)
	if caller.Known() {
		ctx = pluginsdk.WithPerson(ctx, caller.Token.Name)
	}
	return ctx
}

// From returns who makes the request; a stranger when the gate has not been asked.
func From(ctx context.Context) Caller {
	caller, _ := ctx.Value(callerKey{}).(Caller)
	return caller
}

// Gate finds out who makes a request, and holds while it is under way that they may.
type Gate struct {
	tokens  *remembered
	peers   Peers // nil: nobody is refused for the process that calls
	log     *slog.Logger
	demands atomic.Bool
	owners  atomic.Pointer[string] // the file of the owner's token, as people on this machine are told; nil: they are not
	tls     atomic.Bool
	port    atomic.Int64
	wrong   *Limiter
	asking  chan struct{} // a place for each question about a secret
	inside  standing
	show    func(w http.ResponseWriter, r *http.Request, status int, view LoginView)
}

// maxChecks is how many secrets the core is asked about at a time: what strangers send is
// no reason for more.
const maxChecks = 16

// New returns a Gate that demands no token. peers tells processes below the daemon, which have
// no person's right; nil: nobody does. now is the clock; nil: time.Now.
func New(tokens pluginsdk.Tokens, peers Peers, log *slog.Logger, now func() time.Time) *Gate {
	return &Gate{
		tokens: remember(tokens, now), peers: peers, log: log, wrong: NewLimiter(now), asking: make(chan struct{}, maxChecks),
		inside: standing{requests: make(map[*request]struct{}), revoked: make(map[string]time.Time)},
	}
}

// Tokens returns the host's tokens. What is revoked through them the gate refuses from that
// moment; what is revoked elsewhere, once it has heard of it (Hear).
func (g *Gate) Tokens() pluginsdk.Tokens { return g.tokens }

// Demands reports whether a token is demanded of everybody.
func (g *Gate) Demands() bool { return g.demands.Load() }

// Owner names the file of the owner's token: programs on this machine that may read it are
// told so when they show no token. Empty: nobody is told.
func (g *Gate) Owner(file string) { g.owners.Store(&file) }

// Serves says where requests arrive: on which port, and over TLS or not.
func (g *Gate) Serves(port int, tls bool) {
	g.port.Store(int64(port))
	g.tls.Store(tls)
}

// Cookie is the name of the session's cookie. The port is a part of it: browsers send a
// host's cookies to all of its ports, where another Harness may be.
func (g *Gate) Cookie() string {
	name := "harness_session_" + strconv.FormatInt(g.port.Load(), 10)
	if g.tls.Load() {
		return "__Host-" + name // from this very host, over TLS, or browsers do not take it
	}
	return name
}

// Wrap hands requests on with their caller. A token that is sent must be good, wherever
// the API listens: one that is not is answered with 401, and with 429 when they are many.
// A process below the daemon is a stranger, whatever it sends.
// public says which paths everybody may see: nobody is asked there who looks. What takes long ends with the right to it: Until.
func (g *Gate) Wrap(next http.Handler, public func(path string) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if public(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		secret, sent := g.secret(r)
		if sent || !g.Demands() { // else they are a stranger in any case
			if why := g.barred(r); why != "" {
				g.log.Warn("a request was refused for the process that has sent it", "method", r.Method, "path", r.URL.Path, "address", r.RemoteAddr, "why", why)
				next.ServeHTTP(w, r.WithContext(With(r.Context(), Caller{barred: why})))
				return
			}
		}
		if !sent {
			inside, leave := g.enter(r.Context(), Caller{Open: !g.Demands(), owner: g.ownerFor(r)})
			defer leave()
			next.ServeHTTP(w, r.WithContext(inside))
			return
		}
		token, err := g.check(r.Context(), secret)
		switch {
		case pluginsdk.CodeOf(err) == pluginsdk.CodeDenied:
			g.refuse(w, r, err)
			return
		case err != nil:
			g.log.Warn("who calls cannot be found out", "err", err)
			w.Header().Set("Retry-After", "1")
			problem.Write(w, http.StatusServiceUnavailable, "who calls cannot be found out at the moment; try again")
			return
		}
		inside, leave := g.enter(r.Context(), Caller{Token: token, secret: secret})
		defer leave()
		next.ServeHTTP(w, r.WithContext(inside))
	})
}

// errTwo is for requests that carry several tokens: two readers may believe different ones.
var errTwo = pluginsdk.Errorf(pluginsdk.CodeDenied, "several tokens were sent; send one")

// secret returns the secret that a request carries: a program's in the header, a browser's
// in the cookie. It is empty, and no token's, when there are several.
func (g *Gate) secret(r *http.Request) (secret string, sent bool) {
	headers := r.Header.Values("Authorization")
	for _, header := range headers {
		scheme, rest, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			continue // a proxy's password, which is not for us
		}
		if len(headers) > 1 {
			return "", true
		}
		if rest = strings.TrimSpace(rest); kindOf(rest) == pluginsdk.TokenAccess {
			return rest, true
		}
		return "", true
	}
	cookies := r.CookiesNamed(g.Cookie())
	switch {
	case len(cookies) == 0:
		return "", false
	case len(cookies) > 1 || kindOf(cookies[0].Value) != pluginsdk.TokenSession:
		return "", true
	}
	return cookies[0].Value, true
}

// kindOf is what a secret says that it is for. A token is good only where it belongs: what
// is stolen from a browser is no program's.
func kindOf(secret string) pluginsdk.TokenKind {
	rest, ok := strings.CutPrefix(secret, "harness_")
	if kind, _, parted := strings.Cut(rest, "_"); ok && parted && len(secret) < 200 {
		return pluginsdk.TokenKind(kind)
	}
	return ""
}

// check returns the token of a secret.
func (g *Gate) check(ctx context.Context, secret string) (pluginsdk.Token, error) {
	if secret == "" {
		return pluginsdk.Token{}, errTwo
	}
	done, err := g.ask(ctx)
	if err != nil {
		return pluginsdk.Token{}, err
	}
	defer done()
	answer, err := g.tokens.Check(ctx, &pluginsdk.CheckTokenRequest{Secret: secret})
	if err != nil {
		return pluginsdk.Token{}, err
	}
	return answer.Token, nil
}

// ask waits for a place to ask the core about a secret, which done gives back.
func (g *Gate) ask(ctx context.Context) (done func(), err error) {
	select {
	case g.asking <- struct{}{}:
		return func() { <-g.asking }, nil
	case <-ctx.Done():
		return nil, pluginsdk.Errorf(pluginsdk.CodeCancelled, "the request has ended: %w", ctx.Err())
	}
}

// refuse answers a request whose token is not good. Good ones are never answered so,
// wherever they come from: who else is there with a wrong one does not count.
func (g *Gate) refuse(w http.ResponseWriter, r *http.Request, why error) {
	if len(r.CookiesNamed(g.Cookie())) > 0 && r.Header.Get("Authorization") == "" {
		http.SetCookie(w, g.cookie("", time.Time{})) // of no use any more
	}
	if wait, over := g.wrong.Fail(Address(r)); over {
		TooMany(w, wait)
		return
	}
	g.log.Debug("a token was refused", "address", r.RemoteAddr, "why", why)
	Unauthorized(w, "the token is unknown, revoked or over, or not for this: a program sends \"Authorization: Bearer harness_access_...\" "+
		"(harness token create), a browser logs in at /login", true, "")
}

// ownerFor is the file of the owner's token, for a request of this machine that has come
// through no proxy.
func (g *Gate) ownerFor(r *http.Request) string {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Via"} {
		if r.Header.Get(name) != "" {
			return ""
		}
	}
	if file := g.owners.Load(); file != nil && Address(r).IsLoopback() {
		return *file
	}
	return ""
}

// quoted is a text in the quotation marks of a header's parameter (RFC 9110, section 5.6.4).
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// Unauthorized answers a request without a token, or, when it was wrong, with another one.
// owner is the file of the owner's token, where the caller may know it.
func Unauthorized(w http.ResponseWriter, detail string, wrong bool, owner string) {
	challenge := `Bearer realm="harness"`
	if wrong {
		challenge += `, error="invalid_token"`
	}
	if owner != "" {
		challenge += ", owner_token_file=" + quoted(owner)
	}
	w.Header().Set("WWW-Authenticate", challenge)
	problem.Write(w, http.StatusUnauthorized, detail)
}

// Refusal says why a caller may not do what needs a scope: the status, and words; 0: they
// may.
func Refusal(caller Caller, scope pluginsdk.TokenScope) (status int, detail string) {
	switch {
	case caller.May(scope):
		return 0, ""
	case caller.barred != "":
		return http.StatusForbidden, caller.barred
	case !caller.Known():
		return http.StatusUnauthorized, "a token is demanded here: a program sends \"Authorization: Bearer harness_access_...\" " +
			"(harness token create NAME --scope " + string(scope) + "), a browser is logged in by `harness open`, or logs in at /login"
	}
	if job := caller.Token.Scope.Cron(); job != "" {
		return http.StatusForbidden, fmt.Sprintf("this needs a token with the scope %s; that of %s may have the scheduled job %q fire, and nothing else",
			scope, caller.Token.Name, job)
	}
	return http.StatusForbidden, "this needs a token with the scope " + string(scope) + "; that of " + caller.Token.Name + " has " + string(caller.Token.Scope)
}

// NeedForCron is Need, and hands on the requests of who has a token for the one scheduled job whose name is
// the {name} of the path.
func NeedForCron(scope pluginsdk.TokenScope, next http.Handler) http.Handler {
	all := Need(scope, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if job := From(r.Context()).Token.Scope.Cron(); job != "" && job == r.PathValue("name") {
			next.ServeHTTP(w, r)
			return
		}
		all.ServeHTTP(w, r)
	})
}

// Need hands on the requests of callers who have a scope.
func Need(scope pluginsdk.TokenScope, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch status, detail := Refusal(From(r.Context()), scope); status {
		case 0:
			next.ServeHTTP(w, r)
		case http.StatusUnauthorized:
			Unauthorized(w, detail, false, From(r.Context()).owner)
		default:
			problem.Write(w, status, detail)
		}
	})
}

// Address is where a request comes from: the other end of the connection, whatever its
// headers say.
func Address(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return address.Unmap().WithZone("")
}

// Denied reports whether an error says that a token is not good.
func Denied(err error) bool {
	var told *pluginsdk.Error
	return errors.As(err, &told) && told.Code == pluginsdk.CodeDenied
}
