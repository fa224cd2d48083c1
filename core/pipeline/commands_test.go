package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestParseCommands(t *testing.T) {
	declared := map[string]bool{"delegate": true, "checkin": true}
	for name, row := range map[string]struct {
		text     string
		want     string // name<body>{attributes}, joined
		rest     string
		unclosed int
	}{
		"block": {"Sure.\n[COMMAND type=\"delegate\" model=\"sonnet\"]\nResearch X.\n[/COMMAND]\nDone.",
			"delegate<Research X.>{model=sonnet}", "Sure.\nDone.", 0},
		"order and quotes are free":      {"[COMMAND model='opus' type=delegate]x[/COMMAND]", "delegate<x>{model=opus}", "", 0},
		"several":                        {"[COMMAND type=a]1[/COMMAND]\n/checkin all\n[COMMAND type=b]2[/COMMAND]", "a<1>{} checkin<all>{} b<2>{}", "", 0},
		"slash line of a declared name":  {"I will.\n/checkin task 1\nBye.", "checkin<task 1>{}", "I will.\nBye.", 0},
		"slash line of another name":     {"/etc is a directory\n/usr/bin too", "", "/etc is a directory\n/usr/bin too", 0},
		"in a fence":                     {"```\n/checkin\n[COMMAND type=a]x[/COMMAND]\n```\nok", "", "```\n/checkin\n[COMMAND type=a]x[/COMMAND]\n```\nok", 0},
		"after a fence":                  {"~~~ text\n```\n/checkin 1\n~~~\n/checkin 2", "checkin<2>{}", "~~~ text\n```\n/checkin 1\n~~~", 0},
		"a fence inside a block":         {"[COMMAND type=a]\n```\ncode\n```\n[/COMMAND]\nok", "a<```\ncode\n```>{}", "ok", 0},
		"never closed":                   {"[COMMAND type=a]\nx\n/checkin 1", "checkin<1>{}", "[COMMAND type=a]\nx", 1},
		"never closed before another":    {"[COMMAND type=a]\nx\n[COMMAND type=b]y[/COMMAND]\nok", "b<y>{}", "[COMMAND type=a]\nx\nok", 1},
		"three backticks of inline code": {"```go run x```\n/checkin 1", "checkin<1>{}", "```go run x```", 0},
		"not at the start of a line":     {"see [COMMAND type=a]x[/COMMAND]", "", "see [COMMAND type=a]x[/COMMAND]", 0},
		"indented":                       {"  [COMMAND type=a]x[/COMMAND]", "a<x>{}", "", 0},
		"bracket in quotes":              {"[COMMAND type=\"a\" note=\"[x] y\"]z[/COMMAND]", "a<z>{note=[x] y}", "", 0},
		"carriage returns":               {"/checkin now\r\nok", "checkin<now>{}", "ok", 0},
		"no type":                        {"[COMMAND]x[/COMMAND]", "<x>{}", "", 0},
	} {
		commands, unclosed := findCommands(row.text, declared)
		var got []string
		for i, command := range commands {
			var attributes []string
			for _, key := range slices.Sorted(maps.Keys(command.Attributes)) {
				attributes = append(attributes, key+"="+command.Attributes[key])
			}
			got = append(got, fmt.Sprintf("%s<%s>{%s}", command.Name, command.Body, strings.Join(attributes, " ")))
			if command.Index != i {
				t.Errorf("%s: index %d of command %d", name, command.Index, i)
			}
		}
		if joined := strings.Join(got, " "); joined != row.want || unclosed != row.unclosed {
			t.Errorf("%s: %q unclosed %d, want %q %d", name, joined, unclosed, row.want, row.unclosed)
		}
		if rest := cut(row.text, commands); rest != row.rest {
			t.Errorf("%s: rest %q, want %q", name, rest, row.rest)
		}
	}
}

func FuzzParseCommands(f *testing.F) {
	f.Add("[COMMAND type=a]x[/COMMAND]\n/checkin\n```\n")
	f.Fuzz(func(t *testing.T, text string) {
		commands, _ := findCommands(text, map[string]bool{"checkin": true})
		at := 0
		for _, command := range commands {
			if command.Start < at || command.End <= command.Start || command.End > len(text) {
				t.Fatalf("command %+v in %d bytes after %d", command, len(text), at)
			}
			at = command.End
		}
		cut(text, commands)
	})
}
