package hostapi

import (
	"context"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What stops and repeats runs takes no turn at the writer: a person's word must not
// wait behind what plugins store.
type runs struct{ *caller }

func (s runs) Get(ctx context.Context, request *pluginsdk.GetRunRequest) (*pluginsdk.GetRunResponse, error) {
	return serve(s.caller, "Runs.Get", func() (*pluginsdk.GetRunResponse, error) {
		run, err := s.Store.Run(ctx, request.ID)
		return &pluginsdk.GetRunResponse{Run: run}, err
	})
}

func (s runs) List(ctx context.Context, request *pluginsdk.ListRunsRequest) (*pluginsdk.ListRunsResponse, error) {
	return serve(s.caller, "Runs.List", func() (*pluginsdk.ListRunsResponse, error) {
		rows, err := s.Store.Runs(ctx, request.Query)
		return &pluginsdk.ListRunsResponse{Runs: page(rows, false, sizeOf)}, err
	})
}

func (s runs) Wait(ctx context.Context, request *pluginsdk.WaitRunRequest) (*pluginsdk.WaitRunResponse, error) {
	return serve(s.caller, "Runs.Wait", func() (*pluginsdk.WaitRunResponse, error) {
		run, err := s.wait(ctx, request.ID)
		return &pluginsdk.WaitRunResponse{Run: run}, err
	})
}

func (s runs) Cancel(ctx context.Context, request *pluginsdk.CancelRunRequest) (*pluginsdk.CancelRunResponse, error) {
	return serve(s.caller, "Runs.Cancel", func() (*pluginsdk.CancelRunResponse, error) {
		run, err := s.Inbox.Cancel(ctx, request.ID, ledger.By{Plugin: s.plugin, Author: request.Author})
		return &pluginsdk.CancelRunResponse{Run: run}, err
	})
}

func (s runs) Retry(ctx context.Context, request *pluginsdk.RetryRunRequest) (*pluginsdk.RetryRunResponse, error) {
	return serve(s.caller, "Runs.Retry", func() (*pluginsdk.RetryRunResponse, error) {
		accepted, err := s.Inbox.Retry(ctx, request.ID, ledger.By{Plugin: s.plugin, Author: request.Author})
		return &pluginsdk.RetryRunResponse{Accepted: accepted}, err
	})
}

func (s runs) Stop(ctx context.Context, request *pluginsdk.StopThreadRequest) (*pluginsdk.StopThreadResponse, error) {
	return serve(s.caller, "Runs.Stop", func() (*pluginsdk.StopThreadResponse, error) {
		if request.Queue != pluginsdk.KeepQueue && request.Queue != pluginsdk.DropQueue {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid,
				"queue: %q is not accepted; it is %s or %s", request.Queue, pluginsdk.KeepQueue, pluginsdk.DropQueue)
		}
		by := ledger.By{Plugin: s.plugin, Author: request.Author}
		stopped, err := s.Inbox.StopThread(ctx, request.ThreadID, request.Queue, by)
		return &pluginsdk.StopThreadResponse{Stopped: stopped}, err
	})
}

type deliveries struct{ *caller }

func (s deliveries) List(ctx context.Context, request *pluginsdk.ListDeliveriesRequest) (*pluginsdk.ListDeliveriesResponse, error) {
	return serve(s.caller, "Deliveries.List", func() (*pluginsdk.ListDeliveriesResponse, error) {
		rows, err := s.Store.Deliveries(ctx, request.Query)
		return &pluginsdk.ListDeliveriesResponse{Deliveries: page(rows, false, sizeOf)}, err
	})
}

func (s deliveries) Retry(ctx context.Context, request *pluginsdk.RetryDeliveryRequest) (*pluginsdk.RetryDeliveryResponse, error) {
	return serve(s.caller, "Deliveries.Retry", func() (*pluginsdk.RetryDeliveryResponse, error) {
		var response pluginsdk.RetryDeliveryResponse
		err := s.write(ctx, 1, 0, func() (err error) {
			response.Delivery, err = s.Outbox.Retry(ctx, request.ID)
			return err
		})
		return &response, err
	})
}
