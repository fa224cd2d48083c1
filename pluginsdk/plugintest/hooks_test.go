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
	answer  any
	fire    func(context.Context, *plugintest.Plugin) (any, error)
}

func theCall() pluginsdk.Call {
	return pluginsdk.Call{
		ID: "run-7:hook:everything", RunID: "run-7", Attempt: 2, Token: "token-ä\n7",
		Deadline: time.Now().Add(time.Minute).UTC().Round(0),
	}
}

// asking makes the case of a hook from the client's method.
func asking[Q, A any](hook pluginsdk.Hook, request *Q, answer *A, method func(*plugintest.Plugin) func(context.Context, *Q) (*A, error)) hookCase {
	return hookCase{hook, request, answer, func(ctx context.Context, p *plugintest.Plugin) (any, error) {
		answer, err := method(p)(ctx, request)
		if answer == nil {
			return nil, err
		}
		return answer, err
	}}
}

func hookCases(call pluginsdk.Call) []hookCase {
	thread := pluginsdk.Thread{ID: "thread-1", Source: "web", Kind: pluginsdk.ThreadPrimary, ReportTo: pluginsdk.Target{Plugin: "chat", Place: "c"}}
	message := pluginsdk.Message{ID: 42, ThreadID: "thread-1", Role: pluginsdk.RoleUser, Content: "hello"}
	task := pluginsdk.Task{ID: "task-1", Status: pluginsdk.TaskRunning, Prompt: "work"}
	result := pluginsdk.InvokeResult{Text: "done", Usage: pluginsdk.Usage{InputTokens: 3}}
	run := pluginsdk.Run{ID: "run-7"}
	prompt, text := "PROMPT", ""

	at := time.Date(2026, 11, 2, 7, 0, 0, 0, time.UTC)
	return []hookCase{
		asking(pluginsdk.HookBeforeRun, &pluginsdk.OnBeforeRunRequest{Call: call, Thread: thread, Message: message, Run: run},
			&pluginsdk.OnBeforeRunResponse{
				Deny: true, Reason: "run-7", CostCapUSD: 2, Effects: effects(pluginsdk.HookBeforeRun),
				Reservations: []pluginsdk.Reservation{{Account: "day", LimitUSD: 10, AmountUSD: 0.5, Reason: "{spent} of {limit}", CapAtRest: true}, {Account: "month", LimitUSD: 100, AmountUSD: 0.5}},
			},
			func(p *plugintest.Plugin) func(context.Context, *pluginsdk.OnBeforeRunRequest) (*pluginsdk.OnBeforeRunResponse, error) {
				return p.OnBeforeRun
			}),
		asking(pluginsdk.HookPipelineStart, &pluginsdk.OnPipelineStartRequest{Call: call, Thread: thread, Message: message},
			&pluginsdk.OnPipelineStartResponse{Effects: effects(pluginsdk.HookPipelineStart)},
			func(p *plugintest.Plugin) func(context.Context, *pluginsdk.OnPipelineStartRequest) (*pluginsdk.OnPipelineStartResponse, error) {
				return p.OnPipelineStart
			}),
		asking(pluginsdk.HookMessage, &pluginsdk.OnMessageRequest{Call: call, Thread: thread, Message: message, Steered: true},
			&pluginsdk.OnMessageResponse{Effects: effects(pluginsdk.HookMessage)},
			func(p *plugintest.Plugin) func(context.Context, *pluginsdk.OnMessageRequest) (*pluginsdk.OnMessageResponse, error) {
				return p.OnMessage
			}),
		asking(pluginsdk.HookBeforeInvoke, &pluginsdk.OnBeforeInvokeRequest{Call: call, Thread: thread, Message: message, Prompt: "prompt"},
			&pluginsdk.OnBeforeInvokeResponse{Prompt: &prompt, Effects: effects(pluginsdk.HookBeforeInvoke)},
			func(p *plugintest.Plugin) func(context.Context, *pluginsdk.OnBeforeInvokeRequest) (*pluginsdk.OnBeforeInvokeResponse, error) {
				return p.OnBeforeInvoke
			}),
		asking(pluginsdk.HookAfterInvoke, &pluginsdk.OnAfterInvokeRequest{Call: call, Thread: thread, Message: message, Result: result},
			&pluginsdk.OnAfterInvokeResponse{Effects: effects(pluginsdk.HookAfterInvoke)},
			func(p *plugintest.Plugin) func(context.Context, *pluginsdk.OnAfterInvokeRequest) (*pluginsdk.OnAfterInvokeResponse, error) {
				return p.OnAfterInvoke
			}),
		asking(pluginsdk.HookCommand, &pluginsdk.OnCommandRequest{
			Call: call, Thread: thread, Message: message, Origin: pluginsdk.FromAgent, Index: 1,
			Name: "delegate", Body: "it", Attributes: map[string]string{"model": "sonnet"},
		},
			&pluginsdk.OnCommandResponse{Handled: true, Reply: "delegate it", Effects: effects(pluginsdk.HookCommand), Audit: []string{"delegated it"}},
			func(p *plugintest.Plugin) func(context.Context, *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
				return p.OnCommand
			}),
		asking(pluginsdk.HookBeforeReply, &pluginsdk.OnBeforeReplyRequest{Call: call, Thread: thread, Message: message, Text: "REPLY"},
			&pluginsdk.OnBeforeReplyResponse{Text: &text, Effects: effects(pluginsdk.HookBeforeReply)},
			func(p *plugintest.Plugin) func(context.Context, *pluginsdk.OnBeforeReplyRequest) (*pluginsdk.OnBeforeReplyResponse, error) {
				return p.OnBeforeReply
			}),
		asking(pluginsdk.HookPipelineComplete, &pluginsdk.OnPipelineCompleteRequest{
			Call: call, Thread: thread, Message: message, Outcome: pluginsdk.OutcomeSucceeded, Duration: time.Second,
			Steps: []pluginsdk.PipelineStep{{Step: "invoking"}}, Events: []pluginsdk.StreamEvent{{Type: pluginsdk.StreamThinking}},
		},
			&pluginsdk.OnPipelineCompleteResponse{Effects: effects(pluginsdk.HookPipelineComplete)},
			func(p *plugintest.Plugin) func(context.Context, *pluginsdk.OnPipelineCompleteRequest) (*pluginsdk.OnPipelineCompleteResponse, error) {
				return p.OnPipelineComplete
			}),
		asking(pluginsdk.HookTaskCreate, &pluginsdk.OnTaskCreateRequest{Call: call, Task: task, Context: pluginsdk.TaskContext{Cwd: "/repo"}},
			&pluginsdk.OnTaskCreateResponse{Cwd: new("/repo/sub"), Context: new("more"), SetLabels: map[string]string{"a": "b"}, RemoveLabels: []string{"c"}},
			func(p *plugintest.Plugin) func(context.Context, *pluginsdk.OnTaskCreateRequest) (*pluginsdk.OnTaskCreateResponse, error) {
				return p.OnTaskCreate
			}),
		asking(pluginsdk.HookTaskComplete, &pluginsdk.OnTaskCompleteRequest{Call: call, Task: task, Result: result},
			&pluginsdk.OnTaskCompleteResponse{
				Verdict: pluginsdk.VerdictReject, Feedback: "not done",
				Evidence: []pluginsdk.Evidence{{Kind: "command", Command: "make", ExitCode: 2, Output: "no", File: "a.go", Line: 7}},
			},
			func(p *plugintest.Plugin) func(context.Context, *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
				return p.OnTaskComplete
			}),
		asking(pluginsdk.HookTaskValidated, &pluginsdk.OnTaskValidatedRequest{Call: call, Task: task, Evidence: []pluginsdk.Evidence{{Kind: "diff", Diff: "+"}}},
			&pluginsdk.OnTaskValidatedResponse{Handover: pluginsdk.HandoverWait, Reason: "moved", Mark: "conflict"},
			func(p *plugintest.Plugin) func(context.Context, *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
				return p.OnTaskValidated
			}),
		asking(pluginsdk.HookTaskFailed, &pluginsdk.OnTaskFailedRequest{Call: call, Task: task, Reason: "too dear"}, &pluginsdk.OnTaskFailedResponse{},
			func(p *plugintest.Plugin) func(context.Context, *pluginsdk.OnTaskFailedRequest) (*pluginsdk.OnTaskFailedResponse, error) {
				return p.OnTaskFailed
			}),
		asking(pluginsdk.HookSettingsChange, &pluginsdk.OnSettingsChangeRequest{Call: call, Settings: json.RawMessage(`{"a":1}`)}, &pluginsdk.OnSettingsChangeResponse{},
			func(p *plugintest.Plugin) func(context.Context, *pluginsdk.OnSettingsChangeRequest) (*pluginsdk.OnSettingsChangeResponse, error) {
				return p.OnSettingsChange
			}),
		asking(pluginsdk.HookBroadcast, &pluginsdk.OnBroadcastRequest{
			Call: call, Events: []pluginsdk.Event{{Type: pluginsdk.EventResync, Seq: 9}, {Type: "x:y", Data: json.RawMessage(`{}`)}},
		}, &pluginsdk.OnBroadcastResponse{},
			func(p *plugintest.Plugin) func(context.Context, *pluginsdk.OnBroadcastRequest) (*pluginsdk.OnBroadcastResponse, error) {
				return p.OnBroadcast
			}),
		asking(pluginsdk.HookCheck, &pluginsdk.OnCheckRequest{Call: call},
			&pluginsdk.OnCheckResponse{Checks: []pluginsdk.Check{
				{Name: "connection", State: pluginsdk.CheckFailing, Detail: "refused", Remedy: "set the token"}, {Name: "disk", State: pluginsdk.CheckOK},
			}},
			func(p *plugintest.Plugin) func(context.Context, *pluginsdk.OnCheckRequest) (*pluginsdk.OnCheckResponse, error) {
				return p.OnCheck
			}),
		asking(pluginsdk.HookCron, &pluginsdk.OnCronRequest{Call: call, Question: pluginsdk.CronQuestion{
			JobID: "cron-1", Job: "inbox", Due: at, LastSuccess: at.Add(-time.Hour), Data: `{"box":"x"}`,
		}}, &pluginsdk.OnCronResponse{News: true, Text: "inbox"},
			func(p *plugintest.Plugin) func(context.Context, *pluginsdk.OnCronRequest) (*pluginsdk.OnCronResponse, error) {
				return p.OnCron
			}),
		asking(pluginsdk.HookDeliver, &pluginsdk.DeliverRequest{
			Call: call, Delivery: pluginsdk.Delivery{ID: "delivery-1", Place: "channel"}, Thread: thread, Message: message,
			Approval: &pluginsdk.Approval{
				ID: "approval-1", Kind: pluginsdk.ApprovalQuestion, State: pluginsdk.ApprovalOpen, Input: json.RawMessage(`{"q":1}`),
				Questions: []pluginsdk.AgentQuestion{{Text: "which?", Options: []pluginsdk.QuestionOption{{Label: "this"}}}},
				Choices:   []pluginsdk.ApprovalChoice{{ID: "answer:1", Label: "this", Allow: true}},
			},
		}, &pluginsdk.DeliverResponse{ExternalID: "at channel"},
			func(p *plugintest.Plugin) func(context.Context, *pluginsdk.DeliverRequest) (*pluginsdk.DeliverResponse, error) {
				return p.Deliver
			}),
		asking(pluginsdk.HookCallTool, &pluginsdk.CallToolRequest{Call: call, Name: "echo", Input: json.RawMessage(`{"x":1}`), ThreadID: "thread-1", TaskID: "task-1"},
			&pluginsdk.CallToolResponse{Result: pluginsdk.ToolResult{Text: "echo", Structured: json.RawMessage(`{"x":1}`)}},
			func(p *plugintest.Plugin) func(context.Context, *pluginsdk.CallToolRequest) (*pluginsdk.CallToolResponse, error) {
				return p.CallTool
			}),
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
		if answer != nil && !reflect.ValueOf(answer).Elem().IsZero() {
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
	_, err := plugin.OnMessage(t.Context(), &pluginsdk.OnMessageRequest{Call: call})
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
	if _, err := plugin.OnMessage(ctx, &pluginsdk.OnMessageRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, call := author.taken(pluginsdk.HookMessage); !call.Deadline.Equal(deadline) {
		t.Errorf("the call's deadline is %v, want %v", call.Deadline, deadline)
	}
}

// Who waits for a tool, and the core that waits for work, must see that it goes
// on, in order.
func TestProgressArrivesInOrderBeforeTheAnswer(t *testing.T) {
	plugin := plugintest.Serve(t, newEverything(), plugintest.NewHost().SDK())
	for name, call := range map[string]func(context.Context) error{
		"CallTool": func(ctx context.Context) error {
			_, err := plugin.CallTool(ctx, &pluginsdk.CallToolRequest{Name: "echo"})
			return err
		},
		"OnTaskComplete": func(ctx context.Context) error {
			_, err := plugin.OnTaskComplete(ctx, &pluginsdk.OnTaskCompleteRequest{})
			return err
		},
	} {
		var done []float64
		ctx := pluginsdk.WithProgress(t.Context(), func(p pluginsdk.Progress) { done = append(done, p.Done) })
		if err := call(ctx); err != nil || !reflect.DeepEqual(done, []float64{0, 1, 2}) {
			t.Errorf("%s: progress %v, error %v", name, done, err)
		}
	}
}

// A goroutine that a tool left behind must not write into what came after.
func TestProgressAfterTheResultDoesNothing(t *testing.T) {
	author := &lateTool{contexts: make(chan context.Context, 1)}
	plugin := plugintest.Serve(t, author, plugintest.NewHost().SDK())
	ctx := pluginsdk.WithProgress(t.Context(), func(pluginsdk.Progress) { t.Error("it arrived") })
	if _, err := plugin.CallTool(ctx, &pluginsdk.CallToolRequest{Name: "late"}); err != nil {
		t.Fatal(err)
	}
	pluginsdk.ReportProgress(<-author.contexts, pluginsdk.Progress{Done: 1})
}

type lateTool struct {
	contexts chan context.Context
}

func (*lateTool) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{Name: "late", Version: "1", Tools: []pluginsdk.ToolSpec{{Name: "late", InputSchema: json.RawMessage(`{}`)}}}
}

func (l *lateTool) CallTool(ctx context.Context, _ *pluginsdk.CallToolRequest) (*pluginsdk.CallToolResponse, error) {
	l.contexts <- ctx
	return &pluginsdk.CallToolResponse{Result: pluginsdk.ToolResult{Text: "ready"}}, nil
}

// silent answers nil, which says: nothing to change.
type silent struct{ nothing }

func (silent) OnMessage(context.Context, *pluginsdk.OnMessageRequest) (*pluginsdk.OnMessageResponse, error) {
	return nil, nil //nolint:nilnil // what is tested
}

func (silent) OnBeforeInvoke(context.Context, *pluginsdk.OnBeforeInvokeRequest) (*pluginsdk.OnBeforeInvokeResponse, error) {
	return nil, nil //nolint:nilnil // what is tested
}

func TestNilIsAnAnswerThatChangesNothing(t *testing.T) {
	plugin := plugintest.Serve(t, silent{}, pluginsdk.Host{})
	if answer, err := plugin.OnMessage(t.Context(), &pluginsdk.OnMessageRequest{}); err != nil || answer != nil && answer.Effects != nil {
		t.Errorf("%+v, %v", answer, err)
	}
	if answer, err := plugin.OnBeforeInvoke(t.Context(), &pluginsdk.OnBeforeInvokeRequest{Prompt: "p"}); err != nil || answer != nil && answer.Prompt != nil {
		t.Errorf("%+v, %v", answer, err)
	}
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
