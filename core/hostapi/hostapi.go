// Package hostapi is what plugins may ask of the core: it implements
// pluginsdk.Host for each plugin, under that plugin's identity. Every call is
// checked against the plugin's grants and, inside a hook, against the token of
// the hook's call, and counts in the plugin's quotas.
package hostapi

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/tally"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Store is what the host's services need of the database.
type Store interface {
	Thread(ctx context.Context, id string) (pluginsdk.Thread, error)
	Threads(ctx context.Context, query pluginsdk.ThreadQuery) ([]pluginsdk.Thread, error)
	// FindTarget returns the thread of a plugin's place, if there is one.
	FindTarget(ctx context.Context, plugin, place string) (t pluginsdk.Thread, found bool, err error)
	// ThreadOfTarget returns the thread of a plugin's place, and makes it when there
	// is none.
	ThreadOfTarget(ctx context.Context, plugin, place string) (pluginsdk.Thread, error)

	MessagePage(ctx context.Context, query pluginsdk.MessageQuery) (rows []pluginsdk.Message, more bool, err error)
	Append(ctx context.Context, rows ledger.Append) (ledger.Appended, error)

	Run(ctx context.Context, id string) (pluginsdk.Run, error)
	Runs(ctx context.Context, query pluginsdk.RunQuery) ([]pluginsdk.Run, error)

	Deliveries(ctx context.Context, query pluginsdk.DeliveryQuery) ([]pluginsdk.Delivery, error)

	Task(ctx context.Context, id string) (pluginsdk.Task, error)
	Tasks(ctx context.Context, query pluginsdk.TaskQuery) ([]pluginsdk.Task, error)

	SaveCron(ctx context.Context, spec pluginsdk.CronSpec, enabled bool) (job pluginsdk.CronJob, existed bool, err error)
	SetCronEnabled(ctx context.Context, name string, enabled bool) (pluginsdk.CronJob, error)
	ReportCron(ctx context.Context, name string, status pluginsdk.CronStatus, fires ...pluginsdk.CronFire) (pluginsdk.CronJob, error)
	CronFires(ctx context.Context, query pluginsdk.CronFiresRequest) (fires []pluginsdk.CronFire, more bool, err error)
	FireCron(ctx context.Context, name, data string) (pluginsdk.CronFire, error)
	Crons(ctx context.Context) ([]pluginsdk.CronJob, error)
	DeleteCron(ctx context.Context, name string) error

	RecordMetrics(ctx context.Context, plugin string, metrics []pluginsdk.NewMetric) error
	QueryMetrics(ctx context.Context, query pluginsdk.MetricQuery) ([]pluginsdk.Metric, error)

	// BudgetAccount returns how an account of a plugin's stands.
	BudgetAccount(ctx context.Context, plugin, account string) (pluginsdk.BudgetAccount, error)
	CountSpent(ctx context.Context, plugin string, request pluginsdk.CountSpentRequest) (pluginsdk.BudgetAccount, error)

	GetState(ctx context.Context, plugin, key string) (pluginsdk.StateEntry, error)
	WriteState(ctx context.Context, write ledger.StateWrite) (revision int64, err error)
	ListState(ctx context.Context, plugin string, request pluginsdk.ListStateRequest) (pluginsdk.ListStateResponse, error)

	Plugin(ctx context.Context, name string) (ledger.Plugin, error)
	Plugins(ctx context.Context) ([]ledger.Plugin, error)
	Audit(ctx context.Context, who, action, target, detail string) error
	AuditPage(ctx context.Context, query pluginsdk.AuditQuery) ([]pluginsdk.AuditEntry, error)
}

// Threads makes and changes threads, and tells everybody of it.
type Threads interface {
	Create(ctx context.Context, thread pluginsdk.NewThread) (t pluginsdk.Thread, created bool, err error)
	Update(ctx context.Context, id string, patch pluginsdk.ThreadPatch) (pluginsdk.Thread, error)
	// Permit is Update for a change of what a thread may do: who made it, and what it was, is
	// in the audit log if it is made.
	Permit(ctx context.Context, id string, patch pluginsdk.ThreadPatch, who, detail string) (pluginsdk.Thread, error)
	// Delete removes a thread for good; one that does not exist is no error. who is in the
	// audit log.
	Delete(ctx context.Context, id, who string) error
	// Branch makes a thread of a part of another. It gives the new one its id.
	Branch(ctx context.Context, branch ledger.Branch) (t pluginsdk.Thread, created bool, err error)
}

