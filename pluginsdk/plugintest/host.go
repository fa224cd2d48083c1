package plugintest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Host is a host in memory, safe for concurrent use. It keeps what plugins
// give it and records every call; it executes no runs and broadcasts nothing: a
// test plays the core (BeginRun, FinishRun, Judge, Apply), the agent (Ask) and the person (Decide,
// through the plugin or SDK).
type Host struct {
	// Agent answers the turns that plugins ask for, each in a goroutine of its own
	// whose context ends when the turn is cancelled; nil answers with an empty
	// result. To be set before the plugin is served.
	Agent func(context.Context, pluginsdk.StartTurnRequest) pluginsdk.InvokeResult
	// Tool answers Tools.Call; nil answers CodeNotFound. To be set before the
	// plugin is served.
	Tool func(name string, input json.RawMessage) (pluginsdk.ToolResult, error)
	// Cron answers Crons.Ask in place of the plugin that is asked; nil answers CodeNotFound. To be
	// set before the plugin is served.
	Cron func(plugin string, question pluginsdk.CronQuestion) (pluginsdk.OnCronResponse, error)
	// Package says what a package is that a plugin wants to install. To be set before the
	// plugin is served.
	Package func(pluginsdk.PluginPackage) (pluginsdk.PluginVersion, error)
	// Log is the Host.Log; nil discards.
	Log *slog.Logger

	mu       sync.Mutex
	calls    []HostCall
	failures map[string]error
	made     map[string]made
	serial   int64

	threads        []pluginsdk.Thread
	messages       []pluginsdk.Message
	submissions    []pluginsdk.Submission
	runs           []pluginsdk.Run
	runOver        chan struct{} // closed when the next run is over; nil while nobody waits
	deliveries     []pluginsdk.Delivery
	tasks          []pluginsdk.Task
	answers        map[string][]pluginsdk.TaskAnswer // of tasks, by their id
	approvals      []pluginsdk.Approval
	rules          []pluginsdk.ApprovalRule
	settled        map[string]int                       // task to its latest iteration that was handed in or got stuck
	owns           map[string][]pluginsdk.TaskIteration // task to its iterations that have no run
	typed          map[string]typed                     // commands that plugins answer, by plugin and call
	turns          map[string]*turn
	events         []pluginsdk.Event
	listening      *[]pluginsdk.EventRule // the rules of the last Events.Listen; nil: there was none
	settings       json.RawMessage
	state          map[string]pluginsdk.StateEntry // by plugin and key
	crons          []pluginsdk.CronJob
	fires          []pluginsdk.CronFire
	files          []pluginsdk.File
	bytes          map[string][]byte // of files, by their SHA-256
	uploads        map[string]*upload
	metrics        []pluginsdk.Metric
	figures        []pluginsdk.Figure
	budgets        map[string]pluginsdk.BudgetAccount // by plugin and account
	rechecks       map[string]int                     // how often plugins have called Budgets.Recheck
	tools          []pluginsdk.ToolSpec
	commands       []pluginsdk.Command
	tokens         []heldToken
	plugins        []pluginsdk.PluginInfo
	contextFiles   map[string]contextFile // by path
	contextTexts   map[string]string      // by version
	contextChanges []pluginsdk.WorkspaceChange
	pluginLogs     map[string][]pluginsdk.LogLine
	pluginViews    map[string]pluginsdk.SettingsView
	pluginPast     map[string][]pluginsdk.PluginVersion // to go back to, the newest first
	installed      installed
	accounts       []pluginsdk.Account // environment first
	rights         map[string]pluginsdk.AgentRights
}

// HostCall is one call that a plugin made to the host.
type HostCall struct {
	Method string // as in Threads.Get
	// Call is the hook call that it was made in; zero outside a hook.
	Call pluginsdk.Call
	// Person is in whose name it was made (pluginsdk.WithPerson).
	Person string
}

// made is what a call with a key made, to be returned again.
type made struct {
	content []byte
	now     []byte // of a submission that was amended: what it says now, which is as good
	result  any
}

// NewHost returns an empty host.
func NewHost() *Host {
	return &Host{
		failures: make(map[string]error),
		made:     make(map[string]made),
		settled:  make(map[string]int),
		owns:     make(map[string][]pluginsdk.TaskIteration),
		typed:    make(map[string]typed),
		answers:  make(map[string][]pluginsdk.TaskAnswer),
		turns:    make(map[string]*turn),
		settings: json.RawMessage(`{}`),
		state:    make(map[string]pluginsdk.StateEntry),
		bytes:    make(map[string][]byte),
		uploads:  make(map[string]*upload),
		budgets:  make(map[string]pluginsdk.BudgetAccount),
		rechecks: make(map[string]int),

		contextFiles: make(map[string]contextFile),
		contextTexts: make(map[string]string),

		pluginLogs:  make(map[string][]pluginsdk.LogLine),
		pluginViews: make(map[string]pluginsdk.SettingsView),
		pluginPast:  make(map[string][]pluginsdk.PluginVersion),

		accounts: []pluginsdk.Account{{Name: pluginsdk.EnvironmentAccount, Kind: pluginsdk.AccountEnvironment, Default: true, Usable: true}},
		rights:   make(map[string]pluginsdk.AgentRights),
	}
}

// SDK returns the host as a plugin without a name sees it, which speaks for every
// source and has every capability: for the test's own look at the host.
func (h *Host) SDK() pluginsdk.Host { return h.as(view{h: h, any: true}) }

