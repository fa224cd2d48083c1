package workspace

import (
	"slices"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What a text was made of is in the history before it, also where the file says that text already; the file itself never
// says it, and where the write is refused nothing is noted of it.
func TestWhatATextWasMadeOfIsKept(t *testing.T) {
	f := newFixture(t)
	write := func(text, version, base string) error {
		_, err := f.Write(t.Context(), pluginsdk.WriteWorkspaceRequest{Path: "CLAUDE.md", Text: text, Version: version, Base: base}, ledger.By{Plugin: "web", Author: "ann"})
		return err
	}
	if err := write("mine", "", ""); err != nil {
		t.Fatal(err)
	}
	f.code("of another version", write("merged", "another", "starter"), pluginsdk.CodeConflict)
	if err := write("merged", f.version("CLAUDE.md"), "starter"); err != nil {
		t.Fatal(err)
	}
	if err := write("merged", f.version("CLAUDE.md"), "newer starter"); err != nil {
		t.Fatal(err)
	}
	f.see()
	var texts []string
	for _, change := range f.store.changes {
		texts = append(texts, string(change.Kind)+" "+f.store.texts[change.Version])
	}
	if want := []string{"person mine", "conflict merged", "person starter", "person merged", "person newer starter", "person merged"}; !slices.Equal(texts, want) {
		t.Errorf("the history is %q, want %q", texts, want)
	}
	if got := f.onDisk("CLAUDE.md"); got != "merged" {
		t.Errorf("the file says %q", got)
	}
}