// Workspace is the agent's context files.
type Workspace interface {
	List(ctx context.Context) ([]pluginsdk.WorkspaceFile, error)
	// Read returns a file as it is, or with a version an earlier text of it.
	Read(ctx context.Context, path, version string) (pluginsdk.WorkspaceFile, string, error)
	// Write and Delete change a file that is of the version which is named, else they are
	// CodeConflict. An author is a person, who does it through the plugin.
	Write(ctx context.Context, request pluginsdk.WriteWorkspaceRequest, by ledger.By) (pluginsdk.WorkspaceFile, error)
	Delete(ctx context.Context, request pluginsdk.DeleteWorkspaceRequest, by ledger.By) error
	History(ctx context.Context, request pluginsdk.WorkspaceHistoryRequest) ([]pluginsdk.WorkspaceChange, error)
}

// Inbox accepts messages and controls runs.
type Inbox interface {
	Submit(ctx context.Context, by ledger.By, submission pluginsdk.Submission) (pluginsdk.Accepted, error)
	// Amend changes what a message says that a plugin has submitted.
	Amend(ctx context.Context, amendment ledger.Amendment) (pluginsdk.Message, error)
	// Needs says what a plugin must have been granted to submit a text beside
	// messages.submit, because it is a command of the core.
	Needs(content string) (pluginsdk.Capability, bool)
	// AtOnce says whether a text is a command that the core answers in Submit itself:
	// no queue bounds those.
	AtOnce(content string) bool
	Cancel(ctx context.Context, runID string, by ledger.By) (pluginsdk.Run, error)
	Retry(ctx context.Context, runID string, by ledger.By) (pluginsdk.Accepted, error)
	// Recheck has the runs go on that wait for a plugin's gate.
	Recheck(ctx context.Context, plugin string) error
	// ResumeRun has a parked run go on now.
	ResumeRun(ctx context.Context, request pluginsdk.ResumeRunRequest, by ledger.By) (pluginsdk.Run, error)
	// StartTurn stores what a plugin asks of the agent; a run, if any, has caused it.
	StartTurn(ctx context.Context, plugin string, request pluginsdk.StartTurnRequest, causeRunID string) (ledger.AcceptedTurn, error)
	StopThread(ctx context.Context, threadID string, queue pluginsdk.Queue, by ledger.By) (pluginsdk.Stopped, error)
	// Commands returns all commands that people can type, by name.
	Commands() []pluginsdk.Command
}

// Tasks makes the transitions of tasks.
type Tasks interface {
	Create(ctx context.Context, task ledger.NewTask) (t pluginsdk.Task, existed bool, err error)
	Iterate(ctx context.Context, request pluginsdk.IterateTaskRequest) (pluginsdk.Task, pluginsdk.Accepted, error)
	Evaluate(ctx context.Context, request pluginsdk.EvaluateTaskRequest) (pluginsdk.Task, error)
	Suspend(ctx context.Context, request pluginsdk.SuspendTaskRequest) (pluginsdk.Task, error)
	// Decide is a person's word, given through a plugin.
	Decide(ctx context.Context, by ledger.By, request pluginsdk.DecideTaskRequest) (pluginsdk.Task, error)
	History(ctx context.Context, id string, after int64, limit int) ([]pluginsdk.TaskIteration, []pluginsdk.TaskAnswer, error)
	Fail(ctx context.Context, id, reason string) (pluginsdk.Task, error)
	Cancel(ctx context.Context, id, reason string, by ledger.By) (pluginsdk.Task, error)
}

// Approvals are what the agent asks people.
type Approvals interface {
	Approval(ctx context.Context, id string) (pluginsdk.Approval, error)
	Approvals(ctx context.Context, query pluginsdk.ApprovalQuery) (page []pluginsdk.Approval, more bool, err error)
	// Decide is a person's answer, given through a plugin.
	Decide(ctx context.Context, by ledger.By, request pluginsdk.DecideApprovalRequest) (pluginsdk.Approval, error)
	Rules(ctx context.Context, request pluginsdk.ListApprovalRulesRequest) (page []pluginsdk.ApprovalRule, more bool, err error)
	Revoke(ctx context.Context, by ledger.By, id string) error
}

// Outbox carries deliveries.
type Outbox interface {
	Retry(ctx context.Context, id string) (pluginsdk.Delivery, error)
	// Wake says that a plugin's target has something new to carry.
	Wake(plugin, target string)
}