// As returns the host as the plugin of that manifest sees it: keys, state and
// metrics are its own, it speaks for its sources only, and has the capability
// threads.admin when it asks for it. Serve makes the other capabilities hold.
func (h *Host) As(manifest pluginsdk.Manifest) pluginsdk.Host {
	return h.as(view{h: h, manifest: manifest})
}

func (h *Host) as(v view) pluginsdk.Host {
	return pluginsdk.Host{
		Threads:    threads{v},
		Messages:   messages{v},
		Runs:       runs{v},
		Deliveries: deliveries{v},
		Tasks:      tasks{v},
		Agent:      agent{v},
		Events:     events{v},
		Settings:   settings{v},
		State:      state{v},
		Crons:      crons{v},
		Metrics:    metrics{v},
		Budgets:    budgets{v},
		Tools:      tools{v},
		Plugins:    plugins{v},

		Installation: installation{v},
		Accounts:     accounts{v},
		Tokens:       tokens{v},
		Approvals:    approvals{v},
		Commands:     commands{v},
		Workspace:    workspace{v},
		Search:       search{v},
		Files:        files{v},
		Log:          h.Log,
	}
}

// view is the host as one plugin sees it.
type view struct {
	h        *Host
	manifest pluginsdk.Manifest
	any      bool // it is no plugin, but the test
}

// key is a key among the plugin's own.
func (v view) key(kind, key string) string { return kind + " " + v.manifest.Name + "/" + key }

// speaksFor reports whether a thread source is the plugin's.
func (v view) speaksFor(source string) bool {
	return v.any || slices.Contains(v.manifest.SpeaksFor(), source)
}

// has reports whether the plugin asks for a capability.
func (v view) has(capability pluginsdk.Capability) bool {
	return v.any || asksFor(v.manifest, capability)
}

func asksFor(manifest pluginsdk.Manifest, capability pluginsdk.Capability) bool {
	return slices.ContainsFunc(manifest.Requests(), func(r pluginsdk.CapabilityRequest) bool { return r.Capability == capability })
}

// Calls returns the calls made so far.
func (h *Host) Calls() []HostCall {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.calls)
}

// Fail makes every later call of a method (as in Threads.Get) fail; nil lets
// it work again.
func (h *Host) Fail(method string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures[method] = err
}

// enter records a call and takes the lock, which leave gives back.
func (h *Host) enter(ctx context.Context, method string) (leave func(), err error) {
	h.mu.Lock()
	call, _ := pluginsdk.CallFrom(ctx)
	h.calls = append(h.calls, HostCall{Method: method, Call: call, Person: pluginsdk.PersonFrom(ctx)})
	if err := h.failures[method]; err != nil {
		h.mu.Unlock()
		return nil, err
	}
	return h.mu.Unlock, nil
}

// next returns a number that was not given before.
func (h *Host) next() int64 {
	h.serial++
	return h.serial
}

func (h *Host) nextID(noun string) string { return fmt.Sprintf("%s-%d", noun, h.next()) }

// once makes something for a key, or returns what the key made before. The
// same key with other content is a conflict.
func once[R any](h *Host, key string, content any, do func() R) (result R, repeated bool, err error) {
	encoded, err := json.Marshal(content)
	if err != nil {
		return result, false, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: %w", key, err)
	}
	if before, ok := h.made[key]; ok {
		if !bytes.Equal(before.content, encoded) && !bytes.Equal(before.now, encoded) {
			return result, false, pluginsdk.Errorf(pluginsdk.CodeConflict, "%s was used before with other content", key)
		}
		return before.result.(R), true, nil
	}
	result = do()
	h.made[key] = made{content: encoded, result: result}
	return result, false, nil
}

// set copies a patch's value, when it has one.
func set[V any](field, value *V) {
	if value != nil {
		*field = *value
	}
}

// page cuts a listing as the contract says: 100 by default, at most 1000.
func page[V any](values []V, limit int) []V {
	if limit <= 0 {
		limit = 100
	}
	return slices.Clone(values[:min(len(values), limit, 1000)])
}

// pageAfter is a page of what is listed by name, and whether more follows: 1000 at
// most, and by default.
func pageAfter[V any](values []V, nameOf func(V) string, last string, limit int) (rows []V, more bool) {
	rest := after(values, func(v V) bool { return last != "" && nameOf(v) == last })
	if limit <= 0 {
		limit = 1000
	}
	rows = page(rest, limit)
	return rows, len(rows) < len(rest)
}

// ordered returns a copy of a listing that is kept oldest first.
func ordered[V any](values []V, newest bool) []V {
	values = slices.Clone(values)
	if newest {
		slices.Reverse(values)
	}
	return values
}

// after drops what stands up to and including the element that is asked for.
func after[V any](values []V, is func(V) bool) []V {
	if i := slices.IndexFunc(values, is); i >= 0 {
		return values[i+1:]
	}
	return values
}

func filter[V any](values []V, keep func(V) bool) []V {
	return slices.DeleteFunc(slices.Clone(values), func(v V) bool { return !keep(v) })
}

// find returns the place of what has an id, or CodeNotFound.
func find[V any](values []V, noun, id string, idOf func(V) string) (int, error) {
	i := slices.IndexFunc(values, func(v V) bool { return idOf(v) == id })
	if i < 0 {
		return i, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no %s %q", noun, id)
	}
	return i, nil
}

func now() time.Time { return time.Now().UTC() }
