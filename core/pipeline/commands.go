package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

var (
	openTag   = regexp.MustCompile(`^\s*\[COMMAND((?:\s+[A-Za-z_][\w-]*\s*=\s*(?:"[^"]*"|'[^']*'|[^\s\]]+))*)\s*\]`)
	attribute = regexp.MustCompile(`([A-Za-z_][\w-]*)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s\]]+))`)
	slashLine = regexp.MustCompile(`^/([a-z][a-z0-9_-]*)(?:[ \t]+(.*?))?[ \t\r]*$`)
	// A line of backticks with another one behind them is inline code.
	fenceStart = regexp.MustCompile("^ {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$")
)

const closeTag = "[/COMMAND]"

// parseCommands finds the agent's commands, and which plugins declare each: [COMMAND]
// blocks, and lines that begin with the /name of a declared command. Text inside a fenced
// code block has none.
func (p *Pipeline) parseCommands(t *trip, text string) []ledger.Command {
	declared := make(map[string]bool)
	answering := p.plugins.Answering(t.run.ID, pluginsdk.HookCommand)
	for _, plugin := range answering {
		for _, spec := range plugin.Info().Manifest.Commands {
			declared[spec.Name] = true
		}
	}
	commands, unclosed := findCommands(text, declared)
	if unclosed > 0 {
		p.config.Log.Warn("the agent wrote a command block that is never closed; it is left as text",
			"thread", t.thread.ID, "run", t.run.ID, "blocks", unclosed)
	}
	for i := range commands {
		command := &commands[i]
		command.Plugins = []string{} // not nil: it is known that no plugin declares it
		for _, plugin := range answering {
			if info := plugin.Info(); declares(info.Manifest, command.Name, anyCommand) {
				command.Plugins = append(command.Plugins, info.Name)
			}
		}
	}
	return commands
}

// takeCommands is step 7. It takes the commands that 5b stored with the result, so that a
// crash cannot change them: plugins may declare others by now. Only a result that an
// older version of the daemon stored is parsed here.
func (p *Pipeline) takeCommands(t *trip) {
	p.config.Fault("takeCommands", t.run.ID)
	if t.commands = t.run.Commands; t.commands == nil {
		t.commands = p.parseCommands(t, t.reply)
	}
}

// findCommands returns the commands in text, in order, and how many blocks
// were opened and never closed.
func findCommands(text string, declared map[string]bool) (commands []ledger.Command, unclosed int) {
	commands = []ledger.Command{} // not nil: a result without commands is stored as such
	fence := ""
	for at := 0; at < len(text); {
		line, next := lineAt(text, at)
		if mark := fenceStart.FindStringSubmatch(line); mark != nil {
			fence = toggleFence(fence, mark[1]+mark[2], line)
			at = next
			continue
		}
		if fence != "" {
			at = next
			continue
		}
		command, end, open := commandAt(text, at, line, next, declared)
		if open {
			unclosed++
		}
		if command == nil {
			at = next
			continue
		}
		command.Index, command.Start, command.End = len(commands), at, end
		commands = append(commands, *command)
		at = end
	}
	return commands, unclosed
}

func lineAt(text string, at int) (line string, next int) {
	if length := strings.IndexByte(text[at:], '\n'); length >= 0 {
		return text[at : at+length], at + length + 1
	}
	return text[at:], len(text)
}

// toggleFence follows CommonMark: a fence is closed by a line of at least as
// many of the same character, and nothing after them.
func toggleFence(fence, mark, line string) string {
	switch {
	case fence == "":
		return mark
	case mark[0] == fence[0] && len(mark) >= len(fence) && strings.TrimSpace(line) == mark:
		return ""
	}
	return fence
}

// commandAt parses the command that begins at a line, if one does, and returns where it
// ends. open reports a block that is never closed.
func commandAt(text string, at int, line string, next int, declared map[string]bool) (_ *ledger.Command, end int, open bool) {
	if tag := openTag.FindStringSubmatchIndex(line); tag != nil {
		return block(text, at, tag)
	}
	if match := slashLine.FindStringSubmatch(line); match != nil && declared[match[1]] {
		return &ledger.Command{Name: match[1], Body: match[2]}, next, false
	}
	return nil, 0, false
}

