package conform

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// What the samples speak about; furnish gives the host the same.
const (
	sampleThread = "conformance-thread"
	sampleRun    = "conformance-run"
	sampleTask   = "conformance-task"
)

// furnish gives the host the thread, run, message, task and approval that the samples
// are about, so that a plugin which looks them up finds them.
func furnish(host *plugintest.Host) {
	s := newSample("the message of the conformance run")
	host.AddThread(s.thread())
	host.AddRun(s.run())
	host.AddTask(s.task())
	host.Ask(s.asked())
	host.AddMessage(s.message())
}

// serial makes the ids of calls differ.
var serial atomic.Int64

// sample is what a hook is asked with.
type sample struct {
	call     pluginsdk.Call
	text     string
	at       time.Time
	manifest pluginsdk.Manifest // says which parts of the requests are filled in
	nth      int                // which message, or command, of the run it is, from 0
}

// further is what a hook is asked of the run's next message, or command.
func (x *exam) further(text string) sample {
	s := x.sample(text)
	s.nth = 1
	return s
}

func (x *exam) sample(text string) sample {
	s := newSample(text)
	s.manifest = x.manifest
	return s
}

func newSample(text string) sample {
	return sample{
		call: pluginsdk.Call{ID: fmt.Sprintf("conformance-%d", serial.Add(1)), RunID: sampleRun, Attempt: 1, Token: "conformance"},
		text: text, at: time.Now().UTC(),
	}
}

func (s sample) thread() pluginsdk.Thread {
	return pluginsdk.Thread{
		ID: sampleThread, Source: "cli", SourceID: "conformance", Name: "Conformance",
		Kind: pluginsdk.ThreadGeneral, Status: pluginsdk.ThreadActive, BusyMode: pluginsdk.BusyQueue,
		LastActivity: s.at, CreatedAt: s.at,
	}
}

func (s sample) message() pluginsdk.Message {
	return pluginsdk.Message{
		ID: int64(1 + s.nth), ThreadID: sampleThread, Role: pluginsdk.RoleUser, Kind: pluginsdk.MessageText, Source: "cli",
		Author: "conformance", Content: s.text, RunID: sampleRun, CreatedAt: s.at,
	}
}

// firstMessage is the run's own.
func (s sample) firstMessage() pluginsdk.Message {
	s.nth = 0
	return s.message()
}

// messageFor is the message as a hook is given it, which may leave its content out.
func (s sample) messageFor(hook pluginsdk.Hook) pluginsdk.Message {
	message := s.message()
	if !s.manifest.Wants(hook, pluginsdk.PartMessage) {
		message.Content = ""
	}
	return message
}

// prompt is that of OnBeforeInvoke, of which plugins with promptPrefix are given nothing.
func (s sample) prompt() string {
	if s.manifest.PromptPrefix {
		return ""
	}
	return s.text
}

func (s sample) run() pluginsdk.Run {
	return pluginsdk.Run{
		ID: sampleRun, ThreadID: sampleThread, MessageID: 1, Kind: pluginsdk.RunMessage, State: pluginsdk.RunRunning, Attempt: 1,
	}
}

func (s sample) task() pluginsdk.Task {
	return pluginsdk.Task{
		ID: sampleTask, ThreadID: sampleThread, ParentThreadID: sampleThread, Status: pluginsdk.TaskRunning,
		OriginalMessage: s.text, Prompt: s.text, MaxIterations: 5, MaxValidationIterations: 3, CostCapUSD: 5, CreatedAt: s.at,
		CurrentIteration: 1, RunID: sampleRun,
	}
}

func (s sample) result() pluginsdk.InvokeResult {
	return pluginsdk.InvokeResult{Text: s.text, SessionID: "conformance-session", Model: "conformance", Turns: 1, Duration: time.Second}
}

func (s sample) command(name string) *pluginsdk.OnCommandRequest {
	return &pluginsdk.OnCommandRequest{
		Call: s.call, Thread: s.thread(), Message: s.firstMessage(), Origin: pluginsdk.FromPerson, Index: s.nth, Name: name, Body: s.text,
	}
}

func (s sample) toolCall(name string) *pluginsdk.CallToolRequest {
	input, err := json.Marshal(map[string]string{"text": s.text})
	if err != nil {
		input = json.RawMessage(`{}`)
	}
	return &pluginsdk.CallToolRequest{Call: s.call, Name: name, Input: input, ThreadID: sampleThread}
}

// event is of a type that the manifest subscribes to.
func (s sample) cronQuestion() *pluginsdk.OnCronRequest {
	return &pluginsdk.OnCronRequest{Call: s.call, Question: pluginsdk.CronQuestion{JobID: "conformance-cron", Job: "conformance", Due: s.at, Data: s.text}}
}

