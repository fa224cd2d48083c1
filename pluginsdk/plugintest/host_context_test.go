package plugintest_test

import (
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// The files of the workspace, as authors test with them: versions, conflicts, history.
func TestWorkspace(t *testing.T) {
	host, sdk := overTheWire(t)
	ctx := t.Context()
	host.SetContextFile("CLAUDE.md", "be brief")
	files := must(sdk.Workspace.List(ctx, &pluginsdk.ListWorkspaceRequest{})).Files
	if len(files) != 1 || files[0].Path != "CLAUDE.md" || files[0].Size != 8 {
		t.Fatalf("listed %+v", files)
	}
	write := func(path, text, version, author string) error {
		_, err := sdk.Workspace.Write(ctx, &pluginsdk.WriteWorkspaceRequest{Path: path, Text: text, Version: version, Author: author})
		return err
	}
	if err := write("CLAUDE.md", "be kind", files[0].Version, "ann"); err != nil {
		t.Fatal(err)
	}
	if err := write("CLAUDE.md", "be loud", files[0].Version, ""); pluginsdk.CodeOf(err) != pluginsdk.CodeConflict {
		t.Errorf("an old version: %v", err)
	}
	now := must(sdk.Workspace.Read(ctx, &pluginsdk.ReadWorkspaceRequest{Path: "CLAUDE.md"}))
	then := must(sdk.Workspace.Read(ctx, &pluginsdk.ReadWorkspaceRequest{Path: "CLAUDE.md", Version: files[0].Version}))
	if now.Text != "be kind" || then.Text != "be brief" {
		t.Errorf("it says %q, and said %q", now.Text, then.Text)
	}
	if _, err := sdk.Workspace.Delete(ctx, &pluginsdk.DeleteWorkspaceRequest{Path: "CLAUDE.md", Version: now.File.Version}); err != nil {
		t.Error(err)
	}
	var kinds []pluginsdk.ChangeKind
	for _, change := range must(sdk.Workspace.History(ctx, &pluginsdk.WorkspaceHistoryRequest{Path: "CLAUDE.md"})).Changes {
		kinds = append(kinds, change.Kind)
	}
	want := []pluginsdk.ChangeKind{pluginsdk.ChangeByPlugin, pluginsdk.ChangeRefused, pluginsdk.ChangeByPerson, pluginsdk.ChangeOutside}
	if len(kinds) != 4 || kinds[0] != want[0] || kinds[1] != want[1] || kinds[2] != want[2] || kinds[3] != want[3] {
		t.Errorf("the history is %q, want %q", kinds, want)
	}
}

// Threads that are deleted and branched, as authors test with them.
func TestThreadsEndAndBranch(t *testing.T) {
	host, sdk := overTheWire(t)
	ctx := t.Context()
	host.AddThread(pluginsdk.Thread{ID: "P", Kind: pluginsdk.ThreadPrimary})
	made := must(sdk.Threads.Create(ctx, &pluginsdk.CreateThreadRequest{Thread: pluginsdk.NewThread{Source: "web", SourceID: "1", Name: "plans"}})).Thread
	rows := must(sdk.Messages.Append(ctx, &pluginsdk.AppendMessagesRequest{ThreadID: made.ID, Messages: []pluginsdk.NewMessage{
		{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageText, Content: "one"}, {Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageText, Content: "two"},
	}})).Messages
	branch := &pluginsdk.BranchThreadRequest{ThreadID: made.ID, MessageID: rows[0].ID, Source: "web", SourceID: "2"}
	copied, again := must(sdk.Threads.Branch(ctx, branch)), must(sdk.Threads.Branch(ctx, branch))
	said := must(sdk.Messages.List(ctx, &pluginsdk.ListMessagesRequest{Query: pluginsdk.MessageQuery{ThreadID: copied.Thread.ID}})).Messages
	if len(said) != 1 || said[0].Content != "one" || copied.Thread.Name != "plans" || !again.Existed || again.Thread.ID != copied.Thread.ID {
		t.Errorf("branched %+v with %+v, again %+v", copied, said, again)
	}
	for id, code := range map[string]pluginsdk.Code{made.ID: "", "absent": "", "P": pluginsdk.CodeStale} {
		if _, err := sdk.Threads.Delete(ctx, &pluginsdk.DeleteThreadRequest{ID: id}); pluginsdk.CodeOf(err) != code {
			t.Errorf("delete %s: %v, want %q", id, err, code)
		}
	}
	host.AddCommand(pluginsdk.Command{CommandSpec: pluginsdk.CommandSpec{Name: "help"}})
	if listed := must(sdk.Commands.List(ctx, &pluginsdk.ListCommandsRequest{})).Commands; len(listed) != 1 || listed[0].Name != "help" {
		t.Errorf("commands %+v", listed)
	}
}
