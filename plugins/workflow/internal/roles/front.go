package roles

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
)

// front is a Markdown file with front matter: fields between two lines "---", then a text.
type front struct {
	fields map[string][]string // a text is a list of one
	lists  map[string]bool     // fields that are written as a list
	body   string
}

func (f front) text(name string) string {
	if of := f.fields[name]; len(of) > 0 {
		return of[0]
	}
	return ""
}

// list is a field that is a list, or a text of names between commas.
func (f front) list(name string) (items []string) {
	for _, one := range f.fields[name] {
		parts := []string{one}
		if !f.lists[name] {
			parts = split(one)
		}
		for _, part := range parts {
			if part = strings.TrimSpace(part); part != "" {
				items = append(items, part)
			}
		}
	}
	return items
}

var (
	field = lazy.Regexp(`^([A-Za-z][A-Za-z0-9_-]*):(?:[ \t]+(.*))?$`)
	item  = lazy.Regexp(`^[ \t]*-[ \t]+(.*)$`)
)

// parse reads a file with front matter. Of YAML it takes what such files have: "name: text", with or
// without quotes, "name: [a, b]", and a list of lines "- a" below a name.
func parse(source string) (f front, err error) {
	source = strings.ReplaceAll(strings.TrimPrefix(source, "\uFEFF"), "\r\n", "\n")
	source, begun := strings.CutPrefix(source, "---\n")
	head, body, ended := strings.Cut("\n"+source, "\n---\n")
	if !ended {
		head, ended = strings.CutSuffix("\n"+source, "\n---")
	}
	if !begun || !ended {
		return f, errors.New(`it has no front matter: begin it with a line "---", fields such as "description: ...", and another line "---"`)
	}
	f = front{fields: make(map[string][]string), lists: make(map[string]bool), body: strings.TrimSpace(body)}
	var open string // the field below which items can stand
	for n, line := range strings.Split(strings.TrimPrefix(head, "\n"), "\n") {
		line = strings.TrimRight(line, " \t")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		wrong := func(err error) error { return fmt.Errorf("line %d: %.100q: %w", n+2, line, err) }
		if match := item.FindStringSubmatch(line); match != nil && open != "" {
			value, err := scalar(match[1])
			if err != nil {
				return f, wrong(err)
			}
			f.fields[open], f.lists[open] = append(f.fields[open], value), true
			continue
		}
		match := field.FindStringSubmatch(line)
		if match == nil {
			return f, wrong(errors.New(`it is no field "name: value", and no item of a list`))
		}
		if _, has := f.fields[match[1]]; has {
			return f, wrong(errors.New("the field stands there twice"))
		}
		open = ""
		if f.fields[match[1]] = []string{}; match[2] == "" {
			open = match[1]
			continue
		}
		values, isList, err := value(match[2])
		if err != nil {
			return f, wrong(err)
		}
		f.fields[match[1]], f.lists[match[1]] = values, isList
	}
	return f, nil
}

// value reads what stands behind the name of a field.
func value(text string) (values []string, isList bool, err error) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "[") {
		one, err := scalar(text)
		return []string{one}, false, err
	}
	inside, closed := strings.CutSuffix(text[1:], "]")
	if !closed {
		return nil, false, errors.New("the list has no end: write it on one line, [a, b]")
	}
	for _, part := range split(inside) {
		one, err := scalar(part)
		if err != nil {
			return nil, false, err
		}
		if one != "" {
			values = append(values, one)
		}
	}
	return values, true, nil
}

// split cuts a list at its commas, but for those in parentheses, as in Bash(a, b), and in quotes.
func split(text string) (parts []string) {
	depth, quote, from := 0, rune(0), 0
	for at, char := range text {
		switch {
		case quote != 0:
			if char == quote {
				quote = 0
			}
		case char == '"' || char == '\'':
			quote = char
		case char == '(':
			depth++
		case char == ')':
			depth--
		case char == ',' && depth <= 0:
			parts, from = append(parts, text[from:at]), at+1
		}
	}
	return append(parts, text[from:])
}

// scalar reads a text with or without quotes.
func scalar(text string) (value string, err error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "", nil
	case text[0] == '"':
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			return "", errors.New("the text in quotes cannot be read")
		}
		return value, nil
	case text[0] == '\'':
		inside, closed := strings.CutSuffix(text[1:], "'")
		if inside = strings.ReplaceAll(inside, "''", "\x00"); !closed || strings.Contains(inside, "'") {
			return "", errors.New("the text in quotes cannot be read")
		}
		return strings.ReplaceAll(inside, "\x00", "'"), nil
	case slices.Contains([]byte("|>&*!%@`{}[]"), text[0]):
		return "", errors.New(`it begins with a sign that means something in YAML: write the text on one line, in quotes`)
	}
	if at := strings.Index(text, " #"); at >= 0 { // a comment
		text = strings.TrimSpace(text[:at])
	}
	return text, nil
}
