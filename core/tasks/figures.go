package tasks

import (
	"github.com/seed-706843ae/harness/core/tally"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// figures are what the room counts.
type figures struct {
	tally.Set

	ended *tally.Counter
}

func newFigures() *figures {
	f := &figures{}
	f.ended = f.Counter("harness_tasks_ended_total", "Tasks that are completed, failed or cancelled.", "status")
	for _, status := range []pluginsdk.TaskStatus{pluginsdk.TaskCompleted, pluginsdk.TaskFailed, pluginsdk.TaskCancelled} {
		f.ended.Add(0, string(status))
	}
	return f
}

// Figures returns what was counted since New.
func (r *Room) Figures() []pluginsdk.Figure { return r.figures.Figures() }
