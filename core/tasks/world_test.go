package tasks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// world is one installation: its database, its plugins, and the daemons that follow
// one another.
type world struct {
	t       complains
	store   *store.Store
	parent  pluginsdk.Thread
	plugins []*reviewer
	config  Config
	tokens  hooks.Tokens
	fault   func(step string) bool // whether the daemon dies there

	boot *boot

	mu     sync.Mutex
	events []string // kind and status
	told   chan struct{}
}

// complains is a test, or one of the runs of a property.
type complains interface {
	Helper()
	Error(...any)
	Errorf(string, ...any)
	Fatal(...any)
	Fatalf(string, ...any)
}

// reviewer is a plugin that answers some of the task hooks. What it does not declare it
// is not asked.
type reviewer struct {
	hooks.Process
	world *world
	info  pluginsdk.PluginInfo

	mu        sync.Mutex
	away      bool // it does not serve
	off       bool // an operator has disabled it
	calls     []string
	create    func(ctx context.Context, r *pluginsdk.OnTaskCreateRequest) (*pluginsdk.OnTaskCreateResponse, error)
	complete  func(ctx context.Context, r *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error)
	validated func(ctx context.Context, r *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error)
	failed    func(ctx context.Context, r *pluginsdk.OnTaskFailedRequest) (*pluginsdk.OnTaskFailedResponse, error)
}

func (p *reviewer) Info() *pluginsdk.PluginInfo { return &p.info }

func (p *reviewer) Do(_ context.Context, _ pluginsdk.Hook, callID string, fn func(hooks.Process) error) error {
	p.mu.Lock()
	away := p.away
	if !away {
		p.calls = append(p.calls, callID)
	}
	p.mu.Unlock()
	if away {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the plugin %s is starting", p.info.Name)
	}
	defer p.set(func() {}) // what the hook has written may be read once it is stored
	return fn(p)
}

func (p *reviewer) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *reviewer) called() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

func (p *reviewer) declares(hook pluginsdk.Hook) bool {
	switch hook { //nolint:exhaustive // it answers the hooks of tasks
	case pluginsdk.HookTaskCreate:
		return p.create != nil
	case pluginsdk.HookTaskComplete:
		return p.complete != nil
	case pluginsdk.HookTaskValidated:
		return p.validated != nil
	case pluginsdk.HookTaskFailed:
		return p.failed != nil
	}
	return false
}

func (p *reviewer) OnTaskCreate(ctx context.Context, r *pluginsdk.OnTaskCreateRequest) (*pluginsdk.OnTaskCreateResponse, error) {
	return p.create(ctx, r)
}

func (p *reviewer) OnTaskComplete(ctx context.Context, r *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
	return p.complete(ctx, r)
}

func (p *reviewer) OnTaskValidated(ctx context.Context, r *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
	return p.validated(ctx, r)
}

func (p *reviewer) OnTaskFailed(ctx context.Context, r *pluginsdk.OnTaskFailedRequest) (*pluginsdk.OnTaskFailedResponse, error) {
	return p.failed(ctx, r)
}

// newWorld has a parent's thread whose replies somebody carries.
func newWorld(t testing.TB, s *store.Store, plugins ...*reviewer) *world {
	t.Helper()
	w := &world{t: t, store: s, plugins: plugins, told: make(chan struct{})}
	w.config = Config{
		MaxAttempts: 3, RetryBase: time.Microsecond, RetryMax: time.Microsecond, Look: time.Microsecond,
		Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
	}
	for i, p := range plugins {
		p.world = w
		if p.info.Name == "" {
			p.info.Name = fmt.Sprint("plugin-", i)
		}
	}
	s.SetCarrier(func(source string) (string, bool) { return "chat", source == "chat" })
	thread, _, err := s.CreateThread(context.Background(), pluginsdk.NewThread{Source: "chat", SourceID: uuid.NewString()})
	if err != nil {
		t.Fatal(err)
	}
	w.parent = thread
	w.begin()
	t.Cleanup(func() { w.kill() })
	return w
}

// Answering makes the world its plugins.
func (w *world) Answering(_ string, hook pluginsdk.Hook) (answering []hooks.Plugin) {
	for _, p := range w.plugins {
		p.mu.Lock()
		if !p.off && p.declares(hook) {
			answering = append(answering, p)
		}
		p.mu.Unlock()
	}
	return answering
}

// Publish makes the world its event bus.
func (w *world) Publish(kind pluginsdk.EventType, _ string, payload any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if of, ok := payload.(pluginsdk.TaskPayload); ok {
		w.events = append(w.events, fmt.Sprintf("%s %s", kind, of.Status))
	}
	close(w.told)
	w.told = make(chan struct{})
}

func (w *world) heard() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.events)
}

