package pluginsdk

import (
	"context"
	"encoding/json"
)

// The hooks that are about the plugin itself.

// OnSettingsChangeRequest carries the settings as they are from now on.
type OnSettingsChangeRequest struct {
	Call     Call
	Settings json.RawMessage // a JSON object
}

// OnSettingsChangeResponse has nothing to say yet.
type OnSettingsChangeResponse struct{}

// SettingsChangeHook is told when an operator changed the plugin's settings. An error
// refuses them: they stay stored, the process goes on with those that it had, and so do
// its next processes; the plugin is not asked again before the settings change. A call
// that is late counts as refused. Start refuses them by CodeInvalid: where the plugin has
// accepted others before, it is started again with these. A plugin without the hook is started anew with the changed
// settings.
type SettingsChangeHook interface {
	OnSettingsChange(ctx context.Context, request *OnSettingsChangeRequest) (*OnSettingsChangeResponse, error)
}

// OnBroadcastRequest is a batch of events, in order.
type OnBroadcastRequest struct {
	Call   Call
	Events []Event
}

// OnBroadcastResponse has nothing to say yet.
type OnBroadcastResponse struct{}

// BroadcastHook receives events in batches, in order, one batch at a time.
// Events inform; the database decides. A subscriber that is too slow loses
// stream deltas first, and is then told with an EventResync that it missed
// events.
//
// A process is told of everything since its Start was called, and one that
// replaces another of everything that the other was not told of. An event can
// come twice; its boot and sequence number are the same then.
type BroadcastHook interface {
	OnBroadcast(ctx context.Context, request *OnBroadcastRequest) (*OnBroadcastResponse, error)
}

// CheckState says how well a plugin finds something.
type CheckState string

// The states of a check.
const (
	CheckOK      CheckState = "ok"
	CheckWarning CheckState = "warning" // it works, and somebody should look
	CheckFailing CheckState = "failing" // something that the plugin is for does not work
)

// Check is one thing that a plugin has looked at: its connection, its account,
// its disk.
type Check struct {
	Name   string     `json:"name"` // such as connection
	State  CheckState `json:"state"`
	Detail string     `json:"detail,omitempty"` // what was seen
	Remedy string     `json:"remedy,omitempty"` // what to do about it
}

// OnCheckRequest asks how the plugin finds its surroundings.
type OnCheckRequest struct {
	Call Call
}

// OnCheckResponse is what the plugin has looked at, at most 32.
type OnCheckResponse struct {
	Checks []Check
	// Figures are the plugin's own, which /metrics shows beside Harness's, as of this check, while the plugin serves.
	// Their names begin with harness_ and the plugin's name, with _ for - (FigurePrefix). KeepFigures says which are
	// kept; the others are left out, and the plugin's log says why. A counter need not begin at 0.
	Figures []Figure
}

// CheckHook is asked about every minute. What it answers stands in the plugin's
// row: `harness doctor`, `plugin info` and the API show it, and /metrics the figures.
type CheckHook interface {
	OnCheck(ctx context.Context, request *OnCheckRequest) (*OnCheckResponse, error)
}
