package chat

import (
	"context"
	"net/url"
	"time"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// phase says what the run that is in front in a thread does.
type phase string

const (
	resting  phase = "" // there is none
	working  phase = "working"
	asking   phase = "asking"   // it waits for people
	retrying phase = "retrying" // it is tried again in a while
	placing  phase = "placing"  // it waits for a place
	parking  phase = "parked"   // it waits for a window of a plan
)

// state is how a thread's runs stand.
type state struct {
	Phase   phase
	Run     api.Run          // the one in front
	Waiting int              // how many messages wait behind it
	Marks   map[int64]string // what becomes of messages whose answer is not there, by their id
}

// shown is the phase as people see it: a run that asks them waits, whether or not its process
// is there.
func (s state) shown(asked int) phase {
	if asked > 0 && s.Phase == working {
		return asking
	}
	return s.Phase
}

// stops is what the button that stops does with what waits: what is not begun waits itself.
func (s state) stops() pluginsdk.Queue {
	if s.Phase == placing {
		return pluginsdk.DropQueue
	}
	return pluginsdk.KeepQueue
}

// since is when the run in front has begun.
func (s state) since() time.Time {
	if s.Phase == resting {
		return time.Time{}
	}
	if s.Run.StartedAt.IsZero() {
		return s.Run.QueuedAt
	}
	return s.Run.StartedAt
}

// error is what went wrong with the attempt before.
func (s state) error() string {
	if n := len(s.Run.Failures); n > 0 {
		return s.Run.Failures[n-1].Error
	}
	return s.Run.Error
}

// state reads how a thread's runs stand.
func (c *chat) state(ctx context.Context, threadID string) (now state, err error) {
	var page struct {
		Runs []api.Run `json:"runs"`
	}
	err = c.Get(ctx, "/api/threads/"+url.PathEscape(threadID)+"/runs", url.Values{
		"state": {string(pluginsdk.RunQueued), string(pluginsdk.RunRunning), string(pluginsdk.RunWaiting)}, "limit": {"100"},
	}, &page)
	if err != nil {
		return state{}, err
	}
	return stateOf(page.Runs), nil
}

// stateOf is how runs that are not over stand, the oldest first.
func stateOf(runs []api.Run) state {
	now := state{Marks: make(map[int64]string)}
	for _, run := range runs {
		if run.Beside || run.Kind == pluginsdk.RunTurn {
			continue // it is no part of the conversation
		}
		if before := now.Phase; before == resting || before == placing && run.State != pluginsdk.RunQueued {
			if before == placing { // what was taken to be in front waits behind this one
				now.wait(now.Run)
			}
			now.Run, now.Phase = run, phaseOf(run)
			for _, absorbed := range run.Absorbed {
				now.Marks[absorbed] = "goes into the answer under way"
			}
			continue
		}
		now.wait(run)
	}
	return now
}

func (s *state) wait(run api.Run) {
	s.Waiting++
	s.Marks[run.MessageID] = "waits"
}

func phaseOf(run api.Run) phase {
	switch {
	case run.State == pluginsdk.RunWaiting:
		return asking
	case run.State == pluginsdk.RunRunning:
		return working
	case run.Parked != nil:
		return parking
	case !run.NextAttemptAt.IsZero():
		return retrying
	}
	return placing
}

// mark says at messages that have no answer what becomes of them, as the runs at work and
// those that are over tell.
func (c *chat) mark(ctx context.Context, shown *conversation) error {
	answered := make(map[string]bool)
	for _, one := range shown.Said.Items {
		answered[one.Message.RunID] = answered[one.Message.RunID] || one.Form != ofPerson
	}
	without := make(map[string]*item)
	query := url.Values{"limit": {"100"}}
	for i := range shown.Said.Items {
		one := &shown.Said.Items[i]
		if one.Mark = shown.State.Marks[one.Message.ID]; one.Form == ofPerson && one.Mark == "" && !answered[one.Message.RunID] &&
			one.Message.RunID != "" && one.Message.RunID != shown.State.Run.ID && len(without) < 100 {
			without[one.Message.RunID] = one
			query.Add("id", one.Message.RunID)
		}
	}
	if len(without) == 0 {
		return nil
	}
	var page struct {
		Runs []api.Run `json:"runs"`
	}
	if err := c.Get(ctx, "/api/runs", query, &page); err != nil {
		return err
	}
	for _, run := range page.Runs {
		one := without[run.ID]
		if one == nil || !run.Final {
			continue
		}
		one.Over = true
		switch run.State { //nolint:exhaustive // the others have an answer
		case pluginsdk.RunMerged:
			one.Mark = "answered together with another"
		case pluginsdk.RunCancelled:
			one.Mark, one.Retry = "not answered: it was stopped", true
		case pluginsdk.RunFailed:
			one.Mark, one.Retry = "not answered: it failed", true
		}
	}
	return nil
}

// busyModes are what can be done with a message that comes while the agent works, in the
// words of people.
var busyModes = []struct {
	Mode        pluginsdk.BusyMode
	Name, Short string
	Does        string
}{
	{pluginsdk.BusyQueue, "Answer next", "answered next", "The agent finishes what it does, then answers each message in turn."},
	{pluginsdk.BusySteer, "Tell the agent at once", "told to the agent at once", "The message goes into the work under way, so that the agent can change course."},
	{pluginsdk.BusyCollect, "Collect, and answer together", "collected", "All that you say while the agent works is answered together, once it is done."},
	{pluginsdk.BusyInterrupt, "Interrupt the agent", "interrupting", "The agent stops what it does and answers the new message."},
}

// busyName says in short what becomes of a message in a busy mode.
func busyName(mode pluginsdk.BusyMode) string {
	for _, one := range busyModes {
		if one.Mode == mode {
			return one.Short
		}
	}
	return busyModes[0].Short
}
