package discord

import (
	"context"
	"sync"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// pipelineEvents are those of which a run of somebody on Discord is followed.
var pipelineEvents = []string{
	string(pluginsdk.EventPipelineStart), string(pluginsdk.EventPipelineStream), string(pluginsdk.EventPipelineComplete),
	string(pluginsdk.EventPipelineError), string(pluginsdk.EventPipelineRetry), string(pluginsdk.EventPipelineMerged), string(pluginsdk.EventPipelineParked),
}

// concerning are the rules of the events that concern the plugin while it has a token. The runs
// that are followed are in threads of its sources: what people write is submitted to the thread
// of their channel, and a run is repeated by a button only in the thread of the button's
// channel. Turns that plugins ask for are no person's. A question that is shown on Discord, and
// a warning, may be of any thread.
var concerning = []pluginsdk.EventRule{
	{Types: pipelineEvents, Own: true, RunKinds: []pluginsdk.RunKind{pluginsdk.RunMessage, pluginsdk.RunCommand}},
	{Types: []string{string(pluginsdk.EventApprovalRequested)}, Own: true},
	{Types: []string{string(pluginsdk.EventApprovalResolved), string(pluginsdk.EventPluginState), string(pluginsdk.EventThreadMessage)}},
}

// nothing is a rule that no event matches but resync, which is always told.
var nothing = []pluginsdk.EventRule{{Types: []string{string(pluginsdk.EventResync)}}}

// hearing is which events the host was asked for last.
type hearing struct {
	mu     sync.Mutex
	deaf   bool // nothing; false: those that concern the plugin, or all, which it does not mind
	unsure bool // the last call failed
	all    bool // the daemon knows no rules: it tells all
}

// hear has the host tell the events that concern the plugin: while it is not active, or has no
// token, none. It is called after what decides that has changed. After an error nobody knows
// what is told; it is called again then.
func (p *Plugin) hear(ctx context.Context) error {
	h := &p.hearing
	h.mu.Lock()
	defer h.mu.Unlock()
	p.mu.Lock()
	deaf := !p.active || p.account.Load().client == nil
	p.mu.Unlock()
	if h.all || !h.unsure && h.deaf == deaf {
		return nil
	}
	rules := concerning
	if deaf {
		rules = nothing
	}
	ctx, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	_, err := p.host.Events.Listen(ctx, &pluginsdk.ListenEventsRequest{Rules: rules})
	if h.all = pluginsdk.CodeOf(err) == pluginsdk.CodeUnimplemented; h.all {
		return nil
	}
	if h.unsure = err != nil; err != nil {
		return err
	}
	h.deaf = deaf
	return nil
}

// hear has the events told that the session needs. What happens before they are is seen by
// resume, which is called after that.
func (s *session) hear() {
	err := s.p.hear(s.ctx)
	if err == nil || s.ctx.Err() != nil {
		return
	}
	s.work.Go(func() {
		for pause := s.p.pace; err != nil; pause = min(2*pause, maxPause) {
			s.p.host.Log.Warn("the host does not take which events are heard; trying again", "err", err, "in", pause.String())
			if !s.rest(pause) {
				return
			}
			err = s.p.hear(s.ctx)
		}
		s.p.side.push("", false, s.p.resume)
	})
}
