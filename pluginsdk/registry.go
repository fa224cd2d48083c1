package pluginsdk

import (
	"encoding/json"
	"slices"
	"time"
)

// PluginState is what the supervisor sees of a plugin.
type PluginState string

// The observed states of a plugin.
const (
	PluginDisabled    PluginState = "disabled"
	PluginStarting    PluginState = "starting"
	PluginServing     PluginState = "serving"
	PluginBackoff     PluginState = "backoff"     // ended by itself; will be started again
	PluginFailed      PluginState = "failed"      // may not be started as it is; needs an operator
	PluginQuarantined PluginState = "quarantined" // failed too often; needs an operator or a new version
	PluginStopping    PluginState = "stopping"
	PluginStopped     PluginState = "stopped" // enabled, but the daemon is down
)

// PluginOrigin says where a plugin's executable came from.
type PluginOrigin string

// The origins of a plugin.
const (
	// OriginDirectory is the daemon's own --plugins directory; what lies there
	// is pinned anew at each start of the daemon.
	OriginDirectory PluginOrigin = "directory"
	// OriginStore is a package that an operator installed; it starts only as
	// it was pinned, and only if it describes itself as its plugin.json does.
	OriginStore PluginOrigin = "store"
	// OriginDev is a binary that its author is working on.
	OriginDev PluginOrigin = "dev"
)

