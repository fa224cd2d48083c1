// Package worktree has each task on a git repository work in a worktree of its own, and
// merges what was accepted.
//
// What is promised: a repository has, besides what it had, .claude/worktrees/TASK, the
// branch task/TASK and refs below refs/harness, and loses them again (but for the branch of a
// task that is to keep it); nothing else of it is written but the merge. What is merged is the tree that was looked at. What cannot be done
// without destroying something is not done, and a person is told.
//
// What is true is in git and in the plugin's state: the state says what is about to be done
// before it is (record.Phase), and every hook can be repeated wherever it was cut off.
package worktree

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-706843ae/harness/plugins/internal/settings"
	"github.com/seed-706843ae/harness/plugins/worktree/internal/git"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Config is what tests set. The zero value is what is shipped.
type Config struct {
	// Program is the git program; default git.
	Program string
	// Fault, when set, is called between every two steps with the step's name and the task's
	// id. Tests end the plugin there.
	Fault func(step, taskID string)
	// Beat is how often a call that is under way says so; default 30 s.
	Beat time.Duration
	// Look is how often one that waits for another task's merge, or for another process, looks
	// after that; default 1 s.
	Look time.Duration
	// Lock locks a directory against other processes, or fails with EWOULDBLOCK; default flock,
	// which ends with the process.
	Lock func(directory *os.File) error
}

// Plugin answers the hooks of tasks.
type Plugin struct {
	// Config is to be set before Start.
	Config Config

	host pluginsdk.Host
	log  *slog.Logger
	set  atomic.Pointer[options]

	mu  sync.Mutex
	git *git.Git // nil: it was not found yet

	lanes lanes // by git directory: who writes in a repository; by task: who readies its worktree
	gate  gate  // by branch: who is the next to be merged

	stop func() // ends what Activate has begun, and waits for it
}

// options are the settings.
type options struct {
	Setup        map[string]string `json:"setup"`
	SetupTimeout string            `json:"setupTimeout"`
	MaxFileBytes int64             `json:"maxFileBytes"`

	setupLimit time.Duration
}

var settingsSchema = json.RawMessage(`{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "setup": {
      "operator": true,
      "type": "object",
      "additionalProperties": {"type": "string"},
      "description": "Command that readies a new worktree, by the path of the repository's checkout: {\"/home/me/shop\": \"make deps\"}. An empty one: none. Without an entry: what the lock file in the repository says, such as npm ci"
    },
    "setupTimeout": {
      "type": "string",
      "default": "15m",
      "description": "How long that command may take"
    },
    "maxFileBytes": {
      "type": "integer",
      "minimum": 1,
      "default": 52428800,
      "description": "A file that a task leaves behind and that is larger is not taken in: the worker is told"
    }
  }
}`)

func parse(raw []byte) (*options, error) {
	o := &options{SetupTimeout: "15m", MaxFileBytes: 50 << 20}
	if err := settings.Decode(raw, o); err != nil {
		return nil, err
	}
	var err error
	if o.setupLimit, err = time.ParseDuration(o.SetupTimeout); err != nil || o.setupLimit <= 0 {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: setupTimeout %q: want a duration such as 15m", o.SetupTimeout)
	}
	commands := o.Setup
	o.Setup = make(map[string]string, len(commands))
	for path, command := range commands {
		if !filepath.IsAbs(path) {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: setup %q: want the absolute path of a repository's checkout", path)
		}
		o.Setup[filepath.Clean(path)] = command
	}
	return o, nil
}

// name is the plugin's: of evidence only its own says what the work is.
const name = "worktree"

// Manifest describes the plugin.
func (*Plugin) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name:        name,
		Version:     "0.1.0",
		Description: "Has tasks on a git repository work in a worktree of their own, and merges what was accepted",
		Capabilities: []pluginsdk.CapabilityRequest{
			{Capability: pluginsdk.CapState, Reason: "remember which worktrees and branches it has made, and what it was about to do with them"},
			{Capability: pluginsdk.CapTasksRead, Reason: "see which worktrees belong to tasks that are over, and whom a merge has to wait for"},
			{Capability: pluginsdk.CapThreadsAdmin, Reason: "let a task edit the files in the directory that is its own"},
		},
		SettingsSchema: settingsSchema,
	}
}

// Start reads the settings.
func (p *Plugin) Start(ctx context.Context, host pluginsdk.Host) error {
	p.host, p.log = host, host.Log
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if p.Config.Program == "" {
		p.Config.Program = "git"
	}
	if p.Config.Fault == nil {
		p.Config.Fault = func(string, string) {}
	}
	if p.Config.Lock == nil {
		p.Config.Lock = flock
	}
	if p.Config.Beat == 0 {
		p.Config.Beat = 30 * time.Second
	}
	if p.Config.Look == 0 {
		p.Config.Look = time.Second
	}
	answer, err := host.Settings.Get(ctx, &pluginsdk.GetSettingsRequest{})
	if err != nil {
		return err
	}
	return p.configure(answer.Settings)
}

// OnSettingsChange takes new settings. Wrong ones are an error, and the last good ones stay
// in force.
func (p *Plugin) OnSettingsChange(_ context.Context, change *pluginsdk.OnSettingsChangeRequest) (*pluginsdk.OnSettingsChangeResponse, error) {
	return &pluginsdk.OnSettingsChangeResponse{}, p.configure(change.Settings)
}

func (p *Plugin) configure(raw []byte) error {
	o, err := parse(raw)
	if err == nil {
		p.set.Store(o)
	}
	return err
}

// program returns git once it is there: it may be installed while the plugin serves.
func (p *Plugin) program(ctx context.Context) (*git.Git, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.git != nil {
		return p.git, nil
	}
	found, err := git.Find(ctx, p.Config.Program)
	if err == nil {
		p.git = found
	}
	return found, err
}

// beats says that a call is under way until it is told to stop.
func (p *Plugin) beats(ctx context.Context, words string) (stop func()) {
	pluginsdk.ReportProgress(ctx, pluginsdk.Progress{Message: words})
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(p.Config.Beat)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				pluginsdk.ReportProgress(ctx, pluginsdk.Progress{Message: words})
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}

// exists reports whether something is there, whatever it is.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
