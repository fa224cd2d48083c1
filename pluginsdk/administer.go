package pluginsdk

// What a plugin decides about others for the person before it. What needs that person's
// consent is asked for twice: a request without a digest is planned, and changes nothing;
// the same request with the digest of the plan that was shown is planned anew, and carried
// out when the plan is still the same, or refused (CodeStale).
//
// A plugin gives nobody more than it has itself, and decides nothing about itself:
// CodeDenied names what it lacks, and the command with which an operator does it. It
// grants capabilities that it has, but never plugins.admin nor variables of the daemon's
// environment; it replaces versions of plugins that have been granted no more than it
// has, and reads nobody's secrets that way; it sets limits up to its own; it takes nothing
// from the plugins that come with Harness. Whom to trust, and what to force, is for
// operators alone.

// PluginRights are what a plugin may ask of the host, and the variables of the daemon's
// environment that it gets.
type PluginRights struct {
	Capabilities []Capability `json:"capabilities,omitempty"`
	Env          []string     `json:"env,omitempty"`
}

// PluginVersion is a version of a plugin.
type PluginVersion struct {
	Version   string `json:"version,omitempty"`
	SHA256    string `json:"sha256,omitempty"`    // the pin, hex
	Publisher string `json:"publisher,omitempty"` // key id of the trusted publisher that signed it; empty: none has
	// Manifest is what it declares and wants: a stranger's words.
	Manifest Manifest `json:"manifest"`
}

// PluginPackageInfo is what is known of a package that was read.
type PluginPackageInfo struct {
	Executable string `json:"executable,omitempty"` // the file that is run
	Files      int    `json:"files"`
	Bytes      int64  `json:"bytes"`
	// Signed says that there is a signature. Of a key that is not trusted it proves
	// nothing.
	Signed  bool   `json:"signed"`
	KeyID   string `json:"keyId,omitempty"`
	Trusted bool   `json:"trusted"`           // it is good, and of a trusted publisher
	Comment string `json:"comment,omitempty"` // of a trusted signature
}

// PluginAction is what a plan does.
type PluginAction string

// The actions of plans.
const (
	ActionInstall  PluginAction = "install"
	ActionUpgrade  PluginAction = "upgrade"
	ActionRepair   PluginAction = "repair" // an upgrade to the same version puts its files right
	ActionRollback PluginAction = "rollback"
	ActionRemove   PluginAction = "remove"
)

// PluginPlan is a decision about a plugin that was found possible and is not made yet:
// what a person has to see before they say yes. What the request itself says (what to
// grant, to enable, to keep) is not part of it.
type PluginPlan struct {
	// Digest is of all that follows.
	Digest string        `json:"digest"`
	Action PluginAction  `json:"action"`
	Name   string        `json:"name"`
	Was    PluginVersion `json:"was"`  // as it is; zero when it is new
	Next   PluginVersion `json:"next"` // as it would be; zero when it goes
	// Package is what was read for it; zero when nothing was.
	Package PluginPackageInfo `json:"package"`
	Has     PluginRights      `json:"has"` // granted already, and staying so
	// Wants is what Next asks for, this host knows, and it has not been granted.
	Wants PluginRights `json:"wants"`
	// MayGrant is what of that the caller may grant. The rest an operator must.
	MayGrant []Capability `json:"mayGrant,omitempty"`
	Idle     bool         `json:"idle"` // there is nothing to do
}

// PluginOutcome is what has become of a plugin by a decision.
type PluginOutcome struct {
	Plugin  PluginInfo   `json:"plugin"`  // as it is now; as it was, when it was removed
	Changed PluginRights `json:"changed"` // what was granted, or taken back
	Missing PluginRights `json:"missing"` // what it asks for and has not been granted
}

// PluginPackage is a package that is to be installed: its bytes, or an upload.
type PluginPackage struct {
	Archive   []byte // a .tar.gz with plugin.json at its top
	Signature []byte // what minisign has written beside it; empty: it is not signed
	// Upload, instead of Archive, is the name of a file in DATA/uploads, for one that is
	// too large for a message. Its signature is beside it, as NAME.minisig.
	Upload string
}

// InstallPluginRequest has a package.
type InstallPluginRequest struct {
	Package PluginPackage
	Grant   []Capability // of what it wants, what it is granted at once
	Enable  bool         // at once
	// Digest is of the plan that is to be carried out; empty: plan, and do nothing.
	Digest string
}

// InstallPluginResponse has the plan, and what came of it.
type InstallPluginResponse struct {
	Plan    PluginPlan
	Outcome *PluginOutcome // nil: it was planned only
}

