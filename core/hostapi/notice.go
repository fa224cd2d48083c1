package hostapi

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Notice is what the agent has to say to people who are not in the thread that it
// works in: those of another thread, or of a place that a plugin carries to. It has
// one of the two.
type Notice struct {
	Thread string `json:"thread,omitempty"` // an id, or primary
	Target string `json:"target,omitempty"` // PLUGIN:PLACE, as in discord:CHANNEL
	Text   string `json:"text"`
}

// CoreTools describes the core's own tools as those of a plugin.
func CoreTools() *pluginsdk.PluginInfo {
	return &pluginsdk.PluginInfo{Name: CoreName, Enabled: true, Manifest: pluginsdk.Manifest{
		Name: CoreName, Hooks: []pluginsdk.Hook{pluginsdk.HookCallTool}, Tools: []pluginsdk.ToolSpec{NotifyTool(), SearchTool()},
	}}
}

// NotifyTool is the tool by which the agent gives a Notice.
func NotifyTool() pluginsdk.ToolSpec {
	return pluginsdk.ToolSpec{
		Name: "notify",
		Description: "Tell the people of another thread, or of a channel, something now, without waiting for an answer. " +
			"Your reply reaches the people of this thread anyway.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{` +
			`"thread":{"type":"string","description":"id of a thread, or primary"},` +
			`"target":{"type":"string","description":"PLUGIN:PLACE, as in discord:CHANNEL; instead of thread"},` +
			`"text":{"type":"string","description":"what to tell"}},"required":["text"],"additionalProperties":false}`),
	}
}

// ParseNotice reads the input of NotifyTool, or the body of a command that is a JSON
// object; CodeInvalid when it is not a good Notice.
func ParseNotice(input []byte) (n Notice, err error) {
	decoder := json.NewDecoder(bytes.NewReader(input))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&n); err != nil {
		return Notice{}, pluginsdk.Errorf(pluginsdk.CodeInvalid,
			`this is not read as a notice: %w; want {"thread": ID or "primary", "text": ...} or {"target": "PLUGIN:PLACE", "text": ...}`, err)
	}
	return n, n.check()
}

// NoticeOfCommand reads a command: a JSON object as its body, or the text as its body
// and thread or target as its attributes.
func NoticeOfCommand(body string, attributes map[string]string) (Notice, error) {
	if len(attributes) == 0 {
		return ParseNotice([]byte(body))
	}
	n := Notice{Thread: attributes["thread"], Target: attributes["target"], Text: strings.TrimSpace(body)}
	return n, n.check()
}

func (n Notice) check() error {
	switch {
	case (n.Thread == "") == (n.Target == ""):
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "thread, target: want one of the two: a thread's id or primary, or PLUGIN:PLACE")
	case strings.TrimSpace(n.Text) == "":
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "text: there is nothing to tell")
	case len(n.Text) > maxNotice:
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "text: at most %d bytes, this has %d; write a file and tell where it is", maxNotice, len(n.Text))
	}
	return nil
}

// NoticeFrom is where a notice was given.
type NoticeFrom struct {
	ThreadID string
	RunID    string
	TaskID   string // empty: the run is no task's
	CallID   string // of the tool's call or the command, among those of the run
	// Asked says that people are asked about a notice that needs it before it is given, as
	// they are about the calls of the tool.
	Asked bool
}

// noticeMetadata is the metadata of a notice's row.
type noticeMetadata struct {
	Event      string `json:"event"`
	FromThread string `json:"fromThread,omitempty"`
	FromRun    string `json:"fromRun,omitempty"`
	Apart      bool   `json:"apart,omitempty"` // the thread that it is from is
}

// noticing knows which notices the latest runs have given.
type noticing struct {
	mu   sync.Mutex
	runs map[string]map[string]bool // the calls that gave one, by run
	last []string                   // the runs, the oldest first
}