func (s sample) event() pluginsdk.Event {
	kind := string(pluginsdk.EventChatMessage)
	if len(s.manifest.Events) > 0 {
		if prefix, wild := strings.CutSuffix(s.manifest.Events[0], "*"); wild {
			kind = prefix + "conformance"
		} else {
			kind = s.manifest.Events[0]
		}
	}
	data, err := json.Marshal(map[string]string{"threadId": sampleThread, "content": s.text})
	if err != nil {
		data = json.RawMessage(`{}`)
	}
	return pluginsdk.Event{Type: pluginsdk.EventType(kind), ThreadID: sampleThread, Data: data, Timestamp: s.at, Boot: "conformance", Seq: 1}
}

// answer is what was got from a hook, as far as it is looked at.
type answer struct {
	effects *pluginsdk.Effects
	checks  []pluginsdk.Check
	figures []pluginsdk.Figure
}

// ask calls a hook with a sample. settings are what OnSettingsChange is given.
func ask(ctx context.Context, s *session, hook pluginsdk.Hook, with sample, settings json.RawMessage) (answer, error) {
	if a, known, err := askRun(ctx, s, hook, with); known {
		return a, err
	}
	var got answer
	var err error
	switch hook { //nolint:exhaustive // the others are askRun's
	case pluginsdk.HookTaskCreate:
		_, err = s.OnTaskCreate(ctx, &pluginsdk.OnTaskCreateRequest{Call: with.call, Task: with.task(), Context: pluginsdk.TaskContext{Context: with.text}})
	case pluginsdk.HookTaskComplete:
		_, err = s.OnTaskComplete(ctx, &pluginsdk.OnTaskCompleteRequest{Call: with.call, Task: with.task(), Result: with.result()})
	case pluginsdk.HookTaskValidated:
		_, err = s.OnTaskValidated(ctx, &pluginsdk.OnTaskValidatedRequest{Call: with.call, Task: with.task(), Evidence: []pluginsdk.Evidence{{Kind: "conformance"}}})
	case pluginsdk.HookTaskFailed:
		_, err = s.OnTaskFailed(ctx, &pluginsdk.OnTaskFailedRequest{Call: with.call, Task: with.task(), Reason: "conformance"})
	case pluginsdk.HookSettingsChange:
		_, err = s.OnSettingsChange(ctx, &pluginsdk.OnSettingsChangeRequest{Call: with.call, Settings: settings})
	case pluginsdk.HookBroadcast:
		_, err = s.OnBroadcast(ctx, &pluginsdk.OnBroadcastRequest{Call: with.call, Events: []pluginsdk.Event{with.event()}})
	case pluginsdk.HookCheck:
		var r *pluginsdk.OnCheckResponse
		if r, err = s.OnCheck(ctx, &pluginsdk.OnCheckRequest{Call: with.call}); r != nil {
			got.checks, got.figures = r.Checks, r.Figures
		}
	case pluginsdk.HookCron:
		_, err = s.OnCron(ctx, with.cronQuestion())
	case pluginsdk.HookDeliver:
		if _, err = s.Deliver(ctx, with.delivery()); err == nil {
			_, err = s.Deliver(ctx, with.question())
		}
	case pluginsdk.HookCallTool:
		_, err = s.CallTool(ctx, with.toolCall(firstTool(with.manifest)))
	default:
		err = fmt.Errorf("the examination does not know the hook %s", hook)
	}
	return got, err
}

// askRun calls a hook of a run, whose answers may have effects; false: it is
// another hook.
func askRun(ctx context.Context, s *session, hook pluginsdk.Hook, with sample) (got answer, known bool, err error) {
	message := with.messageFor(hook)
	switch hook { //nolint:exhaustive // the others are ask's
	case pluginsdk.HookBeforeRun:
		var r *pluginsdk.OnBeforeRunResponse
		if r, err = s.OnBeforeRun(ctx, &pluginsdk.OnBeforeRunRequest{Call: with.call, Thread: with.thread(), Message: with.message(), Run: with.run()}); r != nil {
			got.effects = r.Effects
		}
	case pluginsdk.HookPipelineStart:
		var r *pluginsdk.OnPipelineStartResponse
		if r, err = s.OnPipelineStart(ctx, &pluginsdk.OnPipelineStartRequest{Call: with.call, Thread: with.thread(), Message: message}); r != nil {
			got.effects = r.Effects
		}
	case pluginsdk.HookMessage:
		var r *pluginsdk.OnMessageResponse
		if r, err = s.OnMessage(ctx, &pluginsdk.OnMessageRequest{Call: with.call, Thread: with.thread(), Message: with.message()}); r != nil {
			got.effects = r.Effects
		}
	case pluginsdk.HookBeforeInvoke:
		var r *pluginsdk.OnBeforeInvokeResponse
		if r, err = s.OnBeforeInvoke(ctx, &pluginsdk.OnBeforeInvokeRequest{Call: with.call, Thread: with.thread(), Message: message, Prompt: with.prompt()}); r != nil {
			got.effects = r.Effects
		}
	case pluginsdk.HookAfterInvoke:
		var r *pluginsdk.OnAfterInvokeResponse
		if r, err = s.OnAfterInvoke(ctx, with.invocation()); r != nil {
			got.effects = r.Effects
		}
	case pluginsdk.HookCommand:
		var r *pluginsdk.OnCommandResponse
		if r, err = s.OnCommand(ctx, with.command(firstCommand(with.manifest))); r != nil {
			got.effects = r.Effects
		}
	case pluginsdk.HookBeforeReply:
		var r *pluginsdk.OnBeforeReplyResponse
		if r, err = s.OnBeforeReply(ctx, &pluginsdk.OnBeforeReplyRequest{Call: with.call, Thread: with.thread(), Message: message, Text: with.text}); r != nil {
			got.effects = r.Effects
		}
	case pluginsdk.HookPipelineComplete:
		var r *pluginsdk.OnPipelineCompleteResponse
		if r, err = s.OnPipelineComplete(ctx, with.complete()); r != nil {
			got.effects = r.Effects
		}
	default:
		return got, false, nil
	}
	return got, true, err
}

