package hostapi

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/schema"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// maxTurnPrompt is how long what is asked of the agent, and what is appended to its
	// system prompt, may be together, in bytes.
	maxTurnPrompt = 2 << 20
	// maxTurnTools is how many bytes of rules a turn has, and maxTurnTimeout how long it
	// may be made.
	maxTurnTools   = 16 << 10
	maxTurnTimeout = 24 * time.Hour
)

// turnSchema bounds the schema of a turn's answer.
var turnSchema = schema.Limits{Bytes: 64 << 10, Depth: 40, Steps: 10_000, Work: 10_000_000}

// agent is turns that plugins ask for.
type agent struct{ *caller }

// Start takes no turn at the writer: what bounds it is how many turns of a plugin may
// wait.
func (s agent) Start(ctx context.Context, request *pluginsdk.StartTurnRequest) (*pluginsdk.StartTurnResponse, error) {
	return serve(s.caller, "Agent.Start", func() (*pluginsdk.StartTurnResponse, error) {
		request := *request
		if string(request.JSONSchema) == "null" {
			request.JSONSchema = nil // what a JSON encoder makes of none
		}
		if err := s.checkTurn(request); err != nil {
			return nil, err
		}
		in, err := s.granted(ctx, s.plugin)
		if err != nil {
			return nil, err
		}
		permits, err := s.beyond(ctx, in.origin, request)
		if err != nil {
			return nil, err
		}
		if err := s.Quotas.pace(s.plugin, 1, sizeOf(request)); err != nil {
			return nil, err
		}
		// Before it is done: what a turn may do beyond its thread is in the log, always.
		if err := s.audit(ctx, "turn "+s.plugin+"/"+request.Key, permits); err != nil {
			return nil, err
		}
		made, err := s.Inbox.StartTurn(ctx, s.plugin, request, in.origin.Cause())
		return &pluginsdk.StartTurnResponse{RunID: made.RunID, Existed: made.Existed}, err
	})
}

// checkTurn refuses (CodeInvalid) what no turn can be, naming the field.
func (s agent) checkTurn(request pluginsdk.StartTurnRequest) error {
	rules := len(strings.Join(request.AllowedTools, "")) + len(strings.Join(request.DisallowedTools, ""))
	err := checkLengths(
		length{"key", len(request.Key), maxKey},
		length{"purpose", len(request.Purpose), maxWord},
		length{"prompt, systemPrompt", len(request.Prompt) + len(request.SystemPrompt), maxTurnPrompt},
		length{"model", len(request.Model), maxWord},
		length{"effort", len(request.Effort), maxWord},
		length{"cwd", len(request.Cwd), 4096},
		length{"allowedTools, disallowedTools", rules, maxTurnTools},
	)
	if err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(request.Prompt) == "":
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "prompt: a turn needs one")
	case request.Session != "" && request.Session != pluginsdk.SessionFresh && request.Session != pluginsdk.SessionThread:
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "session: %q is neither %s nor %s", request.Session, pluginsdk.SessionFresh, pluginsdk.SessionThread)
	case request.Session == pluginsdk.SessionThread && request.ThreadID == "":
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "threadId: the session of which thread?")
	case request.Timeout < 0 || request.Timeout > maxTurnTimeout:
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "timeout: %s is not between 0 (the daemon's) and %s", request.Timeout, maxTurnTimeout)
	case request.CostCapUSD < 0 || math.IsNaN(request.CostCapUSD) || math.IsInf(request.CostCapUSD, 0):
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "costCapUsd: %v is not an amount", request.CostCapUSD)
	case request.Cwd != "" && !strings.HasPrefix(request.Cwd, "/"):
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "cwd: %q is not an absolute path", request.Cwd)
	}
	if err := s.CheckPermissionMode(request.PermissionMode); err != nil {
		return err
	}
	return checkJSONSchema(request.JSONSchema)
}

func checkJSONSchema(raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	compiled, err := schema.Compile(raw, turnSchema)
	if err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "jsonSchema: %w", err)
	}
	if root := compiled.Root(); root.Type != "object" || len(root.AllOf)+len(root.AnyOf)+len(root.OneOf) > 0 {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, `jsonSchema: at its top it has to have "type": "object", and no allOf, anyOf or oneOf`)
	}
	return nil
}

