package hostapi

import (
	"bytes"
	"context"
	"encoding/json"
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
	CallID   string // of the tool's call or the command, among those of the run
}

// noticeMetadata is the metadata of a notice's row.
type noticeMetadata struct {
	Event      string `json:"event"`
	FromThread string `json:"fromThread,omitempty"`
	FromRun    string `json:"fromRun,omitempty"`
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
// (CodeExhausted).
func (a *API) Notify(ctx context.Context, from NoticeFrom, notice Notice) (pluginsdk.Message, error) {
	if err := notice.check(); err != nil {
		return pluginsdk.Message{}, err
	}
	thread, err := a.noticed(ctx, notice)
	if err != nil {
		return pluginsdk.Message{}, err
	}
	if err := a.noticing.allow(from); err != nil {
		return pluginsdk.Message{}, err
	}
	metadata, err := json.Marshal(noticeMetadata{Event: "notify", FromThread: from.ThreadID, FromRun: from.RunID})
	if err != nil {
		return pluginsdk.Message{}, pluginsdk.Errorf(pluginsdk.CodeInternal, "write down where a notice is from: %w", err)
	}
	rows := ledger.Append{ThreadID: thread.ID, Deliver: true, Rows: []pluginsdk.NewMessage{{
		Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Source: "agent", Content: notice.Text, Metadata: metadata,
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

// noticed returns the thread that a notice is for.
func (a *API) noticed(ctx context.Context, notice Notice) (pluginsdk.Thread, error) {
	switch notice.Thread {
	case "":
	case "primary":
		return a.threadOr(ctx, "")
	default:
		return a.Store.Thread(ctx, notice.Thread)
	}
	to, err := pluginsdk.ParseTarget(notice.Target)
	if err != nil {
		return pluginsdk.Thread{}, err
	}
	if to.ThreadID != "" {
		return a.Store.Thread(ctx, to.ThreadID)
	}
	if err := a.checkCarried(ctx, "target", to); err != nil {
		return pluginsdk.Thread{}, err
	}
	return a.Store.ThreadOfTarget(ctx, to.Plugin, to.Place)
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
