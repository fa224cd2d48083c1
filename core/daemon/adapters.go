package daemon

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/approvals"
	"github.com/seed-706843ae/harness/core/events"
	"github.com/seed-706843ae/harness/core/hostapi"
	"github.com/seed-706843ae/harness/core/inbox"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/pipeline"
	"github.com/seed-706843ae/harness/core/pluginhost"
	"github.com/seed-706843ae/harness/core/search"
	"github.com/seed-706843ae/harness/core/settings"
	"github.com/seed-706843ae/harness/core/shipped"
	"github.com/seed-706843ae/harness/core/tasks"
	"github.com/seed-706843ae/harness/core/toolserver"
	contextfiles "github.com/seed-706843ae/harness/core/workspace"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The rooms do not import each other. Where one's door is a hair off
// another's, these fit them together.

// plugins is the plugin host as the inbox sees it.
type plugins struct{ *pluginhost.Host }

func (p plugins) Commands() []inbox.Command {
	var commands []inbox.Command
	p.EachCommand(func(plugin string, spec pluginsdk.CommandSpec) {
		commands = append(commands, inbox.Command{Plugin: plugin, Spec: spec})
	})
	return commands
}

// taskDesk is the room of the tasks as the inbox sees it. The room is made after the
// inbox, which it needs.
type taskDesk struct{ room **tasks.Room }

func (d taskDesk) Command(ctx context.Context, thread pluginsdk.Thread, by ledger.By, args string) (string, error) {
	return (*d.room).Command(ctx, thread, by, args)
}

func (d taskDesk) Word(args string) string { return (*d.room).Word(args) }

// approvalDesk is the room of the approvals as the pipeline and the inbox see it. The room
// is made after them: it needs the inbox.
type approvalDesk struct{ room **approvals.Approvals }

func (d approvalDesk) Ask(ctx context.Context, of ledger.Asking, ask ledger.ToolAsk) ledger.ToolAnswer {
	return (*d.room).Ask(ctx, of, ask)
}

func (d approvalDesk) Answered(ctx context.Context, runID string) (string, error) {
	return (*d.room).Answered(ctx, runID)
}

func (d approvalDesk) Over(ctx context.Context, runID string) error {
	return (*d.room).Over(ctx, runID)
}

// places are what runs have while they are at work, as the pipeline sees them. The inbox, which
// has them, is made after the pipeline.
type places struct{ room **inbox.Inbox }

func (p places) Rest(runID string) (back func(ctx context.Context) error) {
	return (*p.room).Rest(runID)
}

// watchedAgent is the agent as the pipeline sees it: the workspace is told when a turn begins
// and ends, so that it knows who has changed the files. A turn that has no tool to change one with
// is none of them: it would only put in doubt whose a change is that another makes meanwhile.
type watchedAgent struct {
	pipeline.Agent

	workspace *contextfiles.Room
}

func (a watchedAgent) Invoke(ctx context.Context, request ledger.AgentRequest, emit func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
	if changesFiles(request) {
		a.workspace.Began(request.RunID, request.ThreadID)
		defer a.workspace.Ended(request.RunID)
	}
	return a.Agent.Invoke(ctx, request, emit)
}

// writers are the agent's tools that change files, or have others do so.
var writers = []string{"Agent", "Bash", "Edit", "MultiEdit", "NotebookEdit", "PowerShell", "Skill", "Task", "Workflow", "Write", "mcp__*"}

// changesFiles reports whether a turn has a tool that can change a file.
func changesFiles(request ledger.AgentRequest) bool {
	return slices.ContainsFunc(writers, func(tool string) bool { return !slices.Contains(request.DisallowedTools, tool) })
}

// bus is the event bus as the plugin host sees it. What it publishes of a
// plugin's state is told to changed as well.
type bus struct {
	*events.Bus
	changed func(plugin string)
}

func (b bus) Publish(kind pluginsdk.EventType, threadID string, payload any) {
	b.Bus.Publish(kind, threadID, payload)
	if state, ok := payload.(pluginsdk.PluginStatePayload); ok {
		b.changed(state.Name)
	}
}

// pluginChanged lets deliveries, tasks and runs go on that wait for a plugin.
func (d *Daemon) pluginChanged(name string) {
	d.outbox.PluginChanged(name)
	d.inbox.PluginChanged(name)
	d.tasks.PluginChanged()
}

func (b bus) Subscribe(name string, tells pluginhost.Telling, after pluginsdk.Position,
	deliver func(context.Context, []pluginsdk.Event) error,
) pluginhost.Subscription {
	return b.Bus.Subscribe(name, events.Selection(tells), after, deliver)
}

// hostBus is the event bus as hostapi sees it.
type hostBus struct{ *events.Bus }

func (b hostBus) Subscribe(name string, types []string, after pluginsdk.Position,
	deliver func(context.Context, []pluginsdk.Event) error,
) (stop func() pluginsdk.Position) {
	return b.Bus.Subscribe(name, events.Selection{Types: types}, after, deliver).Stop
}

