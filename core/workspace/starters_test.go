package workspace

import (
	"slices"
	"testing"
	"testing/fstest"
)

// How a file stands to its starter is told by its own version, else by those that it has had.
func TestStand(t *testing.T) {
	files, err := Starters(fstest.MapFS{"CLAUDE.md": {Data: []byte("newest")}, "memory.md": {Data: []byte("newest form")}})
	if err != nil {
		t.Fatal(err)
	}
	manual, memory := files[0], files[1]
	if manual.Path != "CLAUDE.md" || memory.Path != "context/memory.md" || manual.Known() {
		t.Errorf("%+v, %+v", manual, memory)
	}
	was := shipped["CLAUDE.md"]
	shipped["CLAUDE.md"] = append(slices.Clone(was), versionOf([]byte("an older one\n")))
	t.Cleanup(func() { shipped["CLAUDE.md"] = was })
	old, older := shipped["CLAUDE.md"][2], shipped["CLAUDE.md"][0]
	restored := versionOf([]byte("mine"))
	for _, row := range []struct {
		file    Starter
		text    string
		had     []string
		want    Standing
		base    string
		offered bool
	}{
		{manual, "newest", nil, Same, manual.Version, false},
		{manual, "an older one\n", nil, Untouched, versionOf([]byte("an older one\n")), true},
		{manual, "an older one\r\n", nil, Untouched, versionOf([]byte("an older one\n")), true},
		{manual, "mine", []string{restored, manual.Version, restored, old, older}, Changed, old, true},
		{manual, "mine", []string{restored, manual.Version, restored}, Unknown, "", true},
		{manual, "mine", []string{restored, "another", manual.Version, old}, Same, manual.Version, false},
		{manual, "mine", []string{"mine", "another", old, older}, Changed, old, true},
		{manual, "mine", []string{"mine", manual.Version, older}, Same, manual.Version, false},
		{manual, "mine", []string{"mine"}, Unknown, "", true},
		{memory, "mine", []string{"mine"}, Unknown, "", false},
	} {
		got, base, err := row.file.Stand(row.text, func() ([]string, error) { return row.had, nil })
		if err != nil || got != row.want || base != row.base || row.file.Offered(got) != row.offered {
			t.Errorf("%s of %s after %v: %s from %s, offered %t, %v", row.file.Path, row.text, row.had, got, base, row.file.Offered(got), err)
		}
	}
}