func block(text string, at int, tag []int) (_ *ledger.Command, end int, open bool) {
	body := at + tag[1]
	length := strings.Index(text[body:], closeTag)
	if length < 0 || opensAgain(text[body:body+length]) {
		return nil, 0, true
	}
	end = body + length + len(closeTag)
	if end < len(text) && text[end] == '\n' {
		end++
	}
	command := &ledger.Command{Body: strings.TrimSpace(text[body : body+length]), Attributes: make(map[string]string)}
	for _, match := range attribute.FindAllStringSubmatch(text[at+tag[2]:at+tag[3]], -1) {
		command.Attributes[match[1]] = match[2] + match[3] + match[4]
	}
	command.Name = command.Attributes["type"]
	delete(command.Attributes, "type")
	return command, end, false
}

// opensAgain reports whether another block begins in what would be a block's
// body: then the first one was never closed.
func opensAgain(body string) bool {
	_, rest, _ := strings.Cut(body, "\n")
	for line := range strings.SplitSeq(rest, "\n") {
		if openTag.MatchString(line) {
			return true
		}
	}
	return false
}

// cut removes the commands from the text.
func cut(text string, commands []ledger.Command) string {
	if len(commands) == 0 {
		return text
	}
	var kept strings.Builder
	at := 0
	for _, command := range commands {
		kept.WriteString(text[at:command.Start])
		at = command.End
	}
	kept.WriteString(text[at:])
	return strings.TrimSpace(kept.String())
}

// runCommands is step 8. It does not repeat commands whose outcome an earlier attempt
// stored, and commits each outcome before the next command.
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
	outcome, decided, err := p.first(ctx, t, from, command)
	if err != nil {
		return err
	}
	commit := ledger.OutcomeCommit{RunID: t.run.ID, Outcome: outcome, Hooks: t.calls.all(), Effects: t.pending.waiting()}
	if len(decided) > 0 {
		commit.Decided, commit.Who = decided, cmp.Or(t.message.Label().AuditName(), "somebody")
	}
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

// notifyCommand is a command of the core, which only the agent can give.
const notifyCommand = "notify"

// first asks the plugins that declare the command, in order, until one handles it, then those that
// declare *: they answer what nobody else does.
// An error is the outcome: a plugin that failed may have done half of the command, so no
// other is asked. One that refuses the command (hooks.Refuses) is no failure, unless the hook is closed for the plugin. Of an agent's command it asks only the plugins that declared it when
// the answer was stored: one that is gone since may have handled it. Of a person's it
// asks those that declare it now, also after a crash.
func (p *Pipeline) first(ctx context.Context, t *trip, from pluginsdk.CommandOrigin, command ledger.Command) (outcome pluginsdk.Outcome, decided []string, err error) {
	outcome = pluginsdk.Outcome{Index: command.Index, Name: command.Name}
	if from == pluginsdk.FromAgent && slices.Contains(p.config.Forbidden[t.thread.Kind], command.Name) {
		outcome.Error = fmt.Sprintf("a thread of kind %s may not give it", t.thread.Kind)
		return outcome, nil, nil
	}
	if from == pluginsdk.FromAgent && command.Name != notifyCommand {
		if _, apart, err := p.files.Directory(ctx, t.thread.Thread); err != nil {
			return outcome, nil, storeError("find out whether the thread is apart", err)
		} else if apart { // people are asked about tools, and not about commands
			outcome.Error = "in a thread apart people are asked about what plugins do: call the plugin's tool instead of the command"
			return outcome, nil, nil
		}
	}
	if from == pluginsdk.FromAgent && command.Name == notifyCommand {
		outcome, err = p.notify(ctx, t, command, outcome)
		return outcome, nil, err
	}
	question := hooks.Question[pluginsdk.OnCommandRequest, pluginsdk.OnCommandResponse]{
		Hook: pluginsdk.HookCommand, Name: fmt.Sprintf("%s:%d", pluginsdk.HookCommand, command.Index), Ask: hooks.Process.OnCommand,
		Request: func(call pluginsdk.Call, info *pluginsdk.PluginInfo) *pluginsdk.OnCommandRequest {
			message := t.message
			if from == pluginsdk.FromAgent && !slices.Contains(info.Granted, pluginsdk.CapTurnsRead) {
				message.Content, message.Metadata, message.Attachments = "", nil, nil // what people said is not the command
			}
			return &pluginsdk.OnCommandRequest{
				Call: call, Thread: t.thread.Thread, Message: message, Origin: from,
				Index: command.Index, Name: command.Name, Body: command.Body, Attributes: command.Attributes,
			}
		},
	}
	if from == pluginsdk.FromPerson { // what the command's own hook does is the person's; what other hooks of the run do is not
		question.Typed = t.typed
	}
	var asked, rest []hooks.Plugin
	for _, plugin := range p.plugins.Answering(t.run.ID, pluginsdk.HookCommand) {
		info := plugin.Info()
		switch {
		case command.Plugins != nil && !slices.Contains(command.Plugins, info.Name):
		case declares(info.Manifest, command.Name):
			asked = append(asked, plugin)
		case declares(info.Manifest, anyCommand):
			rest = append(rest, plugin)
		}
	}
	for _, plugin := range append(asked, rest...) {
		info := plugin.Info()
		if from == pluginsdk.FromPerson {
			question.TypedScope = demanded(info.Manifest, command.Name)
		}
		answer, err := hooks.One(ctx, p.hooks, &t.on, plugin, question)
		if err != nil {
			outcome.Plugin, outcome.Error = info.Name, cutAt(err.Error(), maxCommandReply)
			if outcome.Refused = hooks.Refuses(pluginsdk.HookCommand, err); outcome.Refused && ctx.Err() == nil && info.FailureMode(pluginsdk.HookCommand) == pluginsdk.FailOpen {
				return outcome, nil, nil
			}
			return outcome, nil, p.hooks.Failed(ctx, plugin, pluginsdk.HookCommand, err)
		}
		if answer == nil {
			continue
		}
		p.collect(t, info.Name, answer.Effects)
		if answer.Handled {
			outcome.Plugin, outcome.Handled = info.Name, true
			outcome.Reply = p.boundWords(answer.Reply, maxCommandReply, info.Name, pluginsdk.HookCommand)
			return outcome, p.decisions(t, from, info.Name, answer.Audit), nil
		}
	}
	return outcome, nil, nil
}

