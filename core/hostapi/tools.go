package hostapi

import (
	"context"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

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
		grant, err := s.granted(ctx, s.plugin)
		if err != nil {
			return nil, err
		}
		ctx, leave := grant.bound(ctx)
		defer leave()
		origin := grant.origin
		if call, ok := pluginsdk.CallFrom(ctx); ok {
			origin.Token = call.Token
		}
		result, err := s.Toolbox.Call(ctx, s.plugin, origin, request.Name, request.Input)
		return &pluginsdk.InvokeToolResponse{Result: result}, err
	})
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
