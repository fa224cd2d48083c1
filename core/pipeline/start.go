package pipeline

import (
	"context"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// telling is an OnPipelineStart that is answered while the prompt is made.
type telling struct {
	done   chan error // of capacity 1; nil: none is under way
	before int        // how many effects waited when it began
	told   []told     // the goroutine's, until done
}

type told struct {
	plugin  string
	effects *pluginsdk.Effects
}

// pipelineStart begins step 1's OnPipelineStart. Where no plugin would be asked two
// things at once it is answered beside steps 2 to 4, and startTold waits for it.
func (p *Pipeline) pipelineStart(ctx context.Context, t *trip) error {
	p.config.Fault("pipelineStart", t.run.ID)
	t.started = true
	p.events.Publish(pluginsdk.EventPipelineStart, t.thread.ID, pluginsdk.RunRef{
		ThreadID: t.thread.ID, RunID: t.run.ID, MessageID: t.message.ID, Attempt: t.run.Attempt,
	})
	p.announceMerged(t, t.absorbed)
	if !p.startsBeside(t) {
		return p.tellStart(ctx, t, func(plugin string, effects *pluginsdk.Effects) { p.collect(t, plugin, effects) })
	}
	start := &telling{done: make(chan error, 1), before: len(t.pending.waiting())}
	t.start = start
	go func() {
		start.done <- guard.Call(p.config.Log.With("run", t.run.ID), "the start of a run", func() error {
			return p.tellStart(ctx, t, func(plugin string, effects *pluginsdk.Effects) {
				start.told = append(start.told, told{plugin, effects})
			})
		})
	}()
	return nil
}

// startsBeside reports whether no plugin that answers OnPipelineStart answers what
// comes after it as well: each plugin is asked one thing at a time, in the order of the
// steps.
func (p *Pipeline) startsBeside(t *trip) bool {
	asked := make(map[string]bool)
	for _, plugin := range p.plugins.Answering(t.run.ID, pluginsdk.HookPipelineStart) {
		asked[plugin.Info().Name] = true
	}
	for _, next := range []pluginsdk.Hook{pluginsdk.HookMessage, pluginsdk.HookBeforeInvoke} {
		for _, plugin := range p.plugins.Answering(t.run.ID, next) {
			if asked[plugin.Info().Name] {
				return false
			}
		}
	}
	return len(asked) > 0
}

// startTold waits for an OnPipelineStart that is answered beside the trip. Its effects
// stand before those of the hooks after it.
func (p *Pipeline) startTold(t *trip) error {
	start := t.start
	if start == nil {
		return nil
	}
	t.start = nil
	err := <-start.done
	later := t.pending.takeFrom(start.before)
	for _, one := range start.told {
		p.collect(t, one.plugin, one.effects)
	}
	t.pending.add(later)
	return err
}

func (p *Pipeline) tellStart(ctx context.Context, t *trip, collect func(plugin string, effects *pluginsdk.Effects)) error {
	return hooks.Notify(ctx, p.hooks, &t.on, hooks.Question[pluginsdk.OnPipelineStartRequest, pluginsdk.OnPipelineStartResponse]{
		Hook: pluginsdk.HookPipelineStart, Ask: hooks.Process.OnPipelineStart,
		Request: func(call pluginsdk.Call, plugin *pluginsdk.PluginInfo) *pluginsdk.OnPipelineStartRequest {
			return &pluginsdk.OnPipelineStartRequest{
				Call: call, Thread: t.thread.Thread, Message: wanted(plugin, pluginsdk.HookPipelineStart, t.message),
			}
		},
	}, func(plugin string, answer *pluginsdk.OnPipelineStartResponse) { collect(plugin, answer.Effects) })
}
