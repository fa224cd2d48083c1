package ledger

import (
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Backlog is how many runs of one sort wait, also for another attempt.
type Backlog struct {
	Beside bool                 // turns that are in no thread's queue
	Thread pluginsdk.ThreadKind // whose queue the others are in
	Runs   int
	Oldest time.Time // when the oldest of them was accepted
}
