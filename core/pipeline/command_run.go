package pipeline

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
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
		err := p.runCommand(ctx, t, pluginsdk.FromAgent, parsed)
		if err != nil {
			return err
		}
	}
	t.reply = cut(t.reply, t.commands)
	return nil
}

func (p *Pipeline) runCommand(ctx context.Context, t *trip, from pluginsdk.CommandOrigin, command ledger.Command) error {
	if slices.ContainsFunc(t.outcomes, func(o pluginsdk.Outcome) bool {
		return o.Index == command.Index && o.Name == command.Name
	}) {
		return nil
	}
	outcome, err := p.first(ctx, t, from, command)
	if err != nil {
		return err
	}
	commit := ledger.OutcomeCommit{RunID: t.run.ID, Outcome: outcome, Effects: t.pending.waiting()}
	err = p.insist(t, "commit the outcome of a command", func(ctx context.Context) error {
		return p.store.SaveOutcome(ctx, t.fence, commit)
	})
	if err != nil {
		return err
	}
	t.pending.stored(len(commit.Effects))
	t.outcomes = append(t.outcomes, outcome)
	return nil
}

// notifyCommand is the core's own, for the agent.
const notifyCommand = "notify"

// first asks the plugins that declare the command (or *), in order, until one
// handles it. An error is the outcome: a plugin that failed may have done half
// of it, so no other is asked. For the same reason a plugin that came after the
// agent's answer was stored is not: another one, which is gone, may have done it.
func (p *Pipeline) first(ctx context.Context, t *trip, from pluginsdk.CommandOrigin, command ledger.Command) (pluginsdk.Outcome, error) {
	outcome := pluginsdk.Outcome{Index: command.Index, Name: command.Name}
	if from == pluginsdk.FromAgent && slices.Contains(p.config.Forbidden[t.thread.Kind], command.Name) {
		outcome.Error = fmt.Sprintf("a thread of kind %s may not give it", t.thread.Kind)
		return outcome, nil
	}
	if from == pluginsdk.FromAgent && command.Name == notifyCommand {
		return p.notify(ctx, t, command, outcome)
	}
	question := hooks.Question[pluginsdk.OnCommandRequest, pluginsdk.OnCommandResponse]{
		Hook: pluginsdk.HookCommand, Name: fmt.Sprintf("%s:%d", pluginsdk.HookCommand, command.Index), Ask: hooks.Process.OnCommand,
		Request: func(call pluginsdk.Call, _ *pluginsdk.PluginInfo) *pluginsdk.OnCommandRequest {
			return &pluginsdk.OnCommandRequest{
				Call: call, Thread: t.thread.Thread, Message: t.message, Origin: from,
				Index: command.Index, Name: command.Name, Body: command.Body, Attributes: command.Attributes,
			}
		},
	}
	for _, plugin := range p.plugins.Answering(t.run.ID, pluginsdk.HookCommand) {
		info := plugin.Info()
		if !declares(info.Manifest, command.Name) || command.Plugins != nil && !slices.Contains(command.Plugins, info.Name) {
			continue
		}
		answer, err := hooks.One(ctx, p.hooks, &t.on, plugin, question)
		if err != nil {
			outcome.Plugin, outcome.Error = info.Name, cutAt(err.Error(), maxCommandReply)
			return outcome, p.hooks.Failed(ctx, plugin, pluginsdk.HookCommand, err)
		}
		if answer == nil {
			continue
		}
		p.collect(t, info.Name, answer.Effects)
		if answer.Handled {
			outcome.Plugin, outcome.Handled = info.Name, true
			outcome.Reply = p.boundWords(answer.Reply, maxCommandReply, info.Name, pluginsdk.HookCommand)
			return outcome, nil
		}
	}
	return outcome, nil
}

// notify has the core tell somebody else what the agent wants them to know. What is
// wrong with the command is its outcome; a database that does not answer, and the
// end of the daemon or of the claim, fail the step.
func (p *Pipeline) notify(ctx context.Context, t *trip, command ledger.Command, outcome pluginsdk.Outcome) (pluginsdk.Outcome, error) {
	said, err := p.notifier.Notify(ctx, t.on.Origin, fmt.Sprintf("%s:notify:%d", t.run.ID, command.Index), command.Body, command.Attributes)
	switch pluginsdk.CodeOf(err) { //nolint:exhaustive // the others are what is wrong with the command
	case "":
		outcome.Handled, outcome.Reply = true, said
	case pluginsdk.CodeUnavailable, pluginsdk.CodeDeadline, pluginsdk.CodeCancelled, pluginsdk.CodeStale:
		return outcome, storeError("notify", err)
	default:
		outcome.Error = cutAt(err.Error(), maxCommandReply)
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
	err := p.runCommand(ctx, t, pluginsdk.FromPerson, ledger.Command{Name: name, Body: body})
	if err != nil {
		return err
	}
	return p.end(ctx, t)
}
