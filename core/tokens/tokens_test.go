package tokens_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/core/tokens"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// told remembers which tokens were said to be revoked.
type told struct {
	mu  sync.Mutex
	ids []string
	any chan struct{} // gets an element with each, as far as it has room
}

func (e *told) Publish(kind pluginsdk.EventType, _ string, payload any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if kind == pluginsdk.EventTokenRevoked {
		e.ids = append(e.ids, payload.(pluginsdk.TokenPayload).ID)
		e.any <- struct{}{}
	}
}

func (e *told) has(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Contains(e.ids, id)
}

// counting counts how often tokens are looked up, and how often sessions are begun. While it
// is away, no token can be looked up.
type counting struct {
	*store.Store
	lookups, sessions atomic.Int64
	away              atomic.Bool
}

func (c *counting) StartSession(ctx context.Context, want ledger.TokenSession) (ledger.Token, []string, error) {
	c.sessions.Add(1)
	return c.Store.StartSession(ctx, want)
}

func (c *counting) TokenOf(ctx context.Context, hash string) (ledger.Token, error) {
	c.lookups.Add(1)
	if c.away.Load() {
		return ledger.Token{}, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the database is away")
	}
	return c.Store.TokenOf(ctx, hash)
}

// fixture is the room of a daemon, with a clock of its own.
type fixture struct {
	*testing.T
	*tokens.Room
	database *counting
	told     *told
	mu       sync.Mutex
	clock    time.Time
	tick     chan time.Time
}

func newFixture(t *testing.T, database *store.Store) *fixture {
	f := &fixture{
		T: t, database: &counting{Store: database}, told: &told{any: make(chan struct{}, 1000)},
		clock: time.Now().UTC(), tick: make(chan time.Time),
	}
	f.Room = tokens.New(tokens.Config{
		Store: f.database, Events: f.told, After: func(time.Duration) <-chan time.Time { return f.tick },
		Now: func() time.Time {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.clock
		},
	})
	return f
}

func (f *fixture) pass(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clock = f.clock.Add(d)
}

func (f *fixture) make(request pluginsdk.CreateTokenRequest) (pluginsdk.Token, string) {
	f.Helper()
	token, secret, err := f.Create(f.Context(), "operator", request)
	if err != nil {
		f.Fatal(err)
	}
	return token, secret
}

func (f *fixture) exchange(secret string) (pluginsdk.Token, string) {
	f.Helper()
	session, cookie, err := f.Exchange(f.Context(), "plugin:web", pluginsdk.ExchangeTokenRequest{Secret: secret})
	if err != nil {
		f.Fatal(err)
	}
	return session, cookie
}

func (f *fixture) good(what, secret string) {
	f.Helper()
	if _, err := f.Check(f.Context(), secret); err != nil {
		f.Errorf("%s: %v", what, err)
	}
}

func (f *fixture) refused(what, secret string) {
	f.Helper()
	if token, err := f.Check(f.Context(), secret); pluginsdk.CodeOf(err) != pluginsdk.CodeDenied {
		f.Errorf("%s: %+v %v; it must be denied", what, token, err)
	}
}

func each(t *testing.T, test func(f *fixture)) {
	storetest.Each(t, func(t *testing.T, s *store.Store) { test(newFixture(t, s)) })
}

func (f *fixture) audited() (entries []string) {
	f.Helper()
	rows, err := f.database.AuditEntries(f.Context(), "", 100)
	if err != nil {
		f.Fatal(err)
	}
	for _, row := range rows {
		entries = append(entries, row.Who+" "+row.Action+" "+row.Detail)
	}
	return entries
}

