package pluginsdk

import (
	"context"
	"encoding/json"
)

// What a plugin keeps, tells and asks of others: events, settings, state,
// metrics, tools, the registry.

// Events reads and publishes events. Live events come through OnBroadcast.
type Events interface {
	// Publish broadcasts an event of the plugin's own; its type must begin
	// with the plugin's name and a colon. Needs events.publish.
	Publish(ctx context.Context, request *PublishEventRequest) (*PublishEventResponse, error)
	// List returns the events after a position that are still kept. Needs
	// events.read.
	List(ctx context.Context, request *ListEventsRequest) (*ListEventsResponse, error)
	// Listen has OnBroadcast of the process that calls be told only the events that match
	// any of the rules, of those that Manifest.Events names, in place of
	// Manifest.EventRules and of the rules of an earlier call. EventResync is always told.
	// What was published before, and waits to be told, is told by the rules of then. The
	// rules end with the process: another one begins with those of its manifest.
	// CodeInvalid when OnBroadcast is not answered, or for a rule that is none. Needs no
	// capability: it only selects from what the plugin may be told.
	Listen(ctx context.Context, request *ListenEventsRequest) (*ListenEventsResponse, error)
}

// ListenEventsRequest has the rules: at most 64, which name at most 1000 threads and 1000
// types together; a type and the id of a thread have at most 256 bytes. None: all events that
// the manifest names.
type ListenEventsRequest struct{ Rules []EventRule }

// ListenEventsResponse says from when on the rules hold.
type ListenEventsResponse struct {
	// Position is where the stream stood when the rules came into force: every event after
	// it that matches them will be told.
	Position Position
}

// PublishEventRequest has the event.
type PublishEventRequest struct {
	Type     EventType       // begins with the plugin's name and a colon
	ThreadID string          // for filtering; empty when of no thread
	Data     json.RawMessage // the payload
}

// PublishEventResponse has nothing to say yet.
type PublishEventResponse struct{}

// ListEventsRequest says where to begin.
type ListEventsRequest struct {
	After Position
	Limit int // default and at most 1000
}

// ListEventsResponse has a page of events.
type ListEventsResponse struct {
	Events []Event
	// Resync says that the position asked for is no longer kept: the events
	// are the oldest still kept, and what lies between is lost.
	Resync bool
	Next   Position // where to go on
}

// Settings reads the plugin's own settings. Needs no capability.
type Settings interface {
	// Get returns the settings.
	Get(ctx context.Context, request *GetSettingsRequest) (*GetSettingsResponse, error)
}

// GetSettingsRequest asks for the plugin's own settings.
type GetSettingsRequest struct{}

// GetSettingsResponse has the settings, a JSON object, the plugin's secrets
// included.
type GetSettingsResponse struct{ Settings json.RawMessage }

// State is a small store of the plugin's own. Needs state.
type State interface {
	// Get returns a key's value, or CodeNotFound.
	Get(ctx context.Context, request *GetStateRequest) (*GetStateResponse, error)
	// Put sets the value of a key, if the condition holds: CodeConflict when not.
	Put(ctx context.Context, request *PutStateRequest) (*PutStateResponse, error)
	// Delete removes a key, if the condition holds; an absent one is no error.
	Delete(ctx context.Context, request *DeleteStateRequest) (*DeleteStateResponse, error)
	// List returns the entries whose keys begin with a prefix, by key.
	List(ctx context.Context, request *ListStateRequest) (*ListStateResponse, error)
}

// StateEntry is a key with its value.
type StateEntry struct {
	Key   string
	Value []byte // at most 1 MiB
	// Revision is greater than any that the key has had before, from 1.
	Revision int64
}

// StateCondition says what a key must be for a write to be made: of this
// revision, or, when it is 0, absent.
type StateCondition struct{ Revision int64 }

// GetStateRequest names a key.
type GetStateRequest struct{ Key string }

// GetStateResponse has the entry.
type GetStateResponse struct{ Entry StateEntry }

// PutStateRequest has a value for a key.
type PutStateRequest struct {
	Key   string // 1 to 512 bytes
	Value []byte
	If    *StateCondition // nil: in any case
}

// PutStateResponse has the revision that the key is of now.
type PutStateResponse struct{ Revision int64 }

// DeleteStateRequest names a key.
type DeleteStateRequest struct {
	Key string
	If  *StateCondition // nil: in any case
}

// DeleteStateResponse has nothing to say yet.
type DeleteStateResponse struct{}

