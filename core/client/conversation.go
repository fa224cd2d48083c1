package client

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Notice is one thing that a Conversation has to tell: one of its fields is
// set.
type Notice struct {
	Event *pluginsdk.Event // something happened in the thread
	// Lost says that the connection is gone: events are missed from here on. It is tried
	// again, unless Lost is a *Problem, with which the daemon has refused to tell any more.
	Lost  error
	Back  bool    // it stands again
	Final *Ending // a tracked run has ended, as the database has it

	over error // the subscription has been refused
}

// Conversation follows one thread: it says things in it and tells what becomes
// of them. Events inform; whether a run has ended, and with what, is read from
// the database through the API, also when events are missed.
type Conversation struct {
	// Unattended is of what is said from here on: what the agent would ask people is denied
	// at once. It is set before anything is said.
	Unattended bool

	client   *Client
	threadID string
	patience time.Duration

	notices chan Notice
	watched chan Notice
	wake    chan struct{}
	tried   chan struct{} // closed once a connection stands or could not be had
	cancel  context.CancelFunc
	work    sync.WaitGroup

	mu   sync.Mutex
	open map[string]awaited // runs that are tracked, by id

	// Of the goroutine that follows.
	down      bool
	stood     bool
	attempted bool
	awaySince time.Time // zero while the daemon can be reached
}

// awaited is a run whose ending is asked for.
type awaited struct {
	pluginsdk.Accepted
	by string // the run that answers it, as far as is known: itself, or the one it was merged into
}

// Converse begins to follow a thread. Patience is how long a daemon that
// cannot be reached is waited for, 0 for ever. Close ends it.
func (c *Client) Converse(threadID string, patience time.Duration) *Conversation {
	ctx, cancel := context.WithCancel(context.Background())
	v := &Conversation{
		client: c, threadID: threadID, patience: patience,
		notices: make(chan Notice), watched: make(chan Notice),
		wake: make(chan struct{}, 1), tried: make(chan struct{}), cancel: cancel,
		open: make(map[string]awaited),
	}
	v.work.Go(func() { v.watch(ctx) })
	v.work.Go(func() { v.follow(ctx) })
	return v
}

// Close stops following and waits until nothing of it is left. Runs go on.
func (v *Conversation) Close() {
	v.cancel()
	v.work.Wait()
}

// Notices is where the conversation tells what happens, in order. It is never
// closed; it waits for its reader.
func (v *Conversation) Notices() <-chan Notice { return v.notices }

