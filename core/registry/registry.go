// Package registry is where it is decided which plugins there are, which version of
// each is started and what it may do: install, upgrade, roll back, trust, enable,
// grant, limit, order, remove. It works on the database and the packages, with the
// daemon up or down; a running daemon follows.
//
// It prints nothing and asks nobody. What needs somebody's consent is a Plan first,
// which says what would be done, and is carried out by its Do. Each decision is one
// transaction, with its checks and its entry in the audit log, under the name of who
// has decided: an operator or a plugin. An operator may all; For is what a plugin may.
package registry

import (
	"context"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Store is the database, as far as the registry needs it.
type Store interface {
	Plugin(ctx context.Context, name string) (ledger.Plugin, error)
	Plugins(ctx context.Context) ([]ledger.Plugin, error)
	ChangePlugin(ctx context.Context, change ledger.PluginChange) error
	AddPlugin(ctx context.Context, change ledger.PluginChange) error
	RemovePlugin(ctx context.Context, removal ledger.PluginRemoval) error
	ArrangePlugins(ctx context.Context, who, target string, arrange func(rows []ledger.Plugin) (names []string, detail string, err error)) error
	ListState(ctx context.Context, plugin string, request pluginsdk.ListStateRequest) (pluginsdk.ListStateResponse, error)
	Lever(ctx context.Context, name string) (ledger.Lever, error)
	PluginSecrets(ctx context.Context, plugin string) (map[string][]byte, error)
}

// Depot keeps the packages of installed plugins.
type Depot interface {
	// Stage reads a package from an executable, a directory or an archive.
	Stage(ctx context.Context, source string) (*Package, error)
	// StageArchive is Stage of an archive that was opened already.
	StageArchive(ctx context.Context, archive Archive) (*Package, error)
	// StageAgain reads what lies at a plugin's path now.
	StageAgain(ctx context.Context, row ledger.Plugin) (*Package, error)
	// Verify compares what lies at a plugin's path with its pin.
	Verify(ctx context.Context, row ledger.Plugin) error
	// Accepts refuses a version whose publisher would not be accepted now; "" is none.
	Accepts(publisher string) error
	// Sum returns the pin of a file of the daemon's own directory.
	Sum(path string) (string, error)
	// Added says when a package was added; zero when that is not known.
	Added(sum string) time.Time
	// Sweep removes the packages that none of the rows refers to.
	Sweep(rows func() ([]ledger.Plugin, error)) error
}

// Archive is a package that is given, and not looked for.
type Archive struct {
	Name      string // what errors call it
	Content   io.Reader
	Signature []byte // detached; empty: none
}

// Package is a plugin that was read, and not yet added.
type Package struct {
	Manifest   pluginsdk.Manifest
	Executable string // the file to run, relative to the package
	SHA256     string // the pin, hex
	Signature  Signature
	Files      int
	Bytes      int64

	// Keep adds the package to the depot and calls commit with the path of its
	// executable there. Discard forgets it; it may be called after Keep.
	Keep    func(ctx context.Context, commit func(path string) error) error
	Discard func() error
}

// Signature is what is known of who made a package.
type Signature struct {
	Signed  bool
	KeyID   string // 16 hex digits
	Trusted bool   // the signature is good, and its key a trusted publisher's
	Comment string // of a trusted signature
}

// Publisher is the key id of the trusted publisher; empty when there is none.
func (s Signature) Publisher() string {
	if s.Trusted {
		return s.KeyID
	}
	return ""
}

// Conflict is something that a plugin declares and somebody else has.
type Conflict struct {
	What  string // /COMMAND, or the source SOURCE
	Owner string // a plugin; empty: the core
}

// Config is what a Registry decides on. All of it is needed.
type Config struct {
	Store Store
	Depot Depot
	// PluginDir is the daemon's own directory of plugins.
	PluginDir string
	// Running reports whether a daemon is up, and follows.
	Running func() bool
	// Conflicts returns what a plugin would have in vain, or take from another, if it
	// were turned on among all.
	Conflicts func(plugin ledger.Plugin, all []ledger.Plugin) []Conflict
	// Withheld reports whether no plugin can be granted the environment variable.
	Withheld func(variable string) bool
	// InForce returns the limits that hold for a plugin: those of its row, with what it
	// leaves to the defaults. A negative one is none.
	InForce func(plugin ledger.Plugin) pluginsdk.PluginLimits
}

// Registry carries out what is decided about plugins. Several of them, in several
// processes, may work at a time.
type Registry struct {
	Config
	plugin string // which decides; empty: an operator does
}

// New returns the registry, as an operator has it. It reads nothing yet.
func New(config Config) *Registry { return &Registry{Config: config} }

// Outcome is what has become of a plugin's row by a decision.
type Outcome struct {
	Was    ledger.Plugin // zero when it is new
	Plugin ledger.Plugin // as it is now; as it was, when nothing was changed
	// Changed is what was granted, or taken back.
	Changed Rights
	// Missing is what the plugin wants and has not been granted.
	Missing Rights
}

// Plugin returns the row of a plugin. The error for a name that there is not
// (CodeNotFound) lists those that there are.
func (r *Registry) Plugin(ctx context.Context, name string) (ledger.Plugin, error) {
	row, err := r.Store.Plugin(ctx, name)
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		err = Unknown(ctx, r.Store, name)
	}
	return row, err
}

