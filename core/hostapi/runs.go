package hostapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What stops and repeats runs takes no turn at the writer: a person's word must not
// wait behind what plugins store.
type runs struct{ *caller }

func (s runs) Get(ctx context.Context, request *pluginsdk.GetRunRequest) (*pluginsdk.GetRunResponse, error) {
	return serve(s.caller, "Runs.Get", func() (*pluginsdk.GetRunResponse, error) {
		run, err := s.Store.Run(ctx, request.ID)
		return &pluginsdk.GetRunResponse{Run: run}, err
	})
}

func (s runs) List(ctx context.Context, request *pluginsdk.ListRunsRequest) (*pluginsdk.ListRunsResponse, error) {
	return serve(s.caller, "Runs.List", func() (*pluginsdk.ListRunsResponse, error) {
		rows, err := s.Store.Runs(ctx, request.Query)
		return &pluginsdk.ListRunsResponse{Runs: page(rows, false, sizeOf)}, err
	})
}

func (s runs) Wait(ctx context.Context, request *pluginsdk.WaitRunRequest) (*pluginsdk.WaitRunResponse, error) {
	return serve(s.caller, "Runs.Wait", func() (*pluginsdk.WaitRunResponse, error) {
		run, err := s.wait(ctx, request.ID)
		return &pluginsdk.WaitRunResponse{Run: run}, err
	})
}

func (s runs) Cancel(ctx context.Context, request *pluginsdk.CancelRunRequest) (*pluginsdk.CancelRunResponse, error) {
	return serve(s.caller, "Runs.Cancel", func() (*pluginsdk.CancelRunResponse, error) {
		by, err := s.label(ctx, request.Author)
		if err != nil {
			return nil, err
		}
		run, err := s.Inbox.Cancel(ctx, request.ID, by)
		return &pluginsdk.CancelRunResponse{Run: run}, err
	})
}

func (s runs) Retry(ctx context.Context, request *pluginsdk.RetryRunRequest) (*pluginsdk.RetryRunResponse, error) {
	return serve(s.caller, "Runs.Retry", func() (*pluginsdk.RetryRunResponse, error) {
		by, err := s.label(ctx, request.Author)
		if err != nil {
			return nil, err
		}
		in, err := s.granted(ctx, s.plugin)
		if err != nil {
			return nil, err
		}
		by.Scope = cmp.Or(by.Scope, request.Scope)
		by.RunID, by.TaskID = in.origin.Cause(), in.origin.TaskID // also of a command that a person has typed
		accepted, err := s.Inbox.Retry(ctx, request.ID, by)
		return &pluginsdk.RetryRunResponse{Accepted: accepted}, err
	})
}

func (s runs) Stop(ctx context.Context, request *pluginsdk.StopThreadRequest) (*pluginsdk.StopThreadResponse, error) {
	return serve(s.caller, "Runs.Stop", func() (*pluginsdk.StopThreadResponse, error) {
		if request.Queue != pluginsdk.KeepQueue && request.Queue != pluginsdk.DropQueue {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid,
				"queue: %q is not accepted; it is %s or %s", request.Queue, pluginsdk.KeepQueue, pluginsdk.DropQueue)
		}
		by, err := s.label(ctx, request.Author)
		if err != nil {
			return nil, err
		}
		stopped, err := s.Inbox.StopThread(ctx, request.ThreadID, request.Queue, by)
		return &pluginsdk.StopThreadResponse{Stopped: stopped}, err
	})
}

// Resume is a person's word, and may spend their money.
func (s runs) Resume(ctx context.Context, request *pluginsdk.ResumeRunRequest) (*pluginsdk.ResumeRunResponse, error) {
	return servePerson(ctx, s.caller, "Runs.Resume", func() (*pluginsdk.ResumeRunResponse, error) {
		if err := checkLengths(length{"model", len(request.Model), maxWord}, length{"author", len(request.Author), maxWord}); err != nil {
			return nil, err
		}
		by, err := s.label(ctx, request.Author)
		if err != nil {
			return nil, err
		}
		if by.Author == "" {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "author: name the person who has the parked run go on; a plugin does not decide that by itself")
		}
		by.Scope = cmp.Or(by.Scope, request.Scope)
		run, err := s.Inbox.ResumeRun(ctx, *request, by)
		return &pluginsdk.ResumeRunResponse{Run: run}, err
	})
}

type deliveries struct{ *caller }

func (s deliveries) List(ctx context.Context, request *pluginsdk.ListDeliveriesRequest) (*pluginsdk.ListDeliveriesResponse, error) {
	return serve(s.caller, "Deliveries.List", func() (*pluginsdk.ListDeliveriesResponse, error) {
		rows, err := s.Store.Deliveries(ctx, request.Query)
		return &pluginsdk.ListDeliveriesResponse{Deliveries: page(rows, false, sizeOf)}, err
	})
}

func (s deliveries) Retry(ctx context.Context, request *pluginsdk.RetryDeliveryRequest) (*pluginsdk.RetryDeliveryResponse, error) {
	return serve(s.caller, "Deliveries.Retry", func() (*pluginsdk.RetryDeliveryResponse, error) {
		var response pluginsdk.RetryDeliveryResponse
		err := s.write(ctx, 1, 0, func() (err error) {
			response.Delivery, err = s.Outbox.Retry(ctx, request.ID)
			return err
		})
		return &response, err
	})
}

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