// ListStateRequest selects keys.
type ListStateRequest struct {
	Prefix   string
	After    string // the last key of the page before
	Limit    int    // default 100, at most 1000
	KeysOnly bool   // without the values
}

// ListStateResponse has a page of entries: at most 8 MiB of them.
type ListStateResponse struct {
	Entries []StateEntry
	More    bool // there are keys after the last one
}

// Budgets reads the accounts in which the plugin's gate sets money aside (Reservation), and tells
// that there is more.
type Budgets interface {
	// Account returns how an account of the plugin's own stands; one in which nothing was ever set
	// aside has nothing but zeros. Needs budgets.read.
	Account(ctx context.Context, request *GetBudgetAccountRequest) (*GetBudgetAccountResponse, error)
	// Recheck has the runs tried again now that wait for what the plugin's gate has not let through
	// (Wait): more may be spent, or nothing is limited any more. One for which there is still no room
	// waits on. Needs turns.decide.
	Recheck(ctx context.Context, request *RecheckBudgetsRequest) (*RecheckBudgetsResponse, error)
	// CountSpent counts in an account of the plugin's own what was spent while the plugin's gate set nothing
	// aside in it, such as before the budget was made. Needs turns.decide.
	CountSpent(ctx context.Context, request *CountSpentRequest) (*CountSpentResponse, error)
}

// CountSpentRequest says how much was spent from an account. Repeated, it changes nothing.
type CountSpentRequest struct {
	Account string // as in Reservation
	Unit    Unit   // of the account; CodeInvalid for one that is in the other unit
	// AtLeast is what is spent from the account from now on, by runs that are over and by those that are not. An account
	// from which more was spent stays as it is.
	AtLeast float64
}

// CountSpentResponse has the account as it is now.
type CountSpentResponse struct{ Account BudgetAccount }

// RecheckBudgetsRequest asks for all that waits for the plugin.
type RecheckBudgetsRequest struct{}

// RecheckBudgetsResponse says that the runs are due.
type RecheckBudgetsResponse struct{}

// GetBudgetAccountRequest names an account, as in Reservation.
type GetBudgetAccountRequest struct{ Name string }

// GetBudgetAccountResponse has the account.
type GetBudgetAccountResponse struct{ Account BudgetAccount }

// Metrics records and reads measured values, and tells the daemon's own.
type Metrics interface {
	// Record stores values, all or none, at most 1000; those whose keys are known
	// are there already. Needs metrics.write.
	Record(ctx context.Context, request *RecordMetricsRequest) (*RecordMetricsResponse, error)
	// Query returns the selected values, oldest first. Needs metrics.read.
	Query(ctx context.Context, request *QueryMetricsRequest) (*QueryMetricsResponse, error)
	// Figures returns what the daemon counts and measures of itself, some of it as it was
	// a few seconds ago. Needs metrics.read.
	Figures(ctx context.Context, request *ListFiguresRequest) (*ListFiguresResponse, error)
}

// RecordMetricsRequest has the values.
type RecordMetricsRequest struct{ Metrics []NewMetric }

// RecordMetricsResponse has nothing to say yet.
type RecordMetricsResponse struct{}

// QueryMetricsRequest selects values.
type QueryMetricsRequest struct{ Query MetricQuery }

// QueryMetricsResponse has a page of values.
type QueryMetricsResponse struct{ Metrics []Metric }

// Tools lists and calls the tools of all plugins.
type Tools interface {
	// List returns the tools, named PLUGIN__TOOL, by name. Needs tools.call.
	List(ctx context.Context, request *ListToolsRequest) (*ListToolsResponse, error)
	// Call calls a tool by that name. Needs tools.call.
	Call(ctx context.Context, request *InvokeToolRequest) (*InvokeToolResponse, error)
}

// ListToolsRequest asks for a page of tools.
type ListToolsRequest struct {
	After string // name of the last tool of the page before
	Limit int    // default and at most 1000
}

// ListToolsResponse has a page of tools: at most 8 MiB of them.
type ListToolsResponse struct {
	Tools []ToolSpec
	More  bool // there are tools after the last one
}

// InvokeToolRequest names a tool, PLUGIN__TOOL, and has its input.
type InvokeToolRequest struct {
	Name  string
	Input json.RawMessage
}

// InvokeToolResponse is what the tool said.
type InvokeToolResponse struct{ Result ToolResult }

