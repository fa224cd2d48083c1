// Package tasks makes the transitions of tasks: work that a plugin has an agent do, in
// a thread of its own. The plugin that made a task says when it iterates, when its result
// is handed in, when it is given up; the core asks the task hooks, stores each answer as it
// comes, and tells the parent.
//
// What is promised: a task that was made ends, or waits for its plugin or a person. Each
// transition names the state that it leaves (the table in transitions.go) and is one
// transaction with all that belongs to it; one that somebody was faster than is decided
// anew. Nothing is kept in memory that matters: a daemon that starts goes on with every
// task that the core has something to do for. A plugin that has answered in a round is
// not asked there again. What was cancelled asks nobody but OnTaskFailed any more.
package tasks

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/lanes"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Store is what the room needs of the database.
type Store interface {
	CreateTask(ctx context.Context, task ledger.NewTask) (t pluginsdk.Task, created bool, err error)
	TaskState(ctx context.Context, id string) (ledger.Task, error)
	Tasks(ctx context.Context, query pluginsdk.TaskQuery) ([]pluginsdk.Task, error)
	OpenTasks(ctx context.Context) (ids []string, err error)
	TaskCap(ctx context.Context, id string) (ledger.TaskCap, error)
	TasksBelow(ctx context.Context, id string) (ids []string, err error)
	MoveTask(ctx context.Context, move ledger.TaskMove) (ledger.TaskMoved, error)
	TaskAnswers(ctx context.Context, taskID string, iteration int) ([]ledger.TaskAnswer, error)
	TaskHistory(ctx context.Context, taskID string, after int64, limit int) ([]pluginsdk.TaskIteration, []ledger.TaskAnswer, error)
	Submitted(ctx context.Context, source, key string) (pluginsdk.Accepted, error)
	Thread(ctx context.Context, id string) (pluginsdk.Thread, error)
	Run(ctx context.Context, id string) (pluginsdk.Run, error)
	Runs(ctx context.Context, query pluginsdk.RunQuery) ([]pluginsdk.Run, error)
	OpenTurnsOf(ctx context.Context, taskID string) (ids []string, err error)
}

// Inbox has the runs.
type Inbox interface {
	// Iterate stores a message and its run, and moves the task, in one transaction.
	Iterate(ctx context.Context, plugin string, submission pluginsdk.Submission, move ledger.TaskMove) (pluginsdk.Accepted, error)
	HoldBack(runID string) (release func())
	// Stored tells of a message that a move has stored with its run.
	Stored(ctx context.Context, accepted ledger.Accepted, submission pluginsdk.Submission)
	Cancel(ctx context.Context, runID string, by ledger.By) (pluginsdk.Run, error)
	StopThread(ctx context.Context, threadID string, queue pluginsdk.Queue, by ledger.By) (pluginsdk.Stopped, error)
}

// Outbox carries what was stored for people.
type Outbox interface {
	Wake(plugin, target string)
}

// Plugins are the enabled plugins.
type Plugins interface {
	// Answering returns those that declare the hook, in the operator's order.
	Answering(run string, hook pluginsdk.Hook) []hooks.Plugin
}

// Events is where the room publishes.
type Events interface {
	Publish(kind pluginsdk.EventType, threadID string, payload any)
}

// Doors are the rooms that this one speaks with. All of them are needed.
type Doors struct {
	Store   Store
	Inbox   Inbox
	Outbox  Outbox
	Plugins Plugins
	Hooks   *hooks.Runner
	Events  Events
}

// Config holds what an operator can set. Zero fields get defaults.
type Config struct {
	MaxAttempts int           // calls of a hook that fail in a row before a person is asked; default 10
	MaxAgains   int           // evaluations of one iteration that end with HandoverAgain before a person is asked; default 20
	MaxDepth    int           // runs that may cause one another; default 8
	RetryBase   time.Duration // wait before the second attempt; doubles; default 1 s
	RetryMax    time.Duration // longest wait between attempts; default 1 min
	Jitter      float64       // by which part of itself a wait may be shorter or longer; default 0.25
	// Directories is where tasks get the directory of their own that they ask for, each under
	// its id. Empty: none is made, and who asks for one is refused.
	Directories string
	Look        time.Duration // how soon it is looked whether a run that was cancelled is over, at first; default 20 ms
	Sweep       time.Duration // how often work is looked for that nobody announced; default 15 s
	DrainGrace  time.Duration // how long Stop lets calls go on; default 5 s
	Log         *slog.Logger
	// Fault, when set, is called before every step with its name (FaultPoints) and the
	// task's id. Tests end the daemon there.
	Fault func(step, taskID string)
}

