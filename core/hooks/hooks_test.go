package hooks

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// fake is a plugin whose process answers some hooks.
type fake struct {
	Process // what it does not answer
	info    pluginsdk.PluginInfo
	message func(ctx context.Context, r *pluginsdk.OnMessageRequest) (*pluginsdk.OnMessageResponse, error)
	reply   func(text string) (*string, error)
	gate    func() (*pluginsdk.OnBeforeRunResponse, error)
	review  func(ctx context.Context) error
	calls   []string
}

func (f *fake) Info() *pluginsdk.PluginInfo { return &f.info }

func (f *fake) Do(_ context.Context, _ pluginsdk.Hook, callID string, fn func(Process) error) error {
	f.calls = append(f.calls, callID)
	return fn(f)
}

func (f *fake) OnMessage(ctx context.Context, r *pluginsdk.OnMessageRequest) (*pluginsdk.OnMessageResponse, error) {
	if f.message == nil {
		return nil, nil //nolint:nilnil // nothing to say
	}
	return f.message(ctx, r)
}

func (f *fake) OnBeforeReply(context.Context, *pluginsdk.OnBeforeReplyRequest) (*pluginsdk.OnBeforeReplyResponse, error) {
	text, err := f.reply("")
	return &pluginsdk.OnBeforeReplyResponse{Text: text}, err
}

func (f *fake) OnBeforeRun(context.Context, *pluginsdk.OnBeforeRunRequest) (*pluginsdk.OnBeforeRunResponse, error) {
	return f.gate()
}

func (f *fake) OnTaskComplete(ctx context.Context, _ *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
	return nil, f.review(ctx)
}

// crowd are the plugins, in their order.
type crowd []*fake

func (c crowd) Answering(string, pluginsdk.Hook) []Plugin {
	plugins := make([]Plugin, len(c))
	for i, plugin := range c {
		plugins[i] = plugin
	}
	return plugins
}

// tokens count those that are open.
type tokens struct {
	mu   sync.Mutex
	open int
	call context.Context // of the last that was opened
}

func (t *tokens) Open(call context.Context, _ string, _ ledger.Behalf, _ time.Time) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open++
	t.call = call
	return "token"
}

func (t *tokens) Close(string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open--
}

func named(names ...string) crowd {
	plugins := make(crowd, len(names))
	for i, name := range names {
		plugins[i] = &fake{info: pluginsdk.PluginInfo{Name: name}}
	}
	return plugins
}

func aRun() *Occasion {
	return &Occasion{Behalf: ledger.Behalf{RunID: "R"}, Call: pluginsdk.Call{ID: "R", RunID: "R", Attempt: 1}}
}

func onMessage() Question[pluginsdk.OnMessageRequest, pluginsdk.OnMessageResponse] {
	return Question[pluginsdk.OnMessageRequest, pluginsdk.OnMessageResponse]{
		Hook: pluginsdk.HookMessage, Ask: Process.OnMessage,
		Request: func(call pluginsdk.Call, _ *pluginsdk.PluginInfo) *pluginsdk.OnMessageRequest {
			return &pluginsdk.OnMessageRequest{Call: call}
		},
	}
}

// The token of a call is opened with a context that ends when the call is cancelled.
func TestTheTokenKnowsWhenItsCallIsCancelled(t *testing.T) {
	plugins, open := named("a"), &tokens{}
	ctx, cancel := context.WithCancel(t.Context())
	plugins[0].message = func(context.Context, *pluginsdk.OnMessageRequest) (*pluginsdk.OnMessageResponse, error) {
		before := open.call.Err()
		cancel()
		if after := open.call.Err(); before != nil || after == nil {
			t.Errorf("before %v, after %v", before, after)
		}
		return &pluginsdk.OnMessageResponse{}, nil
	}
	if err := Notify(ctx, New(Config{}, plugins, open), aRun(), onMessage(), nil); err != nil || open.call == nil {
		t.Errorf("%v, asked: %t", err, open.call != nil)
	}
}