// Plugins reads and changes the registry.
type Plugins interface {
	// List returns the registry in the operator's order. Needs plugins.read.
	List(ctx context.Context, request *ListPluginsRequest) (*ListPluginsResponse, error)
	// Logs returns the newest lines of a plugin's log, the oldest first. Needs
	// plugins.read.
	Logs(ctx context.Context, request *ReadPluginLogRequest) (*ReadPluginLogResponse, error)
	// SetEnabled turns a plugin on or off. Turning on clears a quarantine.
	// CodeConflict when another plugin has one of its commands. Needs
	// plugins.admin.
	SetEnabled(ctx context.Context, request *SetPluginEnabledRequest) (*SetPluginEnabledResponse, error)
	// Settings returns a plugin's settings without its secrets. Needs
	// plugins.admin.
	Settings(ctx context.Context, request *GetPluginSettingsRequest) (*GetPluginSettingsResponse, error)
	// ChangeSettings changes the properties that a patch names; null takes one back.
	// Secrets are set in the same way. CodeInvalid when the outcome does not fit the
	// plugin's schema; CodeDenied for a text of another plugin's beside secrets that
	// are set and that the patch does not set again. Needs plugins.admin.
	ChangeSettings(ctx context.Context, request *ChangePluginSettingsRequest) (*ChangePluginSettingsResponse, error)

	// Install says what a package is and wants, and what would be done; with the digest
	// of that plan it is done. Needs plugins.admin, as all that follow but Follow: see
	// administer.go for what a plugin may decide (CodeDenied), and when a plan is none
	// any more (CodeStale). CodeInvalid says what is wrong with a package,
	// CodeUnavailable that another one is being read.
	Install(ctx context.Context, request *InstallPluginRequest) (*InstallPluginResponse, error)
	// Upgrade replaces an installed plugin by another version, as Install does. The one
	// before it is kept for Rollback. CodeConflict when another plugin has one of its
	// commands.
	Upgrade(ctx context.Context, request *UpgradePluginRequest) (*UpgradePluginResponse, error)
	// Rollback makes an earlier version the one that is started, as Install does. It waits
	// while a package is read.
	Rollback(ctx context.Context, request *RollbackPluginRequest) (*RollbackPluginResponse, error)
	// Remove turns a plugin off, waits until it has ended, and forgets it, as Install
	// does. CodeDeadline: it is off, and nothing of it is gone.
	Remove(ctx context.Context, request *RemovePluginRequest) (*RemovePluginResponse, error)
	// Grant grants what a plugin asks for and the caller has itself.
	Grant(ctx context.Context, request *GrantPluginRequest) (*GrantPluginResponse, error)
	// Revoke takes back what a plugin was granted.
	Revoke(ctx context.Context, request *RevokePluginRequest) (*RevokePluginResponse, error)
	// SetLimits changes the limits that the patch names, up to the caller's own.
	SetLimits(ctx context.Context, request *SetPluginLimitsRequest) (*SetPluginLimitsResponse, error)
	// Order changes the order in which plugins are asked, among those before the caller,
	// or among those after it.
	Order(ctx context.Context, request *OrderPluginsRequest) (*OrderPluginsResponse, error)
	// Follow waits until what was decided of a plugin has been carried out, or could not
	// be, 30 s at most. Needs plugins.read.
	Follow(ctx context.Context, request *FollowPluginRequest) (*FollowPluginResponse, error)
}

// ListPluginsRequest asks for a page of plugins.
type ListPluginsRequest struct {
	After string // name of the last plugin of the page before
	Limit int    // default and at most 1000
}

// ListPluginsResponse has a page of plugins: at most 8 MiB of them.
type ListPluginsResponse struct {
	Plugins []PluginInfo
	More    bool // there are plugins after the last one
}

// ReadPluginLogRequest names a plugin.
type ReadPluginLogRequest struct {
	Name  string
	Limit int // lines; default 200
}

// ReadPluginLogResponse has lines of the log.
type ReadPluginLogResponse struct{ Lines []LogLine }

// SetPluginEnabledRequest names a plugin.
type SetPluginEnabledRequest struct {
	Name    string
	Enabled bool
}

// SetPluginEnabledResponse has nothing to say yet.
type SetPluginEnabledResponse struct{}

// GetPluginSettingsRequest names a plugin.
type GetPluginSettingsRequest struct{ Name string }

// GetPluginSettingsResponse has its settings.
type GetPluginSettingsResponse struct{ Settings SettingsView }

// ChangePluginSettingsRequest names a plugin and has a JSON object of what
// changes.
type ChangePluginSettingsRequest struct {
	Name  string
	Patch json.RawMessage
}

// ChangePluginSettingsResponse has nothing to say yet.
type ChangePluginSettingsResponse struct{}
