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
			p.side.push(of.RunID, false, func(context.Context) { p.views.begin(of.RunID) })
		}
	case pluginsdk.EventPipelineStream:
		if of, ok := payload[pluginsdk.StreamPayload](event); ok {
			if v := p.views.of(of.RunID); v != nil {
				v.heard(of.Event)
			}
		}
	case pluginsdk.EventPipelineComplete:
		if of, ok := payload[pluginsdk.CompletePayload](event); ok {
			p.side.push(of.RunID, false, func(context.Context) { p.views.end(of.RunID) })
		}
	case pluginsdk.EventPipelineError:
		if of, ok := payload[pluginsdk.ErrorPayload](event); ok {
			p.side.push(of.RunID, false, func(context.Context) { p.views.end(of.RunID) })
		}
	case pluginsdk.EventPipelineMerged:
		if of, ok := payload[pluginsdk.MergedPayload](event); ok {
			p.side.push(of.RunID, false, func(ctx context.Context) {
				p.views.end(of.RunID)
				if err := p.runs.merge(ctx, of.RunID, of.Into); err != nil {
					p.host.Log.Warn("a message that is answered with another one is not marked", "run", of.RunID, "err", err)
				}
			})
		}
	case pluginsdk.EventApprovalResolved:
		if of, ok := payload[pluginsdk.ApprovalPayload](event); ok {
			p.side.push(of.ApprovalID, false, func(ctx context.Context) { p.settle(ctx, of.ApprovalID) })
		}
	case pluginsdk.EventPluginState:
		if s := p.connected(); s != nil {
			s.offers.changed()
		}
	case pluginsdk.EventResync:
		if s := p.connected(); s != nil {
			s.offers.changed()
			p.side.push("", false, func(ctx context.Context) { p.resume(ctx) })
		}
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
