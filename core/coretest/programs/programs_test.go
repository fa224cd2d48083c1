package programs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/coretest/programs"
)

// What was linked once is linked no more, and a test that damages its copy damages no other's.
func TestProgramsAreLinkedOnce(t *testing.T) {
	keep := t.TempDir()
	t.Setenv("HARNESS_TEST_PROGRAMS", keep)
	first := filepath.Join(t.TempDir(), "bin")
	if err := programs.Build(first, "core/coretest/doors/knocker"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(first, "knocker"), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir()) // there is no go any more
	second := t.TempDir()
	if err := programs.Build(second, "core/coretest/doors/knocker"); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(filepath.Join(second, "knocker"))
	if err != nil || !strings.HasPrefix(string(program), "\x7fELF") {
		t.Errorf("the second copy is %d bytes, %v", len(program), err)
	}
	if err := programs.Build(second, "core/coretest/doors/knocker", "core/coretest/gallery"); err == nil || !strings.Contains(err.Error(), `"go"`) {
		t.Errorf("what is not there yet: %v", err)
	}
}
