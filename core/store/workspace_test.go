package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func change(path string, kind pluginsdk.ChangeKind, text string, at time.Time) ledger.ContextChange {
	c := ledger.ContextChange{WorkspaceChange: pluginsdk.WorkspaceChange{Path: path, Kind: kind, At: at}}
	if text != "" {
		c.Version, c.Size, c.Text = "version of "+text, int64(len(text)), []byte(text)
	}
	return c
}

// What a context file has said is there until it is old, and what it says now always.
func TestContextHistory(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		check(t, s.RecordChanges(ctx, []ledger.ContextChange{
			change("a.md", pluginsdk.ChangeOutside, "one", longAgo), change("a.md", pluginsdk.ChangeByAgent, "two", longAgo),
			change("a.md", pluginsdk.ChangeRefused, "refused", longAgo),
			change("b.md", pluginsdk.ChangeByPerson, "two", longAgo), change("b.md", pluginsdk.ChangeByPlugin, "three", lately),
			change("gone.md", pluginsdk.ChangeByPerson, "gone", longAgo), change("gone.md", pluginsdk.ChangeByPerson, "", longAgo),
		}))
		heads := must[map[string]string](t)(s.WorkspaceHeads(ctx))
		if want := (map[string]string{"a.md": "version of two", "b.md": "version of three"}); fmt.Sprint(heads) != fmt.Sprint(want) {
			t.Errorf("the files are of the versions %v, want %v", heads, want)
		}
		text := func(path, of string) error {
			_, got, err := s.WorkspaceText(ctx, path, "version of "+of)
			if err == nil && got != of {
				t.Errorf("%s had %q, want %q", path, got, of)
			}
			return err
		}
		check(t, text("a.md", "one"))
		check(t, text("a.md", "refused"))
		wantCode(t, text("a.md", "three"), pluginsdk.CodeNotFound) // it is another file's
		all := must[[]pluginsdk.WorkspaceChange](t)(s.WorkspaceHistory(ctx, pluginsdk.WorkspaceHistoryRequest{}))
		ofA := must[[]pluginsdk.WorkspaceChange](t)(s.WorkspaceHistory(ctx, pluginsdk.WorkspaceHistoryRequest{Path: "a.md", Limit: 2}))
		rest := must[[]pluginsdk.WorkspaceChange](t)(s.WorkspaceHistory(ctx, pluginsdk.WorkspaceHistoryRequest{Path: "a.md", Before: ofA[1].ID}))
		if len(all) != 7 || all[0].Path != "gone.md" || len(ofA) != 2 || ofA[0].Kind != pluginsdk.ChangeRefused || len(rest) != 1 || rest[0].Version != "version of one" {
			t.Errorf("the history is %+v; of one file %+v, then %+v", all, ofA, rest)
		}
		sound(t, s)

		if done := must[store.Pruned](t)(s.Prune(ctx, pruneBefore, true)); done.Context != 4 {
			t.Errorf("would prune %d", done.Context)
		}
		if done := must[store.Pruned](t)(s.Prune(ctx, pruneBefore, false)); done.Context != 4 {
			t.Errorf("pruned %d", done.Context)
		}
		check(t, text("a.md", "two"))
		check(t, text("b.md", "three"))
		for _, of := range []string{"one", "refused"} {
			wantCode(t, text("a.md", of), pluginsdk.CodeNotFound)
		}
		var texts int
		check(t, s.Reader().QueryRowContext(ctx, "SELECT COUNT(*) FROM workspace_texts").Scan(&texts))
		if texts != 2 {
			t.Errorf("%d texts are kept", texts)
		}
		sound(t, s)
	})
}

// An agent that writes its memory in every turn must not fill the disk, and what is refused
// must not push out what a file says.
func TestContextHistoryIsBounded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		changes := []ledger.ContextChange{change("a.md", pluginsdk.ChangeByAgent, "says", lately), change("b.md", pluginsdk.ChangeByAgent, "refused 0", lately)}
		for n := range 1200 {
			changes = append(changes, change("a.md", pluginsdk.ChangeRefused, fmt.Sprint("refused ", n), lately))
		}
		check(t, s.RecordChanges(ctx, changes))
		var kept int
		check(t, s.Reader().QueryRowContext(ctx, "SELECT COUNT(*) FROM workspace_changes WHERE path = 'a.md'").Scan(&kept))
		if kept != 1001 {
			t.Errorf("%d changes of a file are kept", kept)
		}
		var texts int
		check(t, s.Reader().QueryRowContext(ctx, "SELECT COUNT(*) FROM workspace_texts").Scan(&texts))
		if texts != 1002 {
			t.Errorf("%d texts are kept", texts)
		}
		if heads := must[map[string]string](t)(s.WorkspaceHeads(ctx)); len(heads) != 2 || heads["a.md"] != "version of says" {
			t.Errorf("the files are of the versions %v", heads)
		}
	})
}
