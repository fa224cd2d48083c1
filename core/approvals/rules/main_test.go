package rules

import (
	"os"
	"strings"
	"testing"
)

// No rule is offered for what lies below /dev, where the tests' files are when they are in memory.
func TestMain(m *testing.M) {
	if strings.HasPrefix(os.TempDir(), "/dev/") {
		for _, variable := range []string{"TMPDIR", "GOTMPDIR"} {
			if err := os.Setenv(variable, "/tmp"); err != nil {
				panic(err)
			}
		}
	}
	os.Exit(m.Run())
}
