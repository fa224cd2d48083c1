// Package validation is the gate that the work of tasks passes: facts first, which are the
// project's own checks, run here; then the opinion of an agent that did not do the work,
// whose evidence is held against it. What is no verdict never accepts.
package validation

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed-706843ae/harness/plugins/internal/scratch"
	"github.com/seed-706843ae/harness/plugins/validation/internal/checks"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The labels of a task with its worktree, which who makes worktrees sets: where it is, and
// the checkout that it is merged into.
const (
	worktreePlugin  = "worktree"
	labelWorktree   = "worktree.path"
	labelRepository = "worktree.repository"
	labelRoot       = "worktree.root" // of a worktree for another task's worktree: the checkout that has them both
)

// labelChecks is the label with the commands by which the project was checked when the
// task began, one a line.
const labelChecks = "validation.checks"

// Plugin answers the hooks of tasks.
type Plugin struct {
	// Beat is how often a call that takes long says that it is alive; 0: each minute.
	Beat time.Duration

	host   pluginsdk.Host
	log    *slog.Logger
	config atomic.Pointer[config]
	works  scratch.Place // in which checkouts are made
	desk   scratch.Place // in which reviewers sit: empty, so that nothing of the worker's is there to be read as instructions
}

// Manifest describes the plugin.
func (*Plugin) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name: name, Version: "0.1.0",
		Description: "Runs a project's checks on the work of tasks, and has an agent review it that did not do it",
		OnFailure:   map[pluginsdk.Hook]pluginsdk.OnFailure{pluginsdk.HookTaskValidated: pluginsdk.FailOpen},
		Capabilities: []pluginsdk.CapabilityRequest{
			{Capability: pluginsdk.CapAgentInvoke, Reason: "ask the reviewer"},
			{Capability: pluginsdk.CapThreadsAdmin, Reason: "start the reviewer where it reads nothing of the worker's as instructions, and let workers run a project's checks"},
			{Capability: pluginsdk.CapState, Reason: "ask no reviewer twice about the same work"},
		},
		Environment:    environment(),
		SettingsSchema: settingsSchema,
	}
}

// environment are the variables by which the tools of languages find what they have
// fetched and built before.
func environment() (asked []pluginsdk.EnvironmentRequest) {
	for _, name := range []string{"GOPATH", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY", "GOTOOLCHAIN", "CARGO_HOME", "RUSTUP_HOME", "VIRTUAL_ENV"} {
		asked = append(asked, pluginsdk.EnvironmentRequest{Name: name, Reason: "run a project's checks with the tools and caches of this machine"})
	}
	return asked
}

// Start reads the settings. Wrong ones are an error that names what is wrong.
func (p *Plugin) Start(ctx context.Context, host pluginsdk.Host) error {
	p.host, p.log = host, host.Log
	p.works.Key, p.works.Prefix = "works", "harness-work-"
	p.desk.Key, p.desk.Prefix, p.desk.Check = "desk", "harness-review-", scratch.Empty
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	answer, err := host.Settings.Get(ctx, &pluginsdk.GetSettingsRequest{})
	if err != nil {
		return err
	}
	config, err := parseConfig(answer.Settings)
	if err == nil {
		p.config.Store(config)
	}
	return err
}

// OnSettingsChange takes new settings, for what begins from now on. Wrong ones are an
// error, and the last good ones stay in force.
func (p *Plugin) OnSettingsChange(_ context.Context, change *pluginsdk.OnSettingsChangeRequest) (*pluginsdk.OnSettingsChangeResponse, error) {
	config, err := parseConfig(change.Settings)
	if err == nil {
		p.config.Store(config)
	}
	return &pluginsdk.OnSettingsChangeResponse{}, err
}

// maxCommands is how many bytes of commands the label has.
const maxCommands = 4 << 10

// OnTaskCreate tells the worker how its project is checked and, in a directory that is
// the task's own, lets it run exactly these commands.
func (p *Plugin) OnTaskCreate(_ context.Context, request *pluginsdk.OnTaskCreateRequest) (*pluginsdk.OnTaskCreateResponse, error) {
	cwd := request.Context.Cwd
	scope := p.config.Load().scopeOf(request.Task, request.Context.Labels)
	if cwd == "" || scope == scopeNone {
		return &pluginsdk.OnTaskCreateResponse{}, nil
	}
	at := placeOf(request.Task, cwd, request.Context.Labels)
	found := p.find(at)
	if len(found) == 0 {
		return &pluginsdk.OnTaskCreateResponse{}, nil
	}
	var rules, commands []string
	for _, check := range found {
		commands = append(commands, check.Command)
		if rule := check.Rule(); rule != "" && at.own {
			rules = append(rules, rule)
		}
	}
	whole := instructions(found, cwd, scope, len(rules) > 0)
	if before := strings.TrimSpace(request.Context.Context); before != "" {
		whole = before + "\n\n" + whole
	}
	answer := &pluginsdk.OnTaskCreateResponse{Context: &whole, AllowTools: rules}
	if list := strings.Join(commands, "\n"); len(list) <= maxCommands {
		answer.SetLabels = map[string]string{labelChecks: list}
	}
	return answer, nil
}

