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

// furnish gives the host the thread, run, message and task that the samples
// are about, so that a plugin which looks them up finds them.
func furnish(host *plugintest.Host) {
	s := newSample("the message of the conformance run")
	host.AddThread(s.thread())
	host.AddRun(s.run())
	host.AddTask(s.task())
	host.AddMessage(s.message())
}

// serial makes the ids of calls differ.
var serial atomic.Int64

// sample is what a hook is asked with.
type sample struct {
	call pluginsdk.Call
	text string
	at   time.Time
}

func newSample(text string) sample {
	return sample{
		call: pluginsdk.Call{ID: fmt.Sprintf("conformance-%d", serial.Add(1)), RunID: sampleRun, Attempt: 1, Token: "conformance"},
		text: text, at: time.Now().UTC(),
	}
}

func (s sample) thread() pluginsdk.Thread {
	return pluginsdk.Thread{
		ID: sampleThread, Source: "cli", SourceID: "conformance", ReportTo: "cli", Name: "Conformance",
		Kind: pluginsdk.ThreadGeneral, Status: pluginsdk.ThreadActive, BusyMode: pluginsdk.BusyQueue,
		LastActivity: s.at, Epoch: 1, CreatedAt: s.at,
	}
}

func (s sample) message() pluginsdk.Message {
	return pluginsdk.Message{
		ID: 1, ThreadID: sampleThread, Role: pluginsdk.RoleUser, Kind: pluginsdk.MessageText, Source: "cli",
		Author: "conformance", Content: s.text, RunID: sampleRun, CreatedAt: s.at,
	}
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
	}
}

func (s sample) result() pluginsdk.InvokeResult {
	return pluginsdk.InvokeResult{Text: s.text, SessionID: "conformance-session", Model: "conformance", Turns: 1, Duration: time.Second}
}

func (s sample) command(name string) pluginsdk.Command {
	return pluginsdk.Command{
		Call: s.call, Thread: s.thread(), Message: s.message(), Origin: pluginsdk.FromPerson, Name: name, Body: s.text,
	}
}

func (s sample) toolCall(name string) pluginsdk.ToolCall {
	input, err := json.Marshal(map[string]string{"text": s.text})
	if err != nil {
		input = json.RawMessage(`{}`)
	}
	return pluginsdk.ToolCall{Call: s.call, Name: name, Input: input, ThreadID: sampleThread}
}

// event is of a type that the manifest subscribes to.
func (s sample) event(manifest pluginsdk.Manifest) pluginsdk.Event {
	kind := string(pluginsdk.EventChatMessage)
	if len(manifest.Events) > 0 {
		if prefix, wild := strings.CutSuffix(manifest.Events[0], "*"); wild {
			kind = prefix + "conformance"
		} else {
			kind = manifest.Events[0]
		}
	}
	data, err := json.Marshal(map[string]string{"threadId": sampleThread, "content": s.text})
	if err != nil {
		data = json.RawMessage(`{}`)
	}
	return pluginsdk.Event{Type: pluginsdk.EventType(kind), ThreadID: sampleThread, Data: data, Timestamp: s.at, Boot: "conformance", Seq: 1}
}

// ask calls a hook with a sample. settings are what OnSettingsChange is given.
func ask(ctx context.Context, s *session, hook pluginsdk.Hook, with sample, settings json.RawMessage) (err error) {
	switch hook {
	case pluginsdk.HookBeforeRun:
		_, err = s.OnBeforeRun(ctx, pluginsdk.RunStart{Call: with.call, Thread: with.thread(), Message: with.message(), Run: with.run()})
	case pluginsdk.HookPipelineStart:
		err = s.OnPipelineStart(ctx, pluginsdk.PipelineStart{Call: with.call, Thread: with.thread(), Message: with.message()})
	case pluginsdk.HookMessage:
		err = s.OnMessage(ctx, pluginsdk.IncomingMessage{Call: with.call, Thread: with.thread(), Message: with.message()})
	case pluginsdk.HookBeforeInvoke:
		_, err = s.OnBeforeInvoke(ctx, pluginsdk.Prompt{Call: with.call, Thread: with.thread(), Message: with.message(), Text: with.text})
	case pluginsdk.HookAfterInvoke:
		err = s.OnAfterInvoke(ctx, pluginsdk.Invocation{Call: with.call, Thread: with.thread(), Message: with.message(), Result: with.result()})
	case pluginsdk.HookCommand:
		_, err = s.OnCommand(ctx, with.command(firstCommand(s.Manifest())))
	case pluginsdk.HookBeforeReply:
		_, err = s.OnBeforeReply(ctx, pluginsdk.Reply{Call: with.call, Thread: with.thread(), Message: with.message(), Text: with.text})
	case pluginsdk.HookPipelineComplete:
		err = s.OnPipelineComplete(ctx, with.complete())
	case pluginsdk.HookTaskCreate:
		_, err = s.OnTaskCreate(ctx, pluginsdk.TaskCreation{Call: with.call, Task: with.task(), Context: pluginsdk.TaskContext{Context: with.text}})
	case pluginsdk.HookTaskComplete:
		_, err = s.OnTaskComplete(ctx, pluginsdk.TaskReview{Call: with.call, Task: with.task(), Result: with.result()})
	case pluginsdk.HookTaskValidated:
		err = s.OnTaskValidated(ctx, pluginsdk.TaskEnd{Call: with.call, Task: with.task()})
	case pluginsdk.HookTaskFailed:
		err = s.OnTaskFailed(ctx, pluginsdk.TaskEnd{Call: with.call, Task: with.task(), Reason: "conformance"})
	case pluginsdk.HookSettingsChange:
		err = s.OnSettingsChange(ctx, pluginsdk.SettingsChange{Call: with.call, Settings: settings})
	case pluginsdk.HookBroadcast:
		err = s.OnBroadcast(ctx, []pluginsdk.Event{with.event(s.Manifest())})
	case pluginsdk.HookDeliver:
		_, err = s.Deliver(ctx, with.delivery(s.Manifest().Name))
	case pluginsdk.HookCallTool:
		_, err = s.CallTool(ctx, with.toolCall(firstTool(s.Manifest())))
	default:
		err = fmt.Errorf("the examination does not know the hook %s", hook)
	}
	return err
}

func (s sample) complete() pluginsdk.PipelineComplete {
	return pluginsdk.PipelineComplete{
		Call: s.call, Thread: s.thread(), Message: s.message(), Outcome: pluginsdk.OutcomeSucceeded,
		Steps:    []pluginsdk.PipelineStep{{Step: "onMessage", Timestamp: s.at}},
		Usage:    &pluginsdk.Usage{InputTokens: 1, OutputTokens: 1},
		Duration: time.Second,
	}
}

func (s sample) delivery(plugin string) pluginsdk.DeliveryRequest {
	return pluginsdk.DeliveryRequest{
		Call:     s.call,
		Delivery: pluginsdk.Delivery{ID: s.call.ID, MessageID: 1, Plugin: plugin, Target: "conformance", State: pluginsdk.DeliverySending, Attempt: 1, CreatedAt: s.at},
		Thread:   s.thread(), Message: s.message(),
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
