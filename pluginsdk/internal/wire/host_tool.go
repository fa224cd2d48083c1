package wire

import (
	"context"
	"encoding/json"

	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
)

// toolServer serves the host's Tools.
type toolServer struct {
	hostv1.UnimplementedToolServiceServer
	tools pluginsdk.Tools
}

func (s toolServer) ListTools(ctx context.Context, _ *hostv1.ListToolsRequest) (*hostv1.ListToolsResponse, error) {
	tools, err := s.tools.List(ctx)
	return &hostv1.ListToolsResponse{Tools: listTo(tools, toolSpecTo)}, err
}

func (s toolServer) CallTool(ctx context.Context, m *hostv1.CallToolRequest) (*hostv1.CallToolResponse, error) {
	result, err := s.tools.Call(ctx, m.GetName(), m.GetInput())
	return &hostv1.CallToolResponse{Result: toolResultTo(result)}, err
}

// toolClient is the host's Tools as a plugin sees them.
type toolClient struct {
	client hostv1.ToolServiceClient
}

func (c toolClient) List(ctx context.Context) ([]pluginsdk.ToolSpec, error) {
	m, err := c.client.ListTools(ctx, &hostv1.ListToolsRequest{})
	return listFrom(m.GetTools(), toolSpecFrom), err
}

func (c toolClient) Call(ctx context.Context, name string, input json.RawMessage) (pluginsdk.ToolResult, error) {
	m, err := c.client.CallTool(ctx, &hostv1.CallToolRequest{Name: name, Input: input})
	return toolResultFrom(m.GetResult()), err
}
