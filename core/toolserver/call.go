package toolserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// invocation is one call of a tool, whoever makes it.
type invocation struct {
	behalf   ledger.Behalf
	name     string // PLUGIN__TOOL
	known    bool   // it is in the list that the agent has of this turn
	input    json.RawMessage
	progress func(pluginsdk.Progress) // may be nil
}

// Call calls a tool for a plugin, on that behalf. What goes wrong is an
// error with its code: CodeNotFound, CodeInvalid (the input), CodeUnavailable,
// CodeDeadline, CodeExhausted (too deep, too many), CodeDenied (the core's own, inside
// of the agent's turn as well as outside), or the plugin's own.
func (s *Server) Call(ctx context.Context, caller string, behalf ledger.Behalf, name string, input json.RawMessage) (pluginsdk.ToolResult, error) {
	if plugin, _, _ := strings.Cut(name, separator); plugin == s.config.Own {
		return pluginsdk.ToolResult{}, pluginsdk.Errorf(pluginsdk.CodeDenied,
			"%s is the agent's alone, which speaks by it in its own name; the plugin %s says in its own what it has to say: Messages.Append, with messages.write",
			name, caller)
	}
	if behalf.Token == "" {
		leave, err := s.stray(caller, name)
		if err != nil {
			return pluginsdk.ToolResult{}, err
		}
		defer leave()
	}
	return s.call(ctx, invocation{behalf: behalf, name: name, input: input})
}

// stray counts a call that a plugin makes of its own accord. One that calls
// itself so, again and again, is told by their number; and one whose tools do
// not answer does not hold up all who call them.
func (s *Server) stray(caller, name string) (leave func(), err error) {
	called, _, _ := strings.Cut(name, separator)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.strays[caller] >= s.config.Strays {
		return nil, pluginsdk.Errorf(pluginsdk.CodeExhausted,
			"the plugin %s has %d calls of tools under way, as many as it may: one has to end first", caller, s.config.Strays)
	}
	if s.guests[called] >= s.config.Guests {
		return nil, pluginsdk.Errorf(pluginsdk.CodeExhausted,
			"the tools of the plugin %s answer %d calls from outside of runs, as many as they may: one has to end first", called, s.config.Guests)
	}
	s.strays[caller]++
	s.guests[called]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		less(s.strays, caller)
		less(s.guests, called)
	}, nil
}

func less(counts map[string]int, name string) {
	if counts[name]--; counts[name] == 0 {
		delete(counts, name)
	}
}

// Answer calls a tool in the turn of a run, as a session does, and returns what
// the agent would be told.
func (s *Server) Answer(ctx context.Context, runID, name string, input json.RawMessage) pluginsdk.ToolResult {
	result, err := s.callIn(ctx, s.turnOf(runID), invocation{name: name, input: input})
	if err != nil {
		return failedResult(err)
	}
	return result
}

// callIn makes a call in a turn, and on its behalf.
func (s *Server) callIn(ctx context.Context, in *turn, call invocation) (pluginsdk.ToolResult, error) {
	if in == nil {
		return pluginsdk.ToolResult{}, errNoTurn
	}
	ctx, leave, err := in.enter(ctx)
	if err != nil {
		return pluginsdk.ToolResult{}, err
	}
	defer leave()
	call.behalf = in.behalf
	result, err := s.call(ctx, call)
	if in.ended(err) {
		err = errTurnOver
	}
	return result, err
}

func (s *Server) call(ctx context.Context, call invocation) (pluginsdk.ToolResult, error) {
	if call.behalf.Depth >= s.config.Depth {
		return pluginsdk.ToolResult{}, pluginsdk.Errorf(pluginsdk.CodeExhausted,
			"%s is not called: tools may call each other %d deep, and this would be deeper", call.name, s.config.Depth)
	}
	tool, err := s.find(ctx, call)
	if err != nil {
		return pluginsdk.ToolResult{}, err
	}
	if call.input, err = tool.check(call.input); err != nil {
		return pluginsdk.ToolResult{}, err
	}
	result, err := s.ask(ctx, tool, call)
	if err != nil {
		return pluginsdk.ToolResult{}, s.explain(ctx, call.behalf.RunID, tool, err)
	}
	return tidy(tool, result)
}