// FaultPoints are the names that Config.Fault is called with.
var FaultPoints = []string{
	"create", "created", "iterate", "iterated", "evaluate", "suspend", "decide", "giveUp", "moved",
	"ask", "answered", "begin", "accept", "finish", "endRuns", "end",
}

func (c Config) withDefaults() Config {
	setDefault(&c.MaxAttempts, 10)
	setDefault(&c.MaxAgains, 20)
	setDefault(&c.MaxDepth, 8)
	setDefault(&c.RetryBase, time.Second)
	setDefault(&c.RetryMax, time.Minute)
	setDefault(&c.Jitter, 0.25)
	setDefault(&c.Look, 20*time.Millisecond)
	setDefault(&c.Sweep, 15*time.Second)
	setDefault(&c.DrainGrace, 5*time.Second)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Fault == nil {
		c.Fault = func(string, string) {}
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

var noTime time.Time

// askedAtOnce is how many hooks of tasks are asked at a time, of all tasks. Reviewers ask
// for turns of the agent, of which a plugin may have only so many waiting.
const askedAtOnce = 16

// Room makes the transitions.
type Room struct {
	config  Config
	store   Store
	inbox   Inbox
	outbox  Outbox
	plugins Plugins
	hooks   *hooks.Runner
	events  Events
	figures *figures
	backoff guard.Backoff

	lanes  *lanes.Set[string, lane] // by task
	asking *lanes.Places            // for each hook that is being asked

	mu   sync.Mutex
	ends map[string]context.CancelFunc // of the steps that are being made, by task
}

// New returns a Room. What plugins ask for works at once; hooks are asked from Start
// on.
func New(config Config, doors Doors) *Room {
	config = config.withDefaults()
	r := &Room{
		config: config, store: doors.Store, inbox: doors.Inbox, outbox: doors.Outbox, plugins: doors.Plugins,
		hooks: doors.Hooks, events: doors.Events, figures: newFigures(),
		backoff: guard.Backoff{Base: config.RetryBase, Max: config.RetryMax, Jitter: config.Jitter},
		asking:  lanes.NewPlaces(askedAtOnce), ends: make(map[string]context.CancelFunc),
	}
	r.lanes = lanes.New(lanes.Config[string, lane]{
		Step: r.runOnce, What: "a lane of the tasks",
		Log: func(id string) *slog.Logger { return r.config.Log.With("task", id) },
	})
	return r
}

// Start goes on with what a predecessor left open.
func (r *Room) Start(ctx context.Context) error {
	if err := r.dispatch(ctx); err != nil {
		return err
	}
	r.lanes.Sweep(lanes.Sweep{
		Every: r.config.Sweep, What: "the sweep of the tasks", Do: r.sweep,
		Failed: "open tasks cannot be looked for; trying again", Log: r.config.Log,
	})
	return nil
}

// Pause begins nothing new, and takes nothing, until Resume: the right to this database
// was lost. Calls under way go on. What they answer is not stored while the lock is lost,
// and the plugin is asked again, under the same id; later it is stored if nobody has moved
// the task.
func (r *Room) Pause() { r.lanes.Pause() }

// Resume ends a Pause. What somebody else has left open meanwhile is found. After an
// error the Pause goes on.
func (r *Room) Resume(ctx context.Context) error { return r.dispatch(ctx) }

func (r *Room) dispatch(ctx context.Context) error {
	ids, err := r.store.OpenTasks(ctx)
	if err != nil {
		return err
	}
	r.lanes.Open(ids...)
	return nil
}

// sweep looks for what nobody announced: a move whose COMMIT had no known outcome.
func (r *Room) sweep() error {
	ids, err := r.store.OpenTasks(r.lanes.Intake)
	for _, id := range ids {
		r.Wake(id)
	}
	return err
}

// Stop begins nothing more, lets calls go on for DrainGrace (or until ctx ends), then
// ends them: they are made again by the next Start, under the same ids.
func (r *Room) Stop(ctx context.Context) error {
	r.lanes.Stop(ctx, r.config.DrainGrace, nil)
	return nil
}

// open refuses what nobody would go on with.
func (r *Room) open() error {
	switch r.lanes.Stage() {
	case lanes.Paused:
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the connection to the database was lost; try again in a moment")
	case lanes.Stopped:
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "harness is stopping; try again when it is back")
	case lanes.Created, lanes.Started:
	}
	return nil
}
