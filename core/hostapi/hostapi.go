// Package hostapi is what plugins may ask of the core: it implements
// pluginsdk.Host for each plugin, under that plugin's identity. Every call is
// checked against the plugin's grants and, inside a hook, against the token of
// the hook's call.
package hostapi

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Store is what the host's services need of the database.
type Store interface {
	Thread(ctx context.Context, id string) (pluginsdk.Thread, error)
	Threads(ctx context.Context, query pluginsdk.ThreadQuery) ([]pluginsdk.Thread, error)
	CreateThread(ctx context.Context, thread pluginsdk.NewThread) (t pluginsdk.Thread, created bool, err error)
	UpdateThread(ctx context.Context, id string, patch pluginsdk.ThreadPatch) (pluginsdk.Thread, error)

	Messages(ctx context.Context, query pluginsdk.MessageQuery) ([]pluginsdk.Message, error)
	Append(ctx context.Context, fence *ledger.Fence, threadID, key, source string,
		messages []pluginsdk.NewMessage) ([]pluginsdk.Message, error)

	Run(ctx context.Context, id string) (pluginsdk.Run, error)
	Runs(ctx context.Context, query pluginsdk.RunQuery) ([]pluginsdk.Run, error)

	Deliveries(ctx context.Context, query pluginsdk.DeliveryQuery) ([]pluginsdk.Delivery, error)

	CreateTask(ctx context.Context, key string, task pluginsdk.NewTask) (t pluginsdk.Task, created bool, err error)
	Task(ctx context.Context, id string) (pluginsdk.Task, error)
	Tasks(ctx context.Context, query pluginsdk.TaskQuery) ([]pluginsdk.Task, error)
	UpdateTask(ctx context.Context, id string, patch pluginsdk.TaskPatch) (pluginsdk.Task, error)

	SaveCron(ctx context.Context, job pluginsdk.CronJob) (pluginsdk.CronJob, error)
	Crons(ctx context.Context) ([]pluginsdk.CronJob, error)
	DeleteCron(ctx context.Context, name string) error

	RecordMetrics(ctx context.Context, metrics []pluginsdk.Metric) error
	QueryMetrics(ctx context.Context, query pluginsdk.MetricQuery) ([]pluginsdk.Metric, error)

	GetState(ctx context.Context, plugin, key string) ([]byte, error)
	PutState(ctx context.Context, plugin, key string, value []byte) error
	DeleteState(ctx context.Context, plugin, key string) error
	StateKeys(ctx context.Context, plugin, prefix string) ([]string, error)

	Plugins(ctx context.Context) ([]pluginsdk.PluginInfo, error)
	SetPluginEnabled(ctx context.Context, name string, enabled bool) error
	Audit(ctx context.Context, who, action, target, detail string) error
}

// Inbox accepts messages and controls runs.
type Inbox interface {
	Submit(ctx context.Context, submission pluginsdk.Submission) (pluginsdk.Accepted, error)
	Cancel(ctx context.Context, runID string) (pluginsdk.Run, error)
	Retry(ctx context.Context, runID string) (pluginsdk.Accepted, error)
	StopThread(ctx context.Context, threadID string, queue pluginsdk.Queue) (pluginsdk.Stopped, error)
}

// Outbox carries deliveries.
type Outbox interface {
	Retry(ctx context.Context, id string) (pluginsdk.Delivery, error)
}

// Events is the event bus.
type Events interface {
	Publish(kind pluginsdk.EventType, threadID string, payload any)
	Relay(event pluginsdk.Event)
	Since(after pluginsdk.Position, limit int) pluginsdk.EventPage
}

// Grants is the plugin host: what an operator has granted, and what plugins
// did with it.
type Grants interface {
	Granted(plugin string, capability pluginsdk.Capability) bool
	// Logs returns the newest lines of a plugin's log, the oldest first.
	Logs(ctx context.Context, plugin string, limit int) ([]pluginsdk.LogLine, error)
	// Conflict says which commands of the plugin others among rows have
	// (CodeConflict).
	Conflict(plugin pluginsdk.PluginInfo, rows []pluginsdk.PluginInfo) error
	// SettingsOf returns the settings that hold for a plugin that is running;
	// false: it has none in force.
	SettingsOf(plugin string) (json.RawMessage, bool)
	// Live puts what is known of the plugin at this moment into its row.
	Live(row pluginsdk.PluginInfo) pluginsdk.PluginInfo
}

// API makes a Host for each plugin.
type API struct {
	store   Store
	inbox   Inbox
	outbox  Outbox
	events  Events
	grants  Grants
	tokens  *Tokens
	set     Settings // what is set for plugins
	toolbox Toolbox
	log     *slog.Logger
}

// New returns an API. Tokens must be the ones that the pipeline opens.
func New(store Store, inbox Inbox, outbox Outbox, events Events, grants Grants, tokens *Tokens,
	set Settings, toolbox Toolbox, log *slog.Logger,
) *API {
	return &API{
		store: store, inbox: inbox, outbox: outbox, events: events, grants: grants, tokens: tokens,
		set: set, toolbox: toolbox, log: log,
	}
}

// For returns the Host of one plugin. Agent answers CodeUnimplemented: this
// version of the core does not serve it yet.
func (a *API) For(plugin string) pluginsdk.Host {
	c := &caller{API: a, plugin: plugin}
	return pluginsdk.Host{
		Threads: threads{c}, Messages: messages{c}, Runs: runs{c}, Deliveries: deliveries{c},
		Tasks: tasks{c}, Agent: agent{}, Events: busEvents{c}, Settings: settings{c}, State: state{c}, Crons: crons{c}, Metrics: metrics{c},
		Tools: tools{c}, Plugins: plugins{c},
		Log: a.log.With("plugin", plugin),
	}
}

// caller is the plugin on whose behalf a service works.
type caller struct {
	*API
	plugin string
}

// Admit says whether a plugin may make a call: the token that it carries, if it
// carries one, must still be good (CodeStale), and the plugin must have been
// granted the capability that the call needs (CodeDenied); an empty one is
// needed for what every plugin may do. It is asked once, before each call that
// comes over the plugin's connection.
func (a *API) Admit(ctx context.Context, plugin string, capability pluginsdk.Capability) error {
	if _, err := a.granted(ctx, plugin); err != nil {
		return err
	}
	if capability != "" && !a.grants.Granted(plugin, capability) {
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "the plugin %s lacks the capability %s; an operator can grant it: harness plugin grant %s %s",
			plugin, capability, plugin, capability)
	}
	return nil
}

// granted returns what the token that a call carries stands for; the zero grant
// when it carries none.
func (a *API) granted(ctx context.Context, plugin string) (grant, error) {
	call, ok := pluginsdk.CallFrom(ctx)
	if !ok || call.Token == "" {
		return grant{}, nil
	}
	found, ok := a.tokens.lookup(call.Token)
	if !ok || found.plugin != plugin {
		return grant{}, pluginsdk.Errorf(pluginsdk.CodeStale,
			"the hook call %s has ended; what it asks for now is refused", call.ID)
	}
	return found, nil
}

// fence returns what the writes of a call must carry; nil outside of runs.
func (c *caller) fence(ctx context.Context) (*ledger.Fence, error) {
	found, err := c.granted(ctx, c.plugin)
	if err != nil || found.origin.Fence == (ledger.Fence{}) {
		return nil, err
	}
	return &found.origin.Fence, nil
}

func unimplemented(what string) error {
	return pluginsdk.Errorf(pluginsdk.CodeUnimplemented, "%s is not served by this version of Harness", what)
}
