package inbox

import (
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/tally"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// figures are what the inbox counts.
type figures struct {
	tally.Set

	accepted, dropped, retried *tally.Counter
}

func newFigures() *figures {
	f := &figures{}
	f.accepted = f.Counter("harness_runs_accepted_total", "Runs that were accepted, but for commands that the core answers at once.", "kind")
	f.dropped = f.Counter("harness_runs_dropped_total", "Runs that ended while they waited: cancelled, or not begun in time.")
	f.retried = f.Counter("harness_run_retries_total", "Attempts of runs that failed and were followed by another one.")
	for _, kind := range []pluginsdk.RunKind{pluginsdk.RunMessage, pluginsdk.RunCommand, pluginsdk.RunTurn} {
		f.accepted.Add(0, string(kind))
	}
	return f
}

// String returns the class's name in figures.
func (c class) String() string {
	return [...]string{people: "people", tasks: "tasks", turns: "turns", classes: "", commandsBeside: "commands"}[c]
}

// Figures returns what was counted since New, and the places that are taken now.
func (in *Inbox) Figures() []pluginsdk.Figure {
	taken := make(map[string]float64)
	for c := range classes {
		taken[c.String()] = float64(in.places.Taken(int(c)))
	}
	taken[commandsBeside.String()] = float64(in.besidePlaces.Taken(0))
	return append(in.figures.Figures(),
		tally.Gauge("harness_places", "Runs that may be at work at a time (HARNESS_AGENTS); commands beside their threads have places of their own.", float64(in.config.Slots)),
		tally.Gauges("harness_places_taken", "Runs that are at work, by the class of their place.", "class", taken),
		tally.Flag("harness_paused", "1 while an operator has paused what plugins start.", in.isQuiet()),
	)
}

// Queued returns the figures of the runs that waited at that time, by the class of the
// place that they wait for.
func (*Inbox) Queued(backlog []ledger.Backlog, at time.Time) []pluginsdk.Figure {
	runs, oldest := make(map[string]float64), make(map[string]float64)
	for _, c := range []class{people, tasks, turns, commandsBeside} {
		runs[c.String()], oldest[c.String()] = 0, 0
	}
	for _, one := range backlog {
		of := classOf(one.Thread)
		switch {
		case one.Command:
			of = commandsBeside
		case one.Beside:
			of = turns
		}
		runs[of.String()] += float64(one.Runs)
		oldest[of.String()] = max(oldest[of.String()], at.Sub(one.Oldest).Seconds())
	}
	return []pluginsdk.Figure{
		tally.Gauges("harness_runs_waiting", "Runs that wait, also for another attempt; at most 10000 are counted.", "class", runs),
		tally.Gauges("harness_runs_oldest_seconds", "For how long the oldest run has waited; 0 when none does.", "class", oldest),
	}
}
