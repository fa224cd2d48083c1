package ledger

import (
	"regexp"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// askToolsMax is how long the tools are that ask in a thread, in bytes.
const askToolsMax = 4 << 10

var askTool = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*\*?$`)

// CheckAskTools refuses (CodeInvalid) what Thread.AskTools cannot be: it is names of tools
// with spaces between them, which may end in *, or all, or none, or empty.
func CheckAskTools(text string) error {
	if len(text) > askToolsMax {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "askTools: it has %d bytes; at most %d are allowed", len(text), askToolsMax)
	}
	names := strings.Fields(text)
	for _, name := range names {
		if !askTool.MatchString(name) {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "askTools: %.100q is not the name of a tool; write names such as Bash and mcp__server__tool "+
				"with spaces between them, or all, or none", name)
		}
	}
	if len(names) > 1 && (slices.Contains(names, "all") || slices.Contains(names, "none")) {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "askTools: all and none stand alone, not with other names: %.100q", text)
	}
	return nil
}

// AskTools is how the tools that ask in a thread are stored: with one space between them.
func AskTools(text string) string { return strings.Join(strings.Fields(text), " ") }
