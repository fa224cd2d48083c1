package hostapi

import (
	"context"
	"encoding/json"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Toolbox is the tools of all plugins.
type Toolbox interface {
	// List returns the tools of the enabled plugins, named PLUGIN__TOOL.
	List() []pluginsdk.ToolSpec
	// Call calls a tool for a plugin, on behalf of origin.
	Call(ctx context.Context, caller string, origin ledger.Origin, name string, input json.RawMessage) (pluginsdk.ToolResult, error)
}

type tools struct{ *caller }

func (s tools) List(context.Context) ([]pluginsdk.ToolSpec, error) {
	return s.toolbox.List(), nil
}

// Call calls a tool. Inside of a hook or of a tool's own call it is part of
// that one's run, one level deeper, and ends with it.
func (s tools) Call(ctx context.Context, name string, input json.RawMessage) (pluginsdk.ToolResult, error) {
	grant, err := s.granted(ctx, s.plugin)
	if err != nil {
		return pluginsdk.ToolResult{}, err
	}
	ctx, leave := grant.bound(ctx)
	defer leave()
	origin := grant.origin
	if call, ok := pluginsdk.CallFrom(ctx); ok {
		origin.Token = call.Token
	}
	return s.toolbox.Call(ctx, s.plugin, origin, name, input)
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