// Every plugin is told, in order, under an id of its own, whatever becomes of the
// others.
func TestNotifyTellsEveryPlugin(t *testing.T) {
	plugins, open := named("a", "b"), &tokens{}
	plugins[0].message = func(context.Context, *pluginsdk.OnMessageRequest) (*pluginsdk.OnMessageResponse, error) {
		return nil, errors.New("broken")
	}
	plugins[1].message = func(ctx context.Context, r *pluginsdk.OnMessageRequest) (*pluginsdk.OnMessageResponse, error) {
		if call, _ := pluginsdk.CallFrom(ctx); call != r.Call || call.Token == "" || call.Deadline.IsZero() || call.ID != "R:OnMessage:b" {
			t.Errorf("call %+v", r.Call)
		}
		return &pluginsdk.OnMessageResponse{}, nil
	}
	var took []string
	err := Notify(t.Context(), New(Config{}, plugins, open), aRun(), onMessage(), func(plugin string, _ *pluginsdk.OnMessageResponse) {
		took = append(took, plugin)
	})
	if err != nil || strings.Join(took, " ") != "b" || open.open != 0 {
		t.Errorf("%v, answers of %v, %d tokens left open", err, took, open.open)
	}
	plugins[0].info.OnFailure = map[pluginsdk.Hook]pluginsdk.OnFailure{pluginsdk.HookMessage: pluginsdk.FailClosed}
	err = Notify(t.Context(), New(Config{}, plugins, open), aRun(), onMessage(), nil)
	if pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || !strings.Contains(err.Error(), "a failed in OnMessage") {
		t.Errorf("closed: %v", err)
	}
}

// Each plugin gets what the one before it made; a failure keeps the value, and an
// empty one is a value.
func TestChainHandsTheValueOn(t *testing.T) {
	plugins := named("a", "b", "c", "d")
	empty, word := "", "word"
	plugins[0].reply = func(string) (*string, error) { return &empty, nil }
	plugins[1].reply = func(string) (*string, error) { return nil, errors.New("broken") }
	plugins[2].reply = func(string) (*string, error) { return nil, nil } //nolint:nilnil // it keeps the text
	plugins[3].reply = func(string) (*string, error) { return &word, nil }
	var seen []string
	got, err := Chain(t.Context(), New(Config{}, plugins, &tokens{}), aRun(), "text", Link[string, pluginsdk.OnBeforeReplyRequest, pluginsdk.OnBeforeReplyResponse]{
		Question: func(text string) Question[pluginsdk.OnBeforeReplyRequest, pluginsdk.OnBeforeReplyResponse] {
			return Question[pluginsdk.OnBeforeReplyRequest, pluginsdk.OnBeforeReplyResponse]{
				Hook: pluginsdk.HookBeforeReply, Ask: Process.OnBeforeReply,
				Request: func(call pluginsdk.Call, plugin *pluginsdk.PluginInfo) *pluginsdk.OnBeforeReplyRequest {
					seen = append(seen, plugin.Name+"="+text)
					return &pluginsdk.OnBeforeReplyRequest{Call: call, Text: text}
				},
			}
		},
		Next: func(_ *pluginsdk.PluginInfo, answer *pluginsdk.OnBeforeReplyResponse, text string) string {
			if answer.Text != nil {
				return *answer.Text
			}
			return text
		},
	})
	if err != nil || got != "word" || strings.Join(seen, " ") != "a=text b= c= d=" {
		t.Errorf("%q, %v; they saw %q", got, err, seen)
	}
}