// UpgradePluginRequest names a plugin and has a package of it.
type UpgradePluginRequest struct {
	Name    string
	Package PluginPackage
	Grant   []Capability // of what it wants, what it is granted beside what it has
	Digest  string       // as in InstallPluginRequest
}

// UpgradePluginResponse has the plan, and what came of it.
type UpgradePluginResponse struct {
	Plan    PluginPlan
	Outcome *PluginOutcome // nil: it was planned only
}

// RollbackPluginRequest names a plugin and the version to go back to.
type RollbackPluginRequest struct {
	Name   string
	To     string // a version, or the beginning of its SHA-256; empty: the last one
	Digest string // as in InstallPluginRequest
}

// RollbackPluginResponse has the plan, and what came of it.
type RollbackPluginResponse struct {
	Plan    PluginPlan
	Outcome *PluginOutcome // nil: it was planned only
}

// RemovePluginRequest names a plugin to forget.
type RemovePluginRequest struct {
	Name string
	// KeepState leaves its state and its secrets, for when an operator installs it
	// again.
	KeepState bool
	Digest    string // as in InstallPluginRequest
}

// RemovePluginResponse has the plan, and what came of it.
type RemovePluginResponse struct {
	Plan    PluginPlan
	Outcome *PluginOutcome // nil: it was planned only
}

// GrantPluginRequest names a plugin and what it asks for.
type GrantPluginRequest struct {
	Name         string
	Capabilities []Capability
}

// GrantPluginResponse has the plugin as it is now.
type GrantPluginResponse struct{ Outcome PluginOutcome }

// RevokePluginRequest names a plugin and what it has.
type RevokePluginRequest struct {
	Name   string
	Rights PluginRights
}

// RevokePluginResponse has the plugin as it is now.
type RevokePluginResponse struct{ Outcome PluginOutcome }

// PluginLimitsPatch changes the limits that are set; see PluginLimits.
type PluginLimitsPatch struct {
	MemoryBytes *int64
	CPUPercent  *int
	Processes   *int
	OpenFiles   *int

	CallsPerMinute *int
	RowsPerMinute  *int
	BytesPerMinute *int64
	StoredBytes    *int64
}

// Apply returns the limits with what the patch sets.
func (p PluginLimitsPatch) Apply(limits PluginLimits) PluginLimits {
	patch(&limits.MemoryBytes, p.MemoryBytes)
	patch(&limits.CPUPercent, p.CPUPercent)
	patch(&limits.Processes, p.Processes)
	patch(&limits.OpenFiles, p.OpenFiles)
	patch(&limits.CallsPerMinute, p.CallsPerMinute)
	patch(&limits.RowsPerMinute, p.RowsPerMinute)
	patch(&limits.BytesPerMinute, p.BytesPerMinute)
	patch(&limits.StoredBytes, p.StoredBytes)
	return limits
}

func patch[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// SetPluginLimitsRequest names a plugin and what changes of its limits.
type SetPluginLimitsRequest struct {
	Name  string
	Patch PluginLimitsPatch
}

// SetPluginLimitsResponse has the plugin as it is now.
type SetPluginLimitsResponse struct{ Outcome PluginOutcome }

// OrderPluginsRequest moves one plugin before or after another, or gives several an order
// among the places that they have.
type OrderPluginsRequest struct {
	Name          string
	Before, After string   // with Name: one of the two
	Names         []string // without Name
}

// OrderPluginsResponse has all plugins in the order that holds now.
type OrderPluginsResponse struct{ Order []string }

// PluginStanding says how far the daemon has come with what was decided of a plugin.
type PluginStanding string

// How far it can have come.
const (
	StandingOff      PluginStanding = "off"      // the plugin is disabled: there is nothing to follow
	StandingPending  PluginStanding = "pending"  // not so far yet
	StandingServes   PluginStanding = "serves"   // what was decided serves
	StandingRefused  PluginStanding = "refused"  // it serves, and has refused its new settings
	StandingRejected PluginStanding = "rejected" // what was decided failed; another version goes on serving
	StandingDown     PluginStanding = "down"     // nothing of the plugin serves
	StandingWrong    PluginStanding = "wrong"    // its row was broken by hand, and is not followed
)

// FollowPluginRequest names a plugin.
type FollowPluginRequest struct{ Name string }

// FollowPluginResponse has the plugin as it is by then; its LastError says what went wrong.
type FollowPluginResponse struct {
	Plugin   PluginInfo
	Standing PluginStanding
}
