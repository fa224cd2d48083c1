package client

import (
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Written returns what the agent wrote where a message of the ending is its
// reply: as it was streamed, and without the commands that were cut from it. A
// message that differs from the latter was changed by plugins. Both are "" when
// the message is not the reply, or when the daemon cannot hand the run out.
func (e *Ending) Written(message pluginsdk.Message) (streamed, without string) {
	if message.Key != e.Run.ID+":reply" || message.Role != pluginsdk.RoleAssistant || e.Run.Result == nil {
		return "", ""
	}
	streamed = e.Run.Result.Text
	return streamed, withoutCommands(streamed, e.Run.Outcomes)
}

// withoutCommands returns a text without the commands that were carried out, as
// the daemon cuts them: blocks, and lines that begin with /NAME, but not what
// stands in a fenced code block.
func withoutCommands(text string, carriedOut []pluginsdk.Outcome) string {
	names := make(map[string]bool, len(carriedOut))
	for _, outcome := range carriedOut {
		names["/"+outcome.Name] = true
	}
	var kept strings.Builder
	fenced := false
	for text != "" && len(names) > 0 {
		line, _, _ := strings.Cut(text, "\n")
		next := text[min(len(line)+1, len(text)):]
		begin := strings.TrimSpace(line)
		_, behind, closed := strings.Cut(text, "[/COMMAND]")
		switch {
		case strings.HasPrefix(begin, "~~~"), strings.HasPrefix(begin, "```") && !strings.Contains(strings.TrimLeft(begin, "`"), "`"):
			fenced = !fenced
		case fenced:
		case strings.HasPrefix(begin, "[COMMAND") && closed:
			text = strings.TrimPrefix(behind, "\n")
			continue
		case strings.HasPrefix(line, "/") && names[strings.Fields(line)[0]]:
			text = next
			continue
		}
		kept.WriteString(text[:len(text)-len(next)])
		text = next
	}
	kept.WriteString(text)
	return strings.TrimSpace(kept.String())
}
