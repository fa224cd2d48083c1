package plugintest_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// hookCase fires one hook with a request, and says what the plugin answers.
type hookCase struct {
	hook    pluginsdk.Hook
	request any
	answer  any // nil for hooks that answer nothing
	fire    func(context.Context, *plugintest.Plugin) (any, error)
}

func theCall() pluginsdk.Call {
	return pluginsdk.Call{
		ID: "run-7:hook:everything", RunID: "run-7", Attempt: 2, Token: "token-ä\n7",
		Deadline: time.Now().Add(time.Minute).UTC().Round(0),
	}
}

func hookCases(call pluginsdk.Call) []hookCase {
	thread := pluginsdk.Thread{ID: "thread-1", Source: "web", Kind: pluginsdk.ThreadPrimary}
	message := pluginsdk.Message{ID: 42, ThreadID: "thread-1", Role: pluginsdk.RoleUser, Content: "hello"}
	task := pluginsdk.Task{ID: "task-1", Status: pluginsdk.TaskRunning, Prompt: "work"}
	result := pluginsdk.InvokeResult{Text: "done", Usage: pluginsdk.Usage{InputTokens: 3}}

	runStart := pluginsdk.RunStart{Call: call, Thread: thread, Message: message, Run: pluginsdk.Run{ID: "run-7"}}
	pipelineStart := pluginsdk.PipelineStart{Call: call, Thread: thread, Message: message}
	incoming := pluginsdk.IncomingMessage{Call: call, Thread: thread, Message: message}
	prompt := pluginsdk.Prompt{Call: call, Thread: thread, Message: message, Text: "prompt"}
	invocation := pluginsdk.Invocation{Call: call, Thread: thread, Message: message, Result: result}
	command := pluginsdk.Command{
		Call: call, Thread: thread, Message: message, Origin: pluginsdk.FromAgent, Index: 1,
		Name: "delegate", Body: "it", Attributes: map[string]string{"model": "sonnet"},
	}
	reply := pluginsdk.Reply{Call: call, Thread: thread, Message: message, Text: "REPLY"}
	complete := pluginsdk.PipelineComplete{
		Call: call, Thread: thread, Message: message, Outcome: pluginsdk.OutcomeSucceeded, Duration: time.Second,
		Steps: []pluginsdk.PipelineStep{{Step: "invoking"}}, Events: []pluginsdk.StreamEvent{{Type: pluginsdk.StreamThinking}},
	}
	creation := pluginsdk.TaskCreation{Call: call, Task: task, Context: pluginsdk.TaskContext{Cwd: "/repo"}}
	review := pluginsdk.TaskReview{Call: call, Task: task, Cwd: "/repo", Result: result}
	end := pluginsdk.TaskEnd{Call: call, Task: task, Reason: "too dear"}
	change := pluginsdk.SettingsChange{Call: call, Settings: json.RawMessage(`{"a":1}`)}
	events := []pluginsdk.Event{{Type: pluginsdk.EventResync, Seq: 9}, {Type: "x:y", Data: json.RawMessage(`{}`)}}
	delivery := pluginsdk.DeliveryRequest{
		Call: call, Delivery: pluginsdk.Delivery{ID: "delivery-1", Target: "channel"}, Thread: thread, Message: message,
	}
	tool := pluginsdk.ToolCall{Call: call, Name: "echo", Input: json.RawMessage(`{"x":1}`), ThreadID: "thread-1", TaskID: "task-1"}

	return []hookCase{
		{pluginsdk.HookBeforeRun, runStart, pluginsdk.Verdict{Allow: true, Reason: "run-7"}, func(ctx context.Context, p *plugintest.Plugin) (any, error) {
			return p.OnBeforeRun(ctx, runStart)
		}},
		{pluginsdk.HookPipelineStart, pipelineStart, nil, func(ctx context.Context, p *plugintest.Plugin) (any, error) {
			return nil, p.OnPipelineStart(ctx, pipelineStart)
		}},
		{pluginsdk.HookMessage, incoming, nil, func(ctx context.Context, p *plugintest.Plugin) (any, error) {
			return nil, p.OnMessage(ctx, incoming)
		}},
		{pluginsdk.HookBeforeInvoke, prompt, "PROMPT", func(ctx context.Context, p *plugintest.Plugin) (any, error) {
			return p.OnBeforeInvoke(ctx, prompt)
		}},
		{pluginsdk.HookAfterInvoke, invocation, nil, func(ctx context.Context, p *plugintest.Plugin) (any, error) {
			return nil, p.OnAfterInvoke(ctx, invocation)
		}},
		{pluginsdk.HookCommand, command, pluginsdk.CommandResult{Handled: true, Reply: "delegate it"}, func(ctx context.Context, p *plugintest.Plugin) (any, error) {
			return p.OnCommand(ctx, command)
		}},
		{pluginsdk.HookBeforeReply, reply, "reply", func(ctx context.Context, p *plugintest.Plugin) (any, error) {
			return p.OnBeforeReply(ctx, reply)
		}},
		{pluginsdk.HookPipelineComplete, complete, nil, func(ctx context.Context, p *plugintest.Plugin) (any, error) {
			return nil, p.OnPipelineComplete(ctx, complete)
		}},
		{pluginsdk.HookTaskCreate, creation, pluginsdk.TaskContext{Cwd: "/repo/sub", Context: "more"}, func(ctx context.Context, p *plugintest.Plugin) (any, error) {
			return p.OnTaskCreate(ctx, creation)
		}},
		{pluginsdk.HookTaskComplete, review, pluginsdk.Verdict{Reason: "not done"}, func(ctx context.Context, p *plugintest.Plugin) (any, error) {
			return p.OnTaskComplete(ctx, review)
		}},
		{pluginsdk.HookTaskValidated, end, nil, func(ctx context.Context, p *plugintest.Plugin) (any, error) {
			return nil, p.OnTaskValidated(ctx, end)
		}},
		{pluginsdk.HookTaskFailed, end, nil, func(ctx context.Context, p *plugintest.Plugin) (any, error) {
			return nil, p.OnTaskFailed(ctx, end)
		}},
		{pluginsdk.HookSettingsChange, change, nil, func(ctx context.Context, p *plugintest.Plugin) (any, error) {
			return nil, p.OnSettingsChange(ctx, change)
		}},
		{pluginsdk.HookBroadcast, events, nil, func(ctx context.Context, p *plugintest.Plugin) (any, error) {
			return nil, p.OnBroadcast(pluginsdk.WithCall(ctx, call), events)
		}},
		{pluginsdk.HookDeliver, delivery, pluginsdk.DeliveryReceipt{ExternalID: "at channel"}, func(ctx context.Context, p *plugintest.Plugin) (any, error) {
			return p.Deliver(ctx, delivery)
		}},
		{pluginsdk.HookCallTool, tool, pluginsdk.ToolResult{Text: "echo", Structured: json.RawMessage(`{"x":1}`)}, func(ctx context.Context, p *plugintest.Plugin) (any, error) {
			return p.CallTool(ctx, tool)
		}},
	}
}

