package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-706843ae/harness/core/hooks"
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
	progress chan []pluginsdk.StreamEvent // what SaveProgress was given
	*journal
	rows     []pluginsdk.Message
	intents  []ledger.Intent
	results  []ledger.ResultCommit
	outcomes []pluginsdk.Outcome
	commits  []ledger.OutcomeCommit
	finishes []ledger.Finish
	held     []ledger.HeldRun
	dropped  int
	fail     map[string]error
	waiting  []pluginsdk.Message // what Absorb returns, once
	caps     map[string]ledger.TaskCap
	reserved map[string]float64
	topUps   [][]ledger.Reservation // what TopUp was asked for
	topUp    func() (float64, error)
}

func (s *fakeStore) TaskCap(_ context.Context, id string) (ledger.TaskCap, error) {
	return s.caps[id], s.fail["TaskCap"]
}

func (s *fakeStore) Absorbable(context.Context, ledger.Fence, string) ([]pluginsdk.Message, error) {
	return s.waiting, s.fail["Absorbable"]
}

func (s *fakeStore) Absorb(_ context.Context, _ ledger.Fence, _ string, messages []pluginsdk.Message) ([]pluginsdk.Message, error) {
	s.add("absorb %d", len(messages))
	waiting := s.waiting[:len(messages)]
	s.waiting = s.waiting[len(messages):]
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

func (s *fakeStore) TopUp(_ context.Context, _ ledger.Fence, _ string, all []ledger.Reservation) (float64, error) {
	s.topUps = append(s.topUps, all)
	return s.topUp()
}

func (s *fakeStore) SaveProgress(_ context.Context, _ ledger.Fence, _ string, events []pluginsdk.StreamEvent) error {
	if s.progress != nil {
		s.progress <- events
	}
	return nil
}

func (s *fakeStore) HoldRun(_ context.Context, _ ledger.Fence, held ledger.HeldRun) ([]ledger.Lane, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = append(s.held, held)
	return []ledger.Lane{{Plugin: "courier"}}, nil
}

func (s *fakeStore) DropSession(context.Context, ledger.Fence, string) error {
	s.add("drop session")
	s.dropped++
	return nil
}

func (s *fakeStore) SaveOutcome(_ context.Context, _ ledger.Fence, commit ledger.OutcomeCommit) error {
	s.add("outcome %d", commit.Outcome.Index)
	s.outcomes = append(s.outcomes, commit.Outcome)
	s.commits = append(s.commits, commit)
	return s.fail["SaveOutcome"]
}

func (s *fakeStore) Reserved(_ context.Context, plugin, account string) (float64, error) {
	return s.reserved[plugin+"/"+account], s.fail["Reserved"]
}

func (s *fakeStore) Room(_ context.Context, _ string, one ledger.Reservation) (spent, reserved float64, err error) {
	s.add("looked at %s/%s", one.Plugin, one.Account)
	return s.reserved[one.Plugin+"/"+one.Account], 0, s.fail["Room"]
}

func (s *fakeStore) Finish(_ context.Context, _ ledger.Fence, finish ledger.Finish) (ledger.Finished, error) {
	s.add("11 %s", finish.State)
	s.finishes = append(s.finishes, finish)
	ids := make([]int64, len(finish.Rows))
	for i := range ids {
		ids[i] = int64(1000 + i)
	}
	return ledger.Finished{MessageIDs: ids, Lanes: []ledger.Lane{{Plugin: "courier"}}}, s.fail["Finish"]
}

// fakeAgent answers with what the test scripts.
type fakeAgent struct {
	*journal
	requests []ledger.AgentRequest
	answer   func(ctx context.Context, request ledger.AgentRequest, emit func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult
	holds    bool
	steered  []string
	deaf     bool // takes nothing into its turn
	steering func()
}

func (a *fakeAgent) Steer(_, text string) bool {
	a.add("steer")
	if a.steering != nil {
		a.steering()
	}
	if !a.deaf {
		a.steered = append(a.steered, text)
	}
	return !a.deaf
}

func (a *fakeAgent) Holds(string, string) bool { return a.holds }

func (a *fakeAgent) Invoke(ctx context.Context, request ledger.AgentRequest, emit func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
	a.add("invoke")
	a.requests = append(a.requests, request)
	if a.answer != nil {
		return a.answer(ctx, request, emit)
	}
	return pluginsdk.InvokeResult{Text: "the answer", SessionID: request.SessionID}
}

func says(text string) func(context.Context, ledger.AgentRequest, func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
	return func(_ context.Context, request ledger.AgentRequest, _ func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
		return pluginsdk.InvokeResult{Text: text, SessionID: request.SessionID}
	}
}

func failsWith(failures ...*pluginsdk.Failure) func(context.Context, ledger.AgentRequest, func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
	return func(_ context.Context, request ledger.AgentRequest, _ func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
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
	hooks.Process // what is no hook of a run is not answered
	info          pluginsdk.PluginInfo
	changed       atomic.Pointer[pluginsdk.PluginInfo] // nil: it is info
	down          bool
	asking        func(hook pluginsdk.Hook) // is called before the call has its token
	before        func(prompt *pluginsdk.OnBeforeInvokeRequest) (string, error)
	prefix        func(prompt *pluginsdk.OnBeforeInvokeRequest) (*pluginsdk.OnBeforeInvokeResponse, error)
	gate          func() (*pluginsdk.OnBeforeRunResponse, error)
	notify        func(hook pluginsdk.Hook) error
	cmd           func(command *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error)
	reply         func(text string) (string, error)
	effects       func(hook pluginsdk.Hook) *pluginsdk.Effects
	done          []*pluginsdk.OnPipelineCompleteRequest
	calls         []pluginsdk.Call
	tokens        *fakeTokens
}

func (f *fakePlugin) Info() *pluginsdk.PluginInfo {
	if changed := f.changed.Load(); changed != nil {
		return changed
	}
	return &f.info
}

func (f *fakePlugin) Do(_ context.Context, hook pluginsdk.Hook, _ string, fn func(hooks.Process) error) error {
	if err := f.Info().MayAnswer(hook); err != nil {
		return err
	}
	if f.down {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the plugin %s is backoff", f.info.Name)
	}
	if f.asking != nil {
		f.asking(hook)
	}
	return fn(f)
}

func (f *fakePlugin) told(hook pluginsdk.Hook, call pluginsdk.Call) (*pluginsdk.Effects, error) {
	f.add("%s %s", hook, f.info.Name)
	f.calls = append(f.calls, call)
	if !f.tokens.good(call.Token) {
		f.add("token of %s is not open", hook)
	}
	var effects *pluginsdk.Effects
	if f.effects != nil {
		effects = f.effects(hook)
	}
	if f.notify != nil {
		return effects, f.notify(hook)
	}
	return effects, nil
}

func (f *fakePlugin) OnBeforeRun(_ context.Context, r *pluginsdk.OnBeforeRunRequest) (*pluginsdk.OnBeforeRunResponse, error) {
	effects, _ := f.told(pluginsdk.HookBeforeRun, r.Call)
	if f.gate != nil {
		return f.gate()
	}
	return &pluginsdk.OnBeforeRunResponse{Effects: effects}, nil
}

func (f *fakePlugin) OnPipelineStart(_ context.Context, r *pluginsdk.OnPipelineStartRequest) (*pluginsdk.OnPipelineStartResponse, error) {
	effects, err := f.told(pluginsdk.HookPipelineStart, r.Call)
	return &pluginsdk.OnPipelineStartResponse{Effects: effects}, err
}

func (f *fakePlugin) OnMessage(_ context.Context, r *pluginsdk.OnMessageRequest) (*pluginsdk.OnMessageResponse, error) {
	effects, err := f.told(pluginsdk.HookMessage, r.Call)
	return &pluginsdk.OnMessageResponse{Effects: effects}, err
}

func (f *fakePlugin) OnBeforeInvoke(_ context.Context, r *pluginsdk.OnBeforeInvokeRequest) (*pluginsdk.OnBeforeInvokeResponse, error) {
	effects, _ := f.told(pluginsdk.HookBeforeInvoke, r.Call)
	if f.prefix != nil {
		return f.prefix(r)
	}
	prompt := f.info.Name + "(" + r.Prompt + ")"
	if f.before != nil {
		var err error
		if prompt, err = f.before(r); err != nil {
			return nil, err
		}
	}
	return &pluginsdk.OnBeforeInvokeResponse{Prompt: &prompt, Effects: effects}, nil
}

func (f *fakePlugin) OnAfterInvoke(_ context.Context, r *pluginsdk.OnAfterInvokeRequest) (*pluginsdk.OnAfterInvokeResponse, error) {
	effects, err := f.told(pluginsdk.HookAfterInvoke, r.Call)
	return &pluginsdk.OnAfterInvokeResponse{Effects: effects}, err
}

func (f *fakePlugin) OnCommand(_ context.Context, r *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
	effects, _ := f.told(pluginsdk.HookCommand, r.Call)
	if f.cmd != nil {
		answer, err := f.cmd(r)
		if answer != nil {
			answer.Effects = effects
		}
		return answer, err
	}
	return nil, nil //nolint:nilnil // it does not handle the command
}

func (f *fakePlugin) OnBeforeReply(_ context.Context, r *pluginsdk.OnBeforeReplyRequest) (*pluginsdk.OnBeforeReplyResponse, error) {
	effects, _ := f.told(pluginsdk.HookBeforeReply, r.Call)
	if f.reply != nil {
		text, err := f.reply(r.Text)
		return &pluginsdk.OnBeforeReplyResponse{Text: &text, Effects: effects}, err
	}
	return &pluginsdk.OnBeforeReplyResponse{Effects: effects}, nil
}

func (f *fakePlugin) OnPipelineComplete(_ context.Context, r *pluginsdk.OnPipelineCompleteRequest) (*pluginsdk.OnPipelineCompleteResponse, error) {
	f.done = append(f.done, r)
	effects, err := f.told(pluginsdk.HookPipelineComplete, r.Call)
	return &pluginsdk.OnPipelineCompleteResponse{Effects: effects}, err
}

type fakePlugins []*fakePlugin

func (f fakePlugins) Hold(string) {}

func (f fakePlugins) Release(string) {}

func (f fakePlugins) Answering(_ string, hook pluginsdk.Hook) []hooks.Plugin {
	var answering []hooks.Plugin
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

	behalves []ledger.Behalf
}

func (f *fakeTokens) Open(_ context.Context, plugin string, behalf ledger.Behalf, _ time.Time) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.made++
	f.behalves = append(f.behalves, behalf)
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
	behalves []ledger.Behalf
}

func (f *fakeTools) Begin(behalf ledger.Behalf) (end func()) {
	f.add("tools for %s", behalf.RunID)
	f.behalves = append(f.behalves, behalf)
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
	desk    *fakeDesk
	events  *fakeEvents
	plan    fakePlan
	line    *Pipeline
	claim   ledger.Claim
	woken   []string // plugins whose lanes the outbox was told of

	notifying error // what Notify comes to

	ask      func(ctx context.Context, of ledger.Asking, ask ledger.ToolAsk) ledger.ToolAnswer // nil: nobody is there
	answered string                                                                            // what Answered says
	over     []string                                                                          // runs whose questions were taken back
}

func newBench(plugins ...string) *bench {
	j := &journal{}
	b := &bench{
		journal: j, store: &fakeStore{journal: j, fail: map[string]error{}}, agent: &fakeAgent{journal: j},
		tokens: &fakeTokens{open: map[string]bool{}}, tools: &fakeTools{journal: j}, desk: &fakeDesk{journal: j}, events: &fakeEvents{journal: j},
		claim: ledger.Claim{
			Found:   true,
			Thread:  ledger.Thread{Thread: pluginsdk.Thread{ID: "T", Kind: pluginsdk.ThreadGeneral, Name: "a thread"}, SeenMessageID: 5},
			Message: pluginsdk.Message{ID: 10, ThreadID: "T", Role: pluginsdk.RoleUser, Content: "hello"},
			Run:     ledger.Run{Run: pluginsdk.Run{ID: "R", ThreadID: "T", MessageID: 10, Kind: pluginsdk.RunMessage, Attempt: 1}},
			Fence:   ledger.Fence{ThreadID: "T", Epoch: 1},
		},
	}
	for _, name := range plugins {
		b.plugins = append(b.plugins, &fakePlugin{journal: j, tokens: b.tokens, info: pluginsdk.PluginInfo{
			Name: name, Granted: pluginsdk.AllCapabilities(), Manifest: pluginsdk.Manifest{Name: name, Hooks: pluginsdk.AllHooks()},
		}})
	}
	b.line = New(Config{Model: "m"}, b.doors())
	return b
}

func (b *bench) doors() Doors {
	return Doors{
		Store: b.store, Agent: b.agent, Plugins: b.plugins, Hooks: hooks.New(hooks.Config{}, b.plugins, b.tokens),
		Effects: b, Tools: b.tools, Files: b.desk, Outbox: b, Events: b.events, Notifier: b, Approvals: b, Plan: &b.plan, Places: b,
	}
}

// Rest is the Places'.
func (b *bench) Rest(runID string) (back func(context.Context) error) {
	b.journal.add("%s has no place", runID)
	return func(context.Context) error {
		b.journal.add("%s has a place", runID)
		return nil
	}
}

// fakePlan lets everything through but what it is told.
type fakePlan struct {
	byDefault string             // the default account
	limits    map[string]float64 // of fallbacks
	shut      map[string]*pluginsdk.Parked
	asked     []ledger.PlanAsk
	answered  []string // account and model
}

func (p *fakePlan) Account(named string) string {
	return cmp.Or(named, p.byDefault, pluginsdk.EnvironmentAccount)
}

func (p *fakePlan) DailyLimit(account string) float64 { return p.limits[account] }

func (p *fakePlan) Admit(ask ledger.PlanAsk) *pluginsdk.Parked {
	p.asked = append(p.asked, ask)
	if parked := p.shut[ask.Account]; parked != nil {
		shut := *parked
		return &shut
	}
	return nil
}

func (p *fakePlan) Answered(account, model string, _ time.Time) {
	p.answered = append(p.answered, account+" "+model)
}

// fakeDesk lays every file ready but those that it is told are missing, and has left in
// its outbox what it is told.
type fakeDesk struct {
	*journal
	missing map[string]string
	left    ledger.Outbox
	fail    error
	cleared []ledger.OutboxEntry
}

func (d *fakeDesk) Directory(_ context.Context, thread pluginsdk.Thread) (string, bool, error) {
	return thread.Cwd, ledger.Apart(thread.Cwd), d.fail
}

func (d *fakeDesk) Lay(_ context.Context, threadID string, attachments []pluginsdk.Attachment) (ledger.Desk, error) {
	desk := ledger.Desk{In: "/in/" + threadID, Out: "/out/" + threadID, Files: map[string]ledger.AgentFile{}, Missing: d.missing}
	for _, one := range attachments {
		if id, ok := one.FileID(); ok && d.missing[id] == "" {
			desk.Files[id] = ledger.AgentFile{Path: desk.In + "/" + id, Name: one.Name, Type: one.Type, Size: one.Size}
		}
	}
	return desk, d.fail
}

func (d *fakeDesk) Collect(context.Context, string) (ledger.Outbox, error) { return d.left, d.fail }

func (d *fakeDesk) Clear(_ string, taken []ledger.OutboxEntry) {
	if len(taken) > 0 {
		d.add("clear %d", len(taken))
	}
	d.cleared = append(d.cleared, taken...)
}

// Wake is the Outbox's.
func (b *bench) Wake(plugin, _ string) { b.woken = append(b.woken, plugin) }

// AdmitEffects is the Effects': it lets through what has room.
func (b *bench) AdmitEffects(_ context.Context, plugin string, effects *pluginsdk.Effects, room int) (admitted ledger.Effect, size int) {
	for _, row := range effects.Rows {
		size += len(row.Content)
	}
	if size > room {
		return ledger.Effect{}, 0
	}
	return ledger.Effect{Plugin: plugin, Key: effects.Key, Rows: effects.Rows, Metrics: effects.Metrics}, size
}

// Notify is the Notifier's.
func (b *bench) Notify(_ context.Context, _ ledger.Behalf, key, text string, attributes map[string]string) (string, error) {
	b.journal.add("notify %s: %s to %s", key, text, attributes["thread"])
	if b.notifying != nil {
		return "", b.notifying
	}
	if attributes["thread"] == "" {
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "thread or target is missing")
	}
	return "told " + attributes["thread"], nil
}

func (b *bench) handle() error {
	_, err := b.line.Handle(context.Background(), context.Background(), b.claim)
	return err
}

// Ask answers as the test says; else nobody is there.
func (b *bench) Ask(ctx context.Context, of ledger.Asking, ask ledger.ToolAsk) ledger.ToolAnswer {
	if b.ask == nil {
		return ledger.ToolAnswer{Words: "nobody is there"}
	}
	return b.ask(ctx, of, ask)
}

func (b *bench) Answered(context.Context, string) (string, error) { return b.answered, nil }

func (b *bench) Over(_ context.Context, runID string) error {
	b.over = append(b.over, runID)
	return nil
}
