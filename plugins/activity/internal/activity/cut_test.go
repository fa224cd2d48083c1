package activity

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed-706843ae/harness/pluginsdk"
)

func TestToolSource(t *testing.T) {
	for tool, want := range map[string]string{
		"mcp__harness__delegation__delegate": "delegation",
		"delegation__delegate":               "delegation",
		"mcp__harness__my-plugin2__a__b":     "my-plugin2",
		"Read":                               "builtin",
		"mcp__other__x":                      "builtin",
		"mcp__other__delegation__delegate":   "builtin",
		"mcp__harness__":                     "builtin",
		"mcp__harness__lonely":               "builtin",
		"":                                   "builtin",
		"__x":                                "builtin",
		"x__":                                "builtin",
		"Not A Plugin__x":                    "builtin",
	} {
		if got := toolSource(tool); got != want {
			t.Errorf("toolSource(%q) = %q; want %q", tool, got, want)
		}
	}
}

func TestCutKeepsWholeCharactersAndSaysSo(t *testing.T) {
	exact := strings.Repeat("x", maxRowBytes)
	if got := cut(exact, maxRowBytes); got != exact {
		t.Error("content of just 64 KiB is changed")
	}
	long := strings.Repeat("x", maxRowBytes-1) + "é and more"
	got := cut(long, maxRowBytes)
	head, mark, found := strings.Cut(got, "\n[cut: ")
	if !found || head != strings.Repeat("x", maxRowBytes-1) || mark != "11 more bytes]" {
		t.Errorf("head of %d bytes, mark %q", len(head), mark)
	}
	if got := cut("a\xffb", maxRowBytes); got != "a\uFFFDb" {
		t.Errorf("invalid UTF-8 became %q", got)
	}
	if got := cut(strings.Repeat("\xbf", 10), 4); !utf8.ValidString(got) {
		t.Errorf("cut of garbage is not valid: %q", got)
	}
}

func TestInputStaysJSON(t *testing.T) {
	for name, input := range map[string]string{
		"fits":          `{"a":"b"}`,
		"too long":      `{"a":"` + strings.Repeat("x", 200) + `"}`,
		"no JSON":       `{"a":`,
		"invalid UTF-8": "{\"a\":\"\xff\"}",
	} {
		got := cutInput(json.RawMessage(input), 100)
		if !json.Valid(got) || !utf8.Valid(got) {
			t.Errorf("%s: %q", name, got)
		}
		var text string
		if isText := json.Unmarshal(got, &text) == nil; isText != (name == "too long" || name == "no JSON") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := cutInput(nil, 100); got != nil {
		t.Errorf("no input became %q", got)
	}
}

// A turn with very many long results must fit into what a run stores of effects:
// what does not is left out, and the last row is the outcome.
func TestRowsTogetherAreBounded(t *testing.T) {
	for name, event := range map[string]pluginsdk.StreamEvent{
		"results":       {Type: pluginsdk.StreamToolResult, Text: strings.Repeat("x", maxRowBytes)},
		"quoted inputs": {Type: pluginsdk.StreamToolCall, ToolName: "Write", Input: json.RawMessage(`[` + strings.Repeat(`"",`, maxRowBytes) + `""]`)},
	} {
		rows, total := completeRows(&pluginsdk.OnPipelineCompleteRequest{Events: slices.Repeat([]pluginsdk.StreamEvent{event}, 1000)}), 0
		for _, row := range rows {
			total += len(row.Content) + len(row.Metadata)
		}
		if total > 8<<20 || len(rows) != 1001 {
			t.Errorf("%s: %d rows have %d bytes", name, len(rows), total)
		}
	}
}
