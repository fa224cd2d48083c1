package delegation

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/internal/typed"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What can be asked for: the names of the commands, and of the tools.
const (
	verbDelegate   = "delegate"
	verbRedelegate = "re-delegate"
	verbCheckin    = "checkin"
	verbCancel     = "cancel"
)

// request is what a person types, an agent writes as a command, or a tool is called with:
// all three are carried out in the same way.
type request struct {
	call   pluginsdk.Call   // its id is the key of the task that comes of it
	thread pluginsdk.Thread // where it was given; without an id: nowhere, by an operator
	author string           // of the message that it came up in
	agent  bool             // it was given by the thread's agent
	fields map[string]string
	text   string // the task, the words, the reason
}

// answer is what comes of a request: words for people, and the same for a program.
type answer struct {
	words string
	data  any
}

// verb is one thing that can be asked for: its fields (task: the id, which of a command is
// the first word), and what does it.
type verb struct {
	fields []string
	named  bool // it is about a task, whose id comes first
	do     func(*Plugin, context.Context, request) (answer, error)
}

// verbs are all of them. The fields are those of a command; text is the rest.
var verbs = map[string]verb{
	verbDelegate:   {fields: []string{"model", "dir", "account", "cost", "wake", "join"}, do: (*Plugin).delegate},
	verbRedelegate: {fields: []string{"task", "model", "cost", "wake"}, named: true, do: (*Plugin).redelegate},
	verbCheckin:    {fields: []string{"task"}, named: true, do: (*Plugin).checkin},
	verbCancel:     {fields: []string{"task"}, named: true, do: (*Plugin).cancel},
}

// do carries a request out, once its fields are those that there are.
func (p *Plugin) do(ctx context.Context, name string, r request) (answer, error) {
	verb, known := verbs[name]
	if !known {
		return answer{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "%q is none of delegate, re-delegate, checkin and cancel", name)
	}
	for _, field := range slices.Sorted(maps.Keys(r.fields)) {
		if !slices.Contains(verb.fields, field) {
			return answer{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: %s has no attribute of this name; it has %s (-- before a text that begins like one)",
				field, name, strings.Join(verb.fields, ", "))
		}
	}
	for wait, until := firstPause, time.Now().Add(hostPatience); ; wait = min(2*wait, longestPause) {
		done, err := verb.do(p, ctx, r)
		if pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || time.Now().Add(wait).After(until) {
			return done, err
		}
		pause := time.NewTimer(wait)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return answer{}, err
		}
	}
}

// A request that the host could not see to, since its database does not answer or another
// process may have it, is made again within hostPatience: less than a command may take. The
// pauses grow from the first to the longest. What the host has seen to after all is known by
// the id of the call.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = time.Second
	hostPatience = 20 * time.Second
)

// OnCommand carries out what a person types or an agent writes.
func (p *Plugin) OnCommand(ctx context.Context, command *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
	r := request{
		call: command.Call, thread: command.Thread, author: command.Message.Author, agent: command.Origin == pluginsdk.FromAgent,
		fields: maps.Clone(command.Attributes), text: strings.TrimSpace(command.Body),
	}
	bare := len(r.fields) == 0 // it was typed, or has no attributes: they may stand before the text
	if bare {
		r.fields, r.text = typed.LeadingFields(r.text)
	}
	if verb := verbs[command.Name]; verb.named && r.fields["task"] == "" && r.text != "" {
		r.fields["task"], r.text = typed.FirstWord(r.text)
		if bare && len(verb.fields) > 1 {
			var more map[string]string
			more, r.text = typed.LeadingFields(r.text)
			maps.Copy(r.fields, more)
		}
	}
	if scope := command.Message.Scope; !r.agent && scope != "" && !scope.Has(pluginsdk.ScopeAdmin) {
		for _, field := range []string{"dir", "account"} {
			if r.fields[field] != "" {
				return nil, pluginsdk.Errorf(pluginsdk.CodeDenied, "%s= needs the right admin, and you have %s; "+
					"leave it out, or ask the owner of this installation", field, scope)
			}
		}
	}
	done, err := p.do(ctx, command.Name, r)
	if err != nil {
		return nil, err
	}
	return &pluginsdk.OnCommandResponse{Handled: true, Reply: done.words}, nil
}

// CallTool carries out what an agent calls as a tool, or a plugin for its users, such as
// the API. What cannot be done is a result that says why; where no agent reads that, what
// the host could not see to is an error, so that it can be told from a refusal.
func (p *Plugin) CallTool(ctx context.Context, call *pluginsdk.CallToolRequest) (*pluginsdk.CallToolResponse, error) {
	r, err := p.called(ctx, call)
	var done answer
	if err == nil {
		done, err = p.do(ctx, call.Name, r)
	}
	if pluginsdk.CodeOf(err) == pluginsdk.CodeUnavailable && !r.agent {
		return nil, err
	}
	if err != nil {
		return &pluginsdk.CallToolResponse{Result: pluginsdk.ToolResult{Text: err.Error(), IsError: true}}, nil
	}
	said, err := json.Marshal(done.data)
	if err != nil {
		return nil, err
	}
	return &pluginsdk.CallToolResponse{Result: pluginsdk.ToolResult{Text: string(said), Structured: said}}, nil
}

