// Package tokens is who may call from outside: tokens with a name and a scope, kept by
// the hash of their secret; the sessions of browsers, which are made of them; and login
// tokens, which are good for one session. A secret is shown once, to who has it made.
package tokens

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Store is what the room needs of the database. What revokes says so in the audit log,
// and so does what makes.
type Store interface {
	AddToken(ctx context.Context, token ledger.Token, who string) error
	TokenOf(ctx context.Context, hash string) (ledger.Token, error)
	StartSession(ctx context.Context, want ledger.TokenSession) (session ledger.Token, ended []string, err error)
	Tokens(ctx context.Context, after string, limit int) ([]pluginsdk.Token, error)
	RevokeToken(ctx context.Context, id, who string) (ended []string, err error)
	RevokedTokens(ctx context.Context, since time.Time) ([]string, error)
	TouchTokens(ctx context.Context, used map[string]time.Time) error
	ForgetTokens(ctx context.Context, before time.Time) error
	Crons(ctx context.Context) ([]pluginsdk.CronJob, error)
}

// Events is the event bus.
type Events interface {
	Publish(kind pluginsdk.EventType, threadID string, payload any)
}

// Config is what a Room works with.
type Config struct {
	Store  Store
	Events Events // told of each token that is revoked; nil: nobody is
	Log    *slog.Logger
	Now    func() time.Time                     // nil: time.Now
	After  func(time.Duration) <-chan time.Time // nil: the next whole multiple, see guard.After
}

const (
	// prefix is how each secret begins, so that people and scanners know one when they
	// see it. The kind's letter follows, for errors that say more than that it is wrong.
	prefix = "harness_"
	// secretBytes are drawn at random for a secret.
	secretBytes = 32

	// cacheFor is how long a token that was found good is taken for good without a look
	// into the database: what another process revokes is refused after that.
	cacheFor = time.Second
	maxCache = 10_000

	defaultLife = 30 * 24 * time.Hour  // of a session
	maxLife     = 365 * 24 * time.Hour // of a session
	maxLogin    = time.Hour            // of a login token
	maxSessions = 100                  // of a token, at a time
	maxName     = 100                  // bytes
	maxCron     = 256                  // bytes, of the name of a scheduled job
)

// Room keeps the tokens of an installation. The command line uses one without Start.
type Room struct {
	config  Config
	figures *figures

	mu        sync.Mutex
	known     map[string]known     // by hash
	used      map[string]time.Time // by id: when tokens were used, and that is not stored yet
	announced map[string]time.Time // tokens that are known to be revoked

	background guard.Loop
}

// known is a token that was good at an instant.
type known struct {
	token ledger.Token
	at    time.Time
}

