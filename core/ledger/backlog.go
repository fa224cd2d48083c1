package ledger

import (
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Backlog is how many runs of one sort wait, also for another attempt.
type Backlog struct {
	Beside  bool                 // in no thread's queue
	Command bool                 // of those: typed commands; else they are turns
	Thread  pluginsdk.ThreadKind // whose queue the others are in
	Runs    int
	Oldest  time.Time // when the oldest of them was accepted
}
