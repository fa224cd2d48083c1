package diff

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
	"pgregory.net/rapid"
)

// texts are of few different lines, so that many are the same before and after, and may lack
// the last line feed.
func texts() *rapid.Generator[string] {
	line := rapid.SampledFrom([]string{"", "a", "b", "c", "-", "+x", "-- y", "++ z", "@@ -1 +1 @@", "diff --git a/x b/x", "\r", "\\ No newline at end of file", "ä\u202e"})
	return rapid.Custom(func(t *rapid.T) string {
		text := strings.Join(rapid.SliceOfN(line, 0, 40).Draw(t, "lines"), "\n")
		return text + rapid.SampledFrom([]string{"", "\n"}).Draw(t, "end")
	})
}

// apply makes the text after a change from the one before, and holds the change against that.
func apply(t *rapid.T, before string, file File) string {
	old := strings.SplitAfter(before, "\n")
	if old[len(old)-1] == "" {
		old = old[:len(old)-1]
	}
	var after strings.Builder
	at, written, added, removed := 0, 0, 0, 0
	for _, hunk := range file.Hunks {
		from := hunk.OldFrom - 1
		if hunk.OldLines == 0 {
			from = hunk.OldFrom
		}
		for ; at < from; at++ {
			after.WriteString(old[at])
			written++
		}
		before, now := at, written
		for _, line := range hunk.Lines {
			content := line.Text + "\n"
			if line.Unended {
				content = line.Text
			}
			if line.Kind != Added {
				if at >= len(old) || old[at] != content || line.Old != at+1 {
					t.Fatalf("line %+v was not there before, in line %d", line, at+1)
				}
				at++
			}
			if line.Kind != Removed {
				after.WriteString(content)
				written++
				if line.New != written {
					t.Fatalf("line %+v is line %d", line, written)
				}
			}
			switch line.Kind {
			case Added:
				added++
			case Removed:
				removed++
			}
			if line.Kind == Added && line.Old != 0 || line.Kind == Removed && line.New != 0 {
				t.Fatalf("line %+v has a number where it is not", line)
			}
		}
		if hunk.OldLines != at-before || hunk.NewLines != written-now || hunk.NewLines > 0 && hunk.NewFrom != now+1 {
			t.Fatalf("hunk %+v is of %d and %d lines and begins in line %d", hunk, at-before, written-now, now+1)
		}
	}
	if file.Added != added || file.Removed != removed || file.LeftOut != 0 {
		t.Fatalf("%d and %d lines were counted, %d and %d are there", file.Added, file.Removed, added, removed)
	}
	return after.String() + strings.Join(old[at:], "")
}

// Who reads a change must be able to trust that it is the change.
func TestAChangeMakesTheTextAfterOfTheTextBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := texts().Draw(t, "before"), texts().Draw(t, "after")
		file := Of(before, after)
		if got := apply(t, before, file); got != after {
			t.Fatalf("it makes %q", got)
		}
		if before == after && len(file.Hunks) != 0 {
			t.Fatalf("what is the same differs: %+v", file)
		}
		for _, hunk := range file.Hunks {
			same := 0
			for _, line := range hunk.Lines {
				if same++; line.Kind != Same {
					same = 0
				}
				if same > 6 {
					t.Fatalf("more than six lines in a row are the same in %+v", hunk)
				}
			}
		}
	})
}

// gitDiff is how git prints that files have changed.
func gitDiff(names, before, after []string) string {
	var text strings.Builder
	for i, name := range names {
		unified := udiff.Unified("a/"+name, "b/"+name, before[i], after[i])
		fmt.Fprintf(&text, "diff --git a/%s b/%s\nindex 0123456..789abcd 100644\n%s", name, name, unified)
	}
	return text.String()
}

// What was printed and read again is the same change, whatever the lines look like.
func TestUnifiedReadsWhatWasPrinted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a.go", "b c.txt"}
		before := []string{texts().Draw(t, "before"), texts().Draw(t, "before 2")}
		after := []string{texts().Draw(t, "after"), texts().Draw(t, "after 2")}
		patch := Unified(gitDiff(names, before, after))
		if len(patch.Files) != 2 || patch.Rest != "" || patch.FilesLeftOut != 0 || patch.RestLeftOut != 0 {
			t.Fatalf("it is read as %+v", patch)
		}
		for i, file := range patch.Files {
			if got := apply(t, before[i], file); got != after[i] || file.Old != names[i] || file.New != names[i] {
				t.Fatalf("%s (%s) makes %q of %q", file.New, file.Old, got, before[i])
			}
		}
	})
}

