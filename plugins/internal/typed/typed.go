// Package typed reads what people type after a command's name.
package typed

import (
	"strings"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
)

// FirstWord returns a text's first word, and what follows it.
func FirstWord(text string) (word, rest string) {
	at := strings.IndexAny(text, " \t\n")
	if at < 0 {
		return text, ""
	}
	return text[:at], strings.TrimSpace(text[at:])
}

var leadingField = lazy.Regexp(`^([a-z][a-z_-]*)=(?:"([^"]*)"|'([^']*)'|(\S*))(?:\s+|$)`)

// LeadingFields takes the words KEY=VALUE from the beginning of a text, up to one that is none, or a
// -- of its own.
func LeadingFields(text string) (fields map[string]string, rest string) {
	fields = make(map[string]string)
	for {
		if match := leadingField.FindStringSubmatch(text); match != nil {
			fields[match[1]] = match[2] + match[3] + match[4]
			text = text[len(match[0]):]
			continue
		}
		if rest, found := strings.CutPrefix(text, "--"); found && strings.TrimLeft(rest, " \t\n") != rest {
			text = strings.TrimSpace(rest)
		}
		return fields, text
	}
}
