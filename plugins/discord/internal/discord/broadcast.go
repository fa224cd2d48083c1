package discord

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// OnBroadcast follows the runs of people on Discord, the agent's questions that were
// answered elsewhere, and plugins that come and go with their commands. Nothing is owed to
// an event: what has to happen, happens also without it, in Deliver and when the bot
// connects.
func (p *Plugin) OnBroadcast(_ context.Context, batch *pluginsdk.OnBroadcastRequest) (*pluginsdk.OnBroadcastResponse, error) {
	for _, event := range batch.Events {
		p.heard(event)
	}
	return &pluginsdk.OnBroadcastResponse{}, nil
}

func (p *Plugin) heard(event pluginsdk.Event) {
	switch event.Type { //nolint:exhaustive // the others are not asked for
	case pluginsdk.EventPipelineStart:
		if of, ok := payload[pluginsdk.RunRef](event); ok {
			p.started(of.RunID)
		}
	case pluginsdk.EventPipelineStream:
		if of, ok := payload[pluginsdk.StreamPayload](event); ok {
			p.views.show(of.RunID, func(v *view) bool { return v.heard(of.Event) })
		}
	case pluginsdk.EventPipelineRetry:
		if of, ok := payload[pluginsdk.RetryPayload](event); ok {
			p.views.show(of.RunID, func(v *view) bool { return v.pause("something went wrong; it is tried again") })
		}
	case pluginsdk.EventPipelineParked:
		if of, ok := payload[pluginsdk.ParkedPayload](event); ok {
			p.parks(of.RunID)
		}
	case pluginsdk.EventPipelineComplete:
		if of, ok := payload[pluginsdk.CompletePayload](event); ok {
			p.follows(of.RunID, func(context.Context) { p.views.end(of.RunID) })
		}
	case pluginsdk.EventPipelineError:
		if of, ok := payload[pluginsdk.ErrorPayload](event); ok {
			p.follows(of.RunID, func(ctx context.Context) {
				if p.views.end(of.RunID); of.MessageID == 0 {
					p.dropped(ctx, of.RunID, of.Error)
				}
			})
		}
	case pluginsdk.EventPipelineMerged:
		if of, ok := payload[pluginsdk.MergedPayload](event); ok {
			p.follows(of.RunID, func(ctx context.Context) { p.merged(ctx, of.RunID, of.Into) })
		}
	case pluginsdk.EventApprovalRequested:
		if of, ok := payload[pluginsdk.ApprovalPayload](event); ok {
			p.views.show(of.RunID, func(v *view) bool { return v.pause("it waits for an answer") })
		}
	case pluginsdk.EventApprovalResolved:
		if of, ok := payload[pluginsdk.ApprovalPayload](event); ok {
			p.views.show(of.RunID, (*view).goOn)
			p.side.push(of.ApprovalID, true, func(ctx context.Context) { p.settle(ctx, of.ApprovalID) })
		}
	case pluginsdk.EventThreadMessage:
		if of, ok := payload[pluginsdk.MessagePayload](event); ok && of.Kind == pluginsdk.MessageNotification && of.Role == pluginsdk.RoleSystem {
			p.side.push(of.ThreadID, false, func(ctx context.Context) { p.warned(ctx, of) })
		}
	case pluginsdk.EventPluginState:
		if s := p.connected(); s != nil {
			s.offers.changed()
		}
	case pluginsdk.EventResync:
		if s := p.connected(); s != nil {
			s.offers.changed()
			p.side.push("", false, p.resume)
		}
	}
}

// started shows that an attempt of a run has begun. What is said of it is heard at once
// where the run is known, so that nothing of it is missed.
func (p *Plugin) started(run string) {
	if of, ok := p.runs.cached(run); ok && !of.parking {
		p.views.begin(run)
		return
	}
	p.follows(run, func(context.Context) { p.views.begin(run) })
}

// follows does a job that an event of a run asks for, after the jobs of the run's earlier
// events. A run without a record may be one that is just being submitted: the job waits until
// the submissions under way have stored their records.
func (p *Plugin) follows(run string, job func(context.Context)) {
	p.side.push(run, true, func(ctx context.Context) {
		if _, ok := p.runs.cached(run); !ok && p.at.waitAll(ctx) != nil {
			return // the plugin stops
		}
		job(ctx)
	})
}

// merged takes in that the answer to a run is that of another one.
func (p *Plugin) merged(ctx context.Context, run, into string) {
	p.views.stop(run)
	err := p.merge(ctx, run, into)
	if err != nil {
		p.host.Log.Warn("a message that is answered with another one is not marked", "run", run, "err", err)
	}
}

// mergedWords stand where the answer to a merged run was awaited.
const mergedWords = "-# it is answered together with another message"

func (p *Plugin) merge(ctx context.Context, run, into string) error {
	of, ok, err := p.runs.get(ctx, run)
	if err != nil || !ok {
		return err
	}
	p.close(ctx, run, of, mergedWords)
	answer, err := p.runs.merge(ctx, of, into)
	if err == nil && answer.Over {
		p.reactions.set(of, done)
	}
	return err
}

// dropped takes in that a run is over of which nothing will be delivered.
func (p *Plugin) dropped(ctx context.Context, run, why string) {
	of, ok, err := p.runs.get(ctx, run)
	if err == nil && ok {
		closed := p.close(ctx, run, of, "-# "+why)
		p.reactions.set(of, failed)
		if closed {
			err = p.runs.forget(ctx, run)
		} else {
			err = p.runs.change(ctx, run, func(r *record) { r.Dropped = why }) // for the process that comes next
		}
	}
	if err != nil {
		p.host.Log.Warn("a message that is not answered is not marked", "run", run, "err", err)
	}
}

func payload[T any](event pluginsdk.Event) (of T, ok bool) {
	return of, json.Unmarshal(event.Data, &of) == nil
}

// toolName is a tool as people know it: what stands behind the names of servers.
func toolName(tool string) string {
	if i := strings.LastIndex(tool, "__"); i >= 0 && strings.HasPrefix(tool, "mcp__") {
		return tool[i+2:]
	}
	return tool
}
