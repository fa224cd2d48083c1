package daemon_test

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/coretest/programs"
)

// apartVariable is set in a process that does one test alone: to the directory of the
// plugins, which are built once for all.
const apartVariable = "TEST_APART"

// apart has a test done in a process of its own, beside the others: one that counts
// what its process has open, or sets what is the whole process's. It reports whether
// this is that process, in which the test goes on; in the other it is done.
func apart(t *testing.T) bool {
	t.Helper()
	programs.Used() // what else the other process reads, go test is not told of: tests apart read no file of the checkout
	if alone() {
		return true
	}
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	arguments := []string{"-test.v", "-test.run=" + theTest(t.Name(), flag.Lookup("test.run").Value.String())}
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "test.timeout" || strings.HasPrefix(f.Name, "gallery.") {
			arguments = append(arguments, "-"+f.Name+"="+f.Value.String())
		}
	})
	command := exec.CommandContext(t.Context(), self, arguments...)
	command.Env = append(os.Environ(), apartVariable+"="+pluginDir)
	output, err := command.CombinedOutput()
	t.Logf("in a process of its own:\n%s", output)
	switch outcome := func(word string) bool { return strings.Contains(string(output), "--- "+word+": "+t.Name()+" (") }; {
	case err == nil && outcome("SKIP"):
		t.Skip("left out: the reason stands in the output of its process, above")
	case err != nil || !outcome("PASS"):
		t.Errorf("in a process of its own: %v", err)
	}
	return false
}

// alone reports whether this process does one test alone.
func alone() bool { return os.Getenv(apartVariable) != "" }

// theTest is the pattern of a test, and of those of its subtests that are asked for by
// a pattern that has no alternatives.
func theTest(name, asked string) string {
	parts := strings.Split(name, "/")
	for n, part := range parts {
		parts[n] = "^" + part + "$"
	}
	if further := strings.Split(asked, "/"); len(further) > len(parts) && !strings.Contains(asked, "|") {
		parts = append(parts, further[len(parts):]...)
	}
	return strings.Join(parts, "/")
}
