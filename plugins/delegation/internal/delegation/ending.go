package delegation

import (
	"strings"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
)

// rules are put before a worker's first message.
const rules = `You are given a task, and work on it alone in a thread of its own: nobody reads along and nobody answers before you end. ` +
	`Work until it is done, and check that it is. ` +
	`End your last message with one line that begins with DONE: and says what you did, ` +
	`or with BLOCKED: and what a person has to decide or do before you can go on. Do not say DONE: of what you have not seen to work.

The task:

`

// again ends every later message to a worker.
const again = "\n\nEnd again with a last line that begins with DONE: or BLOCKED:."

// ending is how a worker says that it ended; the empty one says nothing of it.
type ending string

// The endings of an answer.
const (
	saidDone    ending = "DONE"
	saidBlocked ending = "BLOCKED"
)

var (
	commandBlock = lazy.Regexp(`(?s)\[COMMAND\b[^\]]*\].*?\[/COMMAND\]`)
	// lastLine is a worker's last line, whatever stands around its words: the demo agent's
	// mark, the sign of a list or a heading, bold or code.
	lastLine = lazy.Regexp("(?i)^(?:\\[demo agent\\]\\s*)?(?:[-*#•]+\\s+)?[*_`]*(done|blocked)[*_`]*\\s*:[*_`]*\\s*(.*)$")
)

// readEnding reads how an answer ends, and what is said of it. An answer that is empty
// but for the word says nothing.
func readEnding(text string) (said ending, rest string) {
	text = commandBlock.ReplaceAllString(text, "")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for len(lines) > 0 && isNoWords(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	if len(lines) == 0 {
		return "", ""
	}
	match := lastLine.FindStringSubmatch(strings.TrimSpace(lines[len(lines)-1]))
	if match == nil {
		return "", ""
	}
	rest = strings.TrimSpace(strings.TrimRight(match[2], "*_` \t"))
	said = ending(strings.ToUpper(match[1]))
	before := strings.TrimSpace(strings.Join(lines[:len(lines)-1], ""))
	if rest == "" && (said == saidBlocked || isNoWords(before)) {
		return "", ""
	}
	return said, rest
}

// isNoWords reports whether a line has no words: it is blank, or the end of a code block.
func isNoWords(line string) bool {
	line = strings.TrimSpace(line)
	return strings.Trim(line, "`~-*_") == ""
}
