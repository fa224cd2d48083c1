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

// CronSpec is what somebody wants a job to be: a prompt that is submitted on a
// schedule, or once.
type CronSpec struct {
	Name     string       `json:"name"`               // unique
	Schedule string       `json:"schedule,omitempty"` // cron expression; empty when FireAt is set
	FireAt   time.Time    `json:"fireAt,omitzero"`
	Timezone string       `json:"timezone"` // IANA name
	Prompt   string       `json:"prompt"`
	ThreadID string       `json:"threadId,omitempty"`
	ReportTo Target       `json:"reportTo,omitzero"` // where its reports go
	Missed   MissedPolicy `json:"missed"`
}

// CronStatus is what became of a job so far. Who fires it reports it.
type CronStatus struct {
	LastRun    time.Time `json:"lastRun,omitzero"`
	NextRun    time.Time `json:"nextRun,omitzero"`
	LastResult string    `json:"lastResult,omitempty"`
}

// CronJob is a job: what it is to be, whether it is on, and what became of it.
// Each of the three is written by a call of its own, so that none undoes another.
type CronJob struct {
	ID        string     `json:"id"`
	Spec      CronSpec   `json:"spec"`
	Enabled   bool       `json:"enabled"`
	Status    CronStatus `json:"status"`
	CreatedAt time.Time  `json:"createdAt"`
}
