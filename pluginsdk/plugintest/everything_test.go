package plugintest_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// everything answers every hook of the contract. A hook records what it was
// given, does what act says, and answers something made of its input.
type everything struct {
	host pluginsdk.Host

	mu     sync.Mutex
	given  map[pluginsdk.Hook]any
	calls  map[pluginsdk.Hook]pluginsdk.Call // from the context
	act    map[pluginsdk.Hook]func(context.Context) error
	active bool
}

func newEverything() *everything {
	return &everything{
		given: map[pluginsdk.Hook]any{},
		calls: map[pluginsdk.Hook]pluginsdk.Call{},
		act:   map[pluginsdk.Hook]func(context.Context) error{},
	}
}

func (e *everything) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name: "everything", Version: "1.0.0",
		Commands: []pluginsdk.CommandSpec{{Name: "*"}},
		Tools:    []pluginsdk.ToolSpec{{Name: "echo", InputSchema: json.RawMessage(`{"type":"object"}`)}},
	}
}

func (e *everything) Start(_ context.Context, host pluginsdk.Host) error {
	e.host = host
	return nil
}

func (e *everything) Activate(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.active = true
	return nil
}

func (e *everything) Deactivate(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.active = false
	return nil
}

func (e *everything) isActive() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.active
}

// on makes a hook do something; nil lets it just answer.
func (e *everything) on(hook pluginsdk.Hook, act func(context.Context) error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.act[hook] = act
}

func (e *everything) take(ctx context.Context, hook pluginsdk.Hook, value any) error {
	call, _ := pluginsdk.CallFrom(ctx)
	e.mu.Lock()
	e.given[hook], e.calls[hook] = value, call
	act := e.act[hook]
	e.mu.Unlock()
	if act == nil {
		return nil
	}
	return act(ctx)
}

func (e *everything) taken(hook pluginsdk.Hook) (value any, call pluginsdk.Call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.given[hook], e.calls[hook]
}

func (e *everything) OnBeforeRun(ctx context.Context, v pluginsdk.RunStart) (pluginsdk.Verdict, error) {
	return pluginsdk.Verdict{Allow: true, Reason: v.Run.ID}, e.take(ctx, pluginsdk.HookBeforeRun, v)
}

func (e *everything) OnPipelineStart(ctx context.Context, v pluginsdk.PipelineStart) error {
	return e.take(ctx, pluginsdk.HookPipelineStart, v)
}

func (e *everything) OnMessage(ctx context.Context, v pluginsdk.IncomingMessage) error {
	return e.take(ctx, pluginsdk.HookMessage, v)
}

func (e *everything) OnBeforeInvoke(ctx context.Context, v pluginsdk.Prompt) (string, error) {
	return strings.ToUpper(v.Text), e.take(ctx, pluginsdk.HookBeforeInvoke, v)
}

func (e *everything) OnAfterInvoke(ctx context.Context, v pluginsdk.Invocation) error {
	return e.take(ctx, pluginsdk.HookAfterInvoke, v)
}

func (e *everything) OnCommand(ctx context.Context, v pluginsdk.Command) (pluginsdk.CommandResult, error) {
	return pluginsdk.CommandResult{Handled: true, Reply: v.Name + " " + v.Body}, e.take(ctx, pluginsdk.HookCommand, v)
}

func (e *everything) OnBeforeReply(ctx context.Context, v pluginsdk.Reply) (string, error) {
	return strings.ToLower(v.Text), e.take(ctx, pluginsdk.HookBeforeReply, v)
}

func (e *everything) OnPipelineComplete(ctx context.Context, v pluginsdk.PipelineComplete) error {
	return e.take(ctx, pluginsdk.HookPipelineComplete, v)
}

func (e *everything) OnTaskCreate(ctx context.Context, v pluginsdk.TaskCreation) (pluginsdk.TaskContext, error) {
	return pluginsdk.TaskContext{Cwd: v.Context.Cwd + "/sub", Context: "more"}, e.take(ctx, pluginsdk.HookTaskCreate, v)
}

func (e *everything) OnTaskComplete(ctx context.Context, v pluginsdk.TaskReview) (pluginsdk.Verdict, error) {
	return pluginsdk.Verdict{Reason: "not " + v.Result.Text}, e.take(ctx, pluginsdk.HookTaskComplete, v)
}

func (e *everything) OnTaskValidated(ctx context.Context, v pluginsdk.TaskEnd) error {
	return e.take(ctx, pluginsdk.HookTaskValidated, v)
}

func (e *everything) OnTaskFailed(ctx context.Context, v pluginsdk.TaskEnd) error {
	return e.take(ctx, pluginsdk.HookTaskFailed, v)
}

func (e *everything) OnSettingsChange(ctx context.Context, v pluginsdk.SettingsChange) error {
	return e.take(ctx, pluginsdk.HookSettingsChange, v)
}

func (e *everything) OnBroadcast(ctx context.Context, v []pluginsdk.Event) error {
	return e.take(ctx, pluginsdk.HookBroadcast, slices.Clone(v))
}

func (e *everything) Deliver(ctx context.Context, v pluginsdk.DeliveryRequest) (pluginsdk.DeliveryReceipt, error) {
	return pluginsdk.DeliveryReceipt{ExternalID: "at " + v.Delivery.Target}, e.take(ctx, pluginsdk.HookDeliver, v)
}

func (e *everything) CallTool(ctx context.Context, v pluginsdk.ToolCall) (pluginsdk.ToolResult, error) {
	for i := range 3 {
		v.Progress(pluginsdk.ToolProgress{Done: float64(i), Total: 3, Message: "going"})
	}
	v.Progress = nil
	return pluginsdk.ToolResult{Text: "echo", Structured: v.Input}, e.take(ctx, pluginsdk.HookCallTool, v)
}
