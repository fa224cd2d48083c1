// Package budget keeps what the agent costs within budgets. Its gate answers from memory: it says
// in which accounts a turn is counted and how much may be set aside, and the core, which knows what
// was spent, denies the turn for which there is not enough left.
package budget

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	_ "time/tzdata" // a machine without a zone database must still know the zones

	"github.com/seed-706843ae/harness/plugins/internal/settings"
	"github.com/seed-706843ae/harness/plugins/metrics/internal/rows"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const name = "metrics"

const settingsSchema = `{"type": "object", "additionalProperties": false, "properties": {
  "timezone": {"type": "string", "default": "UTC", "description": "IANA name of the timezone in which days, weeks and months begin, such as America/Phoenix"},
  "backgroundShare": {"type": "integer", "minimum": 1, "maximum": 100, "default": 80, "description": "per cent of a budget that what plugins start (tasks, turns, scheduled jobs) may use; the rest is kept for people"},
  "rows": {"type": "boolean", "default": true, "description": "keep what runs, tasks and deliveries came to in the table metrics, for charts and other programs"}
}}`

// Plugin is the plugin.
type Plugin struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Every is how long after a turn has begun it is looked at what it has cost; 0 means a minute.
	Every time.Duration

	host       pluginsdk.Host
	settings   atomic.Pointer[options]
	known      atomic.Pointer[known]
	costs      costs
	tokens     costs                  // of the same turns, in tokens
	ownChoice  atomic.Pointer[string] // the model that has answered when none was asked for; nil: not known yet
	begun      begun
	checked    atomic.Pointer[checked]
	burnt      time.Time               // when it was last looked for spikes; of the goroutine that looks
	unreadSeen time.Time               // when it was last looked for threads that cost and that nobody opens; of the same
	spikes     atomic.Pointer[[]spike] // what was found then
	rows       rows.Book

	writing sync.Mutex         // held by who changes the budgets, or reads them anew
	end     context.CancelFunc // of the goroutine that looks; nil: it is not active
	ended   chan struct{}      // closed when it looks no more
}

// options are the settings.
type options struct {
	zone  *time.Location
	share float64 // of a budget that is not only people's
	rows  bool    // rows of metrics are kept
}

// known is what the gate answers from; it never changes.
type known struct {
	ledger   ledger
	revision int64 // of the state that the ledger is; 0: there is none yet
	broken   error // why the state cannot be read; nil: it can
	standard string
	accounts map[string]pluginsdk.Account
}

// Manifest describes the plugin.
func (*Plugin) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name: name, Version: "0.1.0", Description: "Keeps what the agent costs within budgets", Exclusive: true,
		Commands:   commands(),
		Tools:      tools(),
		Events:     heard(),
		EventRules: rows.Rules,
		Capabilities: []pluginsdk.CapabilityRequest{
			{Capability: pluginsdk.CapTurnsDecide, Reason: "have no turn begin for which no money is left"},
			{Capability: pluginsdk.CapBudgetsRead, Reason: "say what was spent"},
			{Capability: pluginsdk.CapState, Reason: "keep the budgets"},
			{Capability: pluginsdk.CapInstallationRead, Reason: "know which accounts are billed, and which have a plan"},
			{Capability: pluginsdk.CapRunsRead, Reason: "know what turns of a model usually cost, and whether there are runs from before it"},
			{Capability: pluginsdk.CapTasksRead, Reason: "find the thread of a task that has a budget"},
			{Capability: pluginsdk.CapThreadsRead, Reason: "find the thread in which people are told"},
			{Capability: pluginsdk.CapMessagesWrite, Reason: "tell people that a soft budget is passed"},
			{Capability: pluginsdk.CapMetricsWrite, Reason: "keep what runs, tasks and deliveries came to, for charts"},
			{Capability: pluginsdk.CapEventsRead, Reason: "know that tasks have ended, and how deliveries went"},
		},
		SettingsSchema: json.RawMessage(settingsSchema),
	}
}

// Start reads the settings and the budgets: nothing is let through before they are known.
func (p *Plugin) Start(ctx context.Context, host pluginsdk.Host) error {
	p.host = host
	p.begun.wake = make(chan struct{}, 1)
	answer, err := host.Settings.Get(ctx, &pluginsdk.GetSettingsRequest{})
	if err == nil {
		err = p.set(answer.Settings)
	}
	if err != nil {
		return err
	}
	return p.load(ctx)
}