// Evidence is cut at a size: what is there is shown, and that it was cut.
func TestUnifiedReadsWhatWasCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := texts().Draw(t, "before"), texts().Draw(t, "after")
		whole := gitDiff([]string{"a", "b"}, []string{before, after}, []string{after, before})
		const mark = "[cut: git diff has the whole]\n"
		there := whole[:rapid.IntRange(0, len(whole)).Draw(t, "cut")]
		patch := Unified(there + "\n" + mark)
		if !strings.HasSuffix(patch.Rest, mark) {
			t.Fatalf("that it was cut is not told: %+v", patch)
		}
		changed := 0
		for _, file := range patch.Files {
			changed += file.Added + file.Removed
		}
		if want, got := signed(there), changed+signed(patch.Rest); got < want {
			t.Fatalf("%d lines had changed, %d are told of: %+v", want, got, patch)
		}
	})
}

// signed counts the lines that have a sign before them, without those that may be the names of files.
func signed(text string) (n int) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		named := slices.ContainsFunc([]string{"--- a/a", "--- a/b", "+++ b/a", "+++ b/b"}, func(name string) bool { return strings.HasPrefix(name, line) })
		if line != "" && !named && (line[0] == '-' || line[0] == '+') {
			n++
		}
	}
	return n
}

func TestUnified(t *testing.T) {
	const modified = "diff --git a/x.go b/x.go\nindex 1..2 100644\n--- a/x.go\n+++ b/x.go\n@@ -7,3 +7,3 @@ func main() {\n a\n-b\n+c\n d\n"
	line := func(kind Kind, before, after int, text string) Line {
		return Line{Kind: kind, Old: before, New: after, Text: text}
	}
	hunk := Hunk{OldFrom: 7, OldLines: 3, NewFrom: 7, NewLines: 3, Section: "func main() {", Lines: []Line{
		line(Same, 7, 7, "a"), line(Removed, 8, 0, "b"), line(Added, 0, 8, "c"), line(Same, 9, 9, "d"),
	}}
	change := File{Old: "x.go", New: "x.go", OldMode: "100644", Hunks: []Hunk{hunk}, Added: 1, Removed: 1}
	cut := change
	cut.Hunks = []Hunk{{OldFrom: 7, OldLines: 2, NewFrom: 7, NewLines: 1, Section: "func main() {", Lines: hunk.Lines[:2]}}
	cut.Added = 0
	head, _, _ := strings.Cut(modified, "@@")
	for name, test := range map[string]struct {
		text string
		want Patch
	}{
		"nothing":                 {"", Patch{}},
		"no diff":                 {"hello\n@@ world", Patch{Rest: "hello\n@@ world\n"}},
		"a hunk alone":            {"@@ -1 +1 @@\n-a\n+b\n", Patch{Rest: "@@ -1 +1 @@\n-a\n+b\n"}},
		"modified":                {modified, Patch{Files: []File{change}}},
		"what is before":          {"commit 1\n\n  why\n\n" + modified, Patch{Files: []File{change}, Rest: "commit 1\n\n  why\n\n"}},
		"what follows":            {modified + "-- \n2.50\n", Patch{Files: []File{change}, Rest: "-- \n2.50\n"}},
		"cut in a hunk":           {strings.TrimSuffix(modified, "+c\n d\n") + "\n[cut: x]\n", Patch{Files: []File{cut}, Rest: "[cut: x]\n"}},
		"cut at the end":          {modified + "\n[cut: x]\n", Patch{Files: []File{change}, Rest: "[cut: x]\n"}},
		"cut in a header":         {head + "@@ -7,", Patch{Files: []File{{Old: "x.go", New: "x.go", OldMode: "100644"}}, Rest: "@@ -7,\n"}},
		"more lines than it says": {modified + " more\n", Patch{Files: []File{change}, Rest: " more\n"}},
		"without git": {"--- x.go\t2026-01-01\n+++ x.go\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n", Patch{Files: []File{{Old: "x.go", New: "x.go", Added: 1, Removed: 1,
			Hunks: []Hunk{{OldFrom: 1, OldLines: 1, NewFrom: 1, NewLines: 1, Lines: []Line{line(Removed, 1, 0, "a"), line(Added, 0, 1, "b")}}}}}}},
		"made": {"diff --git a/n b/n\nnew file mode 100755\nindex 0..1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n", Patch{Files: []File{{New: "n", NewMode: "100755", Added: 1,
			Hunks: []Hunk{{NewFrom: 1, NewLines: 1, Lines: []Line{{Kind: Added, New: 1, Text: "a", Unended: true}}}}}}}},
		"deleted": {"diff --git a/n b/n\ndeleted file mode 100644\nindex 1..0\n--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", Patch{Files: []File{{Old: "n", OldMode: "100644", Removed: 1,
			Hunks: []Hunk{{OldFrom: 1, OldLines: 1, Lines: []Line{line(Removed, 1, 0, "a")}}}}}}},
		"moved":    {"diff --git a/a b b/c d\nsimilarity index 100%\nrename from a b\nrename to c d\n", Patch{Files: []File{{Old: "a b", New: "c d"}}}},
		"mode":     {"diff --git a/m b/m\nold mode 100644\nnew mode 100755\n", Patch{Files: []File{{Old: "m", New: "m", OldMode: "100644", NewMode: "100755"}}}},
		"binary":   {"diff --git a/i b/i\nindex 1..2 100644\nBinary files a/i and b/i differ\n", Patch{Files: []File{{Old: "i", New: "i", OldMode: "100644", Binary: true}}}},
		"escaped":  {"diff --git \"a/\\303\\244\\n\" \"b/\\303\\244\\n\"\nold mode 100644\nnew mode 100755\n", Patch{Files: []File{{Old: "ä\n", New: "ä\n", OldMode: "100644", NewMode: "100755"}}}},
		"unlikely": {"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -99999999999999999999 +1 @@\n-a\n", Patch{Files: []File{{Old: "x", New: "x"}}, Rest: "@@ -99999999999999999999 +1 @@\n-a\n"}},
	} {
		if got := Unified(test.text); fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", test.want) {
			t.Errorf("%s:\n%+v, not\n%+v", name, got, test.want)
		}
	}
}

