package pipeline

import (
	"cmp"
	"strconv"
	"time"

	"github.com/seed-706843ae/harness/core/tally"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// figures are what the pipeline counts of runs and turns.
type figures struct {
	tally.Set

	ended, turns, tokens, cost *tally.Counter
	took, turnTook             *tally.Histogram
}

// answered is the outcome of a turn that did not fail.
const answered = "answered"

func newFigures() *figures {
	f := &figures{}
	seconds := []float64{0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}
	f.ended = f.Counter("harness_runs_ended_total", "Runs that are over, by their state.", "kind", "state")
	f.took = f.Histogram("harness_run_duration_seconds", "From the acceptance of a run to its end.", seconds, "kind")
	f.turns = f.Counter("harness_turns_total", "Turns of the agent, by whether they were answered or how they failed.", "kind", "outcome")
	f.turnTook = f.Histogram("harness_turn_duration_seconds", "How long turns of the agent took.", seconds, "kind")
	f.tokens = f.Counter("harness_turn_tokens_total", "Tokens of turns, by what they were: input, output, cache_read, cache_write.", "model", "tokens")
	f.cost = f.Counter("harness_turn_cost_usd_total", "What turns have cost, as the agent reports it, in USD. Nobody is billed for what is notional.", "model", "notional")
	for _, state := range []pluginsdk.RunState{pluginsdk.RunSucceeded, pluginsdk.RunFailed, pluginsdk.RunCancelled} {
		f.ended.Add(0, string(pluginsdk.RunMessage), string(state))
	}
	f.turns.Add(0, string(pluginsdk.RunMessage), answered)
	return f
}

// Figures returns what was counted since New.
func (p *Pipeline) Figures() []pluginsdk.Figure { return p.figures.Figures() }

// over counts a run whose end is stored, and the runs that were merged into it.
func (f *figures) over(t *trip, state pluginsdk.RunState, now time.Time) {
	f.ended.Add(1, string(t.run.Kind), string(state))
	f.took.Observe(now.Sub(t.run.QueuedAt), string(t.run.Kind))
	if merged := len(t.covered()); merged > 0 {
		f.ended.Add(float64(merged), string(pluginsdk.RunMessage), string(pluginsdk.RunMerged))
	}
}

// turned counts a turn whose result is stored.
func (f *figures) turned(t *trip) {
	outcome := answered
	if t.result.Failure != nil {
		outcome = string(t.result.Failure.Kind)
	}
	f.turns.Add(1, string(t.run.Kind), outcome)
	f.turnTook.Observe(t.result.Duration, string(t.run.Kind))
	model, usage := cmp.Or(t.result.Model, "unknown"), t.result.Usage
	f.tokens.Add(float64(usage.InputTokens), model, "input")
	f.tokens.Add(float64(usage.OutputTokens), model, "output")
	f.tokens.Add(float64(usage.CacheReadTokens), model, "cache_read")
	f.tokens.Add(float64(usage.CacheWriteTokens), model, "cache_write")
	f.cost.Add(t.result.CostUSD, model, strconv.FormatBool(t.result.Notional))
}
