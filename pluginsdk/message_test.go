package pluginsdk_test

import (
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// A plugin that could write as the agent, as a person or as another plugin could
// have the agent and people believe anything.
func TestARowCannotBeForged(t *testing.T) {
	row := func(kind pluginsdk.MessageKind, role pluginsdk.Role, source string) pluginsdk.NewMessage {
		return pluginsdk.NewMessage{Kind: kind, Role: role, Source: source, Content: "x"}
	}
	for _, c := range []struct {
		row    pluginsdk.NewMessage
		names  string // what the refusal names; empty: it is accepted
		effect string // the same in effects
	}{
		{row(pluginsdk.MessageText, pluginsdk.RoleSystem, ""), "", "kind"},
		{row(pluginsdk.MessageText, pluginsdk.RoleSystem, "p"), "", "kind"},
		{row(pluginsdk.MessageNotification, pluginsdk.RoleSystem, "p"), "", ""},
		{row(pluginsdk.MessageSummary, pluginsdk.RoleSystem, ""), "", "kind"},
		{row(pluginsdk.MessageText, pluginsdk.RoleAssistant, ""), "role", "kind"},
		{row(pluginsdk.MessageText, pluginsdk.RoleUser, ""), "role", "kind"},
		{row(pluginsdk.MessageNotification, pluginsdk.RoleAssistant, ""), "role", "role"},
		{row(pluginsdk.MessageNotification, pluginsdk.RoleSystem, "core"), "source", "source"},
		{row(pluginsdk.MessageNotification, pluginsdk.RoleSystem, "agent"), "source", "source"},
		{row(pluginsdk.MessageText, pluginsdk.RoleSystem, "another"), "source", "kind"},
		{row(pluginsdk.MessageStep, pluginsdk.RoleSystem, "pipeline"), "", ""},
		{row(pluginsdk.MessageThinking, pluginsdk.RoleAssistant, "agent"), "", ""},
		{row(pluginsdk.MessageToolCall, pluginsdk.RoleAssistant, "builtin"), "", ""},
		{row(pluginsdk.MessageToolResult, pluginsdk.RoleUser, "builtin"), "role", "role"},
		{row(pluginsdk.MessageStatus, "", ""), "role", "role"},
		{row("announcement", pluginsdk.RoleSystem, ""), "kind", "kind"},
		{row("", pluginsdk.RoleSystem, ""), "kind", "kind"},
	} {
		for what, check := range map[string]struct {
			err   error
			names string
		}{"appended": {c.row.CheckFor("p"), c.names}, "an effect": {c.row.CheckEffectOf("p"), c.effect}} {
			switch {
			case check.names == "" && check.err != nil:
				t.Errorf("%+v, %s: %v", c.row, what, check.err)
			case check.names != "" && (pluginsdk.CodeOf(check.err) != pluginsdk.CodeInvalid || !strings.HasPrefix(check.err.Error(), check.names+":")):
				t.Errorf("%+v, %s: %v, want a refusal of the %s", c.row, what, check.err, check.names)
			}
		}
	}
}
