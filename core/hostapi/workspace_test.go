package hostapi

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// contexts is a Workspace that remembers what it was asked.
type contexts struct {
	Workspace
	asked []string
}

func (f *contexts) Write(_ context.Context, request pluginsdk.WriteWorkspaceRequest, by ledger.By) (pluginsdk.WorkspaceFile, error) {
	f.asked = append(f.asked, fmt.Sprintf("%s|%s writes %s", by.Author, by.Plugin, request.Path))
	return pluginsdk.WorkspaceFile{Path: request.Path, Version: "v"}, nil
}

func (f *contexts) Delete(_ context.Context, request pluginsdk.DeleteWorkspaceRequest, by ledger.By) error {
	f.asked = append(f.asked, fmt.Sprintf("%s|%s deletes %s", by.Author, by.Plugin, request.Path))
	return nil
}

func (f *contexts) History(_ context.Context, request pluginsdk.WorkspaceHistoryRequest) ([]pluginsdk.WorkspaceChange, error) {
	f.asked = append(f.asked, fmt.Sprint("history ", request.Limit))
	return nil, nil
}

// Who has changed a context file is said in the plugin's name, and a plugin cannot write in
// another's; what it writes counts.
func TestContextFilesAreWrittenInThePluginsName(t *testing.T) {
	f := newFixture(pluginsdk.CapWorkspaceWrite)
	f.limits = pluginsdk.PluginLimits{CallsPerMinute: 100, RowsPerMinute: 100, BytesPerMinute: 1 << 20, StoredBytes: 1 << 20}
	write := func(author, text string) error {
		return second(f.Workspace.Write(t.Context(), &pluginsdk.WriteWorkspaceRequest{Path: "CLAUDE.md", Text: text, Author: author}))
	}
	for _, author := range []string{"ann", ""} {
		if err := write(author, "x"); err != nil {
			t.Error(err)
		}
	}
	if err := second(f.Workspace.Delete(t.Context(), &pluginsdk.DeleteWorkspaceRequest{Path: "CLAUDE.md", Author: "ann"})); err != nil {
		t.Error(err)
	}
	for _, limit := range []int{0, -1, 5, 5000} {
		if err := second(f.Workspace.History(t.Context(), &pluginsdk.WorkspaceHistoryRequest{Limit: limit})); err != nil {
			t.Error(err)
		}
	}
	refused(t, "a long name", write(strings.Repeat("a", 300), "x"), pluginsdk.CodeInvalid, "author")
	refused(t, "too much", write("", strings.Repeat("x", 2<<20)), pluginsdk.CodeExhausted)
	want := []string{
		"ann|p writes CLAUDE.md", "|p writes CLAUDE.md", "ann|p deletes CLAUDE.md", "history 100", "history 100", "history 5", "history 1000",
	}
	if !slices.Equal(f.files.asked, want) {
		t.Errorf("asked %q, want %q", f.files.asked, want)
	}
}
