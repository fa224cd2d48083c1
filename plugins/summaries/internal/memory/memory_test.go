package memory

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const starter = "# Memory\n\nWhat stays true. Under 100 lines.\n\n## People\n\n- Ann is the owner (2026-01-02, message 3)\n- Bob fixes roofs\n  and gutters\n\n## Preferences\n\n## Projects\n- the roof: offers until May (2026-03-04, message 9)\n- the garden\n- the book\n"

func lines(texts ...string) (all []Line) {
	for i, text := range texts {
		all = append(all, Line{Item: Item{Raw: "- " + text, Text: text}, ID: fmt.Sprintf("i%d", i+1), Day: fmt.Sprintf("2026-11-%02d", i+1), Origin: fmt.Sprintf("message %d", 100+i)})
	}
	return all
}

func input(memory string, texts ...string) Input {
	in := Input{Lines: lines(texts...)}
	for i, item := range Parse(memory).Items() {
		in.Entries = append(in.Entries, Entry{Item: item, ID: fmt.Sprintf("m%d", i+1)})
	}
	return in
}

func answer(t *testing.T, text string) (a Answer) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAPageIsReadAsItIs(t *testing.T) {
	for _, text := range []string{starter, "", "- a", "a\n- b\n\tc\n\nd", "\n\n"} {
		if got := Parse(text).String(); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	items := Parse(starter).Items()
	if len(items) != 5 || items[1].Text != "Bob fixes roofs and gutters" || items[1].Section != "People" || items[4].Section != "Projects" {
		t.Errorf("%+v", items)
	}
}

func TestWhatIsDone(t *testing.T) {
	inbox := "# Inbox\n\n- likes tea in the morning\n- Carl paints walls\n- the garden gets a pond\n- it rains\n- by hand\n"
	in := input(starter, "likes tea in the morning", "Carl paints walls", "the garden gets a pond", "it rains")
	plan, memory, box := Apply(starter, inbox, in, answer(t, `{"entries": [
		{"text": "Likes tea in the morning", "section": "preferences", "sources": ["i1"]},
		{"text": "The garden gets a pond", "section": "Projects", "sources": ["i3"], "replaces": ["m4"]},
		{"text": "Carl paints walls", "section": "Trades", "sources": ["i2"]}], "delete": [], "skip": [{"id": "i4", "why": "weather"}]}`))
	want := strings.Replace(starter, "## Preferences\n", "## Preferences\n\n- Likes tea in the morning (2026-11-01, message 100)\n", 1)
	want = strings.Replace(want, "- the garden\n- the book\n", "- the book\n- The garden gets a pond (2026-11-03, message 102)\n\n## Other\n\n- Carl paints walls (2026-11-02, message 101)\n", 1)
	if memory != want {
		t.Errorf("memory.md is\n%s\nwant\n%s", memory, want)
	}
	if box != "# Inbox\n\n- by hand\n" || len(plan.Added) != 3 || len(plan.Removed) != 1 || len(plan.Skipped) != 1 || len(plan.Taken) != 4 || len(plan.Refused) != 0 {
		t.Errorf("inbox %q, %+v", box, plan)
	}
}

func TestWhatIsRefused(t *testing.T) {
	texts := []string{"the boat has 3 sails", "Carl paints walls", "it rains", "it snows"}
	inbox := "- " + strings.Join(texts, "\n- ") + "\n"
	for name, row := range map[string]struct{ answer, why string }{
		"an invented source":         {`{"entries": [{"text": "the boat has 3 sails", "sources": ["i1", "i9"]}]}`, "its source i9 is no line"},
		"no source":                  {`{"entries": [{"text": "the boat has 3 sails", "sources": []}]}`, "it has no source"},
		"an invented number":         {`{"entries": [{"text": "the boat has 4 sails", "sources": ["i1"]}]}`, "its sources do not say 4"},
		"an invented fact":           {`{"entries": [{"text": "Carl inherited several castles", "sources": ["i2"]}]}`, "its sources do not say most of it"},
		"a repeat":                   {`{"entries": [{"text": "Ann is the owner!", "sources": ["i1"]}]}`, "the memory has it already"},
		"a provenance of its own":    {`{"entries": [{"text": "the boat has 3 sails (2026-01-01, message 1)", "sources": ["i1"]}]}`, "where it is from"},
		"nothing":                    {`{"entries": [{"text": " - ", "sources": ["i1"]}]}`, "it is empty"},
		"too long":                   {`{"entries": [{"text": "` + strings.Repeat("boat ", 100) + `", "sources": ["i1"]}]}`, "may have 400"},
		"in the place of no entry":   {`{"entries": [{"text": "the boat has 3 sails", "sources": ["i1"], "replaces": ["m77"]}]}`, "no entry of the memory has the name m77"},
		"in the place of many":       {`{"entries": [{"text": "the boat has 3 sails", "sources": ["i1"], "replaces": ["m1", "m2"]}]}`, "too many entries at once"},
		"in the place of one twice":  {`{"entries": [{"text": "the boat has 3 sails", "sources": ["i1"], "replaces": ["m1", "m1"]}]}`, "names m1 twice"},
		"short words of its own":     {`{"entries": [{"text": "he is a spy", "sources": ["i3"]}]}`, "do not say most of it"},
		"no words at all":            {`{"entries": [{"text": "<!-- -->", "sources": ["i1"]}]}`, "it has no words"},
		"a deletion of no entry":     {`{"delete": [{"id": "m6", "why": "old"}]}`, "no entry of the memory has the name m6"},
		"a line that is none":        {`{"skip": [{"id": "i5"}]}`, "no line of the inbox has this name"},
		"a deletion that is doubled": {`{"delete": [{"id": "m1", "why": "old"}, {"id": "m1", "why": "old"}]}`, "it is removed already"},
		"more deletions than may be": {`{"delete": [{"id": "m1", "why": "x"}, {"id": "m2", "why": "x"}]}`, "of 5 entries at most 1 may fall out"},
		"more skips than may be":     {`{"skip": [{"id": "i1"}, {"id": "i2"}, {"id": "i3"}]}`, "of 4 lines at most 2 may be left aside"},
		"a skip of what is taken":    {`{"entries": [{"text": "the boat has 3 sails", "sources": ["i1"]}], "skip": [{"id": "i1"}]}`, "an entry is from it"},
	} {
		t.Run(name, func(t *testing.T) {
			plan, memory, _ := Apply(starter, inbox, input(starter, texts...), answer(t, row.answer))
			if len(plan.Refused) != 1 || !strings.Contains(plan.Refused[0].Why, row.why) {
				t.Errorf("refused %+v, want %q", plan.Refused, row.why)
			}
			if len(plan.Added)+len(plan.Removed) == 0 && memory != starter {
				t.Errorf("memory.md is\n%s", memory)
			}
		})
	}
}

// An entry that is refused replaces nothing, and what somebody has removed meanwhile is not removed again.
func TestARefusedEntryReplacesNothing(t *testing.T) {
	in := input(starter, "the boat has 3 sails")
	plan, memory, box := Apply(starter, "- the boat has 3 sails\n", in, answer(t, `{"entries": [{"text": "the roof has 9 holes", "sources": ["i1"], "replaces": ["m3"]}]}`))
	if memory != starter || box != "- the boat has 3 sails\n" || len(plan.Refused) != 1 {
		t.Errorf("%+v\n%s", plan, memory)
	}
	without := strings.Replace(starter, "- the garden\n", "", 1)
	if plan, memory, _ = Apply(without, "", in, answer(t, `{"delete": [{"id": "m4", "why": "done"}]}`)); memory != without || len(plan.Refused) != 1 || !strings.Contains(plan.Refused[0].Why, "any more") {
		t.Errorf("%+v\n%s", plan, memory)
	}
}

// memory.md has at most 100 lines: what has no room is refused, and its line stays in the inbox.
func TestTheMemoryIsKeptShort(t *testing.T) {
	full := "# Memory\n\n" + strings.Repeat("- x\n", MaxLines-3)
	in := input(full, "first fact", "second fact")
	plan, memory, box := Apply(full, "- first fact\n- second fact\n", in, answer(t, `{"entries": [{"text": "first fact", "section": "Memory", "sources": ["i1"]}, {"text": "second fact", "section": "Memory", "sources": ["i2"]}]}`))
	if Parse(memory).Lines() != MaxLines || len(plan.Added) != 1 || len(plan.Refused) != 1 || !strings.Contains(plan.Refused[0].Why, "has to fall out first") || box != "- second fact\n" {
		t.Errorf("%d lines, %+v, inbox %q", Parse(memory).Lines(), plan, box)
	}
}