// maxDecisions is how many entries of the audit log a command may have, and maxDecision how many bytes
// of each are stored.
const (
	maxDecisions = 8
	maxDecision  = 1000
)

// decisions are what a plugin says that a command has decided, as lines of the audit log. Of a
// command that no person typed there are none.
func (p *Pipeline) decisions(t *trip, from pluginsdk.CommandOrigin, plugin string, said []string) (lines []string) {
	if from != pluginsdk.FromPerson || t.typed.Author == "" || t.typed.OfAgent() {
		return nil
	}
	for _, sentence := range said {
		line := oneLine(sentence, maxDecision)
		if line == "" {
			continue
		}
		if len(lines) == maxDecisions {
			p.config.Log.Warn("a plugin says that a command has decided more than the audit log takes of one; the rest is left out",
				"plugin", plugin, "run", t.run.ID, "said", len(said), "most", maxDecisions)
			break
		}
		lines = append(lines, line)
	}
	return lines
}

// oneLine is a text on one line of at most so many bytes, without what cannot be seen. A longer
// text ends with an ellipsis.
func oneLine(text string, most int) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
	if text = strings.Join(words, " "); len(text) <= most {
		return text
	}
	const more = "…"
	return strings.ToValidUTF8(text[:most-len(more)], "") + more
}

// notify posts the agent's text in another thread or place. A mistake in the command is
// its outcome. A database that does not answer, and the end of the daemon or of the
// claim, fail the step.
func (p *Pipeline) notify(ctx context.Context, t *trip, command ledger.Command, outcome pluginsdk.Outcome) (pluginsdk.Outcome, error) {
	said, err := p.notifier.Notify(ctx, t.on.Behalf, fmt.Sprintf("%s:notify:%d", t.run.ID, command.Index), command.Body, command.Attributes)
	switch pluginsdk.CodeOf(err) { //nolint:exhaustive // the other codes are mistakes in the command
	case "":
		outcome.Handled, outcome.Reply = true, said
	case pluginsdk.CodeUnavailable, pluginsdk.CodeDeadline, pluginsdk.CodeCancelled, pluginsdk.CodeStale:
		return outcome, storeError("notify", err)
	default:
		outcome.Error = cutAt(err.Error(), maxCommandReply)
	}
	return outcome, nil
}

// anyCommand is declared by a plugin that answers what nobody else does.
const anyCommand = "*"

// declares reports whether a plugin declares one of these commands.
func declares(manifest pluginsdk.Manifest, names ...string) bool {
	return slices.ContainsFunc(manifest.Commands, func(spec pluginsdk.CommandSpec) bool {
		return slices.Contains(names, spec.Name)
	})
}

// demanded is the scope that a manifest demands of who types a command; empty: none.
func demanded(manifest pluginsdk.Manifest, name string) pluginsdk.TokenScope {
	for _, spec := range manifest.Commands {
		if spec.Name == name {
			return spec.Scope
		}
	}
	return ""
}

// answerTypedCommand handles a command that a person typed: steps 0, 1, 8, 10, 11, 12,
// without the agent.
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
