package wire

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
)

// threadServer serves the host's Threads.
type threadServer struct {
	hostv1.UnimplementedThreadServiceServer
	threads pluginsdk.Threads
}

func (s threadServer) GetThread(ctx context.Context, m *hostv1.GetThreadRequest) (*hostv1.GetThreadResponse, error) {
	thread, err := s.threads.Get(ctx, m.GetId())
	return &hostv1.GetThreadResponse{Thread: threadTo(thread)}, err
}

func (s threadServer) ListThreads(ctx context.Context, m *hostv1.ListThreadsRequest) (*hostv1.ListThreadsResponse, error) {
	threads, err := s.threads.List(ctx, threadQueryFrom(m.GetQuery()))
	return &hostv1.ListThreadsResponse{Threads: listTo(threads, threadTo)}, err
}

func (s threadServer) CreateThread(ctx context.Context, m *hostv1.CreateThreadRequest) (*hostv1.CreateThreadResponse, error) {
	thread, err := s.threads.Create(ctx, newThreadFrom(m.GetThread()))
	return &hostv1.CreateThreadResponse{Thread: threadTo(thread)}, err
}

func (s threadServer) UpdateThread(ctx context.Context, m *hostv1.UpdateThreadRequest) (*hostv1.UpdateThreadResponse, error) {
	thread, err := s.threads.Update(ctx, m.GetId(), threadPatchFrom(m.GetPatch()))
	return &hostv1.UpdateThreadResponse{Thread: threadTo(thread)}, err
}

// threadClient is the host's Threads as a plugin sees them.
type threadClient struct {
	client hostv1.ThreadServiceClient
}

func (c threadClient) Get(ctx context.Context, id string) (pluginsdk.Thread, error) {
	m, err := c.client.GetThread(ctx, &hostv1.GetThreadRequest{Id: id})
	return threadFrom(m.GetThread()), err
}

func (c threadClient) List(ctx context.Context, query pluginsdk.ThreadQuery) ([]pluginsdk.Thread, error) {
	m, err := c.client.ListThreads(ctx, &hostv1.ListThreadsRequest{Query: threadQueryTo(query)})
	return listFrom(m.GetThreads(), threadFrom), err
}

func (c threadClient) Create(ctx context.Context, thread pluginsdk.NewThread) (pluginsdk.Thread, error) {
	m, err := c.client.CreateThread(ctx, &hostv1.CreateThreadRequest{Thread: newThreadTo(thread)})
	return threadFrom(m.GetThread()), err
}

func (c threadClient) Update(ctx context.Context, id string, patch pluginsdk.ThreadPatch) (pluginsdk.Thread, error) {
	m, err := c.client.UpdateThread(ctx, &hostv1.UpdateThreadRequest{Id: id, Patch: threadPatchTo(patch)})
	return threadFrom(m.GetThread()), err
}
