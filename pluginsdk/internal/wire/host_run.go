package wire

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
)

// runServer serves the host's Runs.
type runServer struct {
	hostv1.UnimplementedRunServiceServer
	runs pluginsdk.Runs
}

func (s runServer) GetRun(ctx context.Context, m *hostv1.GetRunRequest) (*hostv1.GetRunResponse, error) {
	run, err := s.runs.Get(ctx, m.GetId())
	return &hostv1.GetRunResponse{Run: runTo(run)}, err
}

func (s runServer) ListRuns(ctx context.Context, m *hostv1.ListRunsRequest) (*hostv1.ListRunsResponse, error) {
	runs, err := s.runs.List(ctx, runQueryFrom(m.GetQuery()))
	return &hostv1.ListRunsResponse{Runs: listTo(runs, runTo)}, err
}

func (s runServer) CancelRun(ctx context.Context, m *hostv1.CancelRunRequest) (*hostv1.CancelRunResponse, error) {
	run, err := s.runs.Cancel(ctx, m.GetId())
	return &hostv1.CancelRunResponse{Run: runTo(run)}, err
}

func (s runServer) RetryRun(ctx context.Context, m *hostv1.RetryRunRequest) (*hostv1.RetryRunResponse, error) {
	accepted, err := s.runs.Retry(ctx, m.GetId())
	return &hostv1.RetryRunResponse{Accepted: acceptedTo(accepted)}, err
}

func (s runServer) StopThread(ctx context.Context, m *hostv1.StopThreadRequest) (*hostv1.StopThreadResponse, error) {
	stopped, err := s.runs.Stop(ctx, m.GetThreadId(), pluginsdk.Queue(m.GetQueue()))
	return &hostv1.StopThreadResponse{Stopped: stoppedTo(stopped)}, err
}

// runClient is the host's Runs as a plugin sees them.
type runClient struct {
	client hostv1.RunServiceClient
}

func (c runClient) Get(ctx context.Context, id string) (pluginsdk.Run, error) {
	m, err := c.client.GetRun(ctx, &hostv1.GetRunRequest{Id: id})
	return runFrom(m.GetRun()), err
}

func (c runClient) List(ctx context.Context, query pluginsdk.RunQuery) ([]pluginsdk.Run, error) {
	m, err := c.client.ListRuns(ctx, &hostv1.ListRunsRequest{Query: runQueryTo(query)})
	return listFrom(m.GetRuns(), runFrom), err
}

func (c runClient) Cancel(ctx context.Context, id string) (pluginsdk.Run, error) {
	m, err := c.client.CancelRun(ctx, &hostv1.CancelRunRequest{Id: id})
	return runFrom(m.GetRun()), err
}

func (c runClient) Retry(ctx context.Context, id string) (pluginsdk.Accepted, error) {
	m, err := c.client.RetryRun(ctx, &hostv1.RetryRunRequest{Id: id})
	return acceptedFrom(m.GetAccepted()), err
}

func (c runClient) Stop(ctx context.Context, threadID string, queue pluginsdk.Queue) (pluginsdk.Stopped, error) {
	m, err := c.client.StopThread(ctx, &hostv1.StopThreadRequest{ThreadId: threadID, Queue: string(queue)})
	return stoppedFrom(m.GetStopped()), err
}