// instructions are what the worker in a directory is told of the checks. mayRun says that it may run
// them.
func instructions(found []checks.Check, cwd string, scope scope, mayRun bool) string {
	var words strings.Builder
	words.WriteString("This project is checked by these commands")
	if dir := found[0].Dir; dir != cwd {
		words.WriteString(", run in " + dir)
	}
	words.WriteString(":\n\n")
	for _, check := range found {
		words.WriteString("- `" + check.Command + "` (" + string(check.Kind) + ")\n")
	}
	words.WriteString("\nThey are run on your work when you say that it is done")
	if scope == scopeAll {
		words.WriteString(", and a reviewer who did not do it looks at it")
	}
	words.WriteString(". It is accepted only when all of them pass: ")
	if mayRun {
		words.WriteString("you may run them, one at a time and exactly as they stand here, and should before you say so. ")
	} else {
		words.WriteString("see to that before you say so. ")
	}
	words.WriteString("Write tests for what you change.")
	return words.String()
}

// OnTaskValidated forgets the review of a task whose work is handed over. Files that are not
// what was accepted are not.
func (p *Plugin) OnTaskValidated(ctx context.Context, request *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
	defer p.sayAlive(ctx, new(atomic.Pointer[string]))()
	if answer := p.changedSince(ctx, request); answer != nil {
		return answer, nil
	}
	return &pluginsdk.OnTaskValidatedResponse{}, p.forget(ctx, request.Task)
}

// OnTaskFailed forgets the review of a task that is over.
func (p *Plugin) OnTaskFailed(ctx context.Context, request *pluginsdk.OnTaskFailedRequest) (*pluginsdk.OnTaskFailedResponse, error) {
	return &pluginsdk.OnTaskFailedResponse{}, p.forget(ctx, request.Task)
}

// place is where a task is worked on.
type place struct {
	cwd        string
	root       string // the top of what cwd belongs to
	repository string // the checkout that the work is for; that of the settings
	checkout   bool   // root is a checkout of git's
	own        bool   // nobody else works below root
	empty      bool   // it was empty when the task began: the worker has made all that is in it
}

// placeOf is what a directory belongs to: to the task's worktree, to itself where it is the
// task's own, to a checkout of git's, or else to itself. What a directory of its own lies
// in is no part of the work: nothing there is run or read.
func placeOf(task pluginsdk.Task, cwd string, labels map[string]string) place {
	cwd = filepath.Clean(cwd)
	at := place{cwd: cwd, root: cwd, own: task.OwnDirectory}
	// Labels are anybody's to set: the plugin worktree is believed of a directory that it has given.
	if task.CwdPlugin == worktreePlugin && inWorktree(cwd, labels) {
		at.root, at.checkout, at.own = filepath.Clean(labels[labelWorktree]), true, true
	} else {
		at.empty = task.OwnDirectory
		for top := cwd; ; top = filepath.Dir(top) {
			if _, err := os.Lstat(filepath.Join(top, ".git")); err == nil {
				at.root, at.checkout = top, true
				break
			}
			if at.own || top == filepath.Dir(top) {
				break
			}
		}
	}
	at.repository = filepath.Clean(cmp.Or(labels[labelRoot], labels[labelRepository], at.root))
	return at
}

// find returns how the project in a place is checked. Where the worker has made all of it,
// there is no check but what the operator has set.
func (p *Plugin) find(at place) []checks.Check {
	wanted := p.config.Load().wanted(at.repository)
	if at.empty {
		return checks.Set(at.root, wanted)
	}
	return checks.Find(at.cwd, at.root, wanted)
}

// inWorktree reports whether a directory is in the task's worktree.
func inWorktree(cwd string, labels map[string]string) bool {
	top := labels[labelWorktree]
	if !filepath.IsAbs(top) {
		return false
	}
	inside, err := filepath.Rel(top, cwd)
	return err == nil && (inside == "." || filepath.IsLocal(inside))
}
