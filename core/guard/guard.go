// Package guard is the boundary of a run, a loop's round, a request: a panic
// inside of it ends that one, and nothing else. Backoff is the wait after it, and Loop the
// goroutine that a room keeps.
package guard

import (
	"log/slog"
	"runtime/debug"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Call calls do. A panic in it is logged with its stack as one in what, and is
// returned as an error (CodeInternal). A loop whose rounds are guarded has to
// wait after such an error as after any other (Backoff): the next round may panic
// again.
func Call(log *slog.Logger, what string, do func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			log.Error("panic", "in", what, "panic", cause, "stack", string(debug.Stack()))
			err = pluginsdk.Errorf(pluginsdk.CodeInternal, "a fault of Harness itself: %v", cause)
		}
	}()
	return do()
}

// Try is Call for what has no error to return. It reports whether do panicked.
func Try(log *slog.Logger, what string, do func()) (panicked bool) {
	return Call(log, what, func() error {
		do()
		return nil
	}) != nil
}