// Neighbours that do not see the value are asked at the same time, what they answer counts in
// their order, and a closed hook of one of them ends the chain.
func TestChainAsksTheBlindTogether(t *testing.T) {
	for closed, want := range map[bool]string{false: "text b c d e", true: "text b"} {
		plugins := named("a", "b", "c", "d", "e")
		var together sync.WaitGroup
		together.Add(3)
		word := func(text string) func(string) (*string, error) {
			return func(string) (*string, error) { return &text, nil }
		}
		for i, text := range []string{"", " b", " c", " d", " e"} {
			plugins[i].reply = word(text)
			if text == " b" || text == " c" || text == " d" {
				plugins[i].reply = func(string) (*string, error) {
					together.Done()
					together.Wait() // one after the other, the test would never come past this
					if closed && text == " c" {
						return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "not now")
					}
					return &text, nil
				}
			}
		}
		plugins[2].info.OnFailure = map[pluginsdk.Hook]pluginsdk.OnFailure{pluginsdk.HookBeforeReply: pluginsdk.FailClosed}
		on := aRun()
		var mu sync.Mutex
		recorded := 0
		on.Record = func(pluginsdk.HookCall) {
			mu.Lock()
			defer mu.Unlock()
			recorded++
		}
		got, err := Chain(t.Context(), New(Config{}, plugins, &tokens{}), on, "text", Link[string, pluginsdk.OnBeforeReplyRequest, pluginsdk.OnBeforeReplyResponse]{
			Blind: func(info *pluginsdk.PluginInfo) bool { return strings.Contains("b c d", info.Name) },
			Question: func(string) Question[pluginsdk.OnBeforeReplyRequest, pluginsdk.OnBeforeReplyResponse] {
				return Question[pluginsdk.OnBeforeReplyRequest, pluginsdk.OnBeforeReplyResponse]{
					Hook: pluginsdk.HookBeforeReply, Ask: Process.OnBeforeReply,
					Request: func(call pluginsdk.Call, _ *pluginsdk.PluginInfo) *pluginsdk.OnBeforeReplyRequest {
						return &pluginsdk.OnBeforeReplyRequest{Call: call}
					},
				}
			},
			Next: func(_ *pluginsdk.PluginInfo, answer *pluginsdk.OnBeforeReplyResponse, text string) string {
				return text + *answer.Text
			},
		})
		if calls := map[bool]int{false: 5, true: 4}[closed]; (err != nil) != closed || got != want || recorded != calls {
			t.Errorf("closed %t: %q after %d calls, %v; want %q after %d", closed, got, recorded, err, want, calls)
		}
	}
}