// Tried waits until the events arrive, or it is known that they do not.
func (v *Conversation) Tried(ctx context.Context) error {
	select {
	case <-v.tried:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Say hands in a message of the terminal's. A daemon that is away for the
// moment is tried again, with the same key, as long as patience lasts.
func (v *Conversation) Say(ctx context.Context, content string, files ...FileRef) (pluginsdk.Accepted, error) {
	request := ChatRequest{
		ThreadID: v.threadID, Content: content, Source: "cli", IdempotencyKey: uuid.NewString(), Unattended: v.Unattended, Attachments: files,
	}
	return v.client.insist(ctx, v.patience, func() (pluginsdk.Accepted, error) { return v.client.Chat(ctx, request) })
}

// insist makes a request that is safe to repeat until the daemon has answered
// it, or patience is over; 0 waits for ever.
func (c *Client) insist(ctx context.Context, patience time.Duration, request func() (pluginsdk.Accepted, error)) (pluginsdk.Accepted, error) {
	return repeat(ctx, c, patience, Passing, request)
}

// repeat makes a request as long as its error is a passing one, until patience is over; 0 is
// for ever.
func repeat[T any](ctx context.Context, c *Client, patience time.Duration, passing func(error) bool, request func() (T, error)) (T, error) {
	began, pause := time.Now(), c.firstPause
	for {
		answer, err := request()
		if err == nil || !passing(err) || (patience > 0 && time.Since(began) > patience) {
			return answer, err
		}
		if err := rest(ctx, pause); err != nil {
			return answer, err
		}
		pause = min(2*pause, c.longestPause)
	}
}

// Track asks for a Final notice of a run.
func (v *Conversation) Track(run pluginsdk.Accepted) {
	v.mu.Lock()
	v.open[run.RunID] = awaited{Accepted: run, by: run.RunID}
	v.mu.Unlock()
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// watch turns what the subscription tells into notices.
func (v *Conversation) watch(ctx context.Context) {
	tell := func(notice Notice) {
		select {
		case v.watched <- notice:
		case <-ctx.Done():
		}
	}
	err := v.client.Watch(ctx, Subscription{
		Threads: []string{v.threadID},
		Event:   func(event pluginsdk.Event) { tell(Notice{Event: &event}) },
		Up:      func() { tell(Notice{Back: true}) },
		Down:    func(err error) { tell(Notice{Lost: err}) },
	})
	tell(Notice{over: err})
}

// tell hands a notice to the reader, and reports whether it was taken.
func (v *Conversation) tell(ctx context.Context, notice Notice) bool {
	select {
	case v.notices <- notice:
		return true
	case <-ctx.Done():
		return false
	}
}

// follow is the loop that tells; settle its logic.
func (v *Conversation) follow(ctx context.Context) {
	for ctx.Err() == nil {
		timer := time.NewTimer(v.interval())
		select {
		case <-ctx.Done():
		case notice := <-v.watched:
			v.heed(ctx, notice)
		case <-v.wake:
			v.settle(ctx, "")
		case <-timer.C:
			v.settle(ctx, "")
		}
		timer.Stop()
	}
}

// interval is when the runs are read again if nothing happens.
func (v *Conversation) interval() time.Duration {
	if v.down {
		return v.client.poll
	}
	return v.client.slowPoll
}

// heed passes on what the subscription told, and reads the runs that it may
// concern.
func (v *Conversation) heed(ctx context.Context, notice Notice) {
	if !v.attempted {
		v.attempted = true
		close(v.tried)
	}
	switch {
	case notice.Event != nil:
		v.tell(ctx, notice)
		v.settleAfter(ctx, *notice.Event)
	case notice.Back:
		if v.stood && v.down {
			v.tell(ctx, notice)
		}
		v.down, v.stood = false, true
		v.settle(ctx, "")
	case notice.Lost != nil:
		if v.stood && !v.down {
			v.tell(ctx, notice)
		}
		v.down = true
		v.settle(ctx, "")
	default: // the subscription was refused: without events the runs are still read
		v.tell(ctx, Notice{Lost: notice.over})
		v.down = true
		v.settle(ctx, "")
	}
}

// settleAfter reads the runs that an event says have ended, or are answered by
// another.
func (v *Conversation) settleAfter(ctx context.Context, event pluginsdk.Event) {
	switch event.Type { //nolint:exhaustive // the others end nothing
	case pluginsdk.EventPipelineComplete, pluginsdk.EventPipelineError, pluginsdk.EventPipelineMerged:
		v.settle(ctx, RunOf(event))
	case pluginsdk.EventResync:
		v.settle(ctx, "")
	}
}

// settle reads the tracked runs that a run answers, or all of them, and tells
// about those that have ended.
func (v *Conversation) settle(ctx context.Context, only string) {
	for _, run := range v.tracked() {
		if only != "" && run.RunID != only && run.by != only {
			continue
		}
		ending, by, err := v.client.ending(ctx, run.Accepted)
		if ctx.Err() != nil {
			return
		}
		if err != nil && Passing(err) {
			v.away(ctx, err)
			return
		}
		v.awaySince = time.Time{}
		if err != nil {
			ending = &Ending{Accepted: run.Accepted, Err: err}
		}
		if ending == nil {
			v.answeredBy(run.RunID, by)
			continue
		}
		v.forget(run.RunID)
		v.tell(ctx, Notice{Final: ending})
	}
}

// away counts how long the daemon has been away, and gives up in the end.
func (v *Conversation) away(ctx context.Context, err error) {
	now := time.Now()
	if v.awaySince.IsZero() {
		v.awaySince = now
	}
	if v.patience == 0 || now.Sub(v.awaySince) < v.patience {
		return
	}
	for _, run := range v.tracked() {
		v.forget(run.RunID)
		v.tell(ctx, Notice{Final: &Ending{Accepted: run.Accepted, Err: err}})
	}
}

func (v *Conversation) tracked() []awaited {
	v.mu.Lock()
	defer v.mu.Unlock()
	runs := make([]awaited, 0, len(v.open))
	for _, run := range v.open {
		runs = append(runs, run)
	}
	return runs
}

// answeredBy keeps who answers a tracked run, so that the end of that one is
// known to be the end of this one.
func (v *Conversation) answeredBy(runID, by string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if run, ok := v.open[runID]; ok {
		run.by = by
		v.open[runID] = run
	}
}

func (v *Conversation) forget(runID string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.open, runID)
}