func eachHook(t *testing.T, test func(t *testing.T, c hookCase, author *everything, plugin *plugintest.Plugin)) {
	t.Helper()
	cases := hookCases(theCall())
	if len(cases) != len(pluginsdk.AllHooks()) {
		t.Fatalf("%d hooks are fired here, the contract has %d", len(cases), len(pluginsdk.AllHooks()))
	}
	author := newEverything()
	plugin := plugintest.Serve(t, author, plugintest.NewHost().SDK())
	for _, c := range cases {
		t.Run(string(c.hook), func(t *testing.T) { test(t, c, author, plugin) })
	}
}

func TestEveryHookArrivesAndAnswers(t *testing.T) {
	eachHook(t, func(t *testing.T, c hookCase, author *everything, plugin *plugintest.Plugin) {
		answer, err := c.fire(t.Context(), plugin)
		if err != nil {
			t.Fatalf("fire: %v", err)
		}
		if !reflect.DeepEqual(answer, c.answer) {
			t.Errorf("answered %+v, want %+v", answer, c.answer)
		}
		got, call := author.taken(c.hook)
		if !reflect.DeepEqual(got, c.request) {
			t.Errorf("the plugin was given\n%+v, want\n%+v", got, c.request)
		}
		if call.ID != theCall().ID || call.Token != theCall().Token || call.Attempt != 2 {
			t.Errorf("the hook's context carries %+v", call)
		}
	})
}

// A plugin's bug must cost one hook call, not the plugin.
func TestAPanicInAHookIsAnErrorAndTheNextCallWorks(t *testing.T) {
	eachHook(t, func(t *testing.T, c hookCase, author *everything, plugin *plugintest.Plugin) {
		author.on(c.hook, func(context.Context) error { panic("a bug in " + c.hook) })
		_, err := c.fire(t.Context(), plugin)
		if want := string(c.hook) + " panicked: a bug in " + string(c.hook); pluginsdk.CodeOf(err) != pluginsdk.CodeInternal || err.Error() != want {
			t.Errorf("error is %s %v, want %q", pluginsdk.CodeOf(err), err, want)
		}
		author.on(c.hook, nil)
		if _, err := c.fire(t.Context(), plugin); err != nil {
			t.Errorf("the next call: %v", err)
		}
	})
}

func TestAHooksErrorKeepsItsCode(t *testing.T) {
	eachHook(t, func(t *testing.T, c hookCase, author *everything, plugin *plugintest.Plugin) {
		author.on(c.hook, func(context.Context) error { return pluginsdk.Errorf(pluginsdk.CodeNotFound, "no such channel") })
		answer, err := c.fire(t.Context(), plugin)
		if pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound || err.Error() != "no such channel" {
			t.Errorf("error is %s %v", pluginsdk.CodeOf(err), err)
		}
		if answer != nil && !reflect.ValueOf(answer).IsZero() {
			t.Errorf("answered %+v beside the error", answer)
		}
	})
}