// A gate's own error denies; a fault on the way is no verdict; nil allows.
func TestGate(t *testing.T) {
	for name, row := range map[string]struct {
		answer *pluginsdk.OnBeforeRunResponse
		err    error
		denied string
		code   pluginsdk.Code
	}{
		"nothing":   {},
		"allows":    {answer: &pluginsdk.OnBeforeRunResponse{}},
		"denies":    {answer: &pluginsdk.OnBeforeRunResponse{Deny: true, Reason: "too dear"}, denied: "too dear"},
		"no reason": {answer: &pluginsdk.OnBeforeRunResponse{Deny: true}, denied: "denied by a"},
		"its error": {err: errors.New("no account"), denied: "could not decide: no account"},
		"dead":      {err: pluginsdk.Errorf(pluginsdk.CodeUnavailable, "gone"), code: pluginsdk.CodeUnavailable},
		"late":      {err: pluginsdk.Errorf(pluginsdk.CodeDeadline, "late"), code: pluginsdk.CodeUnavailable},
	} {
		plugins := named("a")
		plugins[0].gate = func() (*pluginsdk.OnBeforeRunResponse, error) { return row.answer, row.err }
		err := Gate(t.Context(), New(Config{}, plugins, &tokens{}), aRun(), Question[pluginsdk.OnBeforeRunRequest, pluginsdk.OnBeforeRunResponse]{
			Hook: pluginsdk.HookBeforeRun, Ask: Process.OnBeforeRun,
			Request: func(call pluginsdk.Call, _ *pluginsdk.PluginInfo) *pluginsdk.OnBeforeRunRequest {
				return &pluginsdk.OnBeforeRunRequest{Call: call}
			},
		}, func(_ string, answer *pluginsdk.OnBeforeRunResponse) (bool, string) {
			return answer.Deny, answer.Reason
		})
		var denied *Denied
		switch {
		case row.denied != "":
			if !errors.As(err, &denied) || !strings.Contains(denied.Reason, row.denied) {
				t.Errorf("%s: %v", name, err)
			}
		case row.code != "":
			if errors.As(err, &denied) || pluginsdk.CodeOf(err) != row.code {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Hooks that stay just under their deadlines must not make a turn of a minute with
// nothing said: each is told of while it is waited for, and when the budget is used
// up, open ones are passed over, whatever hook it is. Closed ones are asked.
func TestSlowHooksAreToldAndPassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plugins := named("slow", "quick", "needed")
		plugins[0].message = func(context.Context, *pluginsdk.OnMessageRequest) (*pluginsdk.OnMessageResponse, error) {
			<-time.After(4900 * time.Millisecond)
			return nil, nil //nolint:nilnil // nothing to say
		}
		plugins[2].info.OnFailure = map[pluginsdk.Hook]pluginsdk.OnFailure{pluginsdk.HookMessage: pluginsdk.FailClosed}
		var mu sync.Mutex
		var waited []string
		r := New(Config{Budget: 10 * time.Second, Waiting: func(_ *Occasion, plugin string, hook pluginsdk.Hook, _ time.Time) {
			mu.Lock()
			defer mu.Unlock()
			waited = append(waited, plugin+" "+string(hook))
		}}, plugins, &tokens{})
		on, began := aRun(), time.Now()
		for range 10 {
			if err := Notify(t.Context(), r, on, onMessage(), nil); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != 3*4900*time.Millisecond {
			t.Errorf("the run waited %s in all", took)
		}
		mu.Lock()
		told := strings.Join(waited, ", ")
		mu.Unlock()
		if told != "slow OnMessage, slow OnMessage, slow OnMessage" {
			t.Errorf("told of %q", told)
		}
		if len(plugins[0].calls) != 3 || len(plugins[1].calls) != 10 || len(plugins[2].calls) != 10 {
			t.Errorf("the slow one was asked %d times, the quick one %d, the closed one %d", len(plugins[0].calls), len(plugins[1].calls), len(plugins[2].calls))
		}
		if err := Notify(t.Context(), r, aRun(), onMessage(), nil); err != nil || len(plugins[0].calls) != 4 {
			t.Errorf("the next run: %v, the slow one was asked %d times", err, len(plugins[0].calls))
		}
	})
}

// A closed hook whose plugin lacks the grant is waited for without a place, also after the
// agent was asked, until the grant is there, or the run does not have to ask the plugin any
// more. Before this the attempt failed at once, and the run after five of them.
func TestAClosedHookWaitsForItsGrant(t *testing.T) {
	for name, row := range map[string]struct {
		after  func(c *coming)
		change bool // the plugin answers in the end
	}{
		"is granted": {func(c *coming) { c.give(pluginsdk.CapTurnsRead) }, true},
		"another grant": {func(c *coming) {
			c.give(pluginsdk.CapMessagesRead)
			<-time.After(time.Hour + time.Millisecond) // between two looks
			c.give(pluginsdk.CapTurnsRead)
		}, true},
		"is turned off":   {func(c *coming) { c.set(nil) }, false},
		"off and on":      {func(c *coming) { c.set(nil); c.set(lacking("a")); c.give(pluginsdk.CapTurnsRead) }, true},
		"is made open":    {func(c *coming) { c.set(nil) }, false}, // Answering leaves it out
		"another process": {func(c *coming) { c.set(lacking("a")); <-time.After(time.Minute); c.give(pluginsdk.CapTurnsRead) }, true},
	} {
		for _, keeps := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				plugins := &coming{}
				plugins.set(lacking("a"))
				r, on, began := New(Config{}, plugins, nil), aRun(), time.Now()
				var rested, back time.Duration
				var told pluginsdk.HookCall
				on.Keeps = keeps
				on.Held = func(call pluginsdk.HookCall) func(context.Context) error {
					rested, told = time.Since(began), call
					return func(context.Context) error { back = time.Since(began); return nil }
				}
				go func() {
					<-time.After(time.Hour + time.Millisecond) // between two looks
					row.after(plugins)
				}()
				answered := false
				err := Notify(t.Context(), r, on, onMessage(), func(string, *pluginsdk.OnMessageResponse) { answered = true })
				if err != nil || answered != row.change || rested != time.Second || back < time.Hour {
					t.Errorf("%s: %v, answered %v, without a place from %s to %s", name, err, answered, rested, back)
				}
				if want := "`harness plugin grant a turns.read`"; !strings.Contains(told.Error, want) || told.State != pluginsdk.CallWaiting {
					t.Errorf("%s: it is said to wait for %+v", name, told)
				}
			})
		}
	}
}

