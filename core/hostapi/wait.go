package hostapi

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// lookAgain is how often a run is looked at that is waited for, in case that its end
// was announced to nobody: another daemon had it for a while.
const lookAgain = 15 * time.Second

// ends are those who wait for runs to end. They hear of it from the event bus, which is
// listened to only while somebody waits: who waits costs a run nothing.
type ends struct {
	mu      sync.Mutex
	waiting map[string][]chan struct{} // by run; of capacity 1
	stop    func() pluginsdk.Position  // ends the subscription; nil: there is none
}

// wait returns the run once it is over.
func (a *API) wait(ctx context.Context, id string) (pluginsdk.Run, error) {
	run, err := a.Store.Run(ctx, id)
	if err != nil || run.State.Final() {
		return run, err
	}
	told, leave := a.ends.enter(a.Events, id)
	defer leave()
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		// After enter: an end that came before it is seen here.
		if run, err = a.Store.Run(ctx, id); err != nil || run.State.Final() {
			return run, err
		}
		select {
		case <-told:
		case <-ticker.C:
		case <-ctx.Done():
			return run, pluginsdk.Errorf(codeOfEnd(ctx), "the run %s is not over: %w", id, context.Cause(ctx))
		}
	}
}

// codeOfEnd says how a call has ended whose context has.
func codeOfEnd(ctx context.Context) pluginsdk.Code {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return pluginsdk.CodeDeadline
	}
	return pluginsdk.CodeCancelled
}

// enter makes the channel be told when the run may be over, until leave.
func (e *ends) enter(events Events, id string) (told chan struct{}, leave func()) {
	told = make(chan struct{}, 1)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.waiting == nil {
		e.waiting = make(map[string][]chan struct{})
	}
	e.waiting[id] = append(e.waiting[id], told)
	if e.stop == nil {
		e.stop = events.Subscribe("who waits for runs", []string{
			string(pluginsdk.EventPipelineComplete), string(pluginsdk.EventPipelineError), string(pluginsdk.EventPipelineMerged),
		}, pluginsdk.Position{}, e.hear)
	}
	return told, func() { e.leave(id, told) }
}

func (e *ends) leave(id string, told chan struct{}) {
	e.mu.Lock()
	left := slices.DeleteFunc(e.waiting[id], func(one chan struct{}) bool { return one == told })
	if e.waiting[id] = left; len(left) == 0 {
		delete(e.waiting, id)
	}
	var stop func() pluginsdk.Position
	if len(e.waiting) == 0 {
		stop, e.stop = e.stop, nil
	}
	e.mu.Unlock()
	if stop != nil {
		stop() // which waits for hear
	}
}

// hear tells those who wait for a run that it may be over; after events that were
// missed, everybody.
func (e *ends) hear(_ context.Context, events []pluginsdk.Event) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, event := range events {
		if event.Type == pluginsdk.EventResync {
			for _, all := range e.waiting {
				tell(all)
			}
			continue
		}
		var of struct {
			RunID string `json:"runId"`
		}
		if json.Unmarshal(event.Data, &of) == nil {
			tell(e.waiting[of.RunID])
		}
	}
	return nil
}

func tell(waiting []chan struct{}) {
	for _, one := range waiting {
		select {
		case one <- struct{}{}:
		default:
		}
	}
}
