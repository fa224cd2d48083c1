package pipeline

import (
	"regexp"
	"strings"

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

// parseCommands finds the agent's commands: [COMMAND] blocks, and lines that begin
// with the /name of a declared command, and who declares each. Neither counts inside
// a fenced code block.
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
		command.Plugins = []string{} // not nil: that nobody declares it is known
		for _, plugin := range answering {
			if info := plugin.Info(); declares(info.Manifest, command.Name) {
				command.Plugins = append(command.Plugins, info.Name)
			}
		}
	}
	return commands
}

// takeCommands is step 7. The commands are those that were stored with the result:
// what is declared by now, after a crash, has no say in it. A result that an older
// version of the daemon stored has none with it.
func (p *Pipeline) takeCommands(t *trip) {
	p.config.Fault("parseCommands", t.run.ID)
	if t.commands = t.run.Commands; t.commands == nil {
		t.commands = p.parseCommands(t, t.reply)
	}
}

// findCommands returns the commands in text, in order, and how many blocks
// were opened and never closed.
func findCommands(text string, declared map[string]bool) (commands []ledger.Command, unclosed int) {
	commands = []ledger.Command{} // not nil: that none were found is known, and stored
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

// commandAt reads the command that begins at a line, if one does, and where
// it ends. open reports a block that is never closed.
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

// cut returns the text without the commands.
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