// A wait for a grant ends with its run, and what is no run's waits for no grant.
func TestWhoDoesNotWaitForAGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plugins := &coming{}
		plugins.set(lacking("a"))
		on := aRun()
		on.Held = func(pluginsdk.HookCall) func(context.Context) error {
			return func(ctx context.Context) error { return context.Cause(ctx) }
		}
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Hour, func() { stop(errors.New("stopped by Ann")) })
		err := Notify(ctx, New(Config{}, plugins, nil), on, onMessage(), nil)
		if pluginsdk.CodeOf(err) != pluginsdk.CodeCancelled || !strings.Contains(err.Error(), "stopped by Ann") {
			t.Errorf("a stop: %v", err)
		}
	})
	for name, edit := range map[string]func(*Occasion){
		"a task, a delivery": func(on *Occasion) { on.Held = nil },
		"a steered message":  func(on *Occasion) { on.Beside = true },
	} {
		plugins, on := &coming{}, aRun()
		plugins.set(lacking("a"))
		on.Held = func(pluginsdk.HookCall) func(context.Context) error { t.Error("it is held"); return nil }
		edit(on)
		err := Notify(t.Context(), New(Config{}, plugins, nil), on, onMessage(), nil)
		if pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || !strings.Contains(err.Error(), "harness plugin grant") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// coming is one plugin, which operators change. Its calls fail without the grant, as the host's.
type coming struct {
	mu     sync.Mutex
	plugin *granted
}

type granted struct{ *fake }

func lacking(name string) *granted {
	info := pluginsdk.PluginInfo{Name: name, OnFailure: map[pluginsdk.Hook]pluginsdk.OnFailure{pluginsdk.HookMessage: pluginsdk.FailClosed}}
	return &granted{&fake{info: info, message: func(context.Context, *pluginsdk.OnMessageRequest) (*pluginsdk.OnMessageResponse, error) {
		return &pluginsdk.OnMessageResponse{}, nil
	}}}
}

func (g *granted) Do(ctx context.Context, hook pluginsdk.Hook, id string, fn func(Process) error) error {
	if err := g.Info().MayAnswer(hook); err != nil {
		return err
	}
	return g.fake.Do(ctx, hook, id, fn)
}

func (c *coming) set(plugin *granted) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plugin = plugin
}

func (c *coming) give(capability pluginsdk.Capability) {
	c.mu.Lock()
	defer c.mu.Unlock()
	info := c.plugin.info
	info.Granted = append(info.Granted, capability)
	c.plugin = &granted{&fake{info: info, message: c.plugin.message}}
}

func (c *coming) Answering(string, pluginsdk.Hook) []Plugin {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plugin == nil {
		return nil
	}
	return []Plugin{c.plugin}
}

// However many plugins hang, a run waits for the budget and a second for each of them,
// and not for the deadlines of all.
func TestPluginsThatHangAreBoundedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plugins := named("a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
		var deadlines []string
		for _, plugin := range plugins {
			plugin.message = func(ctx context.Context, r *pluginsdk.OnMessageRequest) (*pluginsdk.OnMessageResponse, error) {
				deadlines = append(deadlines, time.Until(r.Call.Deadline).String())
				<-ctx.Done()
				return nil, ctx.Err()
			}
		}
		r, on, began := New(Config{}, plugins, &tokens{}), aRun(), time.Now()
		passed := 0
		on.Record = func(call pluginsdk.HookCall) {
			if call.State == pluginsdk.CallPassedOver {
				passed++
			}
		}
		for range 2 {
			if err := Notify(t.Context(), r, on, onMessage(), nil); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != 26*time.Second {
			t.Errorf("the run waited %s in all", took)
		}
		if got := passed; got != 10 {
			t.Errorf("%d calls are said to be passed over", got)
		}
		if got := strings.Join(deadlines, " "); got != "5s 5s 5s 5s 1s 1s 1s 1s 1s 1s" {
			t.Errorf("they had %s", got)
		}
		_, err := One(t.Context(), r, on, plugins[9], onMessage())
		if pluginsdk.CodeOf(err) != pluginsdk.CodeDeadline || !strings.Contains(err.Error(), "this plugin 1s of it") {
			t.Errorf("the last one: %v", err)
		}
	})
}

