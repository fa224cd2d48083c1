package hostapi

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// label says whose act a call of the plugin is. It is made here and nowhere else. A call in a
// hook or a tool of a run or a task is the agent's that has caused it, whoever the plugin names,
// but for a command that a person has typed, which is theirs. Any other call is the person's
// whose token the plugin has shown, else the one's whom the plugin names, else the plugin's own.
func (c *caller) label(ctx context.Context, named string) (pluginsdk.Label, error) {
	if err := checkLengths(length{"author", len(named), maxTaskRequester}); err != nil {
		return pluginsdk.Label{}, err
	}
	in, err := c.granted(ctx, c.plugin)
	if err != nil {
		return pluginsdk.Label{}, err
	}
	of := pluginsdk.Label{Plugin: c.plugin}
	if origin := in.origin; origin.Cause() != "" || origin.TaskID != "" {
		if typed := origin.Typed; in.typedByAPerson() {
			of.Author, of.Scope, of.Origin = typed.Author, typed.Scope, typed.Origin
			return of, nil
		}
		of.ThreadID, of.RunID, of.TaskID, of.Apart = origin.Fence.ThreadID, origin.Cause(), origin.TaskID, origin.Apart
		return of, nil
	}
	of.Author = cmp.Or(pluginsdk.PersonFrom(ctx), named)
	if id := pluginsdk.TokenFrom(ctx); id != "" {
		token, err := c.shownBy(c.plugin, id)
		if err != nil {
			return pluginsdk.Label{}, err
		}
		of.Author, of.Scope, of.Token, of.TokenName = token.Name, token.Scope, token.ID, token.Name
	}
	return of, nil
}

// shown are the tokens whose secrets plugins have shown, by plugin and id. Naming a token
// counts for nothing without that.
type shown struct {
	mu     sync.Mutex
	tokens map[[2]string]shownToken
}

type shownToken struct {
	pluginsdk.Token
	at time.Time
}

// shownFor is how long it counts that a plugin has shown a token: for less long than it is
// remembered that one was revoked.
const shownFor = 10 * time.Minute

// maxShown bounds how many are remembered; who has shown one shows it again with its next
// request.
const maxShown = 10_000

func (s *shown) note(plugin string, token pluginsdk.Token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tokens == nil || len(s.tokens) >= maxShown {
		s.tokens = make(map[[2]string]shownToken)
	}
	s.tokens[[2]string{plugin, token.ID}] = shownToken{token, time.Now()}
}

// shownBy returns a token that a plugin names, or CodeDenied: the plugin has not shown its
// secret, or it is revoked or over.
func (a *API) shownBy(plugin, id string) (pluginsdk.Token, error) {
	a.shown.mu.Lock()
	found, ok := a.shown.tokens[[2]string{plugin, id}]
	a.shown.mu.Unlock()
	token := found.Token
	switch {
	case !ok, time.Since(found.at) > shownFor:
		return token, pluginsdk.Errorf(pluginsdk.CodeDenied, "token: the plugin %s calls with the token %.50q, whose secret it has not shown; Tokens.Check first", plugin, id)
	case a.Callers.Revoked(id), !token.ExpiresAt.IsZero() && !time.Now().Before(token.ExpiresAt):
		return token, pluginsdk.Errorf(pluginsdk.CodeDenied, "token: %s is revoked or over", id)
	}
	return token, nil
}

// admitToken refuses (CodeDenied) a call with a token that the plugin may not name, and one that
// names another person than the token's.
func (a *API) admitToken(ctx context.Context, plugin string) error {
	id := pluginsdk.TokenFrom(ctx)
	if id == "" {
		return nil
	}
	token, err := a.shownBy(plugin, id)
	if err != nil {
		return err
	}
	if person := pluginsdk.PersonFrom(ctx); person != "" && seen(person) != seen(token.Name) {
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "token: %s is that of %s, and the call is made in the name of %s", id, token.Name, person)
	}
	return nil
}

// seen is what of a name arrives with a call: what is not seen does not.
func seen(name string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, name))
}