// allow counts a notice, of which a repetition is the same; CodeExhausted: the run
// has given as many as it may.
func (n *noticing) allow(from NoticeFrom) error {
	if from.RunID == "" {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	given, known := n.runs[from.RunID]
	if !known {
		given = make(map[string]bool)
		n.runs[from.RunID] = given
		if n.last = append(n.last, from.RunID); len(n.last) > runsNoticed {
			delete(n.runs, n.last[0])
			n.last = n.last[1:]
		}
	}
	if !given[from.CallID] && len(given) >= maxNotices {
		return pluginsdk.Errorf(pluginsdk.CodeExhausted,
			"this run has told people elsewhere %d times, as often as it may; say the rest in the reply, or in one notice of a later run", maxNotices)
	}
	given[from.CallID] = true
	return nil
}

// Notify stores a notice as a notification of the thread that it is for, and has it
// carried to the thread's people. Repeated for the same call of the same run, it
// returns the first one's row. Only the agent may give one, at most 32 in a run
// (CodeExhausted). From a thread apart it is for the threads of its own tree, and for where
// its replies go (CodeDenied). For a place that nobody has talked from it is given when
// people were asked (CodeDenied).
func (a *API) Notify(ctx context.Context, from NoticeFrom, notice Notice) (pluginsdk.Message, error) {
	if err := notice.check(); err != nil {
		return pluginsdk.Message{}, err
	}
	thread, known, err := a.noticed(ctx, notice)
	if err != nil {
		return pluginsdk.Message{}, err
	}
	apart, err := a.mayTell(ctx, from, notice, thread)
	if err != nil {
		return pluginsdk.Message{}, err
	}
	if !known && !from.Asked {
		return pluginsdk.Message{}, pluginsdk.Errorf(pluginsdk.CodeDenied,
			"target: nobody has talked from %s yet, so people are asked first; call the tool %s__%s, which asks them", notice.Target, CoreName, NotifyTool().Name)
	}
	if err := a.noticing.allow(from); err != nil {
		return pluginsdk.Message{}, err
	}
	if !known {
		to, err := pluginsdk.ParseTarget(notice.Target)
		if err != nil {
			return pluginsdk.Message{}, err
		}
		if thread, err = a.Store.ThreadOfTarget(ctx, to.Plugin, to.Place); err != nil {
			return pluginsdk.Message{}, err
		}
	}
	metadata, err := json.Marshal(noticeMetadata{Event: "notify", FromThread: from.ThreadID, FromRun: from.RunID, Apart: apart})
	if err != nil {
		return pluginsdk.Message{}, pluginsdk.Errorf(pluginsdk.CodeInternal, "write down where a notice is from: %w", err)
	}
	of := pluginsdk.Origin{ThreadID: from.ThreadID, RunID: from.RunID, TaskID: from.TaskID, Apart: apart}
	rows := ledger.Append{ThreadID: thread.ID, Deliver: true, Origin: of, Rows: []pluginsdk.NewMessage{{
		Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Source: ledger.SourceAgent, Content: notice.Text, Metadata: metadata,
	}}}
	if from.RunID != "" {
		rows.Key = from.RunID + ":notify:" + from.CallID
	}
	made, err := a.Store.Append(ctx, rows)
	a.announce(made)
	if err != nil || len(made.Messages) == 0 {
		return pluginsdk.Message{}, err
	}
	return made.Messages[0], nil
}

// Tell is Notify, and returns the words for who gave the notice.
func (a *API) Tell(ctx context.Context, from NoticeFrom, notice Notice) (said string, err error) {
	row, err := a.Notify(ctx, from, notice)
	if err != nil {
		return "", err
	}
	return "Told the people of the thread " + row.ThreadID + ".", nil
}

// noticed returns the thread that a notice is for; not known: the notice is for a place that
// has no thread yet.
func (a *API) noticed(ctx context.Context, notice Notice) (thread pluginsdk.Thread, known bool, err error) {
	switch notice.Thread {
	case "":
	case "primary":
		thread, err = a.threadOr(ctx, "")
		return thread, true, err
	default:
		thread, err = a.Store.Thread(ctx, notice.Thread)
		return thread, true, err
	}
	to, err := pluginsdk.ParseTarget(notice.Target)
	if err != nil {
		return pluginsdk.Thread{}, false, err
	}
	if to.ThreadID != "" {
		thread, err = a.Store.Thread(ctx, to.ThreadID)
		return thread, true, err
	}
	if err := a.checkCarried(ctx, "target", to); err != nil {
		return pluginsdk.Thread{}, false, err
	}
	return a.Store.FindTarget(ctx, to.Plugin, to.Place)
}

// NoticeAsked reports whether people are asked before the agent of a thread gives a notice:
// it is for a place that nobody has talked from. A notice that is refused anyway is not asked
// about.
func (a *API) NoticeAsked(ctx context.Context, threadID string, notice Notice) bool {
	if notice.check() != nil {
		return false
	}
	thread, known, err := a.noticed(ctx, notice)
	if err != nil || known {
		return false
	}
	_, err = a.mayTell(ctx, NoticeFrom{ThreadID: threadID}, notice, thread)
	return err == nil
}

// ToolAsked reports whether people are asked about a call of a tool (PLUGIN__TOOL) by the
// agent of a thread, which may be apart. They are about notices for places that nobody has
// talked from; and in a thread apart about all tools of plugins that may ask anything of the
// core, since the plugin may start work or tell what lies elsewhere.
func (a *API) ToolAsked(ctx context.Context, threadID string, apart bool, tool string, input json.RawMessage) bool {
	plugin, name, _ := strings.Cut(tool, "__")
	if plugin == CoreName {
		notice, err := ParseNotice(input)
		return name == NotifyTool().Name && err == nil && a.NoticeAsked(ctx, threadID, notice)
	}
	if !apart {
		return false
	}
	row, err := a.Store.Plugin(ctx, plugin)
	return err != nil || slices.ContainsFunc(row.Granted, func(c pluginsdk.Capability) bool { return !onlyForHooks(c) })
}

// onlyForHooks reports whether a capability has the plugin asked hooks, and lets it ask nothing
// of the core.
func onlyForHooks(capability pluginsdk.Capability) bool {
	return capability != pluginsdk.CapTasksRead &&
		slices.ContainsFunc(pluginsdk.Hooks(), func(spec pluginsdk.HookSpec) bool { return spec.Capability == capability })
}

// mayTell refuses (CodeDenied) a notice from a thread apart that is for people elsewhere. It
// returns whether the thread that the notice is from is apart.
func (a *API) mayTell(ctx context.Context, from NoticeFrom, notice Notice, to pluginsdk.Thread) (apart bool, err error) {
	if from.ThreadID == "" {
		return false, nil
	}
	thread, err := a.Store.Thread(ctx, from.ThreadID)
	if err != nil {
		return false, err
	}
	if apart, err = a.Apart(ctx, thread); err != nil || !apart {
		return apart, err
	}
	top, carried, err := a.treeApart(ctx, thread)
	if err != nil || notice.Target != "" && slices.Contains(carried, notice.Target) {
		return true, err
	}
	for seen := 0; to.ID != "" && seen < maxVisible; seen++ {
		if to.ID == top {
			return true, nil
		}
		if to.ParentThreadID == "" {
			break
		}
		if to, err = a.Store.Thread(ctx, to.ParentThreadID); err != nil {
			return true, err
		}
	}
	return true, pluginsdk.Errorf(pluginsdk.CodeDenied, "this thread is apart: its agent tells nobody but the people of this thread, of the threads below it, and of the threads apart above it")
}

// treeApart returns the highest thread apart above a thread apart, which may be itself, and
// where the replies of the threads between the two go.
func (a *API) treeApart(ctx context.Context, thread pluginsdk.Thread) (top string, carried []string, err error) {
	for range maxVisible {
		top, carried = thread.ID, append(carried, thread.ReportTo.String())
		if thread.ParentThreadID == "" {
			break
		}
		if thread, err = a.Store.Thread(ctx, thread.ParentThreadID); err != nil {
			return "", nil, err
		}
		apart, err := a.Apart(ctx, thread)
		if err != nil || !apart {
			return top, carried, err
		}
	}
	return top, carried, nil
}

const (
	// maxNotice is the longest notice, in bytes.
	maxNotice = 64 << 10
	// maxNotices is how many a run may give: an agent that goes round in circles must
	// not fill other people's channels.
	maxNotices = 32
	// runsNoticed is of how many runs it is known how many notices they have given,
	// those that began to last: more than run at a time.
	runsNoticed = 1000
)

// CoreName is the plugin name of the core's own tools, which no plugin can have.
const CoreName = "core"