// PluginInfo is a plugin as the registry has it.
type PluginInfo struct {
	Name   string       `json:"name"`
	Origin PluginOrigin `json:"origin,omitempty"`
	// SHA256 is the pin, hex: of the executable, or of the whole package when
	// the origin is the store.
	SHA256    string       `json:"sha256,omitempty"`
	Version   string       `json:"version,omitempty"`
	Publisher string       `json:"publisher,omitempty"` // key id of the signature; empty: unsigned
	Manifest  Manifest     `json:"manifest"`            // the last seen
	Enabled   bool         `json:"enabled"`
	Position  int          `json:"position"`
	Granted   []Capability `json:"granted,omitempty"`
	// Unconfirmed are those of its grants that an upgrade of Harness has given it, and that
	// nobody has confirmed since.
	Unconfirmed []Capability `json:"unconfirmed,omitempty"`

	OnFailure map[Hook]OnFailure `json:"onFailure,omitempty"` // the operator's overrides
	// GrantedEnv are the daemon's environment variables that the plugin is
	// given, of those that its manifest asks for.
	GrantedEnv []string     `json:"grantedEnv,omitempty"`
	Limits     PluginLimits `json:"limits"`

	State     PluginState `json:"state"`
	LastError string      `json:"lastError,omitempty"`
	// LastErrorAt is when the last error came about; zero: nobody knows, or there is
	// none.
	LastErrorAt time.Time `json:"lastErrorAt,omitzero"`
	Restarts    int       `json:"restarts"`
	Failures    int64     `json:"failures"` // hooks that failed since the row was made
	// Quarantine says why the plugin is not started any more, with the last
	// lines it wrote; empty: it is not in quarantine.
	Quarantine string        `json:"quarantine,omitempty"`
	Figures    PluginFigures `json:"figures"`
	// Checks is what the plugin said of its surroundings when it was asked last
	// (OnCheck), at CheckedAt.
	Checks    []Check   `json:"checks,omitempty"`
	CheckedAt time.Time `json:"checkedAt,omitzero"`
	// Problem says what is wrong with a row that was edited by hand, or with what
	// the plugin declares; the last good values stay in force.
	Problem   string    `json:"problem,omitempty"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// FailureMode returns what a failing hook of the plugin does: the operator's
// word, else the manifest's, else the hook's default. A mode that this version does
// not know counts as none.
func (p PluginInfo) FailureMode(h Hook) OnFailure {
	if mode := p.OnFailure[h]; mode.known() {
		return mode
	}
	if mode := p.Manifest.OnFailure[h]; mode.known() {
		return mode
	}
	spec, _ := h.Spec()
	return spec.OnFailure
}

// Lacking returns the capabilities and environment variables that the plugin
// wants (Manifest.Requests) and was not granted.
func (p PluginInfo) Lacking() (names []string) {
	for _, request := range p.Manifest.Requests() {
		if !slices.Contains(p.Granted, request.Capability) {
			names = append(names, string(request.Capability))
		}
	}
	for _, request := range p.Manifest.Environment {
		if !slices.Contains(p.GrantedEnv, request.Name) {
			names = append(names, "$"+request.Name)
		}
	}
	return names
}

// PluginLimits bound what a plugin's processes may use, and what it may ask of the
// host. A zero field is the daemon's default; a negative one is no limit.
type PluginLimits struct {
	MemoryBytes int64 `json:"memoryBytes,omitempty"` // resident, of all its processes together
	CPUPercent  int   `json:"cpuPercent,omitempty"`  // of one core
	Processes   int   `json:"processes,omitempty"`
	OpenFiles   int   `json:"openFiles,omitempty"` // a process

	// The quotas. What passes one is refused (CodeExhausted) until the time that
	// the error names. Messages.Submit has its own, which are parts of them: a hundredth
	// of CallsPerMinute in messages and a quarter of BytesPerMinute, for what comes with
	// Harness the whole. Commands that the core answers at once count as rows.
	CallsPerMinute int   `json:"callsPerMinute,omitempty"` // of the host
	RowsPerMinute  int   `json:"rowsPerMinute,omitempty"`  // stored
	BytesPerMinute int64 `json:"bytesPerMinute,omitempty"` // stored
	StoredBytes    int64 `json:"storedBytes,omitempty"`    // in all: rows, metrics, state
}

// PluginFigures are what a plugin has done and used since the daemon's start.
type PluginFigures struct {
	Calls    int64                `json:"calls"`    // of its hooks
	Errors   int64                `json:"errors"`   // timeouts included
	Timeouts int64                `json:"timeouts"` // calls given up at their deadline
	Slow     int64                `json:"slow"`     // calls in runs that took longer than a second
	Hooks    map[Hook]CallFigures `json:"hooks,omitempty"`
	// Host are the calls that the plugin made of the host, by service and method as
	// in Messages.Append.
	Host map[string]CallFigures `json:"host,omitempty"`
	// HeldBack counts what a quota refused: calls of the host, and effects of hooks, an answer as one.
	HeldBack int64 `json:"heldBack"`
	// RowsDropped counts the rows of effects that were not stored, because they
	// were not allowed or too much.
	RowsDropped int64 `json:"rowsDropped"`
	// RSSBytes, CPUSeconds and Processes are of all the plugin's processes,
	// the latest reading.
	RSSBytes   int64     `json:"rssBytes"`
	CPUSeconds float64   `json:"cpuSeconds"`
	Processes  int       `json:"processes"`
	Restarts   int       `json:"restarts"`
	Since      time.Time `json:"since"`
	At         time.Time `json:"at"` // when these figures were taken
}

// CallFigures are the calls of one hook, or of one method of the host. The
// quantiles are of its latest calls.
type CallFigures struct {
	Calls    int64         `json:"calls"`
	Errors   int64         `json:"errors"`
	Timeouts int64         `json:"timeouts"`
	P50      time.Duration `json:"p50"` // nanoseconds in JSON
	P99      time.Duration `json:"p99"`
}

// SettingsView is a plugin's settings as an administrator may see them.
type SettingsView struct {
	Schema json.RawMessage `json:"schema,omitempty"`
	// Values is a JSON object with the defaults filled in and without secrets.
	Values json.RawMessage `json:"values"`
	// SecretsSet names the secrets that have a value.
	SecretsSet []string `json:"secretsSet,omitempty"`
}

// LogLine is a line of a plugin's log.
type LogLine struct {
	Time  time.Time `json:"time"`
	Level string    `json:"level"` // debug, info, warn or error
	Text  string    `json:"text"`
}