// Unknown is the error (CodeNotFound) for a plugin that there is not: it lists those
// that there are.
func Unknown(ctx context.Context, from interface {
	Plugins(ctx context.Context) ([]ledger.Plugin, error)
}, name string) error {
	rows, err := from.Plugins(ctx)
	if err != nil {
		return err
	}
	known := make([]string, len(rows))
	for n, row := range rows {
		known[n] = row.Name
	}
	return unknownAmong(known, name)
}

func unknownAmong(known []string, name string) error {
	if len(known) == 0 {
		return pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no plugin %q: none are known yet; "+
			"the daemon registers its own when it starts, `harness plugin install` others", name)
	}
	return pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no plugin %q; there are: %s", name, strings.Join(known, ", "))
}

// change changes a plugin's row as it is by then, whoever else changes it, and notes
// that in the audit log.
func (r *Registry) change(ctx context.Context, change ledger.PluginChange) (outcome Outcome, err error) {
	if _, err := r.Plugin(ctx, change.Name); err != nil {
		return Outcome{}, err
	}
	edit := change.Edit
	change.Edit = func(row *ledger.Plugin, all []ledger.Plugin) (string, error) {
		outcome = Outcome{Was: *row}
		detail, err := edit(row, all)
		if err == nil {
			err = r.may(outcome.Was, *row, all)
		}
		if err == nil {
			outcome.Plugin = *row
			outcome.Plugin.Generation++ // as the row has it once this is stored
		}
		return detail, err
	}
	err = r.Store.ChangePlugin(ctx, change)
	outcome.Missing = r.Missing(outcome.Plugin)
	return outcome, err
}

// sweep removes packages that no row refers to any more.
func (r *Registry) sweep(ctx context.Context) error {
	return r.Depot.Sweep(func() ([]ledger.Plugin, error) { return r.Store.Plugins(ctx) })
}

// changedMeanwhile is for what is not any more what somebody agreed to.
func changedMeanwhile(name string) error {
	return pluginsdk.Errorf(pluginsdk.CodeConflict, "%s was changed by somebody else meanwhile; look at `harness plugin info %s` and try again", name, name)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// word is a stranger's word on one line of at most 60 characters, without what cannot
// be seen or changes how the rest is seen.
func word(text string) string {
	const limit = 60
	line := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsGraphic(r):
			return r
		}
		return -1
	}, text)
	short := []rune(strings.Join(strings.Fields(line), " "))
	if len(short) <= limit {
		return string(short)
	}
	return strings.TrimSpace(string(short[:limit-1])) + "…"
}

// list joins names, or says none.
func list[T ~string](names []T) string {
	if len(names) == 0 {
		return "none"
	}
	shown := make([]string, len(names))
	for n, name := range names {
		shown[n] = word(string(name))
	}
	return strings.Join(shown, ", ")
}

// versionOf names a version for the audit log.
func versionOf(row ledger.Plugin) string {
	signed := "unsigned"
	if row.Publisher != "" {
		signed = "signed by " + row.Publisher
	}
	return "version " + word(row.Version) + ", sha256 " + row.SHA256 + ", " + signed
}