// Who has a token is known by it; who has none, or a wrong one, is not. What is stored
// is of no use to who reads the database.
func TestATokenIsKnownByItsSecretAlone(t *testing.T) {
	each(t, func(f *fixture) {
		made, secret := f.make(pluginsdk.CreateTokenRequest{Name: "Ann", Scope: pluginsdk.ScopeChat})
		if !strings.HasPrefix(secret, "harness_access_") || len(secret) != len("harness_access_")+43 {
			f.Errorf("secret %q", secret)
		}
		found, err := f.Check(f.Context(), secret)
		if err != nil || found.ID != made.ID || found.Name != "Ann" || found.Scope != pluginsdk.ScopeChat || found.CreatedBy != "operator" {
			f.Errorf("%+v %v", found, err)
		}
		_, other := f.make(pluginsdk.CreateTokenRequest{Name: "Ann", Scope: pluginsdk.ScopeChat})
		if other == secret {
			f.Error("the same secret twice")
		}
		stored, err := f.database.Store.TokenOf(f.Context(), strings.Repeat("0", 64))
		if pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
			f.Errorf("%+v %v", stored, err)
		}
		for what, wrong := range map[string]string{
			"nothing": "", "a name": "Ann", "an id": made.ID, "the prefix": "harness_access_",
			"another secret":  "harness_access_" + strings.Repeat("A", 43),
			"another kind":    strings.Replace(secret, "access", "session", 1),
			"cut off":         secret[:len(secret)-1],
			"one more":        secret + "A",
			"a space":         secret + " ",
			"capitals":        strings.ToUpper(secret),
			"SQL":             "harness_access_' OR '1'='1",
			"very long":       "harness_access_" + strings.Repeat("A", 1<<20),
			"a line break in": secret[:20] + "\n" + secret[20:],
		} {
			f.refused(what, wrong)
		}
		if got := f.audited(); len(got) != 2 || got[0] != "operator token.create Ann (access, chat)" {
			f.Errorf("audit log: %q", got)
		}
	})
}

// Of an empty secret, or half of one, nothing is looked for: strangers must not keep the
// database busy with what cannot be a token.
func TestWhatCannotBeATokenIsNotLookedFor(t *testing.T) {
	f := newFixture(t, storetest.Open(t))
	for _, wrong := range []string{"", "x", "harness_access_short", "Bearer y"} {
		f.refused(wrong, wrong)
	}
	if n := f.database.lookups.Load(); n != 0 {
		t.Errorf("%d lookups", n)
	}
}