// threadLabels is what the event bus asks of threads. Kind and source of a thread never
// change, so that what was read once holds.
type threadLabels struct {
	read func(ctx context.Context, id string) (pluginsdk.Thread, error)
	now  func() time.Time

	mu     sync.Mutex
	known  map[string]events.ThreadLabel
	before map[string]events.ThreadLabel // those that were known when known was full last
	failed time.Time                     // when a read failed last
}

const (
	// labelsKept is how many labels are kept: twice as many at most.
	labelsKept = 4096
	// labelPatience is how long a publisher waits for a label, and labelPause how long after a
	// read that failed no other is tried: a database that is away holds nothing up.
	labelPatience = time.Second
	labelPause    = 5 * time.Second
)

func newThreadLabels(read func(ctx context.Context, id string) (pluginsdk.Thread, error)) *threadLabels {
	return &threadLabels{read: read, now: time.Now, known: make(map[string]events.ThreadLabel)}
}

// of returns the label of a thread; false: it cannot be read at the moment.
func (l *threadLabels) of(id string) (events.ThreadLabel, bool) {
	label, known, pause := l.kept(id)
	if known || pause {
		return label, known
	}
	ctx, cancel := context.WithTimeout(context.Background(), labelPatience)
	defer cancel()
	thread, err := l.read(ctx, id)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		if pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
			l.failed = l.now()
		}
		return events.ThreadLabel{}, false
	}
	label = events.ThreadLabel{Kind: thread.Kind, Source: thread.Source}
	l.keep(id, label)
	return label, true
}

// kept returns a label that was read before. pause says that nothing is to be read now.
func (l *threadLabels) kept(id string) (label events.ThreadLabel, known, pause bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if label, known = l.known[id]; known {
		return label, true, false
	}
	if label, known = l.before[id]; known {
		l.keep(id, label)
		return label, true, false
	}
	return label, false, !l.failed.IsZero() && l.now().Sub(l.failed) < labelPause
}

// keep keeps a label. Of more than there is room for, those are forgotten that nobody has
// asked for since the room was full last. The lock is held.
func (l *threadLabels) keep(id string, label events.ThreadLabel) {
	if len(l.known) >= labelsKept {
		l.before, l.known = l.known, make(map[string]events.ThreadLabel)
	}
	l.known[id] = label
}

// pluginSet is what is set for plugins as hostapi sees it, which asks there what
// else is wrong with a row: that the agent is not offered all of its tools is.
type pluginSet struct {
	*settings.Settings
	tools *toolserver.Server
}

func (p pluginSet) ChangeFor(ctx context.Context, asker, plugin string, patch json.RawMessage) error {
	return p.Settings.ChangeFor(ctx, settings.Asker{
		Plugin: asker, Who: hostapi.AuditName(ctx, asker), Operator: shipped.Named(asker), Reserved: shipped.Operators[plugin],
	}, plugin, patch)
}

func (p pluginSet) Problem(ctx context.Context, row ledger.Plugin) string {
	problem, lack := p.Settings.Problem(ctx, row), p.tools.Unoffered(row.Name)
	switch {
	case lack == "":
		return problem
	case problem == "":
		return "tools: " + lack
	}
	return problem + "; tools: " + lack
}

// services are what plugins may ask of the core, as the plugin host sees them.
// The API is filled in once the parts that it speaks for exist, which is before
// the first plugin starts.
type services struct{ api **hostapi.API }

func (s services) For(plugin string, listen func(rules []pluginsdk.EventRule) (pluginsdk.Position, error)) pluginsdk.Host {
	return (*s.api).ForProcess(plugin, listen)
}

func (s services) Admit(ctx context.Context, plugin string, capability pluginsdk.Capability) error {
	return (*s.api).Admit(ctx, plugin, capability)
}

// notices are what the agent tells people elsewhere, by the command notify.
type notices struct{ api **hostapi.API }

func (n notices) Notify(ctx context.Context, from ledger.Behalf, key, text string, attributes map[string]string) (said string, err error) {
	notice, err := hostapi.NoticeOfCommand(text, attributes)
	if err != nil {
		return "", err
	}
	return (*n.api).Tell(ctx, hostapi.NoticeFrom{ThreadID: from.Fence.ThreadID, RunID: from.RunID, TaskID: from.TaskID, CallID: key}, notice)
}

// effects are those of hooks, as the pipeline sees who decides on them.
type effects struct{ api **hostapi.API }

func (e effects) AdmitEffects(ctx context.Context, plugin string, from *pluginsdk.Effects, room int) (ledger.Effect, int) {
	return (*e.api).AdmitEffects(ctx, plugin, from, room)
}

// followed is the search room with what wakes its indexer.
type followed struct {
	*search.Room
	events       *events.Bus
	subscription *events.Subscription
}

func (f *followed) Start(ctx context.Context) error {
	types := []string{string(pluginsdk.EventChatMessage), string(pluginsdk.EventChatAmended), string(pluginsdk.EventThreadMessage)}
	f.subscription = f.events.Subscribe("search", events.Selection{Types: types}, pluginsdk.Position{}, func(context.Context, []pluginsdk.Event) error {
		f.Wake()
		return nil
	})
	return f.Room.Start(ctx)
}

func (f *followed) Stop(ctx context.Context) error {
	f.subscription.Stop()
	return f.Room.Stop(ctx)
}
