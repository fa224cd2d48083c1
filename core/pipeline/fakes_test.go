package pipeline

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// journal is the order in which things happened, shared by all the fakes.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

// fakeStore records commits and plays the thread's rows.
type fakeStore struct {
	*journal
	rows     []pluginsdk.Message
	intents  []ledger.Intent
	results  []ledger.ResultCommit
	outcomes []pluginsdk.Outcome
	finishes []ledger.Finish
	dropped  int
	fail     map[string]error
	waiting  []pluginsdk.Message // what Absorb returns, once
}

func (s *fakeStore) Absorb(context.Context, ledger.Fence, string) ([]pluginsdk.Message, error) {
	s.add("absorb %d", len(s.waiting))
	waiting := s.waiting
	s.waiting = nil
	return waiting, s.fail["Absorb"]
}

func (s *fakeStore) Messages(_ context.Context, query pluginsdk.MessageQuery) ([]pluginsdk.Message, error) {
	var found []pluginsdk.Message
	for _, row := range s.rows {
		if row.ID > query.After && slices.Contains(query.Roles, row.Role) && slices.Contains(query.Kinds, row.Kind) {
			found = append(found, row)
		}
	}
	return found, s.fail["Messages"]
}

func (s *fakeStore) SaveIntent(_ context.Context, _ ledger.Fence, intent ledger.Intent) error {
	s.add("5a")
	s.intents = append(s.intents, intent)
	return s.fail["SaveIntent"]
}

func (s *fakeStore) SaveResult(_ context.Context, _ ledger.Fence, commit ledger.ResultCommit) error {
	s.add("5b")
	s.results = append(s.results, commit)
	return s.fail["SaveResult"]
}

func (s *fakeStore) DropSession(context.Context, ledger.Fence, string) error {
	s.add("drop session")
	s.dropped++
	return nil
}

func (s *fakeStore) SaveOutcome(_ context.Context, _ ledger.Fence, _ string, outcome pluginsdk.Outcome) error {
	s.add("outcome %d", outcome.Index)
	s.outcomes = append(s.outcomes, outcome)
	return s.fail["SaveOutcome"]
}

func (s *fakeStore) Finish(_ context.Context, _ ledger.Fence, finish ledger.Finish) ([]int64, error) {
	s.add("11 %s", finish.State)
	s.finishes = append(s.finishes, finish)
	ids := make([]int64, len(finish.Rows))
	for i := range ids {
		ids[i] = int64(1000 + i)
	}
	return ids, s.fail["Finish"]
}

// fakeAgent answers with what the test scripts.
type fakeAgent struct {
	*journal
	requests []pluginsdk.AgentRequest
	answer   func(ctx context.Context, request pluginsdk.AgentRequest, emit func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult
	holds    bool
	steered  []string
	deaf     bool // takes nothing into its turn
}

func (a *fakeAgent) Steer(_, text string) bool {
	a.add("steer")
	if !a.deaf {
		a.steered = append(a.steered, text)
	}
	return !a.deaf
}

func (a *fakeAgent) Holds(string, string) bool { return a.holds }

func (a *fakeAgent) Invoke(ctx context.Context, request pluginsdk.AgentRequest, emit func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
	a.add("invoke")
	a.requests = append(a.requests, request)
	if a.answer != nil {
		return a.answer(ctx, request, emit)
	}
	return pluginsdk.InvokeResult{Text: "the answer", SessionID: request.SessionID}
}

func says(text string) func(context.Context, pluginsdk.AgentRequest, func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
	return func(_ context.Context, request pluginsdk.AgentRequest, _ func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
		return pluginsdk.InvokeResult{Text: text, SessionID: request.SessionID}
	}
}

func failsWith(failures ...*pluginsdk.Failure) func(context.Context, pluginsdk.AgentRequest, func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
	return func(_ context.Context, request pluginsdk.AgentRequest, _ func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
		failure := failures[0]
		failures = failures[1:]
		if failure == nil {
			return pluginsdk.InvokeResult{Text: "the answer", SessionID: request.SessionID}
		}
		return pluginsdk.InvokeResult{Failure: failure}
	}
}

// fakePlugin answers every hook, with the functions that the test sets.
type fakePlugin struct {
	*journal
	info   pluginsdk.PluginInfo
	down   bool
	before func(prompt pluginsdk.Prompt) (string, error)
	gate   func() (pluginsdk.Verdict, error)
	notify func(hook pluginsdk.Hook) error
	cmd    func(command pluginsdk.Command) (pluginsdk.CommandResult, error)
	reply  func(text string) (string, error)
	done   []pluginsdk.PipelineComplete
	calls  []pluginsdk.Call
	tokens *fakeTokens
}

func (f *fakePlugin) Info() *pluginsdk.PluginInfo { return &f.info }

func (f *fakePlugin) Do(_ context.Context, _ pluginsdk.Hook, _ string, fn func(Hooks) error) error {
	if f.down {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the plugin %s is backoff", f.info.Name)
	}
	return fn(f)
}

func (f *fakePlugin) told(hook pluginsdk.Hook, call pluginsdk.Call) error {
	f.add("%s %s", hook, f.info.Name)
	f.calls = append(f.calls, call)
	if !f.tokens.good(call.Token) {
		f.add("token of %s is not open", hook)
	}
	if f.notify != nil {
		return f.notify(hook)
	}
	return nil
}

func (f *fakePlugin) OnBeforeRun(_ context.Context, start pluginsdk.RunStart) (pluginsdk.Verdict, error) {
	_ = f.told(pluginsdk.HookBeforeRun, start.Call)
	if f.gate != nil {
		return f.gate()
	}
	return pluginsdk.Verdict{Allow: true}, nil
}

func (f *fakePlugin) OnPipelineStart(_ context.Context, start pluginsdk.PipelineStart) error {
	return f.told(pluginsdk.HookPipelineStart, start.Call)
}

func (f *fakePlugin) OnMessage(_ context.Context, message pluginsdk.IncomingMessage) error {
	return f.told(pluginsdk.HookMessage, message.Call)
}

func (f *fakePlugin) OnBeforeInvoke(_ context.Context, prompt pluginsdk.Prompt) (string, error) {
	_ = f.told(pluginsdk.HookBeforeInvoke, prompt.Call)
	if f.before != nil {
		return f.before(prompt)
	}
	return f.info.Name + "(" + prompt.Text + ")", nil
}

func (f *fakePlugin) OnAfterInvoke(_ context.Context, invocation pluginsdk.Invocation) error {
	return f.told(pluginsdk.HookAfterInvoke, invocation.Call)
}

func (f *fakePlugin) OnCommand(_ context.Context, command pluginsdk.Command) (pluginsdk.CommandResult, error) {
	_ = f.told(pluginsdk.HookCommand, command.Call)
	if f.cmd != nil {
		return f.cmd(command)
	}
	return pluginsdk.CommandResult{}, nil
}

func (f *fakePlugin) OnBeforeReply(_ context.Context, reply pluginsdk.Reply) (string, error) {
	_ = f.told(pluginsdk.HookBeforeReply, reply.Call)
	if f.reply != nil {
		return f.reply(reply.Text)
	}
	return reply.Text, nil
}

func (f *fakePlugin) OnPipelineComplete(_ context.Context, complete pluginsdk.PipelineComplete) error {
	f.done = append(f.done, complete)
	return f.told(pluginsdk.HookPipelineComplete, complete.Call)
}

type fakePlugins []*fakePlugin

func (f fakePlugins) Hold(string) {}

func (f fakePlugins) Release(string) {}

func (f fakePlugins) Answering(_ string, hook pluginsdk.Hook) []Plugin {
	var answering []Plugin
	for _, plugin := range f {
		if plugin.info.Manifest.Answers(hook) {
			answering = append(answering, plugin)
		}
	}
	return answering
}

type fakeTokens struct {
	mu   sync.Mutex
	open map[string]bool
	made int

	origins []ledger.Origin
}

func (f *fakeTokens) Open(plugin string, origin ledger.Origin, _ time.Time) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.made++
	f.origins = append(f.origins, origin)
	token := fmt.Sprintf("%s-%d", plugin, f.made)
	f.open[token] = true
	return token
}