// Strangers who guess at the login page must not take the database's writer from turns.
func TestAGuessAtTheLoginWritesNothing(t *testing.T) {
	f := newFixture(t, storetest.Open(t))
	for _, kind := range []string{"access", "login", "session"} {
		guess := pluginsdk.ExchangeTokenRequest{Secret: "harness_" + kind + "_" + strings.Repeat("A", 43)}
		if _, _, err := f.Exchange(t.Context(), "plugin:web", guess); pluginsdk.CodeOf(err) != pluginsdk.CodeDenied {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if n := f.database.sessions.Load(); n != 0 {
		t.Errorf("%d writes", n)
	}
}

func TestTokensThatCannotBeMade(t *testing.T) {
	f := newFixture(t, storetest.Open(t))
	over := f.clock.Add(-time.Second)
	for want, request := range map[string]pluginsdk.CreateTokenRequest{
		"name":                  {Scope: pluginsdk.ScopeRead},
		"name: \" Ann\"":        {Name: " Ann", Scope: pluginsdk.ScopeRead},
		"name: \"a\\nb\"":       {Name: "a\nb", Scope: pluginsdk.ScopeRead},
		"name: \"a\\u202eb\"":   {Name: "a\u202eb", Scope: pluginsdk.ScopeRead},
		"name: \"xxx":           {Name: strings.Repeat("x", 101), Scope: pluginsdk.ScopeRead},
		"scope: \"\"":           {Name: "Ann"},
		"scope: \"root\"":       {Name: "Ann", Scope: "root"},
		"scope: \"cron:\"":      {Name: "Ann", Scope: "cron:"},
		"scope: \"cron:x":       {Name: "Ann", Scope: pluginsdk.ScopeOfCron(strings.Repeat("x", 257))},
		"scope: \"cron:a\\nb\"": {Name: "Ann", Scope: "cron:a\nb"},
		"nobody logs in":        {Name: "Ann", Scope: pluginsdk.ScopeOfCron("x"), Kind: pluginsdk.TokenLogin},
		"kind: \"session\"":     {Name: "Ann", Scope: pluginsdk.ScopeRead, Kind: pluginsdk.TokenSession},
		"expiresAt":             {Name: "Ann", Scope: pluginsdk.ScopeRead, ExpiresAt: over},
		"1h":                    {Name: "Ann", Scope: pluginsdk.ScopeRead, Kind: pluginsdk.TokenLogin, ExpiresAt: f.clock.Add(2 * time.Hour)},
	} {
		if _, _, err := f.Create(t.Context(), "operator", request); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// A program that may have one scheduled job fire may nothing else: it is nobody who logs in with a browser.
func TestATokenOfOneScheduledJobMakesNoSession(t *testing.T) {
	f := newFixture(t, storetest.Open(t))
	request := pluginsdk.CreateTokenRequest{Name: "forge", Scope: pluginsdk.ScopeOfCron("look at it")}
	if _, _, err := f.Create(t.Context(), "Ann", request); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), "harness cron list") {
		t.Errorf("for a job that is not there: %v", err)
	}
	if _, _, err := f.database.SaveCron(t.Context(), pluginsdk.CronSpec{Name: "look at it", Schedule: "0 9 * * *", Timezone: "UTC", Prompt: "look"}, false); err != nil {
		t.Fatal(err)
	}
	made, secret := f.make(request)
	if f.good("the token", secret); made.Scope.Cron() != "look at it" {
		t.Errorf("made %+v", made)
	}
	all := []pluginsdk.TokenScope{pluginsdk.ScopeRead, pluginsdk.ScopeChat, pluginsdk.ScopeApprove, pluginsdk.ScopeWork, pluginsdk.ScopeAdmin, made.Scope}
	for _, scope := range all {
		if made.Scope.Has(scope) || scope.Has(made.Scope) {
			t.Errorf("%s and %s: one has the other", made.Scope, scope)
		}
	}
	if _, _, err := f.Exchange(t.Context(), "plugin:web", pluginsdk.ExchangeTokenRequest{Secret: secret}); pluginsdk.CodeOf(err) != pluginsdk.CodeDenied {
		t.Errorf("a session: %v", err)
	}
}

// What an operator revokes is refused at once, with the sessions made of it, and whoever
// holds their connections is told. It cannot be undone by a session that was just begun.
func TestARevokedTokenTakesItsSessionsWithIt(t *testing.T) {
	each(t, func(f *fixture) {
		made, secret := f.make(pluginsdk.CreateTokenRequest{Name: "Ann", Scope: pluginsdk.ScopeAdmin})
		_, stranger := f.make(pluginsdk.CreateTokenRequest{Name: "Bob", Scope: pluginsdk.ScopeRead})
		first, cookie := f.exchange(secret)
		second, other := f.exchange(secret)
		f.good("the token", secret)
		f.good("a session", cookie)
		if first.Name != "Ann" || first.Scope != pluginsdk.ScopeAdmin || first.Kind != pluginsdk.TokenSession || first.ParentID != made.ID {
			f.Errorf("session %+v", first)
		}
		// One session alone, as when its browser logs out.
		if err := f.LogOut(f.Context(), "plugin:web (Ann)", cookie); err != nil {
			f.Fatal(err)
		}
		f.refused("what logged out", cookie)
		f.good("the other session", other)
		if err := f.Revoke(f.Context(), "operator", made.ID); err != nil {
			f.Fatal(err)
		}
		f.refused("the token", secret)
		f.refused("its session", other)
		if _, _, err := f.Exchange(f.Context(), "plugin:web", pluginsdk.ExchangeTokenRequest{Secret: secret}); pluginsdk.CodeOf(err) != pluginsdk.CodeDenied {
			f.Errorf("a session of a revoked token: %v", err)
		}
		f.good("another's token", stranger)
		for _, id := range []string{made.ID, first.ID, second.ID} {
			if !f.told.has(id) {
				f.Errorf("nobody was told of %s", id)
			}
		}
		for range 2 { // over already, and none at all
			if err := f.Revoke(f.Context(), "operator", made.ID); err != nil {
				f.Error(err)
			}
			made.ID = "none"
		}
		left, err := f.List(f.Context(), pluginsdk.ListTokensRequest{})
		if err != nil || len(left) != 1 || left[0].Name != "Bob" {
			f.Errorf("%+v %v", left, err)
		}
		want := []string{
			"operator token.create Ann (access, admin)", "operator token.create Bob (access, read)",
			"plugin:web token.login Ann (session, admin) until ", "plugin:web token.login Ann (session, admin) until ",
			"plugin:web (Ann) token.revoke Ann (session, admin) until ", "operator token.revoke Ann (access, admin)",
		}
		if got := f.audited(); !slices.EqualFunc(got, want, strings.HasPrefix) {
			f.Errorf("audit log:\n%s", strings.Join(got, "\n"))
		}
	})
}

// Another process (the command line) revokes in the database alone: the daemon refuses
// within the second, and tells who holds connections.
func TestWhatAnotherProcessRevokesHoldsWithinASecond(t *testing.T) {
	each(t, func(f *fixture) {
		made, secret := f.make(pluginsdk.CreateTokenRequest{Name: "Ann", Scope: pluginsdk.ScopeRead})
		f.good("at first", secret)
		before := f.database.lookups.Load()
		for range 100 {
			f.good("again", secret)
		}
		if n := f.database.lookups.Load() - before; n != 0 {
			f.Errorf("%d lookups for what was known", n)
		}
		elsewhere := tokens.New(tokens.Config{Store: f.database.Store})
		if err := elsewhere.Revoke(f.Context(), "operator", made.ID); err != nil {
			f.Fatal(err)
		}
		f.pass(time.Second)
		f.refused("a second later", secret)
		if err := f.Start(f.Context()); err != nil {
			f.Fatal(err)
		}
		<-f.told.any
		if err := f.Stop(f.Context()); err != nil {
			f.Fatal(err)
		}
		if !f.told.has(made.ID) {
			f.Errorf("told of %v", f.told.ids)
		}
	})
}

// Somebody looks at the figures just when the database is away.
func TestWhoWasKnownIsKnownWhileTheDatabaseIsAway(t *testing.T) {
	each(t, func(f *fixture) {
		_, known := f.make(pluginsdk.CreateTokenRequest{Name: "Ann", Scope: pluginsdk.ScopeRead})
		_, stranger := f.make(pluginsdk.CreateTokenRequest{Name: "Ben", Scope: pluginsdk.ScopeRead})
		over, short := f.make(pluginsdk.CreateTokenRequest{Name: "Cleo", Scope: pluginsdk.ScopeRead, ExpiresAt: f.clock.Add(time.Minute)})
		f.good("before", known)
		f.good("before its end", short)
		f.database.away.Store(true)
		f.pass(time.Hour)
		f.good("while the database is away", known)
		f.refused("one that is over, "+over.Name, short)
		if _, err := f.Check(f.Context(), stranger); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
			f.Errorf("one that nobody has shown before: %v", err)
		}
		f.database.away.Store(false)
		f.good("once it is back", stranger)
	})
}

// A login token is for one login, whoever else has read it: of many that try at once,
// one gets in.
func TestALoginTokenIsGoodOnce(t *testing.T) {
	each(t, func(f *fixture) {
		login, secret := f.make(pluginsdk.CreateTokenRequest{Name: "operator", Scope: pluginsdk.ScopeAdmin, Kind: pluginsdk.TokenLogin})
		f.refused("a login token as a program's", secret)
		var group sync.WaitGroup
		var in atomic.Int64
		for range 16 {
			group.Go(func() {
				_, cookie, err := f.Exchange(f.Context(), "plugin:web", pluginsdk.ExchangeTokenRequest{Secret: secret})
				if err == nil {
					in.Add(1)
					f.good("the session", cookie)
				} else if pluginsdk.CodeOf(err) != pluginsdk.CodeDenied {
					f.Error(err)
				}
			})
		}
		group.Wait()
		if in.Load() != 1 {
			f.Errorf("%d got in", in.Load())
		}
		// The session outlives the token that it was made of, unless that is revoked.
		left, err := f.List(f.Context(), pluginsdk.ListTokensRequest{})
		if err != nil || len(left) != 1 || left[0].ParentID != login.ID || left[0].ExpiresAt.Before(f.clock.Add(24*time.Hour)) {
			f.Fatalf("%+v %v", left, err)
		}
		if err := f.Revoke(f.Context(), "operator", login.ID); err != nil {
			f.Fatal(err)
		}
		if left, err = f.List(f.Context(), pluginsdk.ListTokensRequest{}); err != nil || len(left) != 0 {
			f.Errorf("%+v %v", left, err)
		}
	})
}

// Nobody stays in by logging in just before their token is taken away: either the session
// is ended with it, or it is not made.
func TestRevocationAndLoginAtTheSameTime(t *testing.T) {
	each(t, func(f *fixture) {
		for range 10 {
			made, secret := f.make(pluginsdk.CreateTokenRequest{Name: "Ann", Scope: pluginsdk.ScopeAdmin})
			var group sync.WaitGroup
			cookies := make(chan string, 8)
			for range cap(cookies) {
				group.Go(func() {
					if _, cookie, err := f.Exchange(f.Context(), "plugin:web", pluginsdk.ExchangeTokenRequest{Secret: secret}); err == nil {
						cookies <- cookie
					}
				})
			}
			group.Go(func() {
				if err := f.Revoke(f.Context(), "operator", made.ID); err != nil {
					f.Error(err)
				}
			})
			group.Wait()
			close(cookies)
			for cookie := range cookies {
				f.refused("a session made meanwhile", cookie)
			}
		}
	})
}

// A session is over when its token is, and a token when it was said to be.
func TestTokensExpire(t *testing.T) {
	each(t, func(f *fixture) {
		_, secret := f.make(pluginsdk.CreateTokenRequest{Name: "Ann", Scope: pluginsdk.ScopeRead, ExpiresAt: f.clock.Add(time.Hour)})
		_, lasting := f.make(pluginsdk.CreateTokenRequest{Name: "Bob", Scope: pluginsdk.ScopeRead})
		session, cookie := f.exchange(secret)
		_, short, err := f.Exchange(f.Context(), "plugin:web", pluginsdk.ExchangeTokenRequest{Secret: lasting, Life: time.Minute})
		if err != nil || session.ExpiresAt.After(f.clock.Add(time.Hour)) {
			f.Fatal(session, err)
		}
		f.good("the short one", short)
		f.pass(time.Minute)
		f.refused("a session that was to last a minute", short)
		f.pass(time.Hour - time.Minute - time.Millisecond)
		f.good("the token", secret)
		f.good("its session", cookie)
		f.pass(2 * time.Millisecond)
		f.refused("the token", secret)
		f.refused("its session", cookie)
		f.good("what lasts", lasting)
	})
}

// Somebody who logs in again and again does not fill the database: their oldest sessions
// end.
func TestSessionsOfATokenAreBounded(t *testing.T) {
	f := newFixture(t, storetest.Open(t))
	_, secret := f.make(pluginsdk.CreateTokenRequest{Name: "Ann", Scope: pluginsdk.ScopeRead})
	_, first := f.exchange(secret)
	for range 99 {
		f.exchange(secret)
	}
	f.good("the hundredth beside it", first)
	_, last := f.exchange(secret)
	f.refused("the oldest of 101", first)
	f.good("the newest", last)
}

// When a token was used last is what an operator decides by whether it is still needed:
// it is stored, off the request's path, and not with each request.
func TestLastUseIsStoredToTheMinute(t *testing.T) {
	each(t, func(f *fixture) {
		_, secret := f.make(pluginsdk.CreateTokenRequest{Name: "Ann", Scope: pluginsdk.ScopeRead})
		f.good("now", secret)
		if err := f.Start(f.Context()); err != nil {
			f.Fatal(err)
		}
		if err := f.Stop(f.Context()); err != nil {
			f.Fatal(err)
		}
		tokens, err := f.List(f.Context(), pluginsdk.ListTokensRequest{})
		if err != nil || len(tokens) != 1 || !tokens[0].LastUsedAt.Equal(f.clock.Truncate(time.Minute)) {
			f.Errorf("%+v %v", tokens, err)
		}
	})
}

// Tokens that have been over for a month leave the table; what the audit log says stays.
func TestTokensThatAreLongOverAreForgotten(t *testing.T) {
	each(t, func(f *fixture) {
		gone, _ := f.make(pluginsdk.CreateTokenRequest{Name: "gone", Scope: pluginsdk.ScopeRead})
		f.make(pluginsdk.CreateTokenRequest{Name: "stays", Scope: pluginsdk.ScopeRead})
		if err := f.Revoke(f.Context(), "operator", gone.ID); err != nil {
			f.Fatal(err)
		}
		for _, c := range []struct {
			before time.Time
			want   int
		}{{time.Now().Add(-time.Hour), 1}, {time.Now().Add(time.Hour), 0}} {
			if err := f.database.ForgetTokens(f.Context(), c.before); err != nil {
				f.Fatal(err)
			}
			if ids, err := f.database.RevokedTokens(f.Context(), time.Time{}); err != nil || len(ids) != c.want {
				f.Errorf("%v %v; want %d", ids, err, c.want)
			}
		}
		if left, err := f.List(f.Context(), pluginsdk.ListTokensRequest{}); err != nil || len(left) != 1 || len(f.audited()) != 3 {
			f.Errorf("%+v %v, audited %q", left, err, f.audited())
		}
	})
}
