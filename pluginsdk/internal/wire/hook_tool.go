package wire

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"

	"github.com/seed-706843ae/harness/pluginsdk"
	pluginv1 "github.com/seed-706843ae/harness/proto/harness/plugin/v1"
)

// toolHookServer runs the plugin's tools.
type toolHookServer struct {
	pluginv1.UnimplementedToolServiceServer
	plugin pluginsdk.Plugin
	calls  *inFlight
}

func (s toolHookServer) CallTool(m *pluginv1.CallToolRequest, stream grpc.ServerStreamingServer[pluginv1.CallToolResponse]) error {
	call := toolCallFrom(m)
	updates := &toolStream{stream: stream}
	call.Progress = updates.progress
	return statusFrom(s.calls.run(stream.Context(), call.Call, string(pluginsdk.HookCallTool), func(ctx context.Context) error {
		defer updates.close()
		provider, err := answering[pluginsdk.ToolProvider](s.plugin, pluginsdk.HookCallTool)
		if err != nil {
			return err
		}
		result, err := provider.CallTool(ctx, call)
		if err != nil {
			return err
		}
		return updates.result(result)
	}))
}

// toolStream sends a call's updates. A tool may report progress from any
// goroutine, and one that outlives the call must do no harm.
type toolStream struct {
	mu     sync.Mutex
	stream grpc.ServerStreamingServer[pluginv1.CallToolResponse]
	closed bool
}

func (t *toolStream) progress(progress pluginsdk.ToolProgress) {
	// A report that cannot be sent is of a call that nobody waits for.
	_ = t.send(&pluginv1.CallToolResponse{
		Update: &pluginv1.CallToolResponse_Progress{Progress: toolProgressTo(progress)},
	})
}

func (t *toolStream) result(result pluginsdk.ToolResult) error {
	defer t.close()
	return t.send(&pluginv1.CallToolResponse{
		Update: &pluginv1.CallToolResponse_Result{Result: toolResultTo(result)},
	})
}

func (t *toolStream) send(update *pluginv1.CallToolResponse) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	return t.stream.Send(update)
}

func (t *toolStream) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
}

// CallTool implements pluginsdk.ToolProvider. call.Progress, when not nil, is
// called from this goroutine, in order.
func (c *PluginClient) CallTool(ctx context.Context, call pluginsdk.ToolCall) (pluginsdk.ToolResult, error) {
	call.Call = completed(ctx, call.Call)
	ctx, cancel := context.WithCancel(ctx) // ends the stream whichever way this returns
	defer cancel()
	stream, err := c.tool.CallTool(ctx, toolCallTo(call))
	if err != nil {
		return pluginsdk.ToolResult{}, callError(ctx, err)
	}
	for {
		m, err := stream.Recv()
		if err != nil {
			return pluginsdk.ToolResult{}, toolStreamError(ctx, err)
		}
		if result := m.GetResult(); result != nil {
			return toolResultFrom(result), nil
		}
		if progress := m.GetProgress(); progress != nil && call.Progress != nil {
			call.Progress(toolProgressFrom(progress))
		}
	}
}

// toolStreamError converts the error that ended a stream before its result.
func toolStreamError(ctx context.Context, err error) error {
	if errors.Is(err, io.EOF) {
		return pluginsdk.Errorf(pluginsdk.CodeInternal, "the tool's call ended without a result")
	}
	return callError(ctx, err)
}