// beyond returns in what a turn is more than its thread, or without a thread than the
// daemon's default, and refuses (CodeDenied) that without threads.admin.
func (s agent) beyond(ctx context.Context, origin ledger.Behalf, request pluginsdk.StartTurnRequest) (permits []permit, err error) {
	var thread pluginsdk.Thread
	if request.ThreadID != "" {
		if thread, err = s.Store.Thread(ctx, request.ThreadID); err != nil {
			return nil, pluginsdk.Errorf(pluginsdk.CodeOf(err), "threadId: %w", err)
		}
	}
	own := request.ThreadID != "" && (origin.Fence.ThreadID == request.ThreadID || slices.Contains(s.Grants.Sources(s.plugin), thread.Source))
	var task pluginsdk.Task
	if request.TaskID != "" {
		if task, err = s.Store.Task(ctx, request.TaskID); err != nil {
			return nil, pluginsdk.Errorf(pluginsdk.CodeOf(err), "taskId: %w", err)
		}
		if task.Plugin != s.plugin && origin.TaskID != task.ID {
			permits = append(permits, permit{"taskId", "", task.ID})
		}
		own = own || thread.ID == task.ThreadID && (task.Plugin == s.plugin || origin.TaskID == task.ID)
	}
	// What the thread may do, the turn may, and what is called in the turn is called in the
	// thread's name.
	if request.ThreadID != "" && !own {
		permits = append(permits, permit{"threadId", "", request.ThreadID})
	}
	if request.Cwd != "" && request.Cwd != thread.Cwd && (task.Cwd == "" || request.Cwd != task.Cwd) {
		permits = append(permits, permit{"cwd", thread.Cwd, request.Cwd})
	}
	if mode := request.PermissionMode; mode != "" && mode != thread.PermissionMode && mode != "plan" { // plan is the least there is
		permits = append(permits, permit{"permissionMode", thread.PermissionMode, mode})
	}
	if more := slices.DeleteFunc(slices.Clone(request.AllowedTools), func(rule string) bool {
		return slices.Contains(task.AllowedTools, rule)
	}); len(more) > 0 {
		permits = append(permits, permit{"allowedTools", strings.Join(task.AllowedTools, " "), strings.Join(request.AllowedTools, " ")})
	}
	if len(permits) > 0 && !s.Grants.Granted(s.plugin, pluginsdk.CapThreadsAdmin) {
		fields := make([]string, len(permits))
		for n, permit := range permits {
			fields[n] = permit.field
		}
		return nil, pluginsdk.Errorf(pluginsdk.CodeDenied, "%s: a turn may do no more than its thread, and without one no more than the daemon's default; %w",
			strings.Join(fields, ", "), lacks(s.plugin, pluginsdk.CapThreadsAdmin))
	}
	return permits, nil
}

// Wait returns how one of the plugin's turns has ended.
func (s agent) Wait(ctx context.Context, request *pluginsdk.WaitTurnRequest) (*pluginsdk.WaitTurnResponse, error) {
	return serve(s.caller, "Agent.Wait", func() (*pluginsdk.WaitTurnResponse, error) {
		if err := s.mine(ctx, request.RunID); err != nil {
			return nil, err
		}
		run, err := s.wait(ctx, request.RunID)
		return &pluginsdk.WaitTurnResponse{State: run.State, Error: run.Error, Result: run.Result}, err
	})
}

// Cancel ends one of the plugin's turns.
func (s agent) Cancel(ctx context.Context, request *pluginsdk.CancelTurnRequest) (*pluginsdk.CancelTurnResponse, error) {
	return serve(s.caller, "Agent.Cancel", func() (*pluginsdk.CancelTurnResponse, error) {
		if err := s.mine(ctx, request.RunID); err != nil {
			return nil, err
		}
		_, err := s.Inbox.Cancel(ctx, request.RunID, ledger.By{Plugin: s.plugin})
		return &pluginsdk.CancelTurnResponse{}, err
	})
}

// mine refuses (CodeNotFound) a run that is no turn of the plugin's.
func (s agent) mine(ctx context.Context, id string) error {
	run, err := s.Store.Run(ctx, id)
	if err == nil && (run.Kind != pluginsdk.RunTurn || run.Plugin != s.plugin) {
		err = pluginsdk.Errorf(pluginsdk.CodeNotFound, "run %s is no turn that the plugin %s has asked for", id, s.plugin)
	}
	return err
}

type tools struct{ *caller }

func (s tools) List(_ context.Context, request *pluginsdk.ListToolsRequest) (*pluginsdk.ListToolsResponse, error) {
	return serve(s.caller, "Tools.List", func() (*pluginsdk.ListToolsResponse, error) {
		tools := slices.SortedFunc(slices.Values(s.Toolbox.List()), func(a, b pluginsdk.ToolSpec) int { return strings.Compare(a.Name, b.Name) })
		next := func(tool pluginsdk.ToolSpec) bool { return tool.Name > request.After }
		tools, more := listed(tools, next, request.Limit)
		return &pluginsdk.ListToolsResponse{Tools: tools, More: more}, nil
	})
}

// Call calls a tool. Inside of a hook or of a tool's own call it is part of
// that one's run, one level deeper, and ends with it.
func (s tools) Call(ctx context.Context, request *pluginsdk.InvokeToolRequest) (*pluginsdk.InvokeToolResponse, error) {
	return serve(s.caller, "Tools.Call", func() (*pluginsdk.InvokeToolResponse, error) {
		ctx, origin, leave, err := s.inside(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
		result, err := s.Toolbox.Call(ctx, s.plugin, origin, request.Name, request.Input)
		return &pluginsdk.InvokeToolResponse{Result: result}, err
	})
}

// inside returns on whose behalf the plugin asks another one for something: in the call that ctx is of, if it is of
// one. The context that it returns ends with that call; leave ends it sooner.
func (c *caller) inside(ctx context.Context) (bound context.Context, behalf ledger.Behalf, leave func(), err error) {
	grant, err := c.granted(ctx, c.plugin)
	if err != nil {
		return nil, ledger.Behalf{}, nil, err
	}
	bound, leave = grant.bound(ctx)
	behalf = grant.origin
	if call, ok := pluginsdk.CallFrom(ctx); ok {
		behalf.Token = call.Token
	}
	return bound, behalf, leave, nil
}

// bound returns a context that ends with the call that the grant is of, if it is
// of one.
func (g grant) bound(ctx context.Context) (bound context.Context, leave func()) {
	if g.life == nil {
		return ctx, func() {}
	}
	bound, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(g.life, func() {
		cancel(pluginsdk.Errorf(pluginsdk.CodeStale, "the call in which this one was made has ended"))
	})
	return bound, func() {
		stop()
		cancel(nil)
	}
}
