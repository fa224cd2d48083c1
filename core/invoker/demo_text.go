package invoker

import (
	"fmt"
	"strings"
)

// demoEcho is how many characters of the message the demo agent repeats.
const demoEcho = 200

// demoOutput is what the demo agent says of a structured output that it made up.
const demoOutput = "The structured output is a demo too: a value that fits the JSON schema, and means nothing."

// demoAnswer is what the demo agent says when no rule has an answer.
func demoAnswer(prompt string) string {
	said := shorten(lastPart(prompt), demoEcho)
	if said == "" {
		said = "nothing"
	}
	return fmt.Sprintf("This is a demo: no model has read your message. You said: %s\n\n"+
		"Everything around the agent (threads, plugins, commands, storage) works as it will with the real one. "+
		"To get real answers, install the Claude Code CLI (npm install -g @anthropic-ai/claude-code), "+
		"set ANTHROPIC_API_KEY or log in with `claude`, and restart.", said)
}

// markDemo puts the demo agent's mark in front of text. What must stand at the
// start of a line (a command, a fence) still does.
func markDemo(text string) string {
	switch {
	case strings.HasPrefix(text, DemoMark):
		return text
	case strings.HasPrefix(text, "/"), strings.HasPrefix(text, "["), strings.HasPrefix(text, "`"):
		return DemoMark + "\n" + text
	}
	return strings.TrimRight(DemoMark+" "+text, " ")
}

// lastPart returns what stands after the last separator of a prompt: a line
// --- between blank lines. The person's message is the last part.
func lastPart(prompt string) string {
	prompt = strings.TrimSpace(prompt)
	if i := strings.LastIndex(prompt, "\n\n---\n\n"); i >= 0 {
		return strings.TrimSpace(prompt[i+len("\n\n---\n\n"):])
	}
	return prompt
}

// shorten cuts text to at most limit characters, on one line, and marks a cut.
func shorten(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:limit]) + "…"
}
