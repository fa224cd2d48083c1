package terminal

import (
	"bufio"
	"context"
	"io"
	"strings"
)

// readLines hands out the lines of in until it ends or ctx does. A read that
// is under way cannot be ended from here: its goroutine lives until in says
// something, or the process ends.
func readLines(ctx context.Context, in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		reader := bufio.NewReader(in)
		for {
			line, err := reader.ReadString('\n')
			if line != "" {
				select {
				case lines <- strings.TrimRight(line, "\r\n"):
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}
