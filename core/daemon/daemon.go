// Package daemon wires the rooms of core into one program: Config, New, Run,
// Close. Read New from top to bottom for the architecture.
package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	starter "github.com/seed-706843ae/harness/context"
	"github.com/seed-706843ae/harness/core/accounts"
	"github.com/seed-706843ae/harness/core/approvals"
	"github.com/seed-706843ae/harness/core/crons"
	"github.com/seed-706843ae/harness/core/events"
	"github.com/seed-706843ae/harness/core/files"
	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/hostapi"
	"github.com/seed-706843ae/harness/core/inbox"
	"github.com/seed-706843ae/harness/core/invoker"
	"github.com/seed-706843ae/harness/core/invoker/prices"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/outbox"
	"github.com/seed-706843ae/harness/core/pipeline"
	"github.com/seed-706843ae/harness/core/plan"
	"github.com/seed-706843ae/harness/core/pluginhost"
	"github.com/seed-706843ae/harness/core/search"
	"github.com/seed-706843ae/harness/core/settings"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/tasks"
	"github.com/seed-706843ae/harness/core/threads"
	"github.com/seed-706843ae/harness/core/tokens"
	"github.com/seed-706843ae/harness/core/toolserver"
	contextfiles "github.com/seed-706843ae/harness/core/workspace"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// readyPatience is how long the dispatch of runs waits for plugins at start.
const readyPatience = 10 * time.Second

// Daemon is one running installation.
type Daemon struct {
	config Config
	log    *slog.Logger
	addr   string
	began  time.Time

	store    *store.Store
	settings *settings.Settings
	accounts *accounts.Room
	lease    *store.Lease // the right to be this database's daemon
	owner    string
	events   *events.Bus
	prices   *prices.Book
	agent    agent
	model    modelCheck
	// billed says that the environment's credentials are no login's, so that they have no plan.
	billed bool
	// unverified says that the agent's program was not verified with this version of Harness.
	unverified string
	plugins    *pluginhost.Host
	plan       *plan.Room
	pipeline   *pipeline.Pipeline
	inbox      *inbox.Inbox
	outbox     *outbox.Outbox
	tasks      *tasks.Room
	approvals  *approvals.Approvals
	files      *files.Room
	tokens     *tokens.Room
	search     *search.Room
	parts      []part // in the order in which they are started
}

// part is something long-lived.
type part struct {
	name  string
	start func(context.Context) error
	stop  func(context.Context) error
	grace bool // stop lets work go on until its context ends
}

// agent is what both agents are.
type agent interface {
	pipeline.Agent
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
	Figures() []pluginsdk.Figure
}