// OnSettingsChange takes other settings.
func (p *Plugin) OnSettingsChange(ctx context.Context, request *pluginsdk.OnSettingsChangeRequest) (*pluginsdk.OnSettingsChangeResponse, error) {
	if err := p.set(request.Settings); err != nil {
		return nil, err
	}
	p.recheck(ctx)
	return nil, p.keepRows(ctx)
}

func (p *Plugin) set(raw json.RawMessage) error {
	config := struct {
		Timezone        string `json:"timezone"`
		BackgroundShare int    `json:"backgroundShare"`
		Rows            bool   `json:"rows"`
	}{Timezone: "UTC", BackgroundShare: 80, Rows: true}
	if err := settings.Decode(raw, &config); err != nil {
		return err
	}
	zone, err := time.LoadLocation(config.Timezone)
	if err != nil || config.Timezone == "" || config.Timezone == "Local" {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: timezone %q is not known; use an IANA name such as America/Phoenix or Europe/Berlin", config.Timezone)
	}
	if config.BackgroundShare < 1 || config.BackgroundShare > 100 {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: backgroundShare is %d; it is per cent, from 1 to 100", config.BackgroundShare)
	}
	p.settings.Store(&options{zone: zone, share: float64(config.BackgroundShare) / 100, rows: config.Rows})
	return nil
}

// Activate stores the budget that it begins with, and begins to look at what turns cost.
func (p *Plugin) Activate(ctx context.Context) error {
	if p.known.Load().revision == 0 {
		if err := p.begin(ctx); err != nil {
			return err
		}
	}
	if err := p.keepRows(ctx); err != nil {
		return err
	}
	if err := p.remember(ctx); err != nil {
		p.host.Log.Warn("it is not known yet what turns usually cost; the least is set aside for each", "err", err)
	}
	if k := p.known.Load(); k.broken == nil {
		if err := p.countSpent(ctx, k, k.ledger.Budgets...); err != nil {
			p.host.Log.Warn("what was spent while the plugin was off does not count in all budgets; it is counted within the hour", "err", err)
		}
	}
	p.recheck(ctx) // the budgets may have been changed right before it died
	work, end := context.WithCancel(context.WithoutCancel(ctx))
	p.end, p.ended = end, make(chan struct{})
	go p.follow(work, p.ended)
	return nil
}

// Deactivate ends looking, and writes the rows that wait.
func (p *Plugin) Deactivate(ctx context.Context) error {
	if p.end != nil {
		p.end()
		<-p.ended
		p.end = nil
		if err := p.rows.Write(ctx, p.host, p.now()); err != nil {
			p.host.Log.Warn("the last rows of metrics could not be written", "err", err)
		}
	}
	return nil
}

func (p *Plugin) now() time.Time {
	if p.Now != nil {
		return p.Now()
	}
	return time.Now()
}

// load reads the budgets and the accounts. Once the plugin has started, writing is held.
func (p *Plugin) load(ctx context.Context) error {
	found, err := p.read(ctx)
	if err != nil {
		return err
	}
	accounts, err := p.host.Accounts.List(ctx, &pluginsdk.ListAccountsRequest{})
	if err != nil {
		return err
	}
	found.accounts = make(map[string]pluginsdk.Account)
	for _, account := range accounts.Accounts {
		found.accounts[account.Name] = account
		if account.Default {
			found.standard = account.Name
		}
	}
	p.known.Store(&found)
	return nil
}

// billed reports whether an account is paid for by call, as far as it is known: a plan's is not.
// One that the agent cannot be started with is not used: the demo agent answers.
func (k *known) billed(account string) bool {
	of, there := k.accounts[account]
	return !there || of.Usable && of.Kind != pluginsdk.AccountLogin && !of.Plan
}

// holds returns the budgets as they hold: none is hard before a person has confirmed one.
func (k *known) holds() []Budget {
	if k.ledger.Confirmed {
		return k.ledger.Budgets
	}
	all := slices.Clone(k.ledger.Budgets)
	for i := range all {
		all[i].Soft = true
	}
	return all
}
