package pluginsdk

import (
	"context"
	"encoding/json"
	"log/slog"
)

// Host is what a plugin may ask of the core: small services, one a noun.
// Every method needs a granted capability; a refusal (CodeDenied) names it.
// Called with a hook's context, a method is refused (CodeStale) once that
// hook's call has ended or its run is over.
type Host struct {
	Threads    Threads
	Messages   Messages
	Runs       Runs
	Deliveries Deliveries
	Tasks      Tasks
	Agent      Agent
	Events     Events
	Settings   Settings
	State      State
	Crons      Crons
	Metrics    Metrics
	Tools      Tools
	Plugins    Plugins
	// Log goes to the daemon's log with the plugin's name and keeps its level.
	Log *slog.Logger
}

// Threads reads and writes threads.
type Threads interface {
	// Get returns a thread, or CodeNotFound. Needs threads.read.
	Get(ctx context.Context, id string) (Thread, error)
	// List returns the selected threads, oldest first. Needs threads.read.
	List(ctx context.Context, query ThreadQuery) ([]Thread, error)
	// Create makes a thread, or returns the one that has this Source and
	// SourceID already. Needs threads.write.
	Create(ctx context.Context, thread NewThread) (Thread, error)
	// Update changes the fields that are set. Needs threads.write.
	Update(ctx context.Context, id string, patch ThreadPatch) (Thread, error)
}

// Messages reads and writes messages.
type Messages interface {
	// Submit stores a message that asks for an answer, with its run. It
	// returns only after that is durable. Needs messages.submit.
	Submit(ctx context.Context, submission Submission) (Accepted, error)
	// Append stores rows in a thread, all or none. Repeated with the same
	// key, it returns the rows the first call made; with other content it is
	// CodeConflict. Needs messages.write.
	Append(ctx context.Context, threadID, key string, messages []NewMessage) ([]Message, error)
	// List returns the selected messages, oldest first. Needs messages.read.
	List(ctx context.Context, query MessageQuery) ([]Message, error)
}

// Runs reads and controls runs.
type Runs interface {
	// Get returns a run, or CodeNotFound. Needs runs.read.
	Get(ctx context.Context, id string) (Run, error)
	// List returns the selected runs, oldest first. Needs runs.read.
	List(ctx context.Context, query RunQuery) ([]Run, error)
	// Cancel ends a run that waits, or interrupts one that executes. A run
	// that is over is left as it is. Needs runs.control.
	Cancel(ctx context.Context, id string) (Run, error)
	// Retry gives the message of a run that failed or was cancelled once more,
	// as a new message that names the run. Repeated, it returns the first
	// retry's ids. A run that is not over, or was answered, is CodeInvalid.
	// Needs runs.control.
	Retry(ctx context.Context, id string) (Accepted, error)
	// Stop interrupts what a thread is doing, and keeps or drops what waits in
	// it. Needs runs.control.
	Stop(ctx context.Context, threadID string, queue Queue) (Stopped, error)
}

// Deliveries reads and controls what is on its way to people.
type Deliveries interface {
	// List returns the selected deliveries, oldest first. Needs
	// deliveries.read.
	List(ctx context.Context, query DeliveryQuery) ([]Delivery, error)
	// Retry makes a dead delivery pending again; one that is pending is tried
	// at once. One that was delivered is CodeInvalid. Needs deliveries.control.
	Retry(ctx context.Context, id string) (Delivery, error)
}

// Tasks reads and writes tasks.
type Tasks interface {
	// Create makes a task and its thread; repeated with the same key, it
	// returns the first one. Needs tasks.write.
	Create(ctx context.Context, key string, task NewTask) (Task, error)
	// Get returns a task, or CodeNotFound. Needs tasks.read.
	Get(ctx context.Context, id string) (Task, error)
	// List returns the selected tasks, oldest first. Needs tasks.read.
	List(ctx context.Context, query TaskQuery) ([]Task, error)
	// Update changes the fields that are set. Needs tasks.write.
	Update(ctx context.Context, id string, patch TaskPatch) (Task, error)
}

