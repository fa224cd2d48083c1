package plugintest_test

import (
	"context"
	"encoding/json"
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
		Needs: map[pluginsdk.Hook][]pluginsdk.Part{
			pluginsdk.HookPipelineComplete: {pluginsdk.PartEvents, pluginsdk.PartSteps},
		},
		Sources: []string{"everything", "other"},
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

// effects are what every hook of a run returns.
func effects(hook pluginsdk.Hook) *pluginsdk.Effects {
	return &pluginsdk.Effects{
		Key:     string(hook),
		Rows:    []pluginsdk.NewMessage{{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Content: string(hook)}},
		Metrics: []pluginsdk.NewMetric{{Key: "k", Name: "calls", Value: 1, Tags: map[string]string{"hook": string(hook)}}},
	}
}

func (e *everything) OnBeforeRun(ctx context.Context, v *pluginsdk.OnBeforeRunRequest) (*pluginsdk.OnBeforeRunResponse, error) {
	return &pluginsdk.OnBeforeRunResponse{
		Deny: true, Reason: v.Run.ID, CostCapUSD: 2, Effects: effects(pluginsdk.HookBeforeRun),
		Reservations: []pluginsdk.Reservation{{Account: "day", LimitUSD: 10, AmountUSD: 0.5, Reason: "{spent} of {limit}", CapAtRest: true}, {Account: "month", LimitUSD: 100, AmountUSD: 0.5}},
	}, e.take(ctx, pluginsdk.HookBeforeRun, v)
}

func (e *everything) OnPipelineStart(ctx context.Context, v *pluginsdk.OnPipelineStartRequest) (*pluginsdk.OnPipelineStartResponse, error) {
	return &pluginsdk.OnPipelineStartResponse{Effects: effects(pluginsdk.HookPipelineStart)}, e.take(ctx, pluginsdk.HookPipelineStart, v)
}

func (e *everything) OnMessage(ctx context.Context, v *pluginsdk.OnMessageRequest) (*pluginsdk.OnMessageResponse, error) {
	return &pluginsdk.OnMessageResponse{Effects: effects(pluginsdk.HookMessage)}, e.take(ctx, pluginsdk.HookMessage, v)
}

func (e *everything) OnBeforeInvoke(ctx context.Context, v *pluginsdk.OnBeforeInvokeRequest) (*pluginsdk.OnBeforeInvokeResponse, error) {
	prompt := strings.ToUpper(v.Prompt)
	return &pluginsdk.OnBeforeInvokeResponse{Prompt: &prompt, Effects: effects(pluginsdk.HookBeforeInvoke)}, e.take(ctx, pluginsdk.HookBeforeInvoke, v)
}

func (e *everything) OnAfterInvoke(ctx context.Context, v *pluginsdk.OnAfterInvokeRequest) (*pluginsdk.OnAfterInvokeResponse, error) {
	return &pluginsdk.OnAfterInvokeResponse{Effects: effects(pluginsdk.HookAfterInvoke)}, e.take(ctx, pluginsdk.HookAfterInvoke, v)
}

func (e *everything) OnCommand(ctx context.Context, v *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
	return &pluginsdk.OnCommandResponse{Handled: true, Reply: v.Name + " " + v.Body, Effects: effects(pluginsdk.HookCommand), Audit: []string{v.Name + "d " + v.Body}}, e.take(ctx, pluginsdk.HookCommand, v)
}

func (e *everything) OnBeforeReply(ctx context.Context, v *pluginsdk.OnBeforeReplyRequest) (*pluginsdk.OnBeforeReplyResponse, error) {
	text := "" // which is a value
	return &pluginsdk.OnBeforeReplyResponse{Text: &text, Effects: effects(pluginsdk.HookBeforeReply)}, e.take(ctx, pluginsdk.HookBeforeReply, v)
}

func (e *everything) OnPipelineComplete(ctx context.Context, v *pluginsdk.OnPipelineCompleteRequest) (*pluginsdk.OnPipelineCompleteResponse, error) {
	return &pluginsdk.OnPipelineCompleteResponse{Effects: effects(pluginsdk.HookPipelineComplete)}, e.take(ctx, pluginsdk.HookPipelineComplete, v)
}

func (e *everything) OnTaskCreate(ctx context.Context, v *pluginsdk.OnTaskCreateRequest) (*pluginsdk.OnTaskCreateResponse, error) {
	return &pluginsdk.OnTaskCreateResponse{
		Cwd: new(v.Context.Cwd + "/sub"), Context: new("more"), SetLabels: map[string]string{"a": "b"}, RemoveLabels: []string{"c"},
	}, e.take(ctx, pluginsdk.HookTaskCreate, v)
}

func (e *everything) OnTaskComplete(ctx context.Context, v *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
	work(ctx)
	return &pluginsdk.OnTaskCompleteResponse{
		Verdict: pluginsdk.VerdictReject, Feedback: "not " + v.Result.Text,
		Evidence: []pluginsdk.Evidence{{Kind: "command", Command: "make", ExitCode: 2, Output: "no", File: "a.go", Line: 7}},
	}, e.take(ctx, pluginsdk.HookTaskComplete, v)
}

func (e *everything) OnTaskValidated(ctx context.Context, v *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
	return &pluginsdk.OnTaskValidatedResponse{Handover: pluginsdk.HandoverWait, Reason: "moved", Mark: "conflict"}, e.take(ctx, pluginsdk.HookTaskValidated, v)
}

func (e *everything) OnTaskFailed(ctx context.Context, v *pluginsdk.OnTaskFailedRequest) (*pluginsdk.OnTaskFailedResponse, error) {
	return &pluginsdk.OnTaskFailedResponse{}, e.take(ctx, pluginsdk.HookTaskFailed, v)
}

func (e *everything) OnSettingsChange(ctx context.Context, v *pluginsdk.OnSettingsChangeRequest) (*pluginsdk.OnSettingsChangeResponse, error) {
	return &pluginsdk.OnSettingsChangeResponse{}, e.take(ctx, pluginsdk.HookSettingsChange, v)
}

func (e *everything) OnBroadcast(ctx context.Context, v *pluginsdk.OnBroadcastRequest) (*pluginsdk.OnBroadcastResponse, error) {
	return &pluginsdk.OnBroadcastResponse{}, e.take(ctx, pluginsdk.HookBroadcast, v)
}

func (e *everything) OnCheck(ctx context.Context, v *pluginsdk.OnCheckRequest) (*pluginsdk.OnCheckResponse, error) {
	return &pluginsdk.OnCheckResponse{Checks: []pluginsdk.Check{
		{Name: "connection", State: pluginsdk.CheckFailing, Detail: "refused", Remedy: "set the token"}, {Name: "disk", State: pluginsdk.CheckOK},
	}}, e.take(ctx, pluginsdk.HookCheck, v)
}

func (e *everything) OnCron(ctx context.Context, v *pluginsdk.OnCronRequest) (*pluginsdk.OnCronResponse, error) {
	return &pluginsdk.OnCronResponse{News: true, Text: v.Question.Job}, e.take(ctx, pluginsdk.HookCron, v)
}

func (e *everything) Deliver(ctx context.Context, v *pluginsdk.DeliverRequest) (*pluginsdk.DeliverResponse, error) {
	return &pluginsdk.DeliverResponse{ExternalID: "at " + v.Delivery.Place}, e.take(ctx, pluginsdk.HookDeliver, v)
}

func (e *everything) CallTool(ctx context.Context, v *pluginsdk.CallToolRequest) (*pluginsdk.CallToolResponse, error) {
	work(ctx)
	return &pluginsdk.CallToolResponse{Result: pluginsdk.ToolResult{Text: "echo", Structured: v.Input}}, e.take(ctx, pluginsdk.HookCallTool, v)
}

// work reports progress three times.
func work(ctx context.Context) {
	for i := range 3 {
		pluginsdk.ReportProgress(ctx, pluginsdk.Progress{Done: float64(i), Total: 3, Message: "going"})
	}
}
