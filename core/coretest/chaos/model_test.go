package main

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/seed-706843ae/harness/core/fakeapi"
)

const testHead = "[thread 0199a000-0000-7000-8000-000000000000, kind general]\n\n"

func text(role, content string) fakeapi.Message {
	return fakeapi.Message{Role: role, Content: []fakeapi.Block{{Type: "text", Text: content}}}
}

// What is old in a request (history, recap, turns that were interrupted) must
// not count as asked: the column would be full of what never happened.
func TestATurnIsReadFromItsHeadOn(t *testing.T) {
	first := text("user", "# Conversation History\n\n[user]: m-T01-0001\n\n---\n\n"+testHead+"---\n\nPlease answer m-T01-0002.")
	for _, c := range []struct {
		name           string
		messages       []fakeapi.Message
		markers, fresh []string
		interrupted    bool
	}{
		{"a first turn with history", []fakeapi.Message{first}, []string{"m-T01-0002"}, []string{"m-T01-0002"}, false},
		{
			"the next turn", []fakeapi.Message{first, text("assistant", "m-T01-0002"), text("user", testHead+"---\n\nm-T01-0003")},
			[]string{"m-T01-0003"},
			[]string{"m-T01-0003"}, false,
		},
		{
			"a turn behind one that was interrupted",
			[]fakeapi.Message{{Role: "user", Content: append(first.Content, text("user", testHead+interruptedNote+"...\n\n---\n\nm-T01-0002").Content...)}},
			[]string{"m-T01-0002"},
			[]string{"m-T01-0002"}, true,
		},
		{
			"a tool's result", []fakeapi.Message{first, {Role: "assistant", Content: []fakeapi.Block{{Type: "tool_use"}}}, {Role: "user", Content: []fakeapi.Block{{Type: "tool_result"}}}},
			[]string{"m-T01-0002"}, nil, false,
		},
		{
			"a message that joins the turn", []fakeapi.Message{first, {Role: "assistant", Content: []fakeapi.Block{{Type: "tool_use"}}}, {Role: "user", Content: []fakeapi.Block{
				{Type: "tool_result"}, {Type: "text", Text: "And m-T01-0003."}, {Type: "text", Text: "<system-reminder>m-T01-0009</system-reminder>"},
			}}},
			[]string{"m-T01-0002", "m-T01-0003"},
			[]string{"m-T01-0003"}, false,
		},
		{
			"a message that joins it in the tool's result", []fakeapi.Message{first, {Role: "assistant", Content: []fakeapi.Block{{Type: "tool_use"}}}, {Role: "user", Content: []fakeapi.Block{
				{Type: "tool_result", Content: json.RawMessage(`"done\n<system-reminder>The user sent a new message while you were working:\nAnd m-T01-0003."`)},
			}}},
			[]string{"m-T01-0002", "m-T01-0003"},
			[]string{"m-T01-0003"}, false,
		},
		{
			"a message that joins it in a reminder", []fakeapi.Message{first, {Role: "assistant", Content: []fakeapi.Block{{Type: "tool_use"}}}, {Role: "user", Content: []fakeapi.Block{
				{Type: "tool_result"}, {Type: "text", Text: "<system-reminder>\nThe user sent a new message while you were working:\nAnd m-T01-0003."},
			}}},
			[]string{"m-T01-0002", "m-T01-0003"},
			[]string{"m-T01-0003"}, false,
		},
	} {
		got := turnOf(fakeapi.Request{Messages: c.messages})
		if !slices.Equal(got.markers, c.markers) || !slices.Equal(got.fresh, c.fresh) || got.interrupted != c.interrupted {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
