package text

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files of the gallery")

// between is the line between two parts in a golden file.
const between = "\n════════ next message ════════\n"

// What people read: each long answer of the gallery, as messages. The golden files are read
// by people when they change.
func TestGallery(t *testing.T) {
	files, err := filepath.Glob("testdata/gallery/*.md")
	if err != nil || len(files) < 15 {
		t.Fatalf("the gallery has %d answers, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".md"), func(t *testing.T) {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := Split(string(source), Limit)
			sound(t, parts, Limit)
			got := strings.Join(parts, between) + "\n"
			golden := strings.TrimSuffix(file, ".md") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s differs; run with -update, read it and commit it\n%s", golden, got)
			}
		})
	}
}
