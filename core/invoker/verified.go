package invoker

import (
	_ "embed" // the versions
	"strings"
)

// verified.txt is the one place that says with which versions of the CLI Harness is
// verified: .ci/claude pins these, and a test compares the two.
//
//go:embed verified.txt
var verified string

// Verified returns the oldest version of the CLI that Harness works with, and the newest
// with which it was verified.
func Verified() (oldest, newest string) {
	said := map[string]string{}
	for line := range strings.Lines(verified) {
		if name, version, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			said[name] = version
		}
	}
	return said["oldest"], said["newest"]
}
