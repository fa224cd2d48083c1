package tokens

import (
	"github.com/seed-706843ae/harness/core/tally"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// figures are what the room counts.
type figures struct {
	tally.Set

	refused *tally.Counter
}

// What a secret was shown for, in figures.
const (
	forRequest = "request"
	forLogin   = "login"
)

func newFigures() *figures {
	f := &figures{}
	f.refused = f.Counter("harness_tokens_refused_total", "Secrets that were no token's, or that of one that is revoked, used up or over.", "for")
	f.refused.Add(0, forRequest)
	f.refused.Add(0, forLogin)
	return f
}

// count counts a refusal, if the error is one.
func (f *figures) count(what string, err error) {
	if pluginsdk.CodeOf(err) == pluginsdk.CodeDenied {
		f.refused.Add(1, what)
	}
}

// Figures returns what was counted since New.
func (r *Room) Figures() []pluginsdk.Figure { return r.figures.Figures() }