func (f *fakeTokens) Close(token string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, token)
}

func (f *fakeTokens) good(token string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open[token]
}

// fakeTools are open to a turn between Begin and end.
type fakeTools struct {
	*journal
	origins []ledger.Origin
}

func (f *fakeTools) Begin(purpose string, origin ledger.Origin) (end func()) {
	f.add("tools for %s", purpose)
	f.origins = append(f.origins, origin)
	return func() { f.add("no tools") }
}

type fakeEvents struct {
	*journal
	payloads []any
}

func (f *fakeEvents) Publish(kind pluginsdk.EventType, _ string, payload any) {
	f.add("event %s", kind)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.payloads = append(f.payloads, payload)
}

// bench is a pipeline among fakes.
type bench struct {
	journal *journal
	store   *fakeStore
	agent   *fakeAgent
	plugins fakePlugins
	tokens  *fakeTokens
	tools   *fakeTools
	events  *fakeEvents
	line    *Pipeline
	claim   ledger.Claim
	woken   []string // threads of which the outbox was told
}

func newBench(plugins ...string) *bench {
	j := &journal{}
	b := &bench{
		journal: j, store: &fakeStore{journal: j, fail: map[string]error{}}, agent: &fakeAgent{journal: j},
		tokens: &fakeTokens{open: map[string]bool{}}, tools: &fakeTools{journal: j}, events: &fakeEvents{journal: j},
		claim: ledger.Claim{
			Found:   true,
			Thread:  pluginsdk.Thread{ID: "T", Kind: pluginsdk.ThreadGeneral, Name: "a thread", SeenMessageID: 5},
			Message: pluginsdk.Message{ID: 10, ThreadID: "T", Role: pluginsdk.RoleUser, Content: "hello"},
			Run:     pluginsdk.Run{ID: "R", ThreadID: "T", MessageID: 10, Kind: pluginsdk.RunMessage, Attempt: 1},
			Fence:   ledger.Fence{ThreadID: "T", Epoch: 1},
		},
	}
	for _, name := range plugins {
		b.plugins = append(b.plugins, &fakePlugin{journal: j, tokens: b.tokens, info: pluginsdk.PluginInfo{
			Name: name, Manifest: pluginsdk.Manifest{Name: name, Hooks: pluginsdk.AllHooks()},
		}})
	}
	b.line = New(Config{Model: "m"}, b.store, b.agent, b.plugins, b.tokens, b.tools, b, b.events)
	return b
}

// Wake is the Outbox's.
func (b *bench) Wake(thread pluginsdk.Thread) { b.woken = append(b.woken, thread.ID) }

func (b *bench) handle() error {
	return b.line.Handle(context.Background(), context.Background(), b.claim)
}
