package starter

import (
	"slices"
	"testing"
)

// Each starter is known by its checksum, the newest as the last: else an installation that has an older one would be told that
// somebody has changed it. A change of a starter adds a line to shipped.
func TestStartersAreKnown(t *testing.T) {
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(shipped) {
		t.Errorf("%d starters, and %d are known", len(files), len(shipped))
	}
	for _, file := range files {
		known := shipped[file.name]
		if len(known) == 0 || known[len(known)-1] != file.Version {
			t.Errorf("%s: add %q at the end of its lines in shipped, and leave those before it", file.name, file.Version)
		}
	}
}

// How a file stands to its starter is told by its own version, else by those that it has had.
func TestStand(t *testing.T) {
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	manual := files[slices.IndexFunc(files, func(f File) bool { return f.name == "CLAUDE.md" })]
	memory := files[slices.IndexFunc(files, func(f File) bool { return f.name == "memory.md" })]
	old, older := shipped["CLAUDE.md"][2], shipped["CLAUDE.md"][0]
	for _, row := range []struct {
		file    File
		version string
		had     []string
		want    Standing
		base    string
		offered bool
	}{
		{manual, manual.Version, nil, Same, manual.Version, false},
		{manual, older, nil, Untouched, older, true},
		{manual, "mine", []string{"mine", "another", old, older}, Changed, old, true},
		{manual, "mine", []string{"mine", manual.Version, older}, Same, manual.Version, false},
		{manual, "mine", []string{"mine"}, Unknown, "", true},
		{memory, "mine", []string{"mine"}, Unknown, "", false},
	} {
		got, base, err := row.file.Stand(row.version, func() ([]string, error) { return row.had, nil })
		if err != nil || got != row.want || base != row.base || row.file.Offered(got) != row.offered {
			t.Errorf("%s of %s after %v: %s from %s, offered %t, %v", row.file.Path, row.version, row.had, got, base, row.file.Offered(got), err)
		}
	}
}