// Agent runs turns of the agent on behalf of a plugin. The core stores the
// result, so it outlives the plugin that asked.
type Agent interface {
	// Start begins a turn and returns its id; repeated with the same key, it
	// returns the first one's. Needs agent.invoke.
	Start(ctx context.Context, key string, request AgentRequest) (string, error)
	// Wait returns the result of a turn once it has one. Needs agent.invoke.
	Wait(ctx context.Context, id string) (InvokeResult, error)
	// Cancel interrupts a turn. Needs agent.invoke.
	Cancel(ctx context.Context, id string) error
}

// Events reads and publishes events. Live events come through OnBroadcast.
type Events interface {
	// Publish broadcasts an event of the plugin's own; its type must begin
	// with the plugin's name and a colon. Needs events.publish.
	Publish(ctx context.Context, event Event) error
	// Since returns the events after a position that are still kept, at most
	// limit (0: 1000). Needs events.read.
	Since(ctx context.Context, after Position, limit int) (EventPage, error)
}

// Settings reads the plugin's own settings. Needs no capability.
type Settings interface {
	// Get returns the settings, a JSON object.
	Get(ctx context.Context) (json.RawMessage, error)
}

// State is a small store of the plugin's own. Needs state.
type State interface {
	// Get returns the value of a key, or CodeNotFound.
	Get(ctx context.Context, key string) ([]byte, error)
	// Put sets the value of a key.
	Put(ctx context.Context, key string, value []byte) error
	// Delete removes a key; an absent one is no error.
	Delete(ctx context.Context, key string) error
	// Keys returns the keys that begin with prefix, sorted.
	Keys(ctx context.Context, prefix string) ([]string, error)
}

// Crons reads and writes scheduled jobs.
type Crons interface {
	// Save creates or replaces the job of that name. Needs crons.write.
	Save(ctx context.Context, job CronJob) (CronJob, error)
	// List returns all jobs by name. Needs crons.read.
	List(ctx context.Context) ([]CronJob, error)
	// Delete removes the job of that name; an absent one is CodeNotFound.
	// Needs crons.write.
	Delete(ctx context.Context, name string) error
}

// Metrics records and reads measured values.
type Metrics interface {
	// Record stores values. Needs metrics.write.
	Record(ctx context.Context, metrics []Metric) error
	// Query returns the selected values, oldest first. Needs metrics.read.
	Query(ctx context.Context, query MetricQuery) ([]Metric, error)
}

// Tools lists and calls the tools of all plugins.
type Tools interface {
	// List returns the tools, named PLUGIN__TOOL. Needs tools.call.
	List(ctx context.Context) ([]ToolSpec, error)
	// Call calls a tool by that name. Needs tools.call.
	Call(ctx context.Context, name string, input json.RawMessage) (ToolResult, error)
}

// Plugins reads and changes the registry.
type Plugins interface {
	// List returns the registry in the operator's order, without settings.
	// Needs plugins.read.
	List(ctx context.Context) ([]PluginInfo, error)
	// Logs returns the newest lines of a plugin's log, the oldest first, at
	// most limit (0: 200). Needs plugins.read.
	Logs(ctx context.Context, name string, limit int) ([]LogLine, error)
	// SetEnabled turns a plugin on or off. Turning on clears a quarantine.
	// CodeConflict when another plugin has one of its commands. Needs
	// plugins.admin.
	SetEnabled(ctx context.Context, name string, enabled bool) error
	// Settings returns a plugin's settings without its secrets. Needs
	// plugins.admin.
	Settings(ctx context.Context, name string) (SettingsView, error)
	// SetSettings changes the properties that patch, a JSON object, names; null
	// takes one back. Secrets are set in the same way. CodeInvalid when the
	// outcome does not fit the plugin's schema. Needs plugins.admin.
	SetSettings(ctx context.Context, name string, patch json.RawMessage) error
}
