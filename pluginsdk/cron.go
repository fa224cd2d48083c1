package pluginsdk

import "time"

// MissedPolicy says what becomes of a fire that was missed while the daemon
// was down.
type MissedPolicy string

// The policies for a missed fire.
const (
	MissedRun  MissedPolicy = "run"
	MissedSkip MissedPolicy = "skip"
)

// CronJob is a prompt that is submitted on a schedule, or once.
type CronJob struct {
	ID         string       `json:"id"`
	Name       string       `json:"name"`               // unique
	Schedule   string       `json:"schedule,omitempty"` // cron expression; empty when FireAt is set
	FireAt     time.Time    `json:"fireAt,omitzero"`
	Timezone   string       `json:"timezone"` // IANA name
	Prompt     string       `json:"prompt"`
	ThreadID   string       `json:"threadId,omitempty"`
	Target     string       `json:"target,omitempty"`
	Enabled    bool         `json:"enabled"`
	Missed     MissedPolicy `json:"missed"`
	LastRun    time.Time    `json:"lastRun,omitzero"`
	NextRun    time.Time    `json:"nextRun,omitzero"`
	LastResult string       `json:"lastResult,omitempty"`
	CreatedAt  time.Time    `json:"createdAt"`
}
