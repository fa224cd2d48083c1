package pluginhost

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Store is what the host needs of the database.
type Store interface {
	// Plugins returns the registry in the operator's order.
	Plugins(ctx context.Context) ([]ledger.Plugin, error)
	// Version is another one after anybody has committed anything, if it is known.
	Version(ctx context.Context) (version int64, known bool)
	RegisterPlugin(ctx context.Context, info ledger.Plugin) error
	SetPluginQuarantine(ctx context.Context, name, reason string) error
	// EditPlugin changes a row by edit, and writes into the audit log who did which
	// action, with the detail that edit returns. It stores both or neither.
	EditPlugin(ctx context.Context, name, who, action string, edit func(row *ledger.Plugin) (detail string, err error)) error
	SavePluginFigures(ctx context.Context, name string, figures pluginsdk.PluginFigures) error
	// SavePluginChecks stores the plugin's latest checks of its surroundings.
	SavePluginChecks(ctx context.Context, name string, checks []pluginsdk.Check) error
	Audit(ctx context.Context, who, action, target, detail string) error
	SavePluginManifest(ctx context.Context, name string, manifest pluginsdk.Manifest) error
	SavePluginSeen(ctx context.Context, name string, seen ledger.PluginSeen) error
	// SavePluginAccepted stores the settings that the plugin has taken.
	SavePluginAccepted(ctx context.Context, name string, accepted ledger.AcceptedSettings) error
	AddPluginFailures(ctx context.Context, name string, failures int64) error
}

// Events is the event bus.
type Events interface {
	Publish(kind pluginsdk.EventType, threadID string, payload any)
	// Position returns the position of the newest event.
	Position() pluginsdk.Position
	// Subscribe delivers the events that a process is told and that come after the position,
	// until Subscription.Stop is called.
	Subscribe(name string, tells Telling, after pluginsdk.Position,
		deliver func(context.Context, []pluginsdk.Event) error) Subscription
}

// Telling says which events a process is told.
type Telling struct {
	Types   []string              // as in the manifest
	Rules   []pluginsdk.EventRule // which select from these; none: all
	Sources []string              // that the manifest names, for rules with Own
}

// Subscription is a process that is told events.
type Subscription interface {
	// Listen replaces the rules. It returns the position after which the new ones hold.
	Listen(rules []pluginsdk.EventRule) pluginsdk.Position
	// Stop ends it, and returns the position up to which all of the events were delivered.
	Stop() pluginsdk.Position
}

// API makes the services that plugins may call.
type API interface {
	// For returns the services that one process of the plugin may call. listen replaces the
	// rules by which the process is told events.
	For(plugin string, listen func(rules []pluginsdk.EventRule) (pluginsdk.Position, error)) pluginsdk.Host
	// Admit returns an error unless the plugin may make a call that needs the capability.
	Admit(ctx context.Context, plugin string, capability pluginsdk.Capability) error
}

// Config holds what an operator can set. Zero fields get defaults.
type Config struct {
	Dir     string            // where the plugin binaries are
	Owner   string            // id of the installation; every child process is marked with it
	Provide map[string]string // environment variables that plugins may ask for, by name
	// Variables are beside the daemon's own environment, which beats them, what plugins may
	// ask for and be granted.
	Variables map[string]string
	Sockets   string // directory for the plugins' sockets; default: the system's for temporary files
	Cgroups   string // where cgroup v2 is mounted; empty: limits are enforced only by watching
	Logs      string // directory for the plugins' logs; empty: none are kept
	Dev       bool   // plugins may run under a debugger

	// Verify is called before each start. It returns an error unless the executable is
	// the one that was pinned. Nil accepts any.
	Verify func(ctx context.Context, row ledger.Plugin) error
	// Settings returns the settings that a process is given for the row: while it refuses
	// the row's, those that it accepted. Nil: always the row's.
	Settings func(ctx context.Context, row ledger.Plugin) (Settings, error)
	// Hooks asks plugins the host's own questions: OnBroadcast, OnCheck,
	// OnSettingsChange. Nil: they are asked with the deadlines of their classes and
	// without a token.
	Hooks *hooks.Runner
	// Gone is called after a plugin's row was removed. It may be nil.
	Gone func(plugin string)
	// HostFigures returns the calls that a plugin has made to the host, by service and
	// method as in Messages.Append, and how many of them a quota refused. Nil: none.
	HostFigures func(plugin string) (calls map[string]pluginsdk.CallFigures, heldBack int64)
	// Reserved are the core's commands, which no plugin can own.
	Reserved []string

	Poll         time.Duration // how often the registry is followed, see Host.follow; default 1 s
	StartTimeout time.Duration // from process start to serving; default 10 s
	StopTimeout  time.Duration // drain, deactivate and end; default 5 s
	BackoffBase  time.Duration // wait before the first restart; doubles; default 1 s
	BackoffMax   time.Duration // default 1 min
	Patience     time.Duration // how long a call that must not be passed over waits for its plugin; default 5 s
	LateGrace    time.Duration // how long past its deadline a plugin may work on a call; default 5 s
	// Handover is how long runs keep to a version that was replaced; default 5 min.
	Handover time.Duration
	// Watch is how often the host looks at a plugin's processes; default 1 s. See watch.go
	// for those that rest, and for health checks.
	Watch time.Duration
	// CheckEvery is how often a plugin that answers OnCheck is asked; default 1 min. The
	// first time is soon after it serves.
	CheckEvery time.Duration
	// A plugin that failed Failures times within Window is put in quarantine; default 5
	// in 10 min.
	Failures int
	Window   time.Duration
	// Limits hold for a plugin whose row sets none; default 1 GiB, 64 processes, 1024
	// open files, all of the CPU.
	Limits pluginsdk.PluginLimits
	Log    *slog.Logger
}

// Settings are what a process is configured with.
type Settings struct {
	Values json.RawMessage // with defaults and secrets filled in
	// Redact removes the secrets from a text; nil: there are none.
	Redact func(text string) string
	// Problem says what is wrong with the row's settings; the last good ones stay in
	// force.
	Problem string
	// Stored are the row's settings, to be stored once a process has taken them; nil: others
	// are in force.
	Stored *ledger.AcceptedSettings
}

func (c Config) withDefaults() Config {
	for field, value := range map[*time.Duration]time.Duration{
		&c.Poll: time.Second, &c.StartTimeout: 10 * time.Second, &c.StopTimeout: 5 * time.Second,
		&c.BackoffBase: time.Second, &c.BackoffMax: time.Minute,
		&c.Patience: 5 * time.Second, &c.LateGrace: 5 * time.Second, &c.Handover: 5 * time.Minute,
		&c.Watch: time.Second, &c.CheckEvery: time.Minute, &c.Window: 10 * time.Minute,
	} {
		if *field == 0 {
			*field = value
		}
	}
	if c.Failures == 0 {
		c.Failures = 5
	}
	c.Limits = limitsOf(c.Limits, DefaultLimits())
	if c.Settings == nil {
		c.Settings = func(_ context.Context, row ledger.Plugin) (Settings, error) {
			return Settings{Values: row.Settings, Stored: &ledger.AcceptedSettings{Mark: row.SettingsMark(), Plain: row.Settings}}, nil
		}
	}
	if c.HostFigures == nil {
		c.HostFigures = func(string) (map[string]pluginsdk.CallFigures, int64) { return nil, 0 }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Hooks == nil {
		c.Hooks = hooks.New(hooks.Config{Log: c.Log}, nil, nil)
	}
	return c
}
