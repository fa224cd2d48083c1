package access

import (
	"context"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/web/internal/problem"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Where a browser logs in and out.
const (
	LoginPath  = "/login"
	LogoutPath = "/logout"
)

// maxForm is how many bytes a form may have.
const maxForm = 16 << 10

// LoginView is what the page to log in shows. It works without script. To open a link
// changes nothing: programs that look at links before people do would use it up.
type LoginView struct {
	Token string // what was typed, or is in the link
	Next  string // the path to go on to
	Wrong string // what is wrong with the token; empty: nothing yet
}

// Register adds the pages to log in and out. show makes the page to log in at.
func (g *Gate) Register(mux *http.ServeMux, show func(w http.ResponseWriter, r *http.Request, status int, view LoginView)) {
	g.show = show
	mux.HandleFunc("GET "+LoginPath, g.form)
	mux.HandleFunc("POST "+LoginPath, g.login)
	mux.HandleFunc("POST "+LogoutPath, g.logout)
}

func (g *Gate) form(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	g.show(w, r, http.StatusOK, LoginView{Token: query.Get("token"), Next: Local(query.Get("next"))})
}

// Local is a path of this very site to go on to, or the front page.
func Local(next string) string {
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return "/"
	}
	return next
}

// login makes a session of a token that a form has.
func (g *Gate) login(w http.ResponseWriter, r *http.Request) {
	if !parse(w, r) {
		return
	}
	secret, next := strings.TrimSpace(r.PostForm.Get("token")), Local(r.PostForm.Get("next"))
	if why := g.barred(r); why != "" {
		g.show(w, r, http.StatusForbidden, LoginView{Next: next, Wrong: why})
		return
	}
	answer, err := g.exchange(r.Context(), secret)
	switch {
	case Denied(err):
		status, wrong := http.StatusUnauthorized, "The token is unknown, revoked, over, or was used already."
		if wait, over := g.wrong.Fail(Address(r)); over {
			w.Header().Set("Retry-After", strconv.Itoa(int(wait.Seconds()+1)))
			status, wrong = http.StatusTooManyRequests, "Too many wrong tokens have come from this address, or in all. Try again later."
		} else {
			w.Header().Set("WWW-Authenticate", `Bearer realm="harness"`)
		}
		g.show(w, r, status, LoginView{Next: next, Wrong: wrong})
		return
	case err != nil:
		g.log.Warn("a session cannot be made", "err", err)
		w.Header().Set("Retry-After", "1")
		g.show(w, r, http.StatusServiceUnavailable, LoginView{Next: next, Token: secret, Wrong: "Nobody can log in at the moment. Try again."})
		return
	}
	g.log.Info("somebody has logged in", "name", answer.Token.Name, "scope", answer.Token.Scope, "address", r.RemoteAddr)
	http.SetCookie(w, g.cookie(answer.Secret, answer.Token.ExpiresAt))
	http.Redirect(w, r, next, http.StatusSeeOther)
}

func (g *Gate) exchange(ctx context.Context, secret string) (*pluginsdk.ExchangeTokenResponse, error) {
	if kind := kindOf(secret); kind != pluginsdk.TokenAccess && kind != pluginsdk.TokenLogin {
		return nil, pluginsdk.Errorf(pluginsdk.CodeDenied, "this is no token to log in with")
	}
	done, err := g.ask(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return g.tokens.Exchange(ctx, &pluginsdk.ExchangeTokenRequest{Secret: secret})
}

// logout ends the session of the browser.
func (g *Gate) logout(w http.ResponseWriter, r *http.Request) {
	if !parse(w, r) {
		return
	}
	for _, cookie := range r.CookiesNamed(g.Cookie()) {
		if kindOf(cookie.Value) != pluginsdk.TokenSession {
			continue
		}
		if token, err := g.check(r.Context(), cookie.Value); err == nil {
			r = r.WithContext(pluginsdk.WithPerson(r.Context(), token.Name))
		}
		if _, err := g.tokens.Revoke(r.Context(), &pluginsdk.RevokeTokenRequest{Secret: cookie.Value}); err != nil {
			g.log.Warn("a session cannot be ended", "err", err)
			w.Header().Set("Retry-After", "1")
			problem.Write(w, http.StatusServiceUnavailable, "the session cannot be ended at the moment; try again")
			return
		}
	}
	http.SetCookie(w, g.cookie("", time.Time{}))
	http.Redirect(w, r, LoginPath, http.StatusSeeOther)
}

// parse reads a form, and answers when it cannot.
func parse(w http.ResponseWriter, r *http.Request) bool {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/x-www-form-urlencoded" || len(r.Header.Values("Content-Type")) > 1 {
		problem.Write(w, http.StatusUnsupportedMediaType, "the Content-Type header must be application/x-www-form-urlencoded")
		return false
	}
	w.Header().Set("Connection", "close") // see api.bodies; a login is the last request for a while
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		problem.Write(w, http.StatusBadRequest, "the form cannot be read: "+err.Error())
		return false
	}
	return true
}

// cookie is the session's; without a secret, one that takes it away.
func (g *Gate) cookie(secret string, over time.Time) *http.Cookie {
	cookie := &http.Cookie{
		Name: g.Cookie(), Value: secret, Path: "/", Expires: over,
		Secure: g.tls.Load(), HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
	if secret == "" {
		cookie.MaxAge = -1
	}
	return cookie
}