// boot is one daemon. When it is dead nothing of it goes on.
type boot struct {
	*store.Store
	world *world
	room  *Room
	dead  chan struct{}
	die   func()

	mu      sync.Mutex
	lanes   []string
	stored  []string // messages of moves that the inbox was told of
	stopped []string // runs and threads
	budget  int      // calls of the store before it dies; 0: it lives
	losing  bool     // the lock on the database is lost
}

// begin starts a daemon on what its predecessor left.
func (w *world) begin() {
	w.t.Helper()
	b := &boot{Store: w.store, world: w, dead: make(chan struct{})}
	b.die = sync.OnceFunc(func() { close(b.dead) })
	asked := hooks.New(hooks.Config{}, w, w.tokens)
	config := w.config
	if w.fault != nil {
		config.Fault = func(step, _ string) {
			if w.fault(step) {
				b.die()
				runtime.Goexit()
			}
		}
	}
	b.room = New(config, Doors{Store: b, Inbox: b, Outbox: b, Plugins: w, Hooks: asked, Events: w})
	w.boot = b
	if err := b.room.Start(context.Background()); err != nil {
		w.t.Fatal(err)
	}
}

// kill ends the daemon as it is.
func (w *world) kill() {
	w.boot.die()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := w.boot.room.Stop(ended); err != nil {
		w.t.Error(err)
	}
}

// step is before and after each thing that a daemon does.
func (b *boot) step() {
	b.mu.Lock()
	if b.budget > 0 {
		if b.budget--; b.budget == 0 {
			b.die()
		}
	}
	b.mu.Unlock()
	select {
	case <-b.dead:
		runtime.Goexit()
	default:
	}
}

func (b *boot) MoveTask(ctx context.Context, move ledger.TaskMove) (ledger.TaskMoved, error) {
	b.step()
	b.mu.Lock()
	losing := b.losing
	b.mu.Unlock()
	if losing {
		return ledger.TaskMoved{}, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the lock is lost")
	}
	moved, err := b.Store.MoveTask(ctx, move)
	b.step()
	return moved, err
}

func (b *boot) TaskState(ctx context.Context, id string) (ledger.Task, error) {
	b.step()
	return b.Store.TaskState(ctx, id)
}

func (b *boot) CreateTask(ctx context.Context, n ledger.NewTask) (pluginsdk.Task, bool, error) {
	b.step()
	made, isNew, err := b.Store.CreateTask(ctx, n)
	b.step()
	return made, isNew, err
}

// Iterate makes the boot its inbox: runs wait until the test has them answered.
func (b *boot) Iterate(ctx context.Context, plugin string, submission pluginsdk.Submission, move ledger.TaskMove) (pluginsdk.Accepted, error) {
	b.step()
	id := uuid.Must(uuid.NewV7()).String()
	move.To.RunID = id
	accepted, err := b.Accept(ctx, ledger.Acceptance{RunID: id, Plugin: plugin, Kind: pluginsdk.RunMessage, Submission: submission, Task: &move})
	b.step()
	return accepted.Accepted, err
}

func (b *boot) HoldBack(string) func() { return func() {} }

func (b *boot) Stored(_ context.Context, _ ledger.Accepted, submission pluginsdk.Submission) {
	b.step()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stored = append(b.stored, submission.Content)
}

func (b *boot) Cancel(ctx context.Context, runID string, by ledger.By) (pluginsdk.Run, error) {
	b.step()
	b.mu.Lock()
	b.stopped = append(b.stopped, by.Author)
	b.mu.Unlock()
	run, _, err := b.CancelQueued(ctx, runID, "stopped")
	return run, err
}

func (b *boot) StopThread(ctx context.Context, threadID string, _ pluginsdk.Queue, _ ledger.By) (pluginsdk.Stopped, error) {
	b.step()
	ids, err := b.CancelAllQueued(ctx, threadID, "stopped")
	return pluginsdk.Stopped{Dropped: ids}, err
}

// Wake makes the boot its outbox.
func (b *boot) Wake(plugin, target string) {
	b.step()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lanes = append(b.lanes, plugin+":"+target)
}

// told is which lanes of the outbox and which messages the room has told others of.
func (b *boot) told() (lanes, stored []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.lanes), slices.Clone(b.stored)
}

var errKilled = errors.New("the daemon was killed")

// ask makes a request of the daemon; errKilled: it has died over it, and nothing of it
// goes on.
func (w *world) ask(do func(ctx context.Context, room *Room) error) error {
	room, answer := w.boot.room, make(chan error, 1)
	go func() {
		err := errKilled
		defer func() { answer <- err }()
		err = do(context.Background(), room)
	}()
	return <-answer
}

// must makes a request, in as many daemons as it takes: who asks repeats it.
func (w *world) must(do func(ctx context.Context, room *Room) error) {
	w.t.Helper()
	for {
		err := w.ask(do)
		if err == nil {
			return
		}
		if !errors.Is(err, errKilled) {
			w.t.Fatal(err)
		}
		w.revive()
	}
}

