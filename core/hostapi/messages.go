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

type messages struct{ *caller }

// atOnceMost is how long a command that the core answers at once may be, and as long
// may be what comes with it, in bytes; atOnceAnswer is what its answer counts for.
const (
	atOnceMost   = 16 << 10
	atOnceAnswer = 4 << 10
)

// Submit is in no quota as far as the queues bound it: a plugin that carries
// everybody's messages must not lose any. What the core answers at once is in no
// queue, and counts in the plugin's rows and bytes a minute.
func (s messages) Submit(ctx context.Context, request *pluginsdk.SubmitMessageRequest) (*pluginsdk.SubmitMessageResponse, error) {
	return counted(s.caller, "Messages.Submit", func() (*pluginsdk.SubmitMessageResponse, error) {
		submission, err := s.fromPlugin(request.Submission)
		if err != nil {
			return nil, err
		}
		if err := s.mayCommand(ctx, submission); err != nil {
			return nil, err
		}
		in, err := s.granted(ctx, s.plugin)
		if err != nil {
			return nil, err
		}
		if cause := in.origin.Cause(); cause != "" { // what a run causes is not for the plugin to say
			submission.CauseRunID = cause
		}
		if err := s.mayAskAtOnce(submission); err != nil {
			return nil, err
		}
		accepted, err := s.Inbox.Submit(ctx, s.plugin, submission)
		return &pluginsdk.SubmitMessageResponse{Accepted: accepted}, err
	})
}

// fromPlugin gives a submission the plugin's first source, if it names none, and
// refuses another's.
func (s messages) fromPlugin(submission pluginsdk.Submission) (pluginsdk.Submission, error) {
	sources := s.Grants.Sources(s.plugin)
	if submission.Source == "" && len(sources) > 0 {
		submission.Source = sources[0]
	}
	if !slices.Contains(sources, submission.Source) {
		return submission, pluginsdk.Errorf(pluginsdk.CodeDenied, "source: the plugin %s speaks for %s, not for %q; "+
			"a plugin names its sources in its manifest", s.plugin, sourceNames(sources), submission.Source)
	}
	return submission, nil
}

// mayCommand refuses a command of the core by which a plugin would do what it may
// not do itself.
func (s messages) mayCommand(ctx context.Context, submission pluginsdk.Submission) error {
	capability, needs := s.Inbox.Needs(submission.Content)
	if !needs {
		return nil
	}
	if !s.Grants.Granted(s.plugin, capability) {
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "content: this is a command, and %w", lacks(s.plugin, capability))
	}
	if capability != pluginsdk.CapThreadsWrite {
		return nil
	}
	thread, err := s.threadOr(ctx, submission.ThreadID)
	if err != nil {
		return err
	}
	if err := s.mayChange(thread.Source, nil); err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "content: this is a command that changes the thread; %w", err)
	}
	return nil
}

// mayAskAtOnce counts a command that the core answers at once, with its answer, and
// refuses one that is too long.
func (s messages) mayAskAtOnce(submission pluginsdk.Submission) error {
	if !s.Inbox.AtOnce(submission.Content) {
		return nil
	}
	content := len(submission.Content)
	with := len(submission.Author) + len(submission.Metadata) + sizeOfAttachments(submission.Attachments)
	if content > atOnceMost {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "content: this is read as a command, which has at most %d bytes, and has %d; "+
			"if it is none, say it without the slash that it begins with", atOnceMost, content)
	}
	if with > atOnceMost {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "author, metadata, attachments: of a command at most %d bytes, this has %d", atOnceMost, with)
	}
	return s.Quotas.pace(s.plugin, 2, int64(content+with+atOnceAnswer)+2*ledger.RowBytes)
}

// threadOr returns a thread; of the empty id the primary one.
func (a *API) threadOr(ctx context.Context, id string) (pluginsdk.Thread, error) {
	if id != "" {
		return a.Store.Thread(ctx, id)
	}
	found, err := a.Store.Threads(ctx, pluginsdk.ThreadQuery{Kind: pluginsdk.ThreadPrimary, Limit: 1})
	if err == nil && len(found) == 0 {
		err = pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no primary thread yet; start the daemon once")
	}
	if err != nil {
		return pluginsdk.Thread{}, err
	}
	return found[0], nil
}

