// Package validation is a draft of the plugin that reviews other agents' work.
package validation

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// schema is what the reviewer answers in.
var schema = json.RawMessage(`{
  "type": "object", "additionalProperties": false, "required": ["verdict", "feedback", "evidence"],
  "properties": {
    "verdict": {"enum": ["accept", "reject"]},
    "feedback": {"type": "string"},
    "evidence": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["kind"], "properties": {
      "kind": {"enum": ["command", "file", "diff"]}, "command": {"type": "string"}, "exitCode": {"type": "integer"},
      "output": {"type": "string"}, "file": {"type": "string"}, "line": {"type": "integer"}, "diff": {"type": "string"}
    }}}
  }
}`)

// Plugin has another agent look at the work of each task.
type Plugin struct {
	// Beat is how often it says that it is alive; 0 means each minute. The core ends
	// a call that is silent for 5.
	Beat time.Duration

	host pluginsdk.Host
}

// Manifest describes the plugin.
func (*Plugin) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name: "validation", Version: "0.1.0", Description: "Has another agent review the work of tasks",
		Capabilities: []pluginsdk.CapabilityRequest{{Capability: pluginsdk.CapAgentInvoke, Reason: "ask the reviewer"}},
	}
}

// Start keeps the host.
func (p *Plugin) Start(_ context.Context, host pluginsdk.Host) error {
	p.host = host
	return nil
}

// OnTaskComplete asks the reviewer. What cannot be read is no verdict but an
// error, after which the core asks again; the turns of the same iteration are
// gone through in order then, and only one more is begun.
func (p *Plugin) OnTaskComplete(ctx context.Context, request *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
	for try := 1; ; try++ {
		turn, err := p.host.Agent.Start(ctx, turnOf(request, try))
		if err != nil {
			return nil, err
		}
		ended, err := p.wait(ctx, turn.RunID)
		if err != nil {
			return nil, err
		}
		verdict, err := read(ended)
		if err == nil || !turn.Existed {
			return verdict, err
		}
	}
}

func turnOf(request *pluginsdk.OnTaskCompleteRequest, try int) *pluginsdk.StartTurnRequest {
	task := request.Task
	return &pluginsdk.StartTurnRequest{
		// The call has another id in each round: work that has to be looked at again is.
		Key: fmt.Sprintf("%s/%d", request.Call.ID, try), Purpose: "validation",
		ThreadID: task.ThreadID, TaskID: task.ID, Cwd: task.Cwd, PermissionMode: "plan", CostCapUSD: 0.5, JSONSchema: schema,
		SystemPrompt: "You review work that another agent has done. Believe nothing that it says: look, and run its checks.",
		Prompt:       "The task:\n" + task.Prompt + "\n\nWhat the worker says:\n" + request.Result.Text,
	}
}

// wait waits for a turn, and says meanwhile that it does.
func (p *Plugin) wait(ctx context.Context, runID string) (*pluginsdk.WaitTurnResponse, error) {
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		ticks := time.NewTicker(cmp.Or(p.Beat, time.Minute))
		defer ticks.Stop()
		for {
			pluginsdk.ReportProgress(ctx, pluginsdk.Progress{Message: "the reviewer is at work"})
			select {
			case <-ticks.C:
			case <-ended:
				return
			}
		}
	}()
	return p.host.Agent.Wait(ctx, &pluginsdk.WaitTurnRequest{RunID: runID})
}

// read is the reviewer's verdict; an error when there is none.
func read(ended *pluginsdk.WaitTurnResponse) (*pluginsdk.OnTaskCompleteResponse, error) {
	if ended.State != pluginsdk.RunSucceeded || ended.Result == nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the review %s: %s", ended.State, ended.Error)
	}
	var said struct {
		Verdict  pluginsdk.Verdict
		Feedback string
		Evidence []pluginsdk.Evidence
	}
	decoder := json.NewDecoder(bytes.NewReader(ended.Result.StructuredOutput))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&said)
	known := said.Verdict == pluginsdk.VerdictAccept || said.Verdict == pluginsdk.VerdictReject
	if err != nil || !known || len(said.Evidence) == 0 {
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the review cannot be read: verdict %q, %d pieces of evidence, %v", said.Verdict, len(said.Evidence), err)
	}
	return &pluginsdk.OnTaskCompleteResponse{Verdict: said.Verdict, Feedback: said.Feedback, Evidence: said.Evidence}, nil
}
