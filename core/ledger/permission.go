package ledger

import (
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// permissionModes are those of the agent's that can be had. The one that asks
// nobody (bypassPermissions) is not among them: tools are allowed by rule instead.
var permissionModes = []string{"default", "acceptEdits", "plan", "dontAsk"}

// CheckPermissionMode refuses (CodeInvalid) what is not exactly one of the modes.
// The empty one is whichever is configured. Everything that reaches the agent's
// command line passes here, from whatever side it came.
func CheckPermissionMode(mode string) error {
	if mode == "" || slices.Contains(permissionModes, mode) {
		return nil
	}
	return pluginsdk.Errorf(pluginsdk.CodeInvalid, "permissionMode: %.100q is not one of %s", mode, strings.Join(permissionModes, ", "))
}
