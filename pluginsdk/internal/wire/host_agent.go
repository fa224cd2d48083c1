package wire

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
)

// agentServer serves the host's Agent.
type agentServer struct {
	hostv1.UnimplementedAgentServiceServer
	agent pluginsdk.Agent
}

func (s agentServer) StartAgent(ctx context.Context, m *hostv1.StartAgentRequest) (*hostv1.StartAgentResponse, error) {
	id, err := s.agent.Start(ctx, m.GetKey(), agentRequestFrom(m.GetRequest()))
	return &hostv1.StartAgentResponse{Id: id}, err
}

func (s agentServer) WaitAgent(ctx context.Context, m *hostv1.WaitAgentRequest) (*hostv1.WaitAgentResponse, error) {
	result, err := s.agent.Wait(ctx, m.GetId())
	return &hostv1.WaitAgentResponse{Result: invokeResultTo(result)}, err
}

func (s agentServer) CancelAgent(ctx context.Context, m *hostv1.CancelAgentRequest) (*hostv1.CancelAgentResponse, error) {
	return &hostv1.CancelAgentResponse{}, s.agent.Cancel(ctx, m.GetId())
}

// agentClient is the host's Agent as a plugin sees them.
type agentClient struct {
	client hostv1.AgentServiceClient
}

func (c agentClient) Start(ctx context.Context, key string, request pluginsdk.AgentRequest) (string, error) {
	m, err := c.client.StartAgent(ctx, &hostv1.StartAgentRequest{Key: key, Request: agentRequestTo(request)})
	return m.GetId(), err
}

func (c agentClient) Wait(ctx context.Context, id string) (pluginsdk.InvokeResult, error) {
	m, err := c.client.WaitAgent(ctx, &hostv1.WaitAgentRequest{Id: id})
	return invokeResultFrom(m.GetResult()), err
}

func (c agentClient) Cancel(ctx context.Context, id string) error {
	_, err := c.client.CancelAgent(ctx, &hostv1.CancelAgentRequest{Id: id})
	return err
}
