package pipeline

import (
	"regexp"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// parsedCommand is a command found in the agent's output.
type parsedCommand struct {
	index      int
	name       string
	body       string
	attributes map[string]string
	start, end int // where it stands in the output, in bytes
}

var (
	openTag   = regexp.MustCompile(`^\s*\[COMMAND((?:\s+[A-Za-z_][\w-]*\s*=\s*(?:"[^"]*"|'[^']*'|[^\s\]]+))*)\s*\]`)
	attribute = regexp.MustCompile(`([A-Za-z_][\w-]*)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s\]]+))`)
	slashLine = regexp.MustCompile(`^/([a-z][a-z0-9_-]*)(?:[ \t]+(.*?))?[ \t\r]*$`)
	// A line of backticks with another one behind them is inline code.
	fenceStart = regexp.MustCompile("^ {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$")
)

const closeTag = "[/COMMAND]"

// parseCommands is step 7: [COMMAND] blocks, and lines that begin with the
// /name of a declared command. Neither counts inside a fenced code block.
func (p *Pipeline) parseCommands(t *trip) {
	p.config.Fault("parseCommands", t.run.ID)
	declared := make(map[string]bool)
	for _, plugin := range p.plugins.Answering(t.run.ID, pluginsdk.HookCommand) {
		for _, spec := range plugin.Info().Manifest.Commands {
			declared[spec.Name] = true
		}
	}
	var unclosed int
	t.commands, unclosed = parseCommands(t.reply, declared)
	if unclosed > 0 {
		p.config.Log.Warn("the agent wrote a command block that is never closed; it is left as text",
			"thread", t.thread.ID, "run", t.run.ID, "blocks", unclosed)
	}
}

// parseCommands returns the commands in text, in order, and how many blocks
// were opened and never closed.
func parseCommands(text string, declared map[string]bool) (commands []parsedCommand, unclosed int) {
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
		command.index, command.start, command.end = len(commands), at, end
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
func commandAt(text string, at int, line string, next int, declared map[string]bool) (_ *parsedCommand, end int, open bool) {
	if tag := openTag.FindStringSubmatchIndex(line); tag != nil {
		return block(text, at, tag)
	}
	if match := slashLine.FindStringSubmatch(line); match != nil && declared[match[1]] {
		return &parsedCommand{name: match[1], body: match[2]}, next, false
	}
	return nil, 0, false
}

func block(text string, at int, tag []int) (_ *parsedCommand, end int, open bool) {
	body := at + tag[1]
	length := strings.Index(text[body:], closeTag)
	if length < 0 || opensAgain(text[body:body+length]) {
		return nil, 0, true
	}
	end = body + length + len(closeTag)
	if end < len(text) && text[end] == '\n' {
		end++
	}
	command := &parsedCommand{body: strings.TrimSpace(text[body : body+length]), attributes: make(map[string]string)}
	for _, match := range attribute.FindAllStringSubmatch(text[at+tag[2]:at+tag[3]], -1) {
		command.attributes[match[1]] = match[2] + match[3] + match[4]
	}
	command.name = command.attributes["type"]
	delete(command.attributes, "type")
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
func cut(text string, commands []parsedCommand) string {
	if len(commands) == 0 {
		return text
	}
	var kept strings.Builder
	at := 0
	for _, command := range commands {
		kept.WriteString(text[at:command.start])
		at = command.end
	}
	kept.WriteString(text[at:])
	return strings.TrimSpace(kept.String())
}