// find returns the tool that a call is of, or why it cannot be called.
func (s *Server) find(ctx context.Context, call invocation) (*tool, error) {
	name, offering := call.name, s.plugins.Offering(call.behalf.RunID)
	tool, left := s.catalog.find(offering, name, call.known)
	if tool != nil {
		return tool, nil
	}
	if left != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the tool %s cannot be used: %w", name, left)
	}
	plugin, local, _ := strings.Cut(name, separator)
	info, registered := s.registered(ctx, plugin)
	declared := slices.ContainsFunc(info.Manifest.Tools, func(t pluginsdk.ToolSpec) bool { return t.Name == local })
	switch {
	case !registered:
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no tool %q", name)
	case !info.Enabled:
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the plugin %s, whose tool %s is, is disabled", plugin, name)
	case !declared, slices.ContainsFunc(offering, func(info *pluginsdk.PluginInfo) bool { return info.Name == plugin }):
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "the plugin %s has no tool %q", plugin, local)
	}
	return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the tool %s cannot be used: its plugin is not up yet", name)
}

// registered looks a plugin up. A registry that cannot be read knows none.
func (s *Server) registered(ctx context.Context, plugin string) (pluginsdk.PluginInfo, bool) {
	rows, err := s.plugins.Registered(ctx)
	if err != nil {
		s.config.Log.Warn("the plugin registry cannot be read", "err", err)
	}
	for _, row := range rows {
		if row.Name == plugin {
			return row, true
		}
	}
	return pluginsdk.PluginInfo{}, false
}

// ask makes the call, with its deadline and its token.
func (s *Server) ask(ctx context.Context, tool *tool, call invocation) (pluginsdk.ToolResult, error) {
	plugin := s.plugins.Plugin(call.behalf.RunID, tool.plugin)
	if plugin == nil {
		return pluginsdk.ToolResult{}, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the plugin %s is not enabled", tool.plugin)
	}
	on := &hooks.Occasion{Behalf: call.behalf, Call: pluginsdk.Call{RunID: call.behalf.RunID, Attempt: max(call.behalf.Attempt, 1)}}
	on.Behalf.Depth++
	if call.progress != nil {
		ctx = pluginsdk.WithProgress(ctx, call.progress)
	}
	answer, err := hooks.One(ctx, s.hooks, on, plugin, hooks.Question[pluginsdk.CallToolRequest, pluginsdk.CallToolResponse]{
		Hook: pluginsdk.HookCallTool, CallID: callID(call.behalf, tool), Ask: hooks.Process.CallTool,
		Request: func(asked pluginsdk.Call, _ *pluginsdk.PluginInfo) *pluginsdk.CallToolRequest {
			return &pluginsdk.CallToolRequest{
				Call: asked, Name: tool.local, Input: call.input,
				ThreadID: call.behalf.Fence.ThreadID, TaskID: call.behalf.TaskID,
			}
		},
	})
	if err != nil || answer == nil {
		return pluginsdk.ToolResult{}, err
	}
	return answer.Result, nil
}

// callID names a call. No call is the repetition of another: an agent that
// begins anew decides anew what it calls.
func callID(behalf ledger.Behalf, tool *tool) string {
	id := string(pluginsdk.HookCallTool) + ":" + tool.spec.Name + ":" + rand.Text()
	if behalf.RunID == "" {
		return id
	}
	return behalf.RunID + ":" + id
}

// explain makes what a call failed with the words for the caller.
func (s *Server) explain(ctx context.Context, run string, tool *tool, err error) error {
	if ctx.Err() != nil {
		return pluginsdk.Errorf(pluginsdk.CodeCancelled, "the call of %s was cancelled: %w", tool.spec.Name, context.Cause(ctx))
	}
	code := pluginsdk.CodeOf(err)
	switch code { //nolint:exhaustive // the others are the plugin's word
	case pluginsdk.CodeUnavailable:
		if still, _ := s.catalog.find(s.plugins.Offering(run), tool.spec.Name, true); still == nil {
			return pluginsdk.Errorf(code, "the plugin %s was disabled while its tool %s was called", tool.plugin, tool.spec.Name)
		}
		return pluginsdk.Errorf(code, "%s cannot be called: %w", tool.spec.Name, err)
	case pluginsdk.CodeDeadline:
		return pluginsdk.Errorf(code, "%s did not come to an end within %s", tool.spec.Name, s.hooks.Limit(pluginsdk.HookCallTool))
	}
	return pluginsdk.Errorf(code, "the plugin %s failed in %s: %w", tool.plugin, tool.spec.Name, err)
}