// A call is recorded once, in as many words as a row has room for; what was not asked at
// all is not.
func TestCallsAreRecorded(t *testing.T) {
	plugins := named("talks", "skips", "answers")
	plugins[0].message = func(context.Context, *pluginsdk.OnMessageRequest) (*pluginsdk.OnMessageResponse, error) {
		return nil, errors.New(strings.Repeat("x", 199) + "é" + strings.Repeat("y", 100))
	}
	var calls []pluginsdk.HookCall
	on, question := aRun(), onMessage()
	on.Behalf.Attempt = 3
	on.Record = func(call pluginsdk.HookCall) { calls = append(calls, call) }
	question.Request = func(call pluginsdk.Call, plugin *pluginsdk.PluginInfo) *pluginsdk.OnMessageRequest {
		if plugin.Name == "skips" {
			return nil
		}
		return &pluginsdk.OnMessageRequest{Call: call}
	}
	if err := Notify(t.Context(), New(Config{}, plugins, &tokens{}), on, question, nil); err != nil {
		t.Fatal(err)
	}
	if len(calls) != 2 || calls[0].Error != strings.Repeat("x", 199) || calls[0].State != pluginsdk.CallFailed || calls[0].Attempt != 3 {
		t.Fatalf("recorded %+v", calls)
	}
	if last := calls[1]; last.Plugin != "answers" || last.Hook != pluginsdk.HookMessage || last.State != pluginsdk.CallAnswered ||
		last.Error != "" || last.StartedAt.Location() != time.UTC {
		t.Errorf("recorded %+v", last)
	}
}

// What takes its time beside a run that goes on is not told as what it waits for.
func TestNobodyWaitsForWhatIsBesideARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plugins := named("slow")
		plugins[0].message = func(context.Context, *pluginsdk.OnMessageRequest) (*pluginsdk.OnMessageResponse, error) {
			<-time.After(2 * time.Second)
			return nil, nil //nolint:nilnil // nothing to say
		}
		r := New(Config{Waiting: func(*Occasion, string, pluginsdk.Hook, time.Time) { t.Error("a run is said to wait") }}, plugins, &tokens{})
		on := aRun()
		on.Beside = true
		if err := Notify(t.Context(), r, on, onMessage(), nil); err != nil {
			t.Fatal(err)
		}
	})
}

// A review may take as long as it says that it goes on.
func TestWorkEndsWithItsSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plugins := named("a")
		reports := 0
		plugins[0].review = func(ctx context.Context) error {
			for range 3 {
				<-time.After(4 * time.Minute)
				pluginsdk.ReportProgress(ctx, pluginsdk.Progress{Message: "go test"})
			}
			<-ctx.Done()
			return ctx.Err()
		}
		ctx := pluginsdk.WithProgress(t.Context(), func(pluginsdk.Progress) { reports++ })
		began := time.Now()
		_, err := One(ctx, New(Config{}, plugins, &tokens{}), &Occasion{Call: pluginsdk.Call{ID: "K"}}, plugins[0],
			Question[pluginsdk.OnTaskCompleteRequest, pluginsdk.OnTaskCompleteResponse]{
				Hook: pluginsdk.HookTaskComplete, Ask: Process.OnTaskComplete,
				Request: func(call pluginsdk.Call, _ *pluginsdk.PluginInfo) *pluginsdk.OnTaskCompleteRequest {
					if !call.Deadline.IsZero() {
						t.Errorf("it has a deadline: %s", call.Deadline)
					}
					return &pluginsdk.OnTaskCompleteRequest{Call: call}
				},
			})
		if took := time.Since(began); took != 17*time.Minute || pluginsdk.CodeOf(err) != pluginsdk.CodeDeadline ||
			!errors.Is(err, context.DeadlineExceeded) || reports != 3 {
			t.Errorf("after %s, %d reports: %v", took, reports, err)
		}
	})
}