// New returns a Room.
func New(config Config) *Room {
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.After == nil {
		config.After = guard.After
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	return &Room{config: config, figures: newFigures(), known: make(map[string]known), used: make(map[string]time.Time), announced: make(map[string]time.Time)}
}

// newSecret returns a secret for a token of this kind, with its hash.
func newSecret(kind pluginsdk.TokenKind) (secret, hash string) {
	random := make([]byte, secretBytes)
	_, _ = rand.Read(random) // never fails: it ends the process first
	secret = prefix + string(kind) + "_" + base64.RawURLEncoding.EncodeToString(random)
	return secret, hashOf(secret)
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// wellFormed reports whether a text can be a secret: what cannot is not looked for.
func wellFormed(secret string) bool {
	rest, ok := strings.CutPrefix(secret, prefix)
	kind, random, parted := strings.Cut(rest, "_")
	switch pluginsdk.TokenKind(kind) {
	case pluginsdk.TokenAccess, pluginsdk.TokenSession, pluginsdk.TokenLogin:
	default:
		return false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(random)
	return ok && parted && err == nil && len(raw) == secretBytes
}

func denied() error {
	return pluginsdk.Errorf(pluginsdk.CodeDenied, "the token is unknown, revoked, used up or over")
}

// Check returns the token of a secret, or CodeDenied. A login token is for one login and
// nothing else. While the database does not answer, a token that was good holds: figures and
// health are looked at just then, and what is revoked in this process is refused all the same.
func (r *Room) Check(ctx context.Context, secret string) (_ pluginsdk.Token, err error) {
	defer func() { r.figures.count(forRequest, err) }()
	if !wellFormed(secret) {
		return pluginsdk.Token{}, denied()
	}
	hash, now := hashOf(secret), r.config.Now()
	r.mu.Lock()
	found, ok := r.known[hash]
	r.mu.Unlock()
	if !ok || now.Sub(found.at) >= cacheFor || now.Before(found.at) {
		token, err := r.config.Store.TokenOf(ctx, hash)
		if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
			return pluginsdk.Token{}, denied()
		}
		switch {
		case err == nil:
			found = known{token, now}
		case !ok:
			return pluginsdk.Token{}, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, revoked := r.announced[found.token.ID]
	if revoked || !found.token.Good(now) || found.token.Kind == pluginsdk.TokenLogin {
		delete(r.known, hash)
		return pluginsdk.Token{}, denied()
	}
	if len(r.known) >= maxCache {
		clear(r.known)
	}
	r.known[hash] = found
	if minute := now.Truncate(time.Minute); minute.After(found.token.LastUsedAt) && r.used[found.token.ID].Before(minute) {
		r.used[found.token.ID] = minute
	}
	return found.token.Token, nil
}

// Create makes a token in somebody's name, for the audit log.
func (r *Room) Create(ctx context.Context, who string, request pluginsdk.CreateTokenRequest) (pluginsdk.Token, string, error) {
	now := r.config.Now()
	token := pluginsdk.Token{
		Name: request.Name, Kind: cmp.Or(request.Kind, pluginsdk.TokenAccess), Scope: request.Scope,
		CreatedBy: who, CreatedAt: now, ExpiresAt: request.ExpiresAt,
	}
	if token.Kind == pluginsdk.TokenLogin && token.ExpiresAt.IsZero() {
		token.ExpiresAt = now.Add(maxLogin)
	}
	if err := check(token, now); err != nil {
		return pluginsdk.Token{}, "", err
	}
	if err := r.checkJob(ctx, token.Scope.Cron()); err != nil {
		return pluginsdk.Token{}, "", err
	}
	id, err := newID()
	if err != nil {
		return pluginsdk.Token{}, "", err
	}
	token.ID = id
	secret, hash := newSecret(token.Kind)
	if err := r.config.Store.AddToken(ctx, ledger.Token{Token: token, Hash: hash}, who); err != nil {
		return pluginsdk.Token{}, "", err
	}
	return token, secret, nil
}

// checkJob refuses a token of a scheduled job that is not there: nobody would notice that its name is mistyped.
func (r *Room) checkJob(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	jobs, err := r.config.Store.Crons(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(jobs, func(job pluginsdk.CronJob) bool { return job.Spec.Name == name }) {
		return nil
	}
	return pluginsdk.Errorf(pluginsdk.CodeInvalid, "scope: no scheduled job has the name %q, which counts to the letter; `harness cron list` has those that there are", name)
}

func newID() (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", pluginsdk.Errorf(pluginsdk.CodeInternal, "make an id: %w", err)
	}
	return id.String(), nil
}

func check(token pluginsdk.Token, now time.Time) error {
	switch {
	case !wellNamed(token.Name):
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "name: %q is not accepted; it takes 1 to %d bytes, without line breaks or other control characters, "+
			"and no space at its ends", token.Name, maxName)
	case !token.Scope.Has(token.Scope) && !wellNamedUpTo(token.Scope.Cron(), maxCron):
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "scope: %q is not accepted; it takes read, chat, approve, work or admin, or cron:NAME for one scheduled job",
			token.Scope)
	case token.Scope.Cron() != "" && token.Kind == pluginsdk.TokenLogin:
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "scope: nobody logs in with the scope of a scheduled job, which is for a program; make a token of the kind access")
	case token.Kind != pluginsdk.TokenAccess && token.Kind != pluginsdk.TokenLogin:
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "kind: %q is not accepted; it takes access or login", token.Kind)
	case !token.ExpiresAt.IsZero() && !token.ExpiresAt.After(now):
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "expiresAt: %s is over already", token.ExpiresAt.Format(time.RFC3339))
	case token.ExpiresAt.Year() > 9999:
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "expiresAt: the year %d is not accepted; leave it out for a token that lasts", token.ExpiresAt.Year())
	case token.Kind == pluginsdk.TokenLogin && token.ExpiresAt.After(now.Add(maxLogin)):
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "expiresAt: a login token is good for %s at most", maxLogin)
	}
	return nil
}

// wellNamed reports whether a name can stand in a line of a log or a list and is nobody
// else's by a character that is not seen.
func wellNamed(name string) bool { return wellNamedUpTo(name, maxName) }

