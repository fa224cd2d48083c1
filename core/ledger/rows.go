package ledger

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// RowBytes is what a stored row of a plugin's counts for, among the bytes that it may
// store, beside the row's words.
const RowBytes = 100

// What the rooms of core know of a thread, a run and a plugin beside what authors
// of plugins see of them.

// Thread is a thread with what its runs keep in it.
type Thread struct {
	pluginsdk.Thread

	SessionOpen   bool  // an agent process holds the session, or held it when it died
	SeenMessageID int64 // newest message that the session knows
	// SessionAccount is the account that the session is of; empty: it is not known, or there
	// is no session.
	SessionAccount string
	Epoch          int64 // counts the runs that have taken the thread
}

// Run is a run with what the inbox and the pipeline keep in it.
type Run struct {
	pluginsdk.Run

	Owner      string
	LeaseUntil time.Time
	PromptHash string // SHA-256 of the prompt, hex
	// LastParked is how the run was parked last, also once it is claimed again; nil: it never
	// was, or was tried again for another reason since.
	LastParked *pluginsdk.Parked
	// Commands are those that the agent wrote in the result, as they were when the
	// result was stored: empty when it wrote none, nil when that is not known.
	Commands []Command
	// Turn is what was asked of the agent; nil but for turns.
	Turn *pluginsdk.StartTurnRequest
	// Options are those of the message that the run answers; nil: it has none, and no turn has.
	Options *pluginsdk.RunOptions
	// BesideAs is the name of a command whose run is beside its thread; empty: it is none.
	BesideAs string
	// Unattended says that nobody is there to answer the agent's questions.
	Unattended bool
}

// Queue returns where the run waits.
func (r Run) Queue() Queue {
	switch {
	case r.BesideAs != "":
		return Queue{ThreadID: r.ThreadID, Command: r.BesideAs}
	case r.Beside:
		return Queue{TurnID: r.ID}
	}
	return Queue{ThreadID: r.ThreadID}
}

// QuietReply reports whether the run's reply is not carried to people.
func (r Run) QuietReply() bool { return r.Options != nil && r.Options.QuietReply }

// QuietNotices reports whether people are not told that the run has failed or waits.
func (r Run) QuietNotices() bool { return r.Options != nil && r.Options.QuietNotices }

// Fresh reports whether a message's run begins a session of its own.
func (r Run) Fresh() bool { return r.Options != nil && r.Options.Session == pluginsdk.SessionFresh }

// Command is one that the agent wrote in a result.
type Command struct {
	Index      int               `json:"index"`
	Name       string            `json:"name"`
	Body       string            `json:"body,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
	// Plugins are those that are asked about it, by name: they declared it when the
	// result was stored. Nil: not known, as older versions of the daemon did not store
	// it.
	Plugins []string `json:"plugins"`
	// Start and End are where it stands in the result's text, in bytes: what is cut
	// from the reply.
	Start int `json:"start"`
	End   int `json:"end"`
}

// Plugin is the registry's row of a plugin.
type Plugin struct {
	pluginsdk.PluginInfo

	Path     string          `json:"path"`               // of the executable
	Previous []PluginVersion `json:"previous,omitempty"` // for a rollback, newest first
	Settings json.RawMessage `json:"settings,omitempty"` // without secrets
	// Generation counts what operators decided of the plugin by command or API.
	// Settled is that up to which the daemon has carried it out, or has failed to: Serving and Rejected
	// are then the outcome. Of a plugin that is off it stays behind.
	Generation int64 `json:"generation,omitempty"`
	Settled    int64 `json:"settled,omitempty"`
	// Serving is the pin of what answers now; empty: nothing does. It is not
	// SHA256 while another version is about to take over, or could not.
	Serving string `json:"serving,omitempty"`
	// Rejected is the pin of what could not be started, or could not take over
	// from what serves, when something was started the last time.
	Rejected string `json:"rejected,omitempty"`
	// Attach is where a plugin that runs under a debugger serves (JSON, see
	// package launch); empty: the daemon starts the plugin itself.
	Attach string `json:"attach,omitempty"`
	// SettingsRevision counts the changes of settings and secrets that were
	// made other than by SQL.
	SettingsRevision int64 `json:"settingsRevision,omitempty"`
	// Accepted is the JSON of AcceptedSettings; nil: the plugin has not run with any yet.
	Accepted json.RawMessage `json:"-"`
	// Refused is what the plugin has refused last; see RefusesSettings.
	Refused RefusedSettings `json:"refusedSettings,omitzero"`
	// GrantsVersion is the version of the release whose default grants a shipped
	// plugin has been given.
	GrantsVersion int `json:"grantsVersion,omitempty"`
}

// PluginVersion is a version of a plugin that was installed before. It is stored
// as JSON.
type PluginVersion struct {
	Version     string             `json:"version"`
	Path        string             `json:"path"`
	SHA256      string             `json:"sha256"`
	Publisher   string             `json:"publisher,omitempty"`
	Manifest    pluginsdk.Manifest `json:"manifest"`
	InstalledAt time.Time          `json:"installedAt"`
}

// Lane is what waits for one target of a plugin. Its deliveries are carried
// one at a time, in the order of their messages.
type Lane struct {
	Plugin string
	Target string // the plugin's own default when empty
	// NotBefore is when the first of them is due; zero: now.
	NotBefore time.Time
}

// Due is the delivery that a lane attempts next.
type Due struct {
	ID        string    // empty when nothing waits
	NotBefore time.Time // zero: now
}

// Outgoing is a delivery whose attempt is counted, with what it carries.
type Outgoing struct {
	// Found is false when the delivery does not wait any more.
	Found bool

	Delivery pluginsdk.Delivery
	Thread   pluginsdk.Thread
	// Message has no id when it is not stored any more.
	Message pluginsdk.Message
	// Approval is what the message asks people; nil: nothing.
	Approval *pluginsdk.Approval
}

// By is who wants something done: a person, a plugin of its own accord, or an agent. The zero
// value is somebody that nothing is known of.
type By = pluginsdk.Label

// Behalf is on whose behalf a plugin is called. The zero value is nobody's: an
// operator's, or a plugin's of its own accord.
type Behalf struct {
	RunID   string
	RunKind pluginsdk.RunKind
	Attempt int    // of the run; 0 outside of runs
	TaskID  string // empty: the run is no task's
	// CauseRunID is, of a task's hooks, the run that what they do comes from; empty: none.
	CauseRunID string
	Fence      Fence // of the run's claim; zero outside of runs
	// Typed is, in the hook that answers a command, who has typed it; zero: it is no such hook, or
	// no person has typed it. Other hooks of the same run are not the person's.
	Typed By
	// TypedScope is what the plugin's manifest demands of who types the command; empty: it is no
	// such hook, or the manifest demands nothing.
	TypedScope pluginsdk.TokenScope
	// Apart says that the run's thread is apart, or the task's.
	Apart bool
	// Depth is how many calls of tools the call is inside of.
	Depth int
	// Token is of the call that this one is made in; empty when it is in none.
	// It ends, at the latest, with that one.
	Token string
}

// Cause is the run that has caused what is asked for on this behalf; empty: none.
func (o Behalf) Cause() string { return cmp.Or(o.RunID, o.CauseRunID) }

// TaskHook returns the task whose hook it is; empty: it is none's.
func (o Behalf) TaskHook() string {
	if o.RunID != "" {
		return ""
	}
	return o.TaskID
}