// called is the request that the call of a tool makes. A call from no thread says for
// which one it is; without that it is for the primary thread.
func (p *Plugin) called(ctx context.Context, call *pluginsdk.CallToolRequest) (r request, err error) {
	var input map[string]any
	if err := json.Unmarshal(call.Input, &input); err != nil {
		return r, pluginsdk.Errorf(pluginsdk.CodeInvalid, "input: %w", err)
	}
	r = request{call: call.Call, agent: call.ThreadID != "", fields: make(map[string]string)}
	for field, value := range input {
		r.fields[field] = fmt.Sprint(value)
	}
	take := func(field string) string {
		defer delete(r.fields, field)
		return strings.TrimSpace(r.fields[field])
	}
	threadID := call.ThreadID
	if key := take("key"); key != "" {
		if call.ThreadID != "" {
			return r, pluginsdk.Errorf(pluginsdk.CodeInvalid, "key: a call in a thread has one already; leave it out")
		}
		r.call.ID = "key:" + key
	}
	switch call.Name {
	case verbDelegate:
		r.text = take("task")
		asked := take("thread")
		if asked != "" && threadID != "" && asked != threadID {
			return r, pluginsdk.Errorf(pluginsdk.CodeInvalid, "thread: a task that is given in a thread is below that one; leave it out")
		}
		threadID = cmp.Or(threadID, asked)
	case verbRedelegate:
		r.text = take("words")
	case verbCancel:
		r.text = take("reason")
	}
	if threadID == "" && call.Name != verbDelegate {
		return r, nil
	}
	r.thread, err = p.thread(ctx, threadID)
	return r, err
}

// thread returns a thread; of the empty id the primary one.
func (p *Plugin) thread(ctx context.Context, id string) (pluginsdk.Thread, error) {
	if id != "" {
		answer, err := p.host.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: id})
		if err != nil {
			return pluginsdk.Thread{}, pluginsdk.Errorf(pluginsdk.CodeOf(err), "thread: %w", err)
		}
		return answer.Thread, nil
	}
	answer, err := p.host.Threads.List(ctx, &pluginsdk.ListThreadsRequest{Query: pluginsdk.ThreadQuery{Kind: pluginsdk.ThreadPrimary, Limit: 1}})
	if err == nil && len(answer.Threads) == 0 {
		err = pluginsdk.Errorf(pluginsdk.CodeNotFound, "thread: there is no primary thread yet; name one")
	}
	if err != nil {
		return pluginsdk.Thread{}, err
	}
	return answer.Threads[0], nil
}

// tools are the same as the commands, for agents.
func tools() []pluginsdk.ToolSpec {
	const (
		model = `"model": {"type": "string", "description": "haiku, sonnet, opus, or a model's name; without it the default"}`
		key   = `"key": {"type": "string", "maxLength": 200, "description": "Only for callers outside of a thread: repeated with the same key, the first task is returned"}`
		cost  = `"cost": {"type": "number", "exclusiveMinimum": 0, "description": "US dollars that it may cost"}`
		task  = `"task": {"type": "string", "minLength": 6, "description": "The task's id; its first or last 6 characters or more are enough"}`
	)
	spec := func(name, description, required string, properties ...string) pluginsdk.ToolSpec {
		return pluginsdk.ToolSpec{Name: name, Description: description, InputSchema: json.RawMessage(
			`{"type": "object", "additionalProperties": false, "required": [` + required + `], "properties": {` + strings.Join(properties, ", ") + `}}`)}
	}
	return []pluginsdk.ToolSpec{
		spec(verbDelegate, "Give a task to another agent, which works on it in a thread of its own. Its id is returned at once; this thread is told when it is over.", `"task"`,
			`"task": {"type": "string", "minLength": 1, "description": "All that the worker has to know, which has not read this conversation: the goal, what is known, where the files are, what not to touch, how one checks that it is done"}`,
			model, cost,
			`"dir": {"type": "string", "description": "Where it works: this thread's directory or one below it; without it a git worktree of this thread's, or an empty directory"}`,
			`"account": {"type": "string", "maxLength": 40, "description": "Only for callers outside of a thread: the account of the agent's that the task uses; without it the thread's"}`,
			`"wake": {"enum": ["no", "yes", "all"], "description": "Whether you are run again when it is over; all: when all tasks are that you give in this turn"}`,
			`"join": {"type": "string", "maxLength": 100, "description": "Be run again when all tasks of this name are over"}`,
			`"thread": {"type": "string", "description": "Only for callers outside of a thread: the one that is told of the task"}`, key),
		spec(verbRedelegate, "Have the worker of a task that is over go on, as a new task in the same thread. Its id is returned at once.", `"task", "words"`,
			task, `"words": {"type": "string", "minLength": 1, "description": "What is to be done now"}`, model, cost,
			`"wake": {"enum": ["no", "yes"], "description": "Whether you are run again when it is over; without it as the task before"}`, key),
		spec(verbCheckin, "How a task stands, with its worker's last words and what was said of them; without a task, all open ones of this thread.", ``, task),
		spec(verbCancel, "End a task, with its worker and the tasks below it.", `"task"`, task,
			`"reason": {"type": "string", "description": "Why"}`),
	}
}