func (s sample) invocation() *pluginsdk.OnAfterInvokeRequest {
	result := s.result()
	if !s.manifest.Wants(pluginsdk.HookAfterInvoke, pluginsdk.PartResult) {
		result.Text = ""
	}
	return &pluginsdk.OnAfterInvokeRequest{Call: s.call, Thread: s.thread(), Message: s.messageFor(pluginsdk.HookAfterInvoke), Result: result}
}

func (s sample) complete() *pluginsdk.OnPipelineCompleteRequest {
	request := &pluginsdk.OnPipelineCompleteRequest{
		Call: s.call, Thread: s.thread(), Message: s.messageFor(pluginsdk.HookPipelineComplete), Outcome: pluginsdk.OutcomeSucceeded,
		Usage: &pluginsdk.Usage{InputTokens: 1, OutputTokens: 1}, Duration: time.Second,
	}
	if s.manifest.Wants(pluginsdk.HookPipelineComplete, pluginsdk.PartSteps) {
		request.Steps = []pluginsdk.PipelineStep{{Step: "onMessage", Timestamp: s.at}}
	}
	if s.manifest.Wants(pluginsdk.HookPipelineComplete, pluginsdk.PartEvents) {
		request.Events = []pluginsdk.StreamEvent{
			{Type: pluginsdk.StreamThinking, Text: s.text, Timestamp: s.at},
			{Type: pluginsdk.StreamToolCall, ToolName: "Read", ToolUseID: "use-1", Input: json.RawMessage(`{"file":"a"}`), Timestamp: s.at},
			{Type: pluginsdk.StreamToolResult, ToolUseID: "use-1", Text: s.text, Timestamp: s.at},
			{Type: pluginsdk.StreamText, Text: s.text, Timestamp: s.at},
		}
	}
	return request
}

func (s sample) delivery() *pluginsdk.DeliverRequest {
	thread := s.thread()
	thread.Source = s.manifest.SpeaksFor()[0]
	return &pluginsdk.DeliverRequest{
		Call: s.call,
		Delivery: pluginsdk.Delivery{
			ID: s.call.ID, MessageID: 1, Plugin: s.manifest.Name, Place: "conformance", State: pluginsdk.DeliverySending, Attempt: 1, CreatedAt: s.at,
		},
		Thread: thread, Message: s.message(),
	}
}

// question is a delivery that asks people whether the agent may do something.
func (s sample) question() *pluginsdk.DeliverRequest {
	s.call.ID += ":question"
	request := s.delivery()
	request.Message.Role, request.Message.Kind, request.Message.Content = pluginsdk.RoleSystem, pluginsdk.MessageNotification, s.text
	approval := s.asked()
	request.Approval = &approval
	return request
}

// asked is what the agent asks in it.
func (s sample) asked() pluginsdk.Approval {
	return pluginsdk.Approval{
		ID: "conformance-approval", ThreadID: sampleThread, RunID: sampleRun, Kind: pluginsdk.ApprovalTool, State: pluginsdk.ApprovalOpen,
		Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`), Title: s.text, Text: s.text,
		Choices: []pluginsdk.ApprovalChoice{
			{ID: "allow", Label: "Allow once", Allow: true},
			{ID: "rule:command", Label: "Allow always", Allow: true, Rule: "commands that begin with `make`"},
			{ID: "deny", Label: "Deny"},
		},
		CreatedAt: s.at, ExpiresAt: s.at.Add(time.Hour),
	}
}

func firstCommand(manifest pluginsdk.Manifest) string {
	if len(manifest.Commands) > 0 && manifest.Commands[0].Name != "*" {
		return manifest.Commands[0].Name
	}
	return "conformance"
}

func firstTool(manifest pluginsdk.Manifest) string {
	if len(manifest.Tools) > 0 {
		return manifest.Tools[0].Name
	}
	return "conformance"
}
