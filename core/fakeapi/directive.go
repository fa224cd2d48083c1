package fakeapi

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// script is what the directives of a text say.
type script struct {
	reply Reply
	then  string
}

func directives(text string) Reply { return parse(text).reply }

// names of the directives.
var names = []string{"say:", "think:", "usetool:", "then:", "slow:", "block:", "usage:", "window:", "apierror:"}

// directive splits off the directive that text starts with.
func directive(text string) (name, rest string, ok bool) {
	for _, name := range names {
		if rest, ok := strings.CutPrefix(text, name); ok {
			return name, rest, true
		}
	}
	return "", text, false
}

// parse reads the directives at the starts of lines. A later one replaces an
// earlier one of its kind. Lines before the first count for nothing; others
// belong to the say: or then: above them.
func parse(text string) script {
	var s script
	var body *string // what a line without a directive goes on with
	for line := range strings.SplitSeq(text, "\n") {
		if _, _, ok := directive(line); !ok {
			if body != nil && !isReminder(line) {
				*body += "\n" + line
			} else {
				body = nil
			}
			continue
		}
		body = s.line(line)
	}
	s.reply.Text = strings.TrimSpace(s.reply.Text)
	s.then = strings.TrimSpace(s.then)
	return s
}

// line takes a line that starts with a directive and returns where the lines
// after it belong, if anywhere.
func (s *script) line(line string) (body *string) {
	name, rest, ok := directive(line)
	for ok {
		switch name {
		case "say:":
			s.reply.Text = rest
			return &s.reply.Text
		case "then:":
			s.then = rest
			return &s.then
		case "usetool:":
			s.reply.Tools = append(s.reply.Tools, toolUse(rest))
			return nil
		case "apierror:":
			s.reply.Status, _ = strconv.Atoi(firstWord(rest))
			return nil
		case "slow:":
			ms, _ := strconv.Atoi(firstWord(rest))
			s.reply.Delay = time.Duration(ms) * time.Millisecond
			rest = afterWord(rest)
		case "block:":
			s.reply.Block = firstWord(rest)
			rest = afterWord(rest)
		case "usage:":
			s.reply.Usage = usageOf(rest)
			return nil
		case "window:":
			if s.reply.Windows == nil {
				s.reply.Windows = &Windows{}
			}
			s.reply.Windows.window(rest)
			return nil
		case "think:":
			rest = strings.TrimSpace(rest)
			s.reply.Think = defaultThought
			if _, _, more := directive(rest); !more && rest != "" {
				s.reply.Think = rest
			}
		}
		name, rest, ok = directive(rest)
	}
	return nil
}

// usageOf reads what follows "usage:": IN [OUT [READ [WRITE [WRITE-OF-AN-HOUR]]]].
func usageOf(text string) Usage {
	var u Usage
	into := []*int64{&u.InputTokens, &u.OutputTokens, &u.CacheReadTokens, &u.CacheWriteTokens, &u.CacheWriteHour}
	for n, field := range strings.Fields(text) {
		if n < len(into) {
			*into[n], _ = strconv.ParseInt(field, 10, 64)
		}
	}
	return u
}

func toolUse(text string) ToolUse {
	use := ToolUse{Name: firstWord(text), Input: json.RawMessage("{}")}
	if input := afterWord(text); input != "" {
		var value json.RawMessage
		// The decoder stops at the end of the value: what follows is prose.
		if json.NewDecoder(strings.NewReader(input)).Decode(&value) == nil {
			use.Input = value
		}
	}
	return use
}

func firstWord(text string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	return word
}

func afterWord(text string) string {
	_, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	return strings.TrimSpace(rest)
}
