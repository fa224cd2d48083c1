package hostapi

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type runs struct{ *caller }

func (s runs) Get(ctx context.Context, id string) (pluginsdk.Run, error) {
	return s.store.Run(ctx, id)
}

func (s runs) List(ctx context.Context, query pluginsdk.RunQuery) ([]pluginsdk.Run, error) {
	return s.store.Runs(ctx, query)
}

func (s runs) Cancel(ctx context.Context, id string) (pluginsdk.Run, error) {
	return s.inbox.Cancel(ctx, id)
}

func (s runs) Retry(ctx context.Context, id string) (pluginsdk.Accepted, error) {
	return s.inbox.Retry(ctx, id)
}

func (s runs) Stop(ctx context.Context, threadID string, queue pluginsdk.Queue) (pluginsdk.Stopped, error) {
	switch queue {
	case pluginsdk.KeepQueue, pluginsdk.DropQueue:
		return s.inbox.StopThread(ctx, threadID, queue)
	}
	return pluginsdk.Stopped{}, pluginsdk.Errorf(pluginsdk.CodeInvalid,
		"queue: %q is not accepted; it is %s or %s", queue, pluginsdk.KeepQueue, pluginsdk.DropQueue)
}
