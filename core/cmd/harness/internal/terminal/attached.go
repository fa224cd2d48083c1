package terminal

import (
	"fmt"

	"github.com/dustin/go-humanize"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Attached returns a line for each file of a message, with how to have it.
func Attached(message pluginsdk.Message) (lines []string) {
	for _, file := range message.Attachments {
		how := Clean(file.Where)
		if id, ok := file.FileID(); ok {
			how = "harness file get " + Clean(id)
		}
		lines = append(lines, fmt.Sprintf("file %s (%s): %s", Short(file.Name, 60), humanize.IBytes(uint64(max(file.Size, 0))), how)) //nolint:gosec // not negative
	}
	return lines
}
