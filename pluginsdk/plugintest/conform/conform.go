// Package conform examines a plugin's executable from the outside, whatever
// language it is written in: it starts real processes of it the way the daemon
// does, with a host in memory, and reports what a daemon would suffer from.
//
//	report, err := conform.Run(ctx, conform.Config{Path: "bin/redact"})
//	if err == nil && !report.OK() { ... }
package conform

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

// DefaultPatience is how long the examination waits for what should happen at
// once, unless Config says otherwise.
const DefaultPatience = 10 * time.Second

// Config says which plugin to examine.
type Config struct {
	// Path of the executable, and its arguments.
	Path string
	Args []string
	// Dir is the working directory; empty means the caller's.
	Dir string
	// Env are NAME=VALUE variables that the plugin gets besides those that
	// every plugin gets. Nothing else of the caller's environment reaches it.
	Env []string
	// Settings is the JSON object that the plugin is given as its settings;
	// empty means {}.
	Settings json.RawMessage
	// Helper is the command line of a process that calls HostProcess, usually
	// the caller's own executable. Without it, the check that a plugin dies
	// with its host is left out.
	Helper []string
	// Only restricts the examination to the checks of these names (see
	// Checks). What they need is done all the same.
	Only []string
	// Patience bounds the wait for what should happen at once; 0 means
	// DefaultPatience.
	Patience time.Duration
	// Log receives what the plugin logs; nil discards it.
	Log *slog.Logger
	// Each, when not nil, is called with each result as it comes.
	Each func(Result)
}

func (c Config) withDefaults() (Config, error) {
	path, err := exec.LookPath(c.Path)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return c, pluginsdk.Errorf(pluginsdk.CodeInvalid, "examine a plugin: %w; name an executable file (chmod +x)", err)
	}
	c.Path = path
	if len(c.Settings) == 0 {
		c.Settings = json.RawMessage(`{}`)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(c.Settings, &object); err != nil {
		return c, pluginsdk.Errorf(pluginsdk.CodeInvalid, "the settings must be a JSON object: %w", err)
	}
	for _, variable := range c.Env {
		if name, _, ok := strings.Cut(variable, "="); !ok || name == "" {
			return c, pluginsdk.Errorf(pluginsdk.CodeInvalid, "environment %q: want NAME=VALUE", variable)
		}
	}
	for _, name := range c.Only {
		if !slices.Contains(Checks(), name) {
			return c, pluginsdk.Errorf(pluginsdk.CodeInvalid, "there is no check %q; there are: %s", name, strings.Join(Checks(), ", "))
		}
	}
	if c.Patience <= 0 {
		c.Patience = DefaultPatience
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// Run examines a plugin. The error is about the examination itself: a plugin
// that fails is in the report. Nothing of the plugin is left behind, not even
// of one that tries.
func Run(ctx context.Context, cfg Config) (Report, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return Report{}, err
	}
	x, err := newExam(cfg)
	if err != nil {
		return Report{}, err
	}
	defer x.close()
	for _, check := range x.selected() {
		result := x.perform(ctx, check)
		if ctx.Err() != nil {
			return Report{}, fmt.Errorf("examine %s: %w", cfg.Path, context.Cause(ctx))
		}
		x.report.Results = append(x.report.Results, result)
		if cfg.Each != nil {
			cfg.Each(result)
		}
	}
	return x.report, nil
}

// exam is one examination.
type exam struct {
	cfg      Config
	launcher *launch.Launcher
	dir      string // of the examination's own: sockets, temporary files
	mark     string // in the environment of every process
	report   Report

	manifest pluginsdk.Manifest // as first described
	blocked  string             // why a process cannot even be started and used
	refused  refusals
	common   *session  // see borrow
	farewell *farewell // of the one process whose end is watched closely
	notes    []string  // what the check under way has to say though it passes
}

func newExam(cfg Config) (*exam, error) {
	dir, err := shortTempDir()
	if err != nil {
		return nil, fmt.Errorf("make a directory for the examination: %w", err)
	}
	x := &exam{cfg: cfg, launcher: launch.NewLauncher(), dir: dir, mark: "conform-" + filepath.Base(dir)}
	x.report = Report{Path: cfg.Path, Began: time.Now()}
	for _, sub := range []string{x.sockets(), x.temp()} {
		if err := os.Mkdir(sub, 0o700); err != nil {
			_ = os.RemoveAll(dir)
			return nil, fmt.Errorf("make a directory for the examination: %w", err)
		}
	}
	x.launcher.Start()
	return x, nil
}

// shortTempDir makes a directory whose path leaves room for a socket's.
func shortTempDir() (string, error) {
	dir, err := os.MkdirTemp("", "conform")
	if err != nil || len(dir)+len("/s") <= launch.MaxSocketDir {
		return dir, err
	}
	_ = os.Remove(dir)
	return os.MkdirTemp("/tmp", "conform")
}

func (x *exam) sockets() string { return filepath.Join(x.dir, "s") }

func (x *exam) temp() string { return filepath.Join(x.dir, "t") }

// close ends what the plugin left, and removes the examination's directory.
func (x *exam) close() {
	x.giveBack()
	x.launcher.Stop()
	killMarked(x.mark)
	_ = os.RemoveAll(x.dir)
}

// environment is that of the plugin's processes: what the daemon passes to
// every plugin, a temporary directory of its own, the mark, and what the
// caller gives.
func (x *exam) environment() []string {
	env := []string{OwnerVariable + "=" + x.mark, "TMPDIR=" + x.temp()}
	for _, name := range []string{"PATH", "HOME", "LANG", "LC_ALL", "TZ"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return append(env, x.cfg.Env...)
}

// OwnerVariable marks the processes of a host: whatever carries it and
// outlives its plugin is a stray.
const OwnerVariable = "HARNESS_OWNER"

// note adds to what a passed check says.
func (x *exam) note(format string, args ...any) {
	x.notes = append(x.notes, fmt.Sprintf(format, args...))
}
