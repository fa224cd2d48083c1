// Package hostile is what somebody writes who wants a page to do something: for tests only. Each
// text has the word hostile in it, which a test looks for where it is shown as text; those that
// run something call a function of that name, by which a browser can tell.
package hostile

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed payloads.txt
var file string

// Payloads returns the texts of payloads.txt: one a line, with Go's escapes (\n, \u202e, \\ for a
// backslash) but no quotes around it; lines that begin with # say what follows. It panics when the
// file is not so.
func Payloads() (payloads []string) {
	for line := range strings.Lines(file) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		payload, err := strconv.Unquote(`"` + strings.ReplaceAll(line, `"`, `\"`) + `"`)
		if err != nil {
			panic(fmt.Sprintf("payloads.txt: %s: %v", line, err))
		}
		payloads = append(payloads, payload)
	}
	return payloads
}
