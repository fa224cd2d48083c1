// Package text makes the agent's long Markdown answers into Discord messages: parts of
// at most 2000 UTF-16 units that each render by themselves, in the Markdown that Discord
// knows. It is pure functions: the same text gives the same parts.
package text

import (
	"strings"
	"unicode/utf16"
)

// Limit is how long a message may be, in UTF-16 code units, as Discord counts
// (resources/message#create-message).
const Limit = 2000

// Units is the length of s in UTF-16 code units.
func Units(s string) int {
	n := 0
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// Split cuts a Markdown text into messages of 1 to limit units, none of them only
// whitespace; nil when there is nothing to say.
func Split(markdown string, limit int) []string {
	var parts []string
	for rest := strings.TrimSpace(markdown); rest != ""; {
		part := cut(rest, limit)
		rest = strings.TrimSpace(rest[len(part):])
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// Live is what of an unfinished text fits into one message: its end.
func Live(markdown string, limit int) string {
	parts := Split(markdown, limit-2)
	switch len(parts) {
	case 0:
		return ""
	case 1:
		return parts[0]
	}
	return "…\n" + parts[len(parts)-1]
}

// Clip cuts s to at most units, with "…" where it is cut.
func Clip(s string, units int) string {
	if Units(s) <= units {
		return s
	}
	return cut(s, units-1) + "…"
}

// Name is s as one clean line of at most units, for names of threads and the like.
func Name(s string, units int) string { return Clip(strings.Join(strings.Fields(s), " "), units) }

// Summary is how a long answer begins, in at most 600 units.
func Summary(markdown string) string {
	if parts := Split(markdown, 600); parts != nil {
		return parts[0]
	}
	return ""
}

// Escape makes a stranger's words harmless in Discord's Markdown.
func Escape(s string) string {
	return strings.NewReplacer("\\", "\\\\", "*", "\\*", "_", "\\_", "~", "\\~", "|", "\\|", "`", "\\`",
		"[", "\\[", "]", "\\]", "<", "\\<", "@", "@\u200b").Replace(s)
}

// Fence is a code block that its content cannot break out of.
func Fence(lang, code string) string {
	return "```" + lang + "\n" + strings.ReplaceAll(code, "```", "``\u200b`") + "\n```"
}

// cut is as much of the beginning of s as fits into units.
func cut(s string, units int) string {
	for i, r := range s {
		if units -= max(utf16.RuneLen(r), 1); units < 0 {
			return s[:i]
		}
	}
	return s
}