// A change of a million lines is a page that can be shown, and says how much it is without.
func TestWhatIsLeftOut(t *testing.T) {
	long := strings.Repeat("line\n", 2*mostLines)
	file := Of("", long)
	if len(file.Hunks) != 1 || len(file.Hunks[0].Lines) != mostLines || file.Added != 2*mostLines || file.LeftOut != mostLines {
		t.Errorf("of many lines %d are left out", file.LeftOut)
	}
	file = Of("a\n", "b\n"+strings.Repeat("x", mostBytes)+"\nc\n")
	if kept := file.Hunks[0].Lines; len(kept) != 2 || file.Added != 3 || file.LeftOut != 2 {
		t.Errorf("of long ones %d are left out", file.LeftOut)
	}
	one := "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n"
	if patch := Unified(strings.Repeat(one, mostFiles+3)); len(patch.Files) != mostFiles || patch.FilesLeftOut != 3 {
		t.Errorf("of many files %d are left out", patch.FilesLeftOut)
	}
	// All files have one room.
	both := gitDiff([]string{"a", "b"}, []string{"", ""}, []string{long, "b\n"})
	if patch := Unified(both); patch.Files[0].LeftOut != mostLines || patch.Files[1].LeftOut != 1 || patch.Files[1].Added != 1 {
		t.Errorf("of two files %d and %d lines are left out", patch.Files[0].LeftOut, patch.Files[1].LeftOut)
	}
	if patch := Unified(strings.Repeat("x", mostBytes+4)); len(patch.Rest) != mostBytes || patch.RestLeftOut != 5 {
		t.Errorf("of what is no diff %d bytes are left out", patch.RestLeftOut)
	}
}

// Nobody's text may end the process, or be passed over.
func FuzzUnified(f *testing.F) {
	f.Add("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n")
	f.Add("diff --git a/x b/x\nGIT binary patch\nliteral 1\nIc$0\n\n")
	f.Add("--- a\n+++ b\n@@ -1 +1 @@\n\n[cut: x]\n")
	f.Fuzz(func(t *testing.T, text string) {
		patch := Unified(text)
		read := patch.Rest
		for _, file := range patch.Files {
			for _, hunk := range file.Hunks {
				for _, line := range hunk.Lines {
					read += line.Text + "\n"
				}
			}
		}
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\n")
			if strings.HasPrefix(line, "+added") && !slices.Contains(strings.Split(read, "\n"), line[1:]) && !strings.Contains(read, line) {
				t.Errorf("%q is neither in the files nor in the rest", line)
			}
		}
	})
}
