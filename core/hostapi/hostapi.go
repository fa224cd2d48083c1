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

	PluginSettings(ctx context.Context, plugin string) (json.RawMessage, error)
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

// Grants knows what an operator has granted.
type Grants interface {
	Granted(plugin string, capability pluginsdk.Capability) bool
}

// API makes a Host for each plugin.
type API struct {
	store  Store
	inbox  Inbox
	outbox Outbox
	events Events
	grants Grants
	tokens *Tokens
	log    *slog.Logger
}

// New returns an API. Tokens must be the ones that the pipeline opens.
func New(store Store, inbox Inbox, outbox Outbox, events Events, grants Grants, tokens *Tokens, log *slog.Logger) *API {
	return &API{store: store, inbox: inbox, outbox: outbox, events: events, grants: grants, tokens: tokens, log: log}
}

// For returns the Host of one plugin. Agent and Tools answer
// CodeUnimplemented: this version of the core does not serve them yet.
func (a *API) For(plugin string) pluginsdk.Host {
	c := &caller{API: a, plugin: plugin}
	return pluginsdk.Host{
		Threads: threads{c}, Messages: messages{c}, Runs: runs{c}, Deliveries: deliveries{c},
		Tasks: tasks{c}, Agent: agent{}, Events: busEvents{c}, Settings: settings{c}, State: state{c}, Crons: crons{c}, Metrics: metrics{c},
		Tools: tools{}, Plugins: plugins{c},
		Log: a.log.With("plugin", plugin),
	}
}

// caller is the plugin on whose behalf a service works.
type caller struct {
	*API
	plugin string
}

// admit checks a call: that its token, if it carries one, is still good, and
// that the plugin was granted the capability. It returns the fence that the
// call's writes must carry, nil outside of runs.
func (c *caller) admit(ctx context.Context, capability pluginsdk.Capability) (*ledger.Fence, error) {
	var fence *ledger.Fence
	if call, ok := pluginsdk.CallFrom(ctx); ok && call.Token != "" {
		grant, ok := c.tokens.lookup(call.Token)
		if !ok || grant.plugin != c.plugin {
			return nil, pluginsdk.Errorf(pluginsdk.CodeStale,
				"the hook call %s has ended; what it asks for now is refused", call.ID)
		}
		fence = &grant.fence
	}
	if capability != "" && !c.grants.Granted(c.plugin, capability) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeDenied,
			"the plugin %s lacks the capability %s; an operator can add it to the plugin's grants", c.plugin, capability)
	}
	return fence, nil
}

func unimplemented(what string) error {
	return pluginsdk.Errorf(pluginsdk.CodeUnimplemented, "%s is not served by this version of Harness", what)
}
