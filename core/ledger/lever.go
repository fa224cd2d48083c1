package ledger

import "time"

// LeverPause is the lever that keeps what plugins start from beginning: turns, tasks,
// scheduled jobs, and what runs cause. What people write goes on.
const LeverPause = "pause"

// Lever is something that operators turn on and off for the whole installation. The
// zero value is one that nobody has touched.
type Lever struct {
	On  bool
	Who string // turned it last
	At  time.Time
}
