// Package inbox holds the durable runs: it accepts messages, orders runs by thread,
// dispatches, retries and recovers them. Only it decides which run executes when.
//
// It promises: Submit returns only after one transaction has stored the message and its
// run. From then on the run is executed: at most one run of a thread at a time, in the
// order of acceptance; different threads in parallel, up to Config.Slots. Runs beside their
// thread are in no thread's queue. When the daemon
// dies during a run, the next Start finds the run, which goes on from the last step that
// was stored.
package inbox

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-706843ae/harness/core/lanes"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// ErrStopping is the cause with which running turns are cancelled when the
// daemon stops. Their runs go back to the queue.
var ErrStopping = pluginsdk.Errorf(pluginsdk.CodeUnavailable, "harness is stopping")

// ErrSuperseded is the cause with which a turn is cancelled when a newer
// message of its thread interrupts it.
var ErrSuperseded = pluginsdk.Errorf(pluginsdk.CodeCancelled, "interrupted by a newer message")

// Store is what the inbox needs of the database.
type Store interface {
	Primary(ctx context.Context) (pluginsdk.Thread, error)
	Thread(ctx context.Context, id string) (pluginsdk.Thread, error)
	ResetSession(ctx context.Context, threadID string) error
	Known(ctx context.Context, source, key string) (bool, error)
	Accept(ctx context.Context, acceptance ledger.Acceptance) (ledger.Accepted, error)
	// Amend changes what a message says whose run has not begun (CodeStale: it has).
	Amend(ctx context.Context, amendment ledger.Amendment) (message pluginsdk.Message, changed bool, err error)
	AcceptTurn(ctx context.Context, turn ledger.NewTurn) (ledger.AcceptedTurn, error)
	Claim(ctx context.Context, threadID, owner string) (ledger.Claim, error)
	ClaimUncaused(ctx context.Context, threadID, owner string) (ledger.Claim, error)
	ClaimBeside(ctx context.Context, queue ledger.Queue, owner string) (ledger.Claim, error)
	Unclaim(ctx context.Context, threadID, owner string) error
	UnclaimBeside(ctx context.Context, queue ledger.Queue, owner string) error
	Lever(ctx context.Context, name string) (ledger.Lever, error)
	ExpireQueued(ctx context.Context, runID, reason string) (expired bool, err error)
	Recover(ctx context.Context, owner string) (open []ledger.Queue, err error)
	// Park has a run wait for people. Parked is false when they have answered meanwhile,
	// and the run is back in its queue.
	Park(ctx context.Context, fence ledger.Fence, runID string) (parked bool, err error)
	// ParkRun has a run wait for a window of its account's plan.
	ParkRun(ctx context.Context, fence ledger.Fence, parked ledger.ParkedRun) ([]ledger.Lane, error)
	ResumeRun(ctx context.Context, resume ledger.ResumedRun) (pluginsdk.Run, ledger.Queue, error)
	// CountParked returns how many runs are parked.
	CountParked(ctx context.Context) (int, error)
	// HastenParked has runs that are parked for a plan, and due after later, go on when due says.
	HastenParked(ctx context.Context, later time.Time, due func(parked pluginsdk.Parked, people bool) time.Time) ([]ledger.Queue, error)
	// HastenGate has the runs that wait for the gate of a plugin (empty: of any), and are due after later, go on then.
	HastenGate(ctx context.Context, plugin string, later, at time.Time) ([]ledger.Queue, error)
	// HastenRuns has those of the runs go on then that wait for a gate and are due later.
	HastenRuns(ctx context.Context, ids []string, at time.Time) ([]ledger.Queue, error)
	// WaitingAtGates returns the runs that wait for a gate, those first that are due first, at most 1,000.
	WaitingAtGates(ctx context.Context) ([]ledger.AtGate, error)
	Accounts(ctx context.Context) ([]ledger.Account, error)
	EndAttempt(ctx context.Context, fence ledger.Fence, end ledger.AttemptEnd) error
	Release(ctx context.Context, fence ledger.Fence, runID string) error
	Run(ctx context.Context, id string) (pluginsdk.Run, error)
	// RunOptions returns the options of a message's run; nil: it has none.
	RunOptions(ctx context.Context, run pluginsdk.Run) (*pluginsdk.RunOptions, error)
	Runs(ctx context.Context, query pluginsdk.RunQuery) ([]pluginsdk.Run, error)
	Message(ctx context.Context, id int64) (pluginsdk.Message, error)
	FirstQueued(ctx context.Context, threadID string, state pluginsdk.RunState) (pluginsdk.Run, error)
	LastUnanswered(ctx context.Context, threadID string) (pluginsdk.Run, error)
	CancelQueued(ctx context.Context, runID, reason string) (pluginsdk.Run, bool, error)
	CancelAllQueued(ctx context.Context, threadID, reason string) (ids []string, err error)
	Waiting(ctx context.Context, threadID string) (int, error)
}

