// Package outbox carries messages to people, through the plugin of their
// target.
//
// What is promised: a delivery that is stored is attempted until its plugin
// acknowledges it, or until it is dead: the plugin refused it for good, or the
// attempts are used up. Every attempt carries the delivery's id, and is counted
// on disk before the plugin is called; what was carried and could not be
// acknowledged in time is carried again, under the same id. One target gets its
// deliveries one at a time, in the order of their messages; one target never
// waits for another, as long as the plugin has a call to spare. While a plugin
// does not serve, what is meant for it is kept, and no attempt is counted.
// Between Pause and Resume nothing is begun.
package outbox

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/lanes"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Store is what the outbox needs of the database.
type Store interface {
	RecoverDeliveries(ctx context.Context, underWay ...string) (n int, err error)
	Lanes(ctx context.Context) ([]ledger.Lane, error)
	NextDelivery(ctx context.Context, plugin, target string) (ledger.Due, error)
	BeginDelivery(ctx context.Context, id string) (ledger.Outgoing, error)
	DeliveryDone(ctx context.Context, id, externalID string) error
	DeliveryRetry(ctx context.Context, id string, at time.Time, reason string) error
	DeliveryDead(ctx context.Context, id, reason string) error
	RetryDelivery(ctx context.Context, id string) (pluginsdk.Delivery, error)
}

// Plugins reaches the plugins' processes.
type Plugins interface {
	// Plugin returns the plugin of that name; nil: it is unknown or disabled. An
	// error of its Do without a call of fn means that it does not serve.
	Plugin(name string) hooks.Plugin
}

// Events is where the outbox publishes.
type Events interface {
	Publish(kind pluginsdk.EventType, threadID string, payload any)
}

// Config holds what an operator can set. Zero fields get defaults.
type Config struct {
	Slots       int           // deliveries under way at a time, for each plugin: one that hangs holds up no other; default 8
	MaxAttempts int           // before a delivery is dead; default 20. One that the daemon keeps dying on gets twice as many
	RetryBase   time.Duration // wait before the second attempt; doubles; default 1 s
	RetryMax    time.Duration // longest wait between attempts; default 5 min
	Jitter      float64       // how far a wait is spread, either way, as a part of it; default 0.25
	Sweep       time.Duration // how often the database is searched for work that nobody announced; default 15 s
	DrainGrace  time.Duration // how long Stop lets calls go on; default 5 s
	Log         *slog.Logger
}

func (c Config) withDefaults() Config {
	setDefault(&c.Slots, 8)
	setDefault(&c.MaxAttempts, 20)
	setDefault(&c.RetryBase, time.Second)
	setDefault(&c.RetryMax, 5*time.Minute)
	setDefault(&c.Jitter, 0.25)
	setDefault(&c.Sweep, 15*time.Second)
	setDefault(&c.DrainGrace, 5*time.Second)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Outbox carries deliveries.
type Outbox struct {
	config  Config
	store   Store
	plugins Plugins
	hooks   *hooks.Runner
	events  Events
	figures *figures

	lanes *lanes.Set[address, struct{}] // those that have something to do

	// intake ends when no more attempts are to be made, work when those under
	// way must end too.
	intake, work context.Context

	mu       sync.Mutex
	carriers map[string]*carrier // by plugin, one for each name that deliveries were for
	underWay map[string]bool     // deliveries that are attempted at the moment
}

// Doors are the rooms that this one speaks with. All of them are needed.
type Doors struct {
	Store   Store
	Plugins Plugins
	Hooks   *hooks.Runner
	Events  Events
}

// New returns an Outbox. Deliveries are carried from Start on.
func New(config Config, doors Doors) *Outbox {
	o := &Outbox{
		config: config.withDefaults(), store: doors.Store, plugins: doors.Plugins, hooks: doors.Hooks, events: doors.Events,
		figures: newFigures(), carriers: make(map[string]*carrier), underWay: make(map[string]bool),
	}
	o.lanes = lanes.New(lanes.Config[address, struct{}]{
		Step: func(to address, _ *struct{}) lanes.Next { return o.runOnce(to) },
		What: "a lane of the outbox",
		Log:  func(to address) *slog.Logger { return o.config.Log.With("plugin", to.plugin, "target", to.target) },
	})
	o.intake, o.work = o.lanes.Intake, o.lanes.Work
	return o
}

// Start finds what a predecessor left open and begins to carry.
func (o *Outbox) Start(ctx context.Context) error {
	if err := o.dispatch(ctx); err != nil {
		return err
	}
	o.lanes.Sweep(lanes.Sweep{
		Every: o.config.Sweep, What: "the sweep of the outbox", Do: o.sweep,
		Failed: "deliveries cannot be searched; trying again later", Log: o.config.Log,
	})
	return nil
}

// Pause begins nothing new until Resume: the right to this database was lost,
// and who has it may carry what waits. Attempts under way go on, and how they
// end is stored.
func (o *Outbox) Pause() { o.lanes.Pause() }

// Resume ends a Pause. What somebody else has left open meanwhile is found.
// After an error the Pause goes on.
func (o *Outbox) Resume(ctx context.Context) error { return o.dispatch(ctx) }

func (o *Outbox) dispatch(ctx context.Context) error {
	o.mu.Lock()
	own := slices.Collect(maps.Keys(o.underWay))
	o.mu.Unlock()
	interrupted, err := o.store.RecoverDeliveries(ctx, own...)
	if err != nil {
		return err
	}
	open, err := o.store.Lanes(ctx)
	if err != nil {
		return err
	}
	o.lanes.Open()
	for _, lane := range open {
		o.Wake(lane.Plugin, lane.Target)
	}
	if len(open) > 0 {
		o.config.Log.Info("open deliveries found", "targets", len(open), "interrupted", interrupted)
	}
	return nil
}

// sweep finds work that nobody announced: what an operator changed by SQL, and
// what waits for a plugin whose return was not told.
func (o *Outbox) sweep() error {
	open, err := o.store.Lanes(o.intake)
	if err != nil || o.lanes.Stage() != lanes.Started {
		return err
	}
	o.mu.Lock()
	carriers := slices.Collect(maps.Values(o.carriers))
	o.mu.Unlock()
	for _, c := range carriers {
		c.serves.Open(o.lanes.Wake)
	}
	now := time.Now()
	for _, lane := range open {
		if !lane.NotBefore.After(now) {
			o.Wake(lane.Plugin, lane.Target)
		}
	}
	return nil
}

// Stop makes no more attempts, lets those under way go on for DrainGrace (or
// until ctx ends), then ends their calls. What has no known end by then is
// carried again by the next Start.
func (o *Outbox) Stop(ctx context.Context) error {
	o.lanes.Stop(ctx, o.config.DrainGrace, nil)
	return nil
}

// Retry makes a dead delivery pending again, its attempts counted anew; one
// that is pending is tried as soon as it is the first of its target. One that
// is being attempted is left as it is; one that was delivered is CodeInvalid.
func (o *Outbox) Retry(ctx context.Context, id string) (pluginsdk.Delivery, error) {
	delivery, err := o.store.RetryDelivery(ctx, id)
	if err != nil {
		return pluginsdk.Delivery{}, err
	}
	o.config.Log.Info("delivery is tried again on a person's word",
		"delivery", id, "plugin", delivery.Plugin, "target", delivery.Place)
	o.Wake(delivery.Plugin, delivery.Place)
	return delivery, nil
}
