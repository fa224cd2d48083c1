package wire

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
)

// stateServer serves the host's State.
type stateServer struct {
	hostv1.UnimplementedStateServiceServer
	state pluginsdk.State
}

func (s stateServer) GetState(ctx context.Context, m *hostv1.GetStateRequest) (*hostv1.GetStateResponse, error) {
	value, err := s.state.Get(ctx, m.GetKey())
	return &hostv1.GetStateResponse{Value: value}, err
}

func (s stateServer) PutState(ctx context.Context, m *hostv1.PutStateRequest) (*hostv1.PutStateResponse, error) {
	return &hostv1.PutStateResponse{}, s.state.Put(ctx, m.GetKey(), m.GetValue())
}

func (s stateServer) DeleteState(ctx context.Context, m *hostv1.DeleteStateRequest) (*hostv1.DeleteStateResponse, error) {
	return &hostv1.DeleteStateResponse{}, s.state.Delete(ctx, m.GetKey())
}

func (s stateServer) ListStateKeys(ctx context.Context, m *hostv1.ListStateKeysRequest) (*hostv1.ListStateKeysResponse, error) {
	keys, err := s.state.Keys(ctx, m.GetPrefix())
	return &hostv1.ListStateKeysResponse{Keys: keys}, err
}

// stateClient is the host's State as a plugin sees them.
type stateClient struct {
	client hostv1.StateServiceClient
}

func (c stateClient) Get(ctx context.Context, key string) ([]byte, error) {
	m, err := c.client.GetState(ctx, &hostv1.GetStateRequest{Key: key})
	return m.GetValue(), err
}

func (c stateClient) Put(ctx context.Context, key string, value []byte) error {
	_, err := c.client.PutState(ctx, &hostv1.PutStateRequest{Key: key, Value: value})
	return err
}

func (c stateClient) Delete(ctx context.Context, key string) error {
	_, err := c.client.DeleteState(ctx, &hostv1.DeleteStateRequest{Key: key})
	return err
}

func (c stateClient) Keys(ctx context.Context, prefix string) ([]string, error) {
	m, err := c.client.ListStateKeys(ctx, &hostv1.ListStateKeysRequest{Prefix: prefix})
	return m.GetKeys(), err
}