// Pipeline works on claimed runs.
type Pipeline interface {
	// Handle takes one run through the pipeline. Nil means that the run is over. After an
	// error the run is open: CodeUnavailable is worth another attempt, CodeStale means
	// that another attempt has the run, with any other code an attempt is hopeless. ctx
	// ends when a person stops the run or the daemon stops, work only when the daemon
	// stops.
	Handle(work, ctx context.Context, claim ledger.Claim) (left ledger.Left, err error)
	// Fail ends a run that will not be attempted again, and answers the person: as
	// cancelled when the cause is CodeCancelled, else as failed. left is what Handle
	// returned.
	Fail(ctx context.Context, claim ledger.Claim, cause error, left ledger.Left) error
	// Steer adds the messages that wait in the thread of an executing run to its turn, if
	// that is still possible.
	Steer(ctx context.Context, runID string)
}

// Registry knows the commands that plugins answer.
type Registry interface {
	Commands() []Command
}

// Command is a command of a plugin.
type Command struct {
	Plugin string
	Spec   pluginsdk.CommandSpec
}

// Outbox carries the stored deliveries.
type Outbox interface {
	// Wake says that the plugin has something new to carry to the target.
	Wake(plugin, target string)
}

// Events publishes the inbox's events.
type Events interface {
	Publish(kind pluginsdk.EventType, threadID string, payload any)
}

// Tasks knows the tasks, for /tasks.
type Tasks interface {
	// Command carries out what is typed behind /tasks in a thread, and returns the answer.
	Command(ctx context.Context, thread pluginsdk.Thread, by ledger.By, args string) (string, error)
	// Word returns the word of it on a task; empty: it only looks.
	Word(args string) string
}

// Approvals asks people what the agent may not do by itself.
type Approvals interface {
	// Over takes back what a run that is over has asked.
	Over(ctx context.Context, runID string) error
}

// Plan knows what is left of the plans of the agent's accounts.
type Plan interface {
	// ParkOf returns how a run is parked that waits for what parked says.
	ParkOf(parked pluginsdk.Parked, ask ledger.PlanAsk) pluginsdk.Parked
	// Told says for people that a run is parked, why, and when it goes on.
	Told(parked pluginsdk.Parked) string
	// Show says for people how much of the plans is used.
	Show() string
}

// Threads changes threads, for /thread and the commands that change one thing of them.
type Threads interface {
	// Command carries out what is typed behind /thread in a thread, and returns the answer;
	// deleted says that the thread is gone.
	Command(ctx context.Context, thread pluginsdk.Thread, by ledger.By, args string) (text string, deleted bool, err error)
	// Word returns the word of it that changes something; empty: it only looks.
	Word(args string) string
	// Verbs returns the words that can stand behind /thread.
	Verbs() []string
	Update(ctx context.Context, id string, patch pluginsdk.ThreadPatch) (pluginsdk.Thread, error)
}

// Config holds what an operator can set. Zero fields get defaults.
type Config struct {
	Owner       string        // the name under which runs are claimed: this daemon's boot
	Slots       int           // runs that execute at a time; default 5
	MaxAttempts int           // attempts of a run before it fails; default 5. Attempts that end with the daemon's death: twice as many, four times once the answer is stored
	MaxWaiting  int           // runs that may wait in one thread; default 1000
	MaxDepth    int           // longest chain of runs that cause one another; default 8
	RetryBase   time.Duration // wait before the second attempt; doubles; default 1 s
	RetryMax    time.Duration // longest wait between attempts; default 1 min
	Jitter      float64       // the part of a wait by which it is randomly shorter or longer; default 0.25
	// TurnPatience is how long a turn that a run asks for waits for its beginning;
	// default 30 s.
	TurnPatience time.Duration
	DrainGrace   time.Duration // how long Stop lets turns run on; default 10 s
	LeverEvery   time.Duration // how often the inbox reads whether an operator has paused plugins; default 1 s
	Sweep        time.Duration // how often the inbox looks for runs that no call has announced; default 15 s
	Log          *slog.Logger
	Now          func() time.Time
}