// A plugin that never answers must not hold up a run.
func TestACallEndsWithItsContextAndIsStillInFlight(t *testing.T) {
	eachHook(t, func(t *testing.T, c hookCase, author *everything, plugin *plugintest.Plugin) {
		entered, release, left := make(chan struct{}), make(chan struct{}), make(chan struct{})
		author.on(c.hook, func(context.Context) error {
			defer close(left)
			close(entered)
			<-release
			return nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-entered
			cancel()
		}()
		_, err := c.fire(ctx, plugin)
		if !errors.Is(err, context.Canceled) || pluginsdk.CodeOf(err) != pluginsdk.CodeCancelled {
			t.Errorf("error is %s %v", pluginsdk.CodeOf(err), err)
		}
		ids, err := plugin.InFlight(t.Context())
		if err != nil || !reflect.DeepEqual(ids, []string{theCall().ID}) {
			t.Errorf("in flight: %v, %v", ids, err)
		}
		author.on(c.hook, nil)
		close(release)
		<-left
		for len(ids) > 0 && err == nil {
			ids, err = plugin.InFlight(t.Context())
		}
		if err != nil {
			t.Errorf("in flight at last: %v", err)
		}
	})
}

// The deadline must reach the plugin even where gRPC's is lost: a plugin in
// another language may only look at the Call.
func TestTheCallsDeadlineEndsTheHook(t *testing.T) {
	author := newEverything()
	author.on(pluginsdk.HookMessage, func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	plugin := plugintest.Serve(t, author, plugintest.NewHost().SDK())
	call := pluginsdk.Call{ID: "late", Deadline: time.Now().Add(-time.Second)}
	err := plugin.OnMessage(t.Context(), pluginsdk.IncomingMessage{Call: call})
	if pluginsdk.CodeOf(err) != pluginsdk.CodeDeadline {
		t.Errorf("error is %s %v", pluginsdk.CodeOf(err), err)
	}
}

func TestTheContextsDeadlineBecomesTheCalls(t *testing.T) {
	author := newEverything()
	plugin := plugintest.Serve(t, author, plugintest.NewHost().SDK())
	deadline := time.Now().Add(time.Hour).UTC().Round(0)
	ctx, cancel := context.WithDeadline(t.Context(), deadline)
	defer cancel()
	if err := plugin.OnMessage(ctx, pluginsdk.IncomingMessage{}); err != nil {
		t.Fatal(err)
	}
	if _, call := author.taken(pluginsdk.HookMessage); !call.Deadline.Equal(deadline) {
		t.Errorf("the call's deadline is %v, want %v", call.Deadline, deadline)
	}
}

func TestToolProgressArrivesInOrderBeforeTheResult(t *testing.T) {
	plugin := plugintest.Serve(t, newEverything(), plugintest.NewHost().SDK())
	var done []float64
	result, err := plugin.CallTool(t.Context(), pluginsdk.ToolCall{
		Name: "echo", Progress: func(p pluginsdk.ToolProgress) { done = append(done, p.Done) },
	})
	if err != nil || result.Text != "echo" || !reflect.DeepEqual(done, []float64{0, 1, 2}) {
		t.Errorf("result %+v, progress %v, error %v", result, done, err)
	}
}

// A goroutine that a tool left behind must not write into what came after.
func TestProgressAfterTheResultDoesNothing(t *testing.T) {
	author := &lateTool{progress: make(chan func(pluginsdk.ToolProgress), 1)}
	plugin := plugintest.Serve(t, author, plugintest.NewHost().SDK())
	if _, err := plugin.CallTool(t.Context(), pluginsdk.ToolCall{Name: "late"}); err != nil {
		t.Fatal(err)
	}
	(<-author.progress)(pluginsdk.ToolProgress{Done: 1})
}

type lateTool struct {
	progress chan func(pluginsdk.ToolProgress)
}

func (*lateTool) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{Name: "late", Version: "1", Tools: []pluginsdk.ToolSpec{{Name: "late", InputSchema: json.RawMessage(`{}`)}}}
}

func (l *lateTool) CallTool(_ context.Context, call pluginsdk.ToolCall) (pluginsdk.ToolResult, error) {
	l.progress <- call.Progress
	return pluginsdk.ToolResult{Text: "ready"}, nil
}

// nothing answers no hook and needs no host.
type nothing struct{}

func (nothing) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{Name: "nothing", Version: "1"}
}

func TestAHookThatIsNotImplementedSaysSo(t *testing.T) {
	plugin := plugintest.Serve(t, nothing{}, pluginsdk.Host{})
	if hooks := plugin.Manifest().Hooks; len(hooks) != 0 {
		t.Errorf("declared hooks: %v", hooks)
	}
	for _, c := range hookCases(theCall()) {
		if _, err := c.fire(t.Context(), plugin); pluginsdk.CodeOf(err) != pluginsdk.CodeUnimplemented {
			t.Errorf("%s: error is %s %v", c.hook, pluginsdk.CodeOf(err), err)
		}
	}
	if err := errors.Join(plugin.Activate(t.Context()), plugin.Deactivate(t.Context())); err != nil {
		t.Errorf("activate and deactivate: %v", err)
	}
}