// What a plugin says of why ends in rows and in the log: a book of it is cut.
func TestWordsOfAPluginAreBounded(t *testing.T) {
	plugins := named("a")
	book := strings.Repeat("x", 1<<20)
	plugins[0].gate = func() (*pluginsdk.OnBeforeRunResponse, error) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s", book)
	}
	question := Question[pluginsdk.OnBeforeRunRequest, pluginsdk.OnBeforeRunResponse]{
		Hook: pluginsdk.HookBeforeRun, Ask: Process.OnBeforeRun,
		Request: func(call pluginsdk.Call, _ *pluginsdk.PluginInfo) *pluginsdk.OnBeforeRunRequest {
			return &pluginsdk.OnBeforeRunRequest{Call: call}
		},
	}
	judge := func(_ string, answer *pluginsdk.OnBeforeRunResponse) (bool, string) {
		return answer.Deny, answer.Reason
	}
	err := Gate(t.Context(), New(Config{}, plugins, &tokens{}), aRun(), question, judge)
	if len(err.Error()) > maxWords+200 || pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
		t.Errorf("an error of %d bytes, %s", len(err.Error()), pluginsdk.CodeOf(err))
	}
	plugins[0].gate = func() (*pluginsdk.OnBeforeRunResponse, error) {
		return &pluginsdk.OnBeforeRunResponse{Deny: true, Reason: book}, nil
	}
	if err := Gate(t.Context(), New(Config{}, plugins, &tokens{}), aRun(), question, judge); len(err.Error()) > maxWords+200 {
		t.Errorf("a reason of %d bytes", len(err.Error()))
	}
}

// A run gives way to others while it waits for a plugin that must not be passed over, also
// while that one is being started; for one that may be, and for a quick one, it does not.
func TestARunThatWaitsForAClosedHookIsHeld(t *testing.T) {
	for name, row := range map[string]struct {
		takes time.Duration
		mode  pluginsdk.OnFailure
		held  string
	}{
		"slow and closed":  {3 * time.Second, pluginsdk.FailClosed, "held by p waiting, over"},
		"slow and open":    {3 * time.Second, pluginsdk.FailOpen, ""},
		"quick and closed": {900 * time.Millisecond, pluginsdk.FailClosed, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			plugins := named("p")
			plugins[0].info.Granted = pluginsdk.AllCapabilities()
			plugins[0].info.OnFailure = map[pluginsdk.Hook]pluginsdk.OnFailure{pluginsdk.HookBeforeRun: row.mode}
			plugins[0].gate = func() (*pluginsdk.OnBeforeRunResponse, error) {
				<-time.After(row.takes)
				return &pluginsdk.OnBeforeRunResponse{}, nil
			}
			var held []string
			var recorded pluginsdk.HookCall
			on := aRun()
			on.Record = func(call pluginsdk.HookCall) { recorded = call }
			on.Held = func(call pluginsdk.HookCall) func(context.Context) error {
				held = append(held, "held by "+call.Plugin+" "+string(call.State))
				return func(context.Context) error {
					<-time.After(time.Minute) // for a place
					held = append(held, "over")
					return nil
				}
			}
			err := Gate(t.Context(), New(Config{}, plugins, &tokens{}), on, Question[pluginsdk.OnBeforeRunRequest, pluginsdk.OnBeforeRunResponse]{
				Hook: pluginsdk.HookBeforeRun, Ask: Process.OnBeforeRun,
				Request: func(call pluginsdk.Call, _ *pluginsdk.PluginInfo) *pluginsdk.OnBeforeRunRequest {
					return &pluginsdk.OnBeforeRunRequest{Call: call}
				},
			}, func(string, *pluginsdk.OnBeforeRunResponse) (bool, string) { return false, "" })
			if err != nil || strings.Join(held, ", ") != row.held {
				t.Errorf("%s: %v, %q", name, err, held)
			}
			if recorded.Duration != row.takes || recorded.State != pluginsdk.CallAnswered {
				t.Errorf("%s: recorded %+v", name, recorded)
			}
		})
	}
}
