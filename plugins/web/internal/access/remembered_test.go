package access

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// counting are tokens that count how often they are asked about one.
type counting struct {
	pluginsdk.Tokens
	token  pluginsdk.Token
	asked  int
	err    error
	before func() // is called before a question is answered
}

func (c *counting) Check(context.Context, *pluginsdk.CheckTokenRequest) (*pluginsdk.CheckTokenResponse, error) {
	c.asked++
	if c.err != nil {
		return nil, c.err
	}
	answer := &pluginsdk.CheckTokenResponse{Token: c.token}
	if c.before != nil {
		c.before()
	}
	return answer, nil
}

func (c *counting) Revoke(context.Context, *pluginsdk.RevokeTokenRequest) (*pluginsdk.RevokeTokenResponse, error) {
	return &pluginsdk.RevokeTokenResponse{}, nil
}

// A token that was good a moment ago is let in without a question, and only for as long as
// nothing may have ended it.
func TestWhenTheCoreIsAskedAgain(t *testing.T) {
	heard := func(kind pluginsdk.EventType, data string) func(*Gate, *counting, *time.Time) {
		return func(g *Gate, _ *counting, _ *time.Time) { g.Hear([]pluginsdk.Event{{Type: kind, Data: []byte(data)}}) }
	}
	wait := func(d time.Duration) func(*Gate, *counting, *time.Time) {
		return func(_ *Gate, _ *counting, now *time.Time) { *now = now.Add(d) }
	}
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		between func(*Gate, *counting, *time.Time)
		expires time.Time
		before  bool // between happens while the first question is answered
		asked   int
	}{
		"at once":                               {wait(0), time.Time{}, false, 1},
		"while it is remembered":                {wait(rememberGood - 1), time.Time{}, false, 1},
		"later":                                 {wait(rememberGood), time.Time{}, false, 2},
		"while it is good":                      {wait(time.Second), began.Add(time.Second + 1), false, 1},
		"when it is over":                       {wait(time.Second), began.Add(time.Second), false, 2},
		"after a revocation":                    {heard(pluginsdk.EventTokenRevoked, `{"id":"A"}`), time.Time{}, false, 2},
		"after another's, whose session's":      {heard(pluginsdk.EventTokenRevoked, `{"id":"B"}`), time.Time{}, false, 2},
		"after one that says not whose":         {heard(pluginsdk.EventTokenRevoked, `{`), time.Time{}, false, 2},
		"after events were missed":              {heard(pluginsdk.EventResync, `{}`), time.Time{}, false, 2},
		"after another event":                   {heard(pluginsdk.EventPipelineStart, `{}`), time.Time{}, false, 1},
		"after a revocation while it was asked": {heard(pluginsdk.EventTokenRevoked, `{"id":"A"}`), time.Time{}, true, 2},
		"after a revocation through the gate": {func(g *Gate, _ *counting, _ *time.Time) {
			_, _ = g.Tokens().Revoke(t.Context(), &pluginsdk.RevokeTokenRequest{ID: "A"})
		}, time.Time{}, false, 2},
	} {
		now := began
		tokens := &counting{token: pluginsdk.Token{ID: "A", ExpiresAt: c.expires}}
		g := New(tokens, nil, slog.New(slog.DiscardHandler), func() time.Time { return now })
		if c.before {
			tokens.before = func() { c.between(g, tokens, &now) }
		}
		for range 2 {
			if token, err := g.check(t.Context(), "secret"); err != nil || token.ID != "A" {
				t.Errorf("%s: %+v, %v", name, token, err)
			}
			if tokens.before = nil; !c.before {
				c.between(g, tokens, &now)
			}
		}
		if tokens.asked != c.asked {
			t.Errorf("%s: asked %d times, and not %d", name, tokens.asked, c.asked)
		}
	}
}

// Only what is good is remembered: of each secret by itself, and of so many.
func TestWhatIsRememberedOfTokens(t *testing.T) {
	tokens := &counting{err: pluginsdk.Errorf(pluginsdk.CodeDenied, "no")}
	g := New(tokens, nil, slog.New(slog.DiscardHandler), nil)
	for range 2 {
		if _, err := g.check(t.Context(), "wrong"); !Denied(err) {
			t.Errorf("a wrong one: %v", err)
		}
	}
	if tokens.err = nil; tokens.asked != 2 || len(g.tokens.good) > 0 {
		t.Errorf("of a wrong one it was asked %d times, and %d are remembered", tokens.asked, len(g.tokens.good))
	}
	for i := range 2 * maxGood {
		if _, err := g.check(t.Context(), time.Duration(i).String()); err != nil || len(g.tokens.good) > maxGood {
			t.Fatalf("%v, %d are remembered", err, len(g.tokens.good))
		}
	}
	if want := 2 + 2*maxGood; tokens.asked != want {
		t.Errorf("asked %d times, and not %d", tokens.asked, want)
	}
}