// Events is the event bus.
type Events interface {
	Publish(kind pluginsdk.EventType, threadID string, payload any)
	Relay(event pluginsdk.Event)
	Since(after pluginsdk.Position, limit int) pluginsdk.ListEventsResponse
	Subscribe(name string, types []string, after pluginsdk.Position,
		deliver func(context.Context, []pluginsdk.Event) error) (stop func() pluginsdk.Position)
}

// Grants is the plugin host: what an operator has granted, and what plugins
// did with it.
type Grants interface {
	Granted(plugin string, capability pluginsdk.Capability) bool
	// Sources returns the thread sources that the plugin speaks for, in its
	// manifest's order: those that no plugin before it in the operator's order names.
	Sources(plugin string) []string
	// OwnsCommand reports whether a command, by its name, is one that the plugin declares and
	// that belongs neither to the core nor to a plugin before it in the operator's order.
	OwnsCommand(plugin, command string) bool
	// CountDropped counts rows of effects that were not stored, for a reason, against the
	// plugin.
	CountDropped(plugin string, rows int, why string)
	// Logs returns the newest lines of a plugin's log, the oldest first.
	Logs(ctx context.Context, plugin string, limit int) ([]pluginsdk.LogLine, error)
	// SettingsOf returns the settings that hold for a plugin that is running;
	// false: it has none in force.
	SettingsOf(plugin string) (json.RawMessage, bool)
	// AskCron asks a plugin whether there is news for a scheduled job. behalf is the call in which
	// it is asked.
	AskCron(ctx context.Context, behalf ledger.Behalf, plugin string, question pluginsdk.CronQuestion) (pluginsdk.OnCronResponse, error)
	// Live puts what is known of the plugin at this moment into its row.
	Live(row ledger.Plugin) ledger.Plugin
}

// Settings are what operators set for plugins.
type Settings interface {
	// Get returns the settings that hold for a plugin, its secrets included.
	Get(ctx context.Context, plugin string) (json.RawMessage, error)
	// View returns a plugin's settings without its secrets.
	View(ctx context.Context, plugin string) (pluginsdk.SettingsView, error)
	// ChangeFor changes what patch names on behalf of another plugin, which learns no
	// secret by it: CodeDenied.
	ChangeFor(ctx context.Context, asker, plugin string, patch json.RawMessage) error
	// Problem says what is wrong with a plugin's stored settings, or is empty.
	Problem(ctx context.Context, row ledger.Plugin) string
}

// Registry decides about plugins, on behalf of a plugin. What is more than that one may
// decide is CodeDenied.
type Registry interface {
	// SetEnabled turns a plugin on, unless what it declares is somebody else's
	// (CodeConflict), or off.
	SetEnabled(ctx context.Context, by, plugin string, enabled bool) error

	// Install, Upgrade, Rollback and Remove plan what is asked for; the digest is the
	// caller's to compare.
	Install(ctx context.Context, by string, request pluginsdk.InstallPluginRequest) (Planned, error)
	Upgrade(ctx context.Context, by string, request pluginsdk.UpgradePluginRequest) (Planned, error)
	Rollback(ctx context.Context, by string, request pluginsdk.RollbackPluginRequest) (Planned, error)
	Remove(ctx context.Context, by string, request pluginsdk.RemovePluginRequest) (Planned, error)

	Grant(ctx context.Context, by string, request pluginsdk.GrantPluginRequest) (Decided, error)
	Revoke(ctx context.Context, by string, request pluginsdk.RevokePluginRequest) (Decided, error)
	SetLimits(ctx context.Context, by string, request pluginsdk.SetPluginLimitsRequest) (Decided, error)
	Order(ctx context.Context, by string, request pluginsdk.OrderPluginsRequest) (order []string, err error)

	// Follow waits until what was decided of a plugin has been carried out, or could not
	// be.
	Follow(ctx context.Context, plugin string) (ledger.Plugin, pluginsdk.PluginStanding, error)
}

// Planned is a decision that can be made. Discard is called in any case.
type Planned struct {
	Plan    pluginsdk.PluginPlan
	Do      func(ctx context.Context) (Decided, error)
	Discard func() error
}

// Decided is what has become of a plugin by a decision.
type Decided struct {
	Plugin           ledger.Plugin
	Changed, Missing pluginsdk.PluginRights
}