// Append stores the rows and broadcasts them. A call made inside a hook writes
// under the fence of the hook's run when it writes to that run's thread, and the
// rows are the run's.
func (s messages) Append(ctx context.Context, request *pluginsdk.AppendMessagesRequest) (*pluginsdk.AppendMessagesResponse, error) {
	return serve(s.caller, "Messages.Append", func() (*pluginsdk.AppendMessagesResponse, error) {
		if err := checkKey(request.Key); err != nil {
			return nil, err
		}
		if request.ThreadID == "" {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "threadId: rows are of a thread")
		}
		size, err := s.checkRows(request.Messages)
		if err != nil {
			return nil, err
		}
		in, err := s.granted(ctx, s.plugin)
		if err != nil {
			return nil, err
		}
		rows := ledger.Append{
			ThreadID: request.ThreadID, Plugin: s.plugin, Key: request.Key, Rows: request.Messages, Deliver: request.Deliver,
		}
		if fence := in.origin.Fence; fence != (ledger.Fence{}) && fence.ThreadID == request.ThreadID {
			rows.Fence, rows.RunID = &fence, in.origin.RunID
		}
		var made ledger.Appended
		err = s.write(ctx, len(rows.Rows), size, func() (err error) {
			made, err = s.Store.Append(ctx, rows)
			return err
		})
		s.announce(made)
		return &pluginsdk.AppendMessagesResponse{Messages: made.Messages}, err
	})
}

// announce tells everybody of rows that waits for them.
func (a *API) announce(made ledger.Appended) {
	for _, lane := range made.Lanes {
		a.Outbox.Wake(lane.Plugin, lane.Target)
	}
	for _, row := range made.Messages {
		a.Events.Publish(pluginsdk.EventThreadMessage, row.ThreadID, pluginsdk.MessagePayload{
			ThreadID: row.ThreadID, MessageID: row.ID, Role: row.Role, Kind: row.Kind,
		})
	}
}

// checkRows refuses rows that the plugin may not write, and too much at once. It
// returns how many bytes of words they have.
func (s messages) checkRows(rows []pluginsdk.NewMessage) (size int64, err error) {
	if len(rows) > maxRows {
		return 0, pluginsdk.Errorf(pluginsdk.CodeExhausted, "messages: at most %d at once, these are %d", maxRows, len(rows))
	}
	for n, row := range rows {
		err := row.CheckFor(s.plugin)
		if err == nil {
			err = checkSides(row)
		}
		if err != nil {
			return 0, pluginsdk.Errorf(pluginsdk.CodeInvalid, "messages[%d]: %w", n, err)
		}
		size += sizeOfRow(row)
	}
	if size > maxRowsBytes {
		return 0, pluginsdk.Errorf(pluginsdk.CodeExhausted, "messages: at most %d bytes at once, these are %d", maxRowsBytes, size)
	}
	return size, nil
}

func (s messages) List(ctx context.Context, request *pluginsdk.ListMessagesRequest) (*pluginsdk.ListMessagesResponse, error) {
	return serve(s.caller, "Messages.List", func() (*pluginsdk.ListMessagesResponse, error) {
		rows, more, err := s.Store.MessagePage(ctx, request.Query)
		some := page(rows, request.Query.Last, sizeOfMessage)
		return &pluginsdk.ListMessagesResponse{Messages: some, More: more || len(some) < len(rows)}, err
	})
}

// Notice is what the agent has to say to people who are not in the thread that it
// works in: those of another thread, or of a place that a plugin carries to. It has
// one of the two.
type Notice struct {
	Thread string `json:"thread,omitempty"` // an id, or primary
	Target string `json:"target,omitempty"` // PLUGIN:PLACE, as in discord:CHANNEL
	Text   string `json:"text"`
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

// CoreTools describes the core's own tools as those of a plugin.
func CoreTools() *pluginsdk.PluginInfo {
	return &pluginsdk.PluginInfo{Name: CoreName, Enabled: true, Manifest: pluginsdk.Manifest{
		Name: CoreName, Hooks: []pluginsdk.Hook{pluginsdk.HookCallTool}, Tools: []pluginsdk.ToolSpec{NotifyTool()},
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