// New opens the database, takes its lock and builds every part. Nothing is
// started yet. Close must be called when New succeeds.
func New(ctx context.Context, config Config) (*Daemon, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	config.Log = slog.New(pluginhost.ShareLog(config.Log.Handler()))
	d := &Daemon{config: config, log: config.Log, began: time.Now(), addr: config.address()}
	if err := d.open(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	config = d.config // its paths are absolute now
	workspace := filepath.Join(config.Data, "workspace")
	settle := func() error { return d.store.SettleRestore(ctx, workspace) }
	if err := d.patiently(ctx, settle); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if err := makeWorkspace(starter.FS, workspace); err != nil {
		return nil, errors.Join(fmt.Errorf("make the workspace: %w", err), d.Close())
	}
	d.prices = prices.Open(config.prices(), d.room("prices"))
	d.settings = NewSettings(config, d.store)
	d.accounts = newAccounts(config, d.store, accounts.Config{
		Now: config.Now, Plans: func(account string) []pluginsdk.PlanWindow { return d.plan.Windows(account) },
		Rights: d.rights,
	})
	telling := events.Config{Thread: newThreadLabels(d.store.Thread).of, Trace: config.Trace, Log: d.room("events")}
	if config.Tell != nil {
		config.Tell(&telling)
	}
	d.events = events.New(telling)
	runTokens := hostapi.NewTokens()
	var api *hostapi.API // made last: it speaks for all the others
	packages, err := config.Depot()
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	asking := hooks.Config{
		Deadlines: config.HookDeadlines, Budget: config.HookBudget, Waiting: d.tellOfWaiting,
		Trace: config.Trace, Timed: pluginhost.Timed, Log: d.room("hooks"),
	}
	supervision := pluginhost.Config{
		Dir: config.Plugins, Owner: d.owner, Log: d.room("pluginhost"), Logs: config.PluginLogs(), Dev: config.Dev,
		Sockets: filepath.Join(config.Data, "run"), Cgroups: "/sys/fs/cgroup", BackoffBase: config.PluginBackoff, LateGrace: config.HookGrace,
		Provide: map[string]string{
			"HARNESS_WORKSPACE": workspace, "HARNESS_VERSION": config.Version,
			"HARNESS_OWNER_TOKEN": filepath.Join(config.Data, OwnerTokenFile),
			addressVariable:       d.addr, certVariable: config.TLSCert, keyVariable: config.TLSKey,
		},
		Variables:   config.PluginVariables,
		HostFigures: func(plugin string) (map[string]pluginsdk.CallFigures, int64) { return api.Figures(plugin) },
		Verify:      packages.Verify, Settings: d.pluginSettings, Gone: d.settings.Forget, Reserved: inbox.Reserved(),
		Hooks: hooks.New(asking, nil, runTokens),
	}
	if config.Supervise != nil {
		config.Supervise(&supervision)
	}
	d.plugins = pluginhost.New(supervision, d.store, bus{d.events, d.pluginChanged}, services{&api})
	d.store.SetCarrier(d.plugins.CarrierOf)
	asked := hooks.New(asking, d.plugins, runTokens)
	tools := toolserver.New(toolserver.Config{Own: hostapi.CoreName, Bounds: config.ToolBounds, Log: d.room("tools")},
		toolPlugins{d.plugins, d.store, newCoreTools(&api)}, asked)
	d.plan = plan.New(plan.Config{Share: float64(config.PlanShare) / 100, Spread: config.PlanSpread, Now: config.Now, Log: d.room("plan")}, plan.Doors{
		Store: d.store, Events: d.events, Overage: d.accounts.Overage, Notify: d.warnOfPlan,
		GoOn: func(ctx context.Context, later time.Time, due func(parked pluginsdk.Parked, people bool) time.Time) error {
			return d.inbox.GoOn(ctx, later, due)
		},
	})
	if d.agent, err = d.chooseAgent(ctx, workspace, tools, func(threadID string, apart bool, tool string, input json.RawMessage) bool {
		ctx, cancel := context.WithTimeout(context.Background(), readyPatience)
		defer cancel()
		return api.ToolAsked(ctx, threadID, apart, tool, input)
	}); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	contexts := contextfiles.New(contextfiles.Config{Dir: workspace, Log: d.room("workspace")}, d.store)
	d.files = files.New(files.Config{
		Dir: config.files(), Threads: config.threads(), MaxFile: config.MaxFile, Quota: config.FilesQuota,
		Fault: config.FileFault, Log: d.room("files"),
	}, d.store)
	d.outbox = outbox.New(outbox.Config{
		MaxAttempts: config.Deliveries,
		RetryBase:   config.RetryBase, RetryMax: config.DeliveryMax, Jitter: config.RetryJitter, Log: d.room("outbox"),
	}, outbox.Doors{Store: d.store, Plugins: d.plugins, Hooks: asked, Events: d.events})
	d.pipeline = pipeline.New(pipeline.Config{Model: config.Model, Fault: config.Fault, Now: config.Now, Log: d.room("pipeline")}, pipeline.Doors{
		Store: d.store, Agent: watchedAgent{d.agent, contexts}, Plugins: d.plugins, Hooks: asked, Effects: effects{&api},
		Tools: tools, Files: d.files, Outbox: d.outbox, Events: d.events, Notifier: notices{&api}, Approvals: approvalDesk{&d.approvals}, Plan: planDesk{d.plan, d.accounts}, Places: places{&d.inbox},
	})
	threadRoom := threads.New(threads.Config{RetryBase: config.RetryBase, Log: d.room("threads")}, d.store, d.events)
	dispatch := inbox.Config{
		Owner: d.events.Position().Boot, Slots: config.Agents, MaxAttempts: config.MaxAttempts,
		RetryBase: config.RetryBase, RetryMax: config.RetryMax, Jitter: config.RetryJitter,
		MaxWaiting: config.MaxWaiting, DrainGrace: config.DrainGrace, Now: config.Now, Log: d.room("inbox"),
	}
	if config.Dispatch != nil {
		config.Dispatch(&dispatch)
	}
	d.inbox = inbox.New(dispatch, inbox.Doors{Store: d.store, Pipeline: d.pipeline, Registry: plugins{d.plugins}, Outbox: d.outbox, Events: d.events, Tasks: taskDesk{&d.tasks}, Threads: threadRoom, Approvals: approvalDesk{&d.approvals}, Plan: d.plan})
	d.approvals = approvals.New(approvals.Config{
		AskTools: config.AskTools, AskUnattended: config.AskUnattended, ParkAfter: config.ApprovalPark, Expiry: config.ApprovalExpiry,
		Fault: config.Fault, Log: d.room("approvals"),
	}, approvals.Doors{Store: d.store, Inbox: d.inbox, Outbox: d.outbox, Events: d.events})
	judging := tasks.Config{
		RetryBase: config.RetryBase, RetryMax: config.RetryMax, Jitter: config.RetryJitter, Fault: config.Fault,
		Directories: filepath.Join(workspace, "tasks"), Log: d.room("tasks"),
	}
	if config.Judge != nil {
		config.Judge(&judging)
	}
	d.tasks = tasks.New(judging, tasks.Doors{Store: d.store, Inbox: d.inbox, Outbox: d.outbox, Plugins: d.plugins, Hooks: asked, Events: d.events})
	d.search = search.New(search.Config{Log: d.room("search")}, d.store)
	finding := &followed{Room: d.search, events: d.events}
	d.tokens = tokens.New(tokens.Config{Store: d.store, Events: d.events, Log: d.room("tokens")})
	api = hostapi.New(hostapi.Config{
		Store: d.store, Threads: threadRoom, Workspace: contexts, Inbox: d.inbox, Tasks: d.tasks, Approvals: d.approvals, Outbox: d.outbox, Events: hostBus{d.events}, Grants: d.plugins,
		Settings: pluginSet{d.settings, tools}, Registry: administration{newRegistry(config, d.store, packages, up), filepath.Join(config.Data, "uploads")}, Toolbox: tools,
		Callers: d.tokens, Search: finding, Files: d.files, Tokens: runTokens,
		Quotas: hostapi.NewQuotas(hostapi.QuotaConfig{
			Limits: d.plugins.Limits, StoredBytes: d.store.StoredBytes, Shipped: d.plugins.Shipped, Log: d.room("plugins"),
		}),
		Daemon:              (&figures{counted: d.countedFigures, stored: d.storedFigures, plugins: d.plugins.OwnFigures, refused: make(map[string]bool), log: d.room("figures")}).All,
		Accounts:            accountDesk{d.accounts, d.plan},
		Installation:        newInstallationRoom(config, d.store, d.prices, d.plugins.Live, d.plugins.CheckAnew),
		CheckPermissionMode: ledger.CheckPermissionMode, Apart: d.files.Apart, Trace: config.Trace, Log: d.room("plugins"),
	})

	jobs := crons.New(crons.Config{Log: d.room("crons")}, d.store, d.events)
	usage := newRollups(d.store, d.room("usage"))
	retention := newRetention(d.store, config.RetentionDays, d.room("retention"))
	d.parts = []part{
		{name: "files", start: d.files.Start, stop: d.files.Stop},
		{name: "tools", start: tools.Start, stop: tools.Stop},
		{name: "workspace", start: contexts.Start, stop: contexts.Stop},
		{name: "tokens", start: d.tokens.Start, stop: d.tokens.Stop},
		{name: "owner's token", start: d.keepOwner, stop: func(context.Context) error { return nil }},
		{name: "plan", start: d.startPlan, stop: d.plan.Stop},
		{name: "agent", start: d.agent.Start, stop: d.agent.Stop},
		{name: "agent's model", start: d.model.Start, stop: d.model.Stop},
		{name: "scheduled jobs", start: jobs.Start, stop: jobs.Stop},
		{name: "plugins", start: d.startPlugins, stop: d.plugins.Stop},
		{name: "threads", start: threadRoom.Start, stop: threadRoom.Stop},
		{name: "outbox", start: d.outbox.Start, stop: d.outbox.Stop, grace: true},
		{name: "inbox", start: d.inbox.Start, stop: d.inbox.Stop, grace: true},
		{name: "tasks", start: d.tasks.Start, stop: d.tasks.Stop, grace: true},
		{name: "approvals", start: d.approvals.Start, stop: d.approvals.Stop},
		{name: "retention", start: retention.Start, stop: retention.Stop},
		{name: "usage", start: usage.Start, stop: usage.Stop},
		{name: "search", start: finding.Start, stop: finding.Stop},
	}
	return d, nil
}

// tellOfWaiting publishes that a run waits for a plugin that is slow.
func (d *Daemon) tellOfWaiting(on *hooks.Occasion, plugin string, hook pluginsdk.Hook, since time.Time) {
	thread := on.Behalf.Fence.ThreadID
	d.events.Publish(pluginsdk.EventPipelineWaiting, thread, pluginsdk.WaitingPayload{
		ThreadID: thread, RunID: on.Behalf.RunID, Plugin: plugin, Hook: hook, Since: since, Kind: on.Behalf.RunKind,
	})
}

// open makes the data directory and opens what lies in it.
func (d *Daemon) open(ctx context.Context) (err error) {
	if d.config.Data, err = filepath.Abs(d.config.Data); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if err := os.MkdirAll(d.config.Data, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	if err := checkEmptied(d.config); err != nil {
		return err
	}
	if d.owner, err = installation(d.config.Data); err != nil {
		return err
	}
	owner := fmt.Sprintf("pid %d, installation %s", os.Getpid(), d.owner)
	err = d.patiently(ctx, func() (err error) {
		d.store, d.lease, err = store.OpenLocked(ctx, d.config.storeConfig(), owner)
		return err
	})
	if err != nil {
		return err
	}
	// Only now is it certain that whoever carries our mark has no daemon.
	ended, err := invoker.EndOrphans(d.owner, nil, d.room("orphans"))
	if err != nil {
		d.log.Warn("processes of a daemon that died could not be ended", "err", err)
	}
	if ended > 0 {
		d.log.Info("ended what a daemon that died left running", "processes", ended)
	}
	err = d.patiently(ctx, func() error {
		_, err := d.store.EnsurePrimary(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("make the primary thread: %w", err)
	}
	return d.patiently(ctx, func() error { return d.store.SetLever(ctx, ledger.LeverDev, d.config.Dev, "daemon") })
}

// startPlugins also waits until they serve, for a while: the first runs should
// not miss them.
func (d *Daemon) startPlugins(ctx context.Context) error {
	if err := d.plugins.Start(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	if err := d.plugins.Ready(ctx); err != nil {
		d.log.Warn("not every plugin has started; going on without waiting for them", "err", err)
	}
	for _, down := range d.plugins.Outages() {
		d.log.Error("a plugin that is enabled does not serve", "plugin", down.Plugin, "state", down.State, "why", down.Why)
	}
	return nil
}

// Outages returns the plugins that are enabled and do not serve at this moment, in the
// operator's order.
func (d *Daemon) Outages() []pluginhost.Outage { return d.plugins.Outages() }

// Run starts every part, calls ready, and returns when ctx ends or another
// daemon has taken the database over, after everything was stopped in reverse
// order. Once hurry ends as well, the stop interrupts running turns at once
// instead of giving them their grace; they go on at the next start.
func (d *Daemon) Run(ctx, hurry context.Context, ready func()) error {
	started, err := d.start(ctx)
	switch {
	case ctx.Err() != nil:
		err = nil // told to stop before it had started: what failed did so for that
	case err == nil:
		ready()
		if err = d.hold(ctx); err != nil {
			hurry = ended() // what runs may be somebody else's by now
		} else {
			d.log.Info("stopping")
		}
	}
	return errors.Join(err, d.stop(hurry, started))
}

// ended is a context that leaves no time.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// Alive reports whether the daemon can do its work. A database that is away does
// not count against it: it waits for that one, with what it must not forget.
func (d *Daemon) Alive(ctx context.Context) error {
	err := d.store.Ping(ctx)
	if pluginsdk.CodeOf(err) == pluginsdk.CodeUnavailable {
		return nil
	}
	return err
}

func (d *Daemon) start(ctx context.Context) (started int, err error) {
	for i, part := range d.parts {
		begin := func() error {
			if err := d.keepLock(ctx); err != nil {
				return err
			}
			return part.start(ctx)
		}
		if err := d.patiently(ctx, begin); err != nil {
			return i, fmt.Errorf("start the %s: %w", part.name, err)
		}
	}
	return len(d.parts), nil
}

// stopPatience is how long the end of a part may take that has no grace to give:
// agent processes that are to end cleanly take their time.
const stopPatience = 15 * time.Second

// stop ends the first n parts in reverse order. Once hurry has ended, those that
// let work go on (tasks, inbox, outbox) give it no grace.
func (d *Daemon) stop(hurry context.Context, n int) error {
	var errs []error
	for i := n - 1; i >= 0; i-- {
		ctx := hurry
		if !d.parts[i].grace {
			bounded, cancel := context.WithTimeout(context.WithoutCancel(hurry), stopPatience)
			defer cancel()
			ctx = bounded
		}
		if err := d.parts[i].stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop the %s: %w", d.parts[i].name, err))
		}
	}
	return errors.Join(errs...)
}

// Close gives the database back.
func (d *Daemon) Close() error {
	if d.lease != nil {
		d.lease.Release()
	}
	if d.store != nil {
		return d.store.Close()
	}
	return nil
}

// Addr is where the web plugin was told to listen.
func (d *Daemon) Addr() string { return d.addr }

// AgentName says which agent answers, for people.
func (d *Daemon) AgentName() string {
	if _, ok := d.agent.(*invoker.Demo); ok {
		return "demo"
	}
	return "claude"
}

func (d *Daemon) room(name string) *slog.Logger { return d.log.With("room", name) }

// chooseAgent returns the agent that the configuration asks for. Auto takes
// Claude when its CLI is there and can authenticate, else the demo agent, with
// a loud line; an explicit claude never falls back.
func (d *Daemon) chooseAgent(ctx context.Context, workspace string, tools *toolserver.Server, asked func(threadID string, apart bool, tool string, input json.RawMessage) bool) (agent, error) {
	config := d.config.invoker(workspace, d.owner, d.room("invoker"))
	config.Tools, config.Private, config.Account = agentTools{tools}, filepath.Join(d.config.Data, "run"), d.account
	config.OnPlan, config.ToolAsked = d.plan.Observe, asked
	config.Prices, config.OnUnpriced = d.prices, d.tellUnpriced
	config.OnClosed = func(threadID, sessionID string) {
		ctx, cancel := context.WithTimeout(context.Background(), readyPatience)
		defer cancel()
		if err := d.store.SessionClosed(ctx, threadID, sessionID); err != nil {
			d.log.Warn("clean end of a session cannot be stored", "thread", threadID, "err", err)
		}
	}
	choice := d.config.Agent
	if choice == "auto" {
		choice = "claude"
		if found := invoker.Detect(ctx, config); !found.CanAuthenticate && (!found.Found || !d.accounts.Usable()) {
			choice = "demo"
			d.log.Warn("NO REAL AGENT: the demo agent answers, and marks every reply with [demo agent]",
				"why", found.Reason, "remedy", found.Remedy)
		}
	}
	if choice == "claude" {
		found := invoker.Detect(ctx, config)
		if d.config.Agent == "claude" && !found.Usable() && (!found.Found || !d.accounts.Usable()) {
			d.log.Warn("THE AGENT CANNOT ANSWER: every turn fails until this is put right", "why", found.Reason, "remedy", found.Remedy)
		}
		d.billed = found.Billed
		if d.unverified = found.Unverified; d.unverified != "" {
			d.log.Warn("the agent's program was not verified with this version of Harness", "why", d.unverified)
		}
		d.model.log = d.room("invoker")
		d.model.check = func(ctx context.Context) *invoker.UnknownModel { return invoker.CheckModel(ctx, config) }
		return invoker.New(config)
	}
	return d.demo(workspace, tools)
}

func (d *Daemon) demo(workspace string, tools *toolserver.Server) (agent, error) {
	config := invoker.DemoConfig{Tools: tools, Workspace: workspace, OnPlan: d.plan.Observe, Now: d.config.Now, Log: d.room("invoker")}
	if d.config.DemoScript != "" {
		script, err := invoker.LoadScript(d.config.DemoScript)
		if err != nil {
			return nil, fmt.Errorf("HARNESS_DEMO_SCRIPT: %w", err)
		}
		config.Script = script
	}
	return invoker.NewDemo(config), nil
}

func (c Config) invoker(workspace, owner string, log *slog.Logger) invoker.Config {
	return invoker.Config{
		Binary: c.ClaudeBinary, Workspace: workspace, Env: []string{"HARNESS_OWNER=" + owner},
		Model: c.Model, PermissionMode: c.PermissionMode, AllowedTools: c.AllowedTools,
		DisallowedTools: c.DisallowedTools, Guard: callGuard{}, NewTools: filepath.Join(c.Data, "agent-tools.json"),
		MCPConfig: c.MCPConfig, MaxSessions: c.Agents, MemoryBudget: c.AgentMemory, IdleTimeout: c.IdleTimeout, SilenceTimeout: c.SilenceTimeout,
		TurnTimeout: c.TurnTimeout, ToolsAtOnce: orNone(c.ToolsAtOnce), SubAgents: orNone(c.SubAgents), Unsafe: c.AgentUnsafe, Log: log,
	}
}

// orNone is a number for the invoker, whose zero is its default.
func orNone(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

// DetectAgent says whether the real agent can be used, for doctor.
func DetectAgent(ctx context.Context, config Config) invoker.Detection {
	return invoker.Detect(ctx, config.agentSeen())
}

// agentSeen is the agent's configuration for a look at it from outside.
func (c Config) agentSeen() invoker.Config {
	return c.invoker(filepath.Join(c.Data, "workspace"), "", c.Log)
}