func (c Config) withDefaults() Config {
	setDefault(&c.Slots, 5)
	setDefault(&c.MaxAttempts, 5)
	setDefault(&c.MaxWaiting, 1000)
	setDefault(&c.MaxDepth, 8)
	setDefault(&c.RetryBase, time.Second)
	setDefault(&c.RetryMax, time.Minute)
	setDefault(&c.Jitter, 0.25)
	setDefault(&c.TurnPatience, turnPatience)
	setDefault(&c.DrainGrace, 10*time.Second)
	setDefault(&c.LeverEvery, leverEvery)
	setDefault(&c.Sweep, 15*time.Second)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Inbox accepts and dispatches runs.
type Inbox struct {
	config       Config
	store        Store
	pipeline     Pipeline
	registry     Registry
	outbox       Outbox
	events       Events
	tasks        Tasks
	approvals    Approvals
	threads      Threads
	plan         Plan
	figures      *figures
	lanes        *lanes.Set[ledger.Queue, worker] // of the queues with work
	places       *lanes.Places                    // for runs that execute: Config.Slots, in classes
	besidePlaces *lanes.Places                    // for commands beside their threads: commandPlaces
	primary      atomic.Pointer[string]           // id of the primary thread, once it was read
	kinds        sync.Map                         // by id: the kinds of the threads that were read

	// intake ends when no more runs may be claimed, work when those under way must end
	// too.
	intake, work context.Context

	// Nobody locks mu while holding the lock of lanes.
	mu         sync.Mutex
	quiet      bool                     // `harness pause` is on: what plugins start waits (ledger.LeverPause)
	running    map[string]running       // by run
	announcing map[string]chan struct{} // runs accepted and not yet announced
	unwanted   map[string]order         // by run: orders for runs that did not execute
	rechecks   uint64                   // how often plugins have said that there is room for what waits for their gates
	rechecked  map[string]recheck       // by plugin
	ends       uint64                   // how often a run has ended for which something was set aside
	gated      bool                     // a run may wait for a gate
	waiters    map[string]waiter        // by run: those that wait for turns at work
	unsure     map[ledger.Queue]bool    // queues whose last claim failed, and may have been made all the same
}

type running struct {
	id, threadID string
	kind         pluginsdk.RunKind
	worker       *worker
	beside       bool  // it is in no thread's queue
	newest       int64 // id of the newest message that it answers
	cancel       context.CancelCauseFunc
}

// order is an order to end a run for this cause. It does not hold for a run that
// meanwhile answers a message newer than newest: nobody wants that message stopped, and
// it would end with the run.
type order struct {
	cause  error
	newest int64 // id of the newest message that may end with the run
}

// Doors are the rooms that the inbox calls. All of them are needed.
type Doors struct {
	Store     Store
	Pipeline  Pipeline
	Registry  Registry
	Outbox    Outbox
	Events    Events
	Tasks     Tasks
	Approvals Approvals
	Threads   Threads
	Plan      Plan
}

// New returns an Inbox. Submit works at once; runs are executed from Start on.
func New(config Config, doors Doors) *Inbox {
	config = config.withDefaults()
	in := &Inbox{
		config: config, store: doors.Store, pipeline: doors.Pipeline, registry: doors.Registry, outbox: doors.Outbox, events: doors.Events, tasks: doors.Tasks, approvals: doors.Approvals, threads: doors.Threads, plan: doors.Plan,
		places: newPlaces(config.Slots), besidePlaces: lanes.NewPlaces(commandPlaces), figures: newFigures(),
		running: make(map[string]running), announcing: make(map[string]chan struct{}),
		unwanted: make(map[string]order), unsure: make(map[ledger.Queue]bool), rechecked: make(map[string]recheck), waiters: make(map[string]waiter),
	}
	in.lanes = lanes.New(lanes.Config[ledger.Queue, worker]{
		// After a panic it is unknown whether the worker's run is still claimed:
		// then the next claim puts it back first.
		Step: in.runOnce, What: "a worker of the inbox", Panicked: in.doubt,
		Log: func(queue ledger.Queue) *slog.Logger {
			return in.config.Log.With("thread", queue.ThreadID, "command", queue.Command, "turn", queue.TurnID)
		},
	})
	in.intake, in.work = in.lanes.Intake, in.lanes.Work
	return in
}

// Start finds the runs that an earlier daemon left open, and begins to dispatch.
func (in *Inbox) Start(ctx context.Context) error {
	if _, err := in.readLever(ctx); err != nil {
		return err
	}
	if err := in.findWaiters(ctx); err != nil { // they are tried again when they are due, within minutes
		in.config.Log.Warn("runs that wait for turns at work cannot be found", "err", err)
	}
	if err := in.dispatch(ctx); err != nil {
		return err
	}
	in.lanes.Sweep(lanes.Sweep{
		Every: in.config.Sweep, What: "the sweep of the inbox", Do: in.sweep,
		Failed: "open runs cannot be looked for; trying again", Log: in.config.Log,
	})
	in.lanes.Sweep(lanes.Sweep{
		Every: in.config.LeverEvery, What: "the look at what is paused", Do: in.obeyLever,
		Failed: "it cannot be read whether what plugins start is paused; trying again", Log: in.config.Log,
	})
	return nil
}

// Pause stops claiming and accepting until Resume: the daemon has lost its right to the
// database. Runs under way go on. Their writes hold only while no other daemon has taken
// their threads.
func (in *Inbox) Pause() { in.lanes.Pause() }

// Resume ends a Pause, and finds the runs that another daemon has left open meanwhile.
func (in *Inbox) Resume(ctx context.Context) error { return in.dispatch(ctx) }

func (in *Inbox) dispatch(ctx context.Context) error {
	open, err := in.store.Recover(ctx, in.config.Owner)
	if err != nil {
		return err
	}
	in.cancelUnwanted(ctx)
	in.lanes.Open(open...)
	if len(open) > 0 {
		in.config.Log.Debug("open runs found", "queues", len(open))
	}
	return nil
}

// sweep finds runs that no call has announced: another daemon that had this database for
// a moment left them, or an operator made them wait again.
func (in *Inbox) sweep() error {
	if in.lanes.Stage() != lanes.Started {
		return nil
	}
	open, err := in.store.Recover(in.intake, in.config.Owner)
	for _, queue := range open {
		in.lanes.Wake(queue)
	}
	return err
}

// Stop ends accepting and claiming, lets turns run for DrainGrace (or until ctx ends),
// then interrupts the rest, whose runs go back to the queue.
func (in *Inbox) Stop(ctx context.Context) error {
	in.lanes.Stop(ctx, in.config.DrainGrace, ErrStopping)
	return nil
}

// leverEvery is how often the inbox reads whether an operator has paused what plugins
// start.
const leverEvery = time.Second

// obeyLever reads what operators have paused. When the pause is over, it looks for the
// runs that were held back. It also makes up for what plugins have said too often (Recheck).
func (in *Inbox) obeyLever() error {
	resumed, err := in.readLever(in.intake)
	if err == nil && resumed {
		err = in.sweep()
	}
	return errors.Join(err, in.recheckPutOff(in.intake))
}

// readLever reads the lever, and reports whether it was turned off since it was last
// read.
func (in *Inbox) readLever(ctx context.Context) (resumed bool, err error) {
	lever, err := in.store.Lever(ctx, ledger.LeverPause)
	if err != nil {
		return false, err
	}
	in.mu.Lock()
	resumed = in.quiet && !lever.On
	changed := in.quiet != lever.On
	in.quiet = lever.On
	in.mu.Unlock()
	switch {
	case changed && lever.On:
		in.config.Log.Warn("paused: nothing that a plugin starts is begun until an operator resumes it", "by", lever.Who, "since", lever.At)
	case changed:
		in.config.Log.Info("resumed: what plugins start is begun again", "by", lever.Who)
	}
	return resumed, nil
}

// isQuiet reports whether everything that plugins start has to wait.
func (in *Inbox) isQuiet() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.quiet
}

// held reports whether no run of the class may begin.
func (in *Inbox) held(of class) bool { return of != people && of != commandsBeside && in.isQuiet() }
