package terminal

import (
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// offered returns a line for each action of a plugin's row, with the command to type, unless what
// is shown of the row says the command.
func offered(message pluginsdk.Message, shown string) (lines []string) {
	for _, action := range message.Actions() {
		if !strings.Contains(shown, action.Command) {
			lines = append(lines, "  ["+Clean(action.Label)+"] "+Clean(action.Command))
		}
	}
	return lines
}