// CallerTokens are who may call from outside. who is what the audit log calls who asks.
type CallerTokens interface {
	Check(ctx context.Context, secret string) (pluginsdk.Token, error)
	// Revoked reports whether a token is known to be revoked.
	Revoked(id string) bool
	Exchange(ctx context.Context, who string, request pluginsdk.ExchangeTokenRequest) (session pluginsdk.Token, secret string, err error)
	Create(ctx context.Context, who string, request pluginsdk.CreateTokenRequest) (token pluginsdk.Token, secret string, err error)
	List(ctx context.Context, request pluginsdk.ListTokensRequest) ([]pluginsdk.Token, error)
	Revoke(ctx context.Context, who, id string) error
	// LogOut ends the session of a secret.
	LogOut(ctx context.Context, who, secret string) error
}

// Toolbox is the tools of all plugins.
type Toolbox interface {
	// List returns the tools of the enabled plugins, named PLUGIN__TOOL.
	List() []pluginsdk.ToolSpec
	// Call calls a tool for a plugin, on behalf of origin.
	Call(ctx context.Context, caller string, origin ledger.Behalf, name string, input json.RawMessage) (pluginsdk.ToolResult, error)
}

// Config is what an API speaks for. All of it is needed.
type Config struct {
	Store   Store
	Threads Threads
	Inbox   Inbox
	// Workspace is where the context files are read and written.
	Workspace Workspace
	Tasks     Tasks
	Approvals Approvals
	Outbox    Outbox
	Events    Events
	Grants    Grants
	Settings  Settings
	Registry  Registry
	Toolbox   Toolbox
	Search    Search
	Files     Files
	Callers   CallerTokens
	Tokens    *Tokens // the ones that the pipeline opens
	Quotas    *Quotas // the ones that the pipeline counts effects in
	// Installation is the daemon as a whole.
	Installation Installation
	// Accounts are the logins and keys of the agent's.
	Accounts Accounts
	// Daemon returns what the daemon counts and measures of itself, by name. What cannot
	// be read at the moment is not among it.
	Daemon func(ctx context.Context) []pluginsdk.Figure
	// Apart reports whether a thread is apart: its people are not to know what the workspace
	// holds.
	Apart func(ctx context.Context, thread pluginsdk.Thread) (bool, error)
	// CheckPermissionMode refuses (CodeInvalid) what is not a permission mode of the
	// agent's.
	CheckPermissionMode func(mode string) error
	// Trace, when set, is told of what plugins ask.
	Trace func(ledger.Span)
	Log   *slog.Logger
}

// API makes a Host for each plugin.
type API struct {
	Config
	noticing  noticing
	ends      ends
	shown     shown
	packages  chan struct{} // a place for who has a package read or added
	followers chan struct{} // places for those who follow what was decided
}

// New returns an API.
func New(config Config) *API {
	return &API{
		Config: config, noticing: noticing{runs: make(map[string]map[string]bool)},
		packages: make(chan struct{}, 1), followers: make(chan struct{}, maxFollowers),
	}
}

// For returns the Host of a plugin that has no process.
func (a *API) For(plugin string) pluginsdk.Host { return a.ForProcess(plugin, nil) }

// ForProcess returns the Host of one process of a plugin. listen replaces the rules by which
// the process is told events; nil: it is told none.
func (a *API) ForProcess(plugin string, listen func(rules []pluginsdk.EventRule) (pluginsdk.Position, error)) pluginsdk.Host {
	c := &caller{API: a, plugin: plugin, listen: listen}
	return pluginsdk.Host{
		Threads: threads{c}, Messages: messages{c}, Runs: runs{c}, Deliveries: deliveries{c},
		Tasks: tasks{c}, Agent: agent{c}, Events: busEvents{c}, Settings: settings{c}, State: state{c}, Crons: crons{c}, Metrics: metrics{c}, Budgets: budgets{c},
		Tools: tools{c}, Plugins: plugins{c}, Approvals: approvals{c}, Commands: commands{c}, Workspace: workspace{c}, Search: search{c}, Files: files{c}, Tokens: callers{c}, Installation: installation{c}, Accounts: accounts{c},
		Log: a.Log.With("plugin", plugin),
	}
}

// Figures returns what a plugin has called of the host, by service and method as in
// Messages.Append, and how often a quota has refused it something.
func (a *API) Figures(plugin string) (calls map[string]pluginsdk.CallFigures, heldBack int64) {
	return a.Quotas.Figures(plugin)
}

