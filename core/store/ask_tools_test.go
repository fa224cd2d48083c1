package store_test

import (
	"context"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Which tools ask in a thread is kept as it is read, and what names no tool is refused before
// somebody relies on it.
func TestToolsThatAskAreChecked(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		th := newThread(t, s, "a")
		for text, want := range map[string]string{
			"": "", " Bash \n Edit ": "Bash Edit", "all": "all", "none": "none", "mcp__github__* Web-Fetch": "mcp__github__* Web-Fetch",
		} {
			if got := must[pluginsdk.Thread](t)(s.UpdateThread(ctx, th.ID, pluginsdk.ThreadPatch{AskTools: &text})); got.AskTools != want {
				t.Errorf("%q is kept as %q, want %q", text, got.AskTools, want)
			}
			made, _, err := s.CreateThread(ctx, pluginsdk.NewThread{Source: "discord", SourceID: "made " + text, AskTools: text})
			if err != nil || made.AskTools != want {
				t.Errorf("%q is kept as %q, %v", text, made.AskTools, err)
			}
		}
		for _, text := range []string{"all Bash", "Bash none", "Bash(rm *)", "Bash,Edit", "*", "1st", strings.Repeat("Bash ", 1000)} {
			wantCode(t, second(s.UpdateThread(ctx, th.ID, pluginsdk.ThreadPatch{AskTools: &text})), pluginsdk.CodeInvalid)
			_, _, err := s.CreateThread(ctx, pluginsdk.NewThread{Source: "discord", SourceID: "bad", AskTools: text})
			wantCode(t, err, pluginsdk.CodeInvalid)
		}
	})
}
