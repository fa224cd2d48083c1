package toolserver

import (
	"context"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// reporter hands a call's progress on to the agent. Only the newest report is
// kept until it can be sent: neither a plugin that reports without pause nor an
// agent that does not read holds up the other.
//
// A tool that says nothing for long is spoken for: Claude Code 2.1.197 gives a
// call up that is silent for 5 min 30 s, and its connection is closed before
// that, after 5 min. How long a tool may take is for its deadline to say.
type reporter struct {
	log     *slog.Logger
	send    func(progress pluginsdk.Progress)
	latest  chan pluginsdk.Progress // of one
	sending sync.WaitGroup
}

// report begins to hand progress on for a request that asks for it; for another
// it returns nil. Without a report, the last one is sent again every beat.
func report(ctx context.Context, log *slog.Logger, request *mcp.CallToolRequest, beat time.Duration) *reporter {
	token := request.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	r := &reporter{log: log, latest: make(chan pluginsdk.Progress, 1)}
	last := math.Inf(-1)
	r.send = func(progress pluginsdk.Progress) {
		// It has to grow with each notification
		// (https://modelcontextprotocol.io/specification/2025-06-18/basic/utilities/progress).
		if progress.Done <= last {
			progress.Done = math.Nextafter(last, math.Inf(1))
		}
		last = progress.Done
		// One that cannot be sent is of a call that nobody waits for.
		_ = request.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: progress.Done, Total: progress.Total, Message: progress.Message,
		})
	}
	r.sending.Go(func() { r.run(beat) })
	return r
}

// run sends what there is to send until finish.
func (r *reporter) run(beat time.Duration) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	var current pluginsdk.Progress
	for {
		select {
		case progress, open := <-r.latest:
			if !open {
				return
			}
			current = progress
			ticker.Reset(beat)
		case <-ticker.C:
		}
		guard.Try(r.log, "the progress of a call", func() { r.send(current) })
	}
}

// take is ToolCall.Progress: one goroutine at a time calls it.
func (r *reporter) take() func(pluginsdk.Progress) {
	if r == nil {
		return nil
	}
	return func(progress pluginsdk.Progress) {
		if !finite(progress.Done) || !finite(progress.Total) {
			progress.Done, progress.Total = 0, 0 // JSON has no words for it
		}
		select {
		case <-r.latest:
		default:
		}
		r.latest <- progress
	}
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// finish sends what is left. take's function must not be called any more.
func (r *reporter) finish() {
	if r == nil {
		return
	}
	close(r.latest)
	r.sending.Wait()
}