// caller is the plugin on whose behalf a service works.
type caller struct {
	*API
	plugin string
	listen func(rules []pluginsdk.EventRule) (pluginsdk.Position, error)
}

// serve answers a call of a method, such as Messages.Append, if the plugin's quota
// of calls allows it.
func serve[R any](c *caller, method string, do func() (*R, error)) (*R, error) {
	return counted(c, method, func() (*R, error) {
		if err := c.Quotas.call(c.plugin); err != nil {
			return nil, err
		}
		return do()
	})
}

// counted answers a call, and counts it in the plugin's figures. It asks no quota: that is
// serve's, and a method that calls this itself is in none.
func counted[R any](c *caller, method string, do func() (*R, error)) (*R, error) {
	began := time.Now()
	response, err := do()
	took := time.Since(began)
	c.Quotas.record(c.plugin, method, took, err)
	if c.Trace != nil {
		c.Trace(ledger.Span{Kind: ledger.SpanAsked, Name: method, Plugin: c.plugin, Began: began, Took: took})
	}
	if err != nil {
		return nil, err
	}
	return response, nil
}

// write lets do write to the database once the plugin has a place there, if its quotas
// allow so many rows with so many bytes of words.
func (c *caller) write(ctx context.Context, rows int, bytes int64, do func() error) error {
	return c.writeLoad(ctx, load{rows: rows, bytes: bytes}, do)
}

func (c *caller) writeLoad(ctx context.Context, what load, do func() error) error {
	if err := c.Quotas.store(ctx, c.plugin, what); err != nil {
		return err
	}
	release, err := c.Quotas.mayWrite(ctx, c.plugin)
	if err != nil {
		return err
	}
	defer release()
	return do()
}

// Admit says whether a plugin may make a call: the token that it carries, if it
// carries one, must still be good (CodeStale), the plugin must have shown the secret of the
// caller's token that it names (CodeDenied), and the plugin must have been
// granted the capability that the call needs (CodeDenied); an empty one is
// needed for what every plugin may do, and none for a word on a task in a command that a
// person has typed. It is asked once, before each call that
// comes over the plugin's connection.
func (a *API) Admit(ctx context.Context, plugin string, capability pluginsdk.Capability) error {
	in, err := a.granted(ctx, plugin)
	if err != nil {
		return err
	}
	if err := a.admitToken(ctx, plugin); err != nil {
		return err
	}
	if capability == pluginsdk.CapTasksDecide && in.typedByAPerson() {
		return nil // Tasks.Decide says what it needs there
	}
	if capability != "" && !a.Grants.Granted(plugin, capability) {
		return lacks(plugin, capability)
	}
	return nil
}

func lacks(plugin string, capability pluginsdk.Capability) error {
	return pluginsdk.Errorf(pluginsdk.CodeDenied, "the plugin %s lacks the capability %s; an operator can grant it: harness plugin grant %s %s",
		plugin, capability, plugin, capability)
}

// granted returns what the token that a call carries stands for; the zero grant
// when it carries none.
func (a *API) granted(ctx context.Context, plugin string) (grant, error) {
	call, ok := pluginsdk.CallFrom(ctx)
	if !ok || call.Token == "" {
		return grant{}, nil
	}
	found, ok := a.Tokens.lookup(call.Token)
	if !ok || found.plugin != plugin {
		return grant{}, pluginsdk.Errorf(pluginsdk.CodeStale,
			"the hook call %s has ended; what it asks for now is refused", call.ID)
	}
	return found, nil
}

// record counts a call of a method.
func (q *Quotas) record(plugin, method string, took time.Duration, err error) {
	a := q.account(plugin)
	a.mu.Lock()
	defer a.mu.Unlock()
	calls := a.methods[method]
	if calls == nil {
		calls = &tally.Calls{}
		a.methods[method] = calls
	}
	calls.Record(took, err)
}

// Figures returns what a plugin has called of the host, by service and method as in
// Messages.Append, and how often a quota has refused it something.
func (q *Quotas) Figures(plugin string) (calls map[string]pluginsdk.CallFigures, heldBack int64) {
	a := q.account(plugin)
	a.mu.Lock()
	defer a.mu.Unlock()
	calls = make(map[string]pluginsdk.CallFigures, len(a.methods))
	for method, counted := range a.methods {
		calls[method] = counted.Figures()
	}
	return calls, a.heldBack
}
