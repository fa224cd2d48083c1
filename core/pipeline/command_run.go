package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// runCommands is step 8. Outcomes that an earlier attempt stored are not
// repeated; each new one is committed before the next command is given.
func (p *Pipeline) runCommands(ctx context.Context, t *trip) error {
	p.config.Fault("runCommands", t.run.ID)
	for i, parsed := range t.commands {
		if i > 0 {
			p.config.Fault("betweenCommands", t.run.ID)
		}
		err := p.runCommand(ctx, t, pluginsdk.Command{
			Thread: t.thread, Message: t.message, Origin: pluginsdk.FromAgent,
			Index: parsed.index, Name: parsed.name, Body: parsed.body, Attributes: parsed.attributes,
		})
		if err != nil {
			return err
		}
	}
	t.reply = cut(t.reply, t.commands)
	return nil
}

func (p *Pipeline) runCommand(ctx context.Context, t *trip, command pluginsdk.Command) error {
	if slices.ContainsFunc(t.outcomes, func(o pluginsdk.Outcome) bool {
		return o.Index == command.Index && o.Name == command.Name
	}) {
		return nil
	}
	outcome, err := p.first(ctx, t, command)
	if err != nil {
		return err
	}
	err = p.insist(t, "commit the outcome of a command", func(ctx context.Context) error {
		return p.store.SaveOutcome(ctx, t.fence, t.run.ID, outcome)
	})
	if err != nil {
		return err
	}
	t.outcomes = append(t.outcomes, outcome)
	return nil
}

// first asks the plugins that declare the command (or *), in order, until one
// handles it. An error is the outcome: a plugin that failed may have done half
// of it, so no other is asked.
func (p *Pipeline) first(ctx context.Context, t *trip, command pluginsdk.Command) (pluginsdk.Outcome, error) {
	outcome := pluginsdk.Outcome{Index: command.Index, Name: command.Name}
	if command.Origin == pluginsdk.FromAgent && slices.Contains(p.config.Forbidden[t.thread.Kind], command.Name) {
		outcome.Error = fmt.Sprintf("a thread of kind %s may not give it", t.thread.Kind)
		return outcome, nil
	}
	h := p.hook(pluginsdk.HookCommand, p.config.Deadlines.Command)
	h.call += ":" + strconv.Itoa(command.Index)
	for _, plugin := range p.plugins.Answering(t.run.ID, pluginsdk.HookCommand) {
		info := plugin.Info()
		if !declares(info.Manifest, command.Name) {
			continue
		}
		var result pluginsdk.CommandResult
		err := p.ask(ctx, t, plugin, h, func(ctx context.Context, hooks Hooks, call pluginsdk.Call) (err error) {
			command.Call = call
			result, err = hooks.OnCommand(ctx, command)
			return err
		})
		if err != nil {
			outcome.Plugin, outcome.Error = info.Name, err.Error()
			return outcome, p.failure(ctx, plugin, pluginsdk.HookCommand, err)
		}
		if result.Handled {
			outcome.Plugin, outcome.Handled, outcome.Reply = info.Name, true, result.Reply
			return outcome, nil
		}
	}
	return outcome, nil
}

func declares(manifest pluginsdk.Manifest, name string) bool {
	return slices.ContainsFunc(manifest.Commands, func(spec pluginsdk.CommandSpec) bool {
		return spec.Name == name || spec.Name == "*"
	})
}

// answerTypedCommand is the way of a command that a person typed: steps 0, 1,
// 8, 10, 11, 12, and no agent.
func (p *Pipeline) answerTypedCommand(ctx context.Context, t *trip) error {
	if err := p.beforeRun(ctx, t); err != nil {
		return err
	}
	if err := p.pipelineStart(ctx, t); err != nil {
		return err
	}
	p.config.Fault("runCommands", t.run.ID)
	name, body, _ := pluginsdk.ParseCommand(t.message.Content)
	err := p.runCommand(ctx, t, pluginsdk.Command{
		Thread: t.thread, Message: t.message, Origin: pluginsdk.FromPerson, Name: name, Body: body,
	})
	if err != nil {
		return err
	}
	return p.end(ctx, t)
}