// wellNamedUpTo is wellNamed with the most bytes that the name may have.
func wellNamedUpTo(name string, most int) bool {
	if name == "" || len(name) > most || !utf8.ValidString(name) || strings.TrimSpace(name) != name {
		return false
	}
	return strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// Exchange makes a session of the token of a secret, or answers CodeDenied. who is what the
// audit log calls who asks.
func (r *Room) Exchange(ctx context.Context, who string, request pluginsdk.ExchangeTokenRequest) (_ pluginsdk.Token, _ string, err error) {
	defer func() { r.figures.count(forLogin, err) }()
	if !wellFormed(request.Secret) {
		return pluginsdk.Token{}, "", denied()
	}
	if request.Life < 0 || request.Life > maxLife {
		return pluginsdk.Token{}, "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "life: %s is not accepted; a session lasts %s at most", request.Life, maxLife)
	}
	// A secret that is nobody's is refused without a write: strangers decide how often one
	// comes, and turns wait for the writer. Whether the token is good is for the write to say.
	switch token, err := r.config.Store.TokenOf(ctx, hashOf(request.Secret)); {
	case pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound:
		return pluginsdk.Token{}, "", denied()
	case err != nil:
		return pluginsdk.Token{}, "", err
	case token.Scope.Cron() != "":
		return pluginsdk.Token{}, "", pluginsdk.Errorf(pluginsdk.CodeDenied, "the token is for one scheduled job, and nobody logs in with it")
	}
	id, err := newID()
	if err != nil {
		return pluginsdk.Token{}, "", err
	}
	secret, hash := newSecret(pluginsdk.TokenSession)
	session, ended, err := r.config.Store.StartSession(ctx, ledger.TokenSession{
		Of: hashOf(request.Secret), Who: who, Most: maxSessions,
		Session: ledger.Token{
			Token: pluginsdk.Token{ID: id, ExpiresAt: r.config.Now().Add(cmp.Or(request.Life, defaultLife))}, Hash: hash,
		},
	})
	if err != nil {
		return pluginsdk.Token{}, "", err
	}
	r.announce(ended)
	return session.Token, secret, nil
}

// List returns a page of the tokens that are good, oldest first.
func (r *Room) List(ctx context.Context, request pluginsdk.ListTokensRequest) ([]pluginsdk.Token, error) {
	return r.config.Store.Tokens(ctx, request.After, request.Limit)
}

// Revoke ends a token and the sessions made of it. One that is gone is no error.
func (r *Room) Revoke(ctx context.Context, who, id string) error {
	ended, err := r.config.Store.RevokeToken(ctx, id, who)
	r.announce(ended)
	return err
}

// LogOut ends the session of a secret. One that is gone is no error; another kind of
// token is CodeDenied.
func (r *Room) LogOut(ctx context.Context, who, secret string) error {
	if !wellFormed(secret) {
		return nil
	}
	session, err := r.config.Store.TokenOf(ctx, hashOf(secret))
	switch {
	case pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound:
		return nil
	case err != nil:
		return err
	case session.Kind != pluginsdk.TokenSession:
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "this is no session's secret: a token is revoked by its id")
	}
	return r.Revoke(ctx, who, session.ID)
}

// Revoked reports whether a token is known to be revoked.
func (r *Room) Revoked(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, revoked := r.announced[id]
	return revoked
}

// announce refuses tokens from now on, and tells who holds connections of theirs.
func (r *Room) announce(ids []string) {
	now := r.config.Now()
	for _, id := range ids {
		r.mu.Lock()
		_, before := r.announced[id]
		r.announced[id] = now
		if !before {
			clear(r.known)
		}
		r.mu.Unlock()
		if !before && r.config.Events != nil {
			r.config.Events.Publish(pluginsdk.EventTokenRevoked, "", pluginsdk.TokenPayload{ID: id})
		}
	}
}

const (
	watchEvery  = time.Second
	touchEvery  = time.Minute
	forgetEvery = time.Hour
	// keepOver is how long a token that is over stays in the database.
	keepOver = 30 * 24 * time.Hour
	// lookBack is how long ago a revocation may be that is looked for: clocks of other
	// machines, and a database that was away.
	lookBack = 10 * time.Minute
)

// Start begins to look for what other processes revoke, and to store when tokens were
// used, until Stop.
func (r *Room) Start(ctx context.Context) error {
	r.background.Start(ctx, r.loop)
	return nil
}

// Stop ends that, and stores when tokens were used.
func (r *Room) Stop(ctx context.Context) error {
	if !r.background.Stop() {
		return nil
	}
	if err := r.touch(ctx); err != nil {
		r.config.Log.Warn("when tokens were last used is not stored", "err", err)
	}
	return nil
}

func (r *Room) loop(ctx context.Context) {
	touched, forgot := r.config.Now(), time.Time{}
	for ctx.Err() == nil {
		err := guard.Call(r.config.Log, "tokens", func() error {
			if err := r.watch(ctx); err != nil {
				return err
			}
			now := r.config.Now()
			if now.Sub(touched) >= touchEvery {
				touched = now
				if err := r.touch(ctx); err != nil {
					return err
				}
			}
			if now.Sub(forgot) >= forgetEvery {
				forgot = now
				return r.config.Store.ForgetTokens(ctx, now.Add(-keepOver))
			}
			return nil
		})
		if err != nil && ctx.Err() == nil {
			r.config.Log.Warn("what was revoked is not known for the moment", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-r.config.After(watchEvery):
		}
	}
}

// watch announces what was revoked, by whatever process.
func (r *Room) watch(ctx context.Context) error {
	now := r.config.Now()
	revoked, err := r.config.Store.RevokedTokens(ctx, now.Add(-lookBack))
	if err != nil {
		return err
	}
	r.announce(revoked)
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, at := range r.announced {
		if now.Sub(at) > 2*lookBack {
			delete(r.announced, id)
		}
	}
	return nil
}

// touch stores when tokens were used.
func (r *Room) touch(ctx context.Context) error {
	r.mu.Lock()
	used := r.used
	r.used = make(map[string]time.Time)
	r.mu.Unlock()
	if len(used) == 0 {
		return nil
	}
	err := r.config.Store.TouchTokens(ctx, used)
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		for id, at := range used {
			if r.used[id].Before(at) {
				r.used[id] = at
			}
		}
	}
	return err
}