// revive starts another daemon if the last one has died.
func (w *world) revive() {
	select {
	case <-w.boot.dead:
		w.kill()
		w.begin()
	default:
	}
}

func (w *world) create(n pluginsdk.NewTask) string {
	w.t.Helper()
	if n.Prompt == "" {
		n.Prompt = "build it"
	}
	n.ParentThreadID = w.parent.ID
	var id string
	key := uuid.NewString()
	w.must(func(ctx context.Context, room *Room) error {
		made, _, err := room.Create(ctx, ledger.NewTask{NewTask: n, Plugin: "maker", Key: key})
		id = made.ID
		return err
	})
	return id
}

func (w *world) state(id string) ledger.Task {
	w.t.Helper()
	task, err := w.store.TaskState(context.Background(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return task
}

// until waits for a condition, which may come about with an event or the end of a
// daemon, which another one follows.
func (w *world) until(what string, holds func() bool) {
	w.t.Helper()
	patience := time.After(20 * time.Second)
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !holds() {
		w.mu.Lock()
		told := w.told
		w.mu.Unlock()
		select {
		case <-told:
		case <-look.C:
		case <-w.boot.dead:
			w.revive()
		case <-patience:
			w.t.Fatalf("%s did not come about", what)
		}
	}
}

// settled waits until the core has nothing to do for a task.
func (w *world) settled(id string) ledger.Task {
	w.t.Helper()
	w.until("an end of what is done for the task", func() bool { return w.state(id).Phase == ledger.PhaseIdle && w.boot.quiet(id) })
	return w.state(id)
}

// quiet says that the room does nothing for a task any more: who is to hear of the last
// move was told, and what was told may be read.
func (b *boot) quiet(id string) bool { return !b.room.lanes.Has(id) }

// iterate has the next iteration made and answered.
func (w *world) iterate(id string) {
	w.t.Helper()
	w.iterated(id)
	w.answer(id, "DONE")
}

func (w *world) iterated(id string) {
	w.t.Helper()
	next := w.state(id).CurrentIteration + 1
	w.must(func(ctx context.Context, room *Room) error {
		_, _, err := room.Iterate(ctx, pluginsdk.IterateTaskRequest{ID: id, Iteration: next, Content: fmt.Sprint("go ", next)})
		return err
	})
}

// answer is the agent's to the run of an iteration.
func (w *world) answer(id, text string) {
	w.t.Helper()
	ctx, task := context.Background(), w.state(id)
	claim, err := w.store.Claim(ctx, task.ThreadID, "agent")
	if err != nil || !claim.Found || claim.Run.ID != task.RunID {
		w.t.Fatalf("claimed %v %s for %s, %v", claim.Found, claim.Run.ID, task.RunID, err)
	}
	if err := w.store.SaveResult(ctx, claim.Fence, ledger.ResultCommit{
		RunID: claim.Run.ID, Step: pluginsdk.StepInvoked, Result: pluginsdk.InvokeResult{Text: text, CostUSD: 0.25},
		AgentRun: ledger.AgentRun{TaskID: claim.TaskID, Purpose: "pipeline", CostUSD: 0.25},
	}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.store.Finish(ctx, claim.Fence, ledger.Finish{RunID: claim.Run.ID, State: pluginsdk.RunSucceeded}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) evaluate(id string) {
	w.t.Helper()
	iteration := w.state(id).CurrentIteration
	w.must(func(ctx context.Context, room *Room) error {
		_, err := room.Evaluate(ctx, pluginsdk.EvaluateTaskRequest{ID: id, Iteration: iteration, Result: "built"})
		return err
	})
}

// worked is a task whose first iteration was evaluated, and what became of that.
func (w *world) worked(n pluginsdk.NewTask) ledger.Task {
	w.t.Helper()
	id := w.create(n)
	w.settled(id)
	w.iterate(id)
	w.evaluate(id)
	return w.settled(id)
}

// said is what the parent's thread was told, and by whom.
func (w *world) said() (notices, wakes []string) {
	w.t.Helper()
	rows, _, err := w.store.MessagePage(context.Background(), pluginsdk.MessageQuery{ThreadID: w.parent.ID, Limit: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, row := range rows {
		if row.Kind == pluginsdk.MessageNotification {
			notices = append(notices, row.Content)
		} else {
			wakes = append(wakes, row.Content)
		}
	}
	return notices, wakes
}

// Answers of a plugin.
func says(verdict pluginsdk.Verdict) func(context.Context, *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
	return func(_ context.Context, r *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
		return &pluginsdk.OnTaskCompleteResponse{
			Verdict: verdict, Feedback: "because", Evidence: []pluginsdk.Evidence{{Kind: "command", Command: "make", Tree: fmt.Sprint("tree ", r.Task.CurrentIteration)}},
		}, nil
	}
}
