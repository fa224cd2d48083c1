package pluginsdk

import (
	"context"
	"time"
)

// Installation is what operators want to know of the daemon as a whole, and its backups.
type Installation interface {
	// Doctor looks at everything and returns what it found. Needs installation.read.
	Doctor(ctx context.Context, request *DoctorRequest) (*DoctorResponse, error)
	// Audit returns who did what to the installation. Needs installation.read.
	Audit(ctx context.Context, request *ListAuditRequest) (*ListAuditResponse, error)
	// Usage sums up what turns of the agent have used and cost so far. Needs
	// installation.read.
	Usage(ctx context.Context, request *UsageRequest) (*UsageResponse, error)
	// Pause returns whether what plugins start is held back. Needs installation.read.
	Pause(ctx context.Context, request *GetPauseRequest) (*GetPauseResponse, error)
	// SetPause holds back what plugins start, or lets it go on: turns that they ask for,
	// tasks, scheduled jobs and what runs have caused. People are answered all the same.
	// Needs installation.control.
	SetPause(ctx context.Context, request *SetPauseRequest) (*SetPauseResponse, error)
	// Backup makes a backup in the data directory, under backups; it may take minutes.
	// Needs installation.backup.
	Backup(ctx context.Context, request *MakeBackupRequest) (*MakeBackupResponse, error)
	// Backups returns the backups there, newest first. Needs installation.backup.
	Backups(ctx context.Context, request *ListBackupsRequest) (*ListBackupsResponse, error)
	// ReadBackup returns a part of a backup's bytes. Needs installation.backup.
	ReadBackup(ctx context.Context, request *ReadBackupRequest) (*ReadBackupResponse, error)
	// DeleteBackup removes a backup; an absent one is no error. Needs
	// installation.backup.
	DeleteBackup(ctx context.Context, request *DeleteBackupRequest) (*DeleteBackupResponse, error)
}

// DoctorRequest asks what is wrong.
type DoctorRequest struct{}

// DoctorResponse has what was looked at.
type DoctorResponse struct{ Checks []Check }

// AuditEntry says who did what to the installation.
type AuditEntry struct {
	ID     string    `json:"id"` // grows with time
	Who    string    `json:"who"`
	Action string    `json:"action"` // as in plugin.enable
	Target string    `json:"target,omitempty"`
	Detail string    `json:"detail,omitempty"`
	At     time.Time `json:"at"`
}

// AuditQuery selects entries, newest first. Zero fields do not restrict.
type AuditQuery struct {
	Who    string    `json:"who,omitempty"`
	Action string    `json:"action,omitempty"` // it, or what begins with it and a dot
	Target string    `json:"target,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	Before string    `json:"before,omitempty"` // id of the last entry of the page before
	Limit  int       `json:"limit,omitempty"`  // default 100, at most 1000
}

// ListAuditRequest selects entries.
type ListAuditRequest struct{ Query AuditQuery }

// ListAuditResponse has a page of entries.
type ListAuditResponse struct{ Entries []AuditEntry }

// UsageBy says what usage is summed up by.
type UsageBy string

// What usage is summed up by; the empty one is all together.
const (
	UsageByThread  UsageBy = "thread"
	UsageByPurpose UsageBy = "purpose"
	UsageByModel   UsageBy = "model"
	UsageByTask    UsageBy = "task"
	UsageByPlugin  UsageBy = "plugin" // that asked for the turn
	UsageByAccount UsageBy = "account"
	UsageByCron    UsageBy = "cron" // the scheduled job whose prompt the turns answer, by its name
	UsageByDay     UsageBy = "day"  // in UTC, as 2006-01-02
	UsageByHour    UsageBy = "hour" // in UTC, as 2006-01-02T15
)

// UsageRequest selects turns.
type UsageRequest struct {
	By           UsageBy
	Since, Until time.Time // zero: no bound
	ThreadID     string    // empty: of all threads
	Limit        int       // default 100, at most 1000 of what cost the most; of days and hours the newest
}

// UsageSum is what a number of turns have used.
type UsageSum struct {
	Of       string        `json:"of,omitempty"` // the thread, model, ... that they are of
	Turns    int64         `json:"turns"`
	Failed   int64         `json:"failed"` // of them
	Usage    Usage         `json:"usage"`
	CostUSD  float64       `json:"costUsd"`
	Duration time.Duration `json:"duration"` // nanoseconds, all together
	// Unsure counts the turns whose cost may be wrong: those that were recorded before
	// Harness asked the agent for the cost of the turn alone, those that were cut off, and
	// those of a model whose price is not known (UsageResponse.Unpriced).
	Unsure int64 `json:"unsure,omitempty"`
	// NotionalUSD is what of CostUSD is of turns on a plan: nobody is billed that.
	NotionalUSD float64 `json:"notionalUsd,omitempty"`
	// Name is, by thread or task, the thread's name or the task's title; empty: there is none, or
	// it is gone.
	Name string `json:"name,omitempty"`
}

// UsageResponse has the sums.
type UsageResponse struct {
	Total UsageSum
	Sums  []UsageSum // with By
	// Unpriced is what models had of the turns whose price is not known, by the model: their cost
	// is unsure for that.
	Unpriced []UsageSum
}

// Pause says whether what plugins start is held back.
type Pause struct {
	Paused bool      `json:"paused"`
	Who    string    `json:"who,omitempty"`  // who has said so last; empty: nobody ever has
	Since  time.Time `json:"since,omitzero"` // when they did
}

// GetPauseRequest asks whether what plugins start is held back.
type GetPauseRequest struct{}

// GetPauseResponse says how it is.
type GetPauseResponse struct{ Pause Pause }

// SetPauseRequest says whether what plugins start is to be held back.
type SetPauseRequest struct{ Paused bool }

// SetPauseResponse has how it was, and is.
type SetPauseResponse struct{ Was, Pause Pause }

// Backup is a backup in the data directory.
type Backup struct {
	Name   string    `json:"name"`
	Size   int64     `json:"size"`             // bytes
	SHA256 string    `json:"sha256,omitempty"` // hex; only in the answer to Backup
	At     time.Time `json:"at"`
}

// MakeBackupRequest asks for a backup.
type MakeBackupRequest struct{}

// MakeBackupResponse has the backup.
type MakeBackupResponse struct{ Backup Backup }

// ListBackupsRequest asks for all backups.
type ListBackupsRequest struct{}

// ListBackupsResponse has the backups.
type ListBackupsResponse struct{ Backups []Backup }

// ReadBackupRequest names a part of a backup.
type ReadBackupRequest struct {
	Name   string
	Offset int64
	Limit  int // bytes; default and at most 4 MiB
}

// ReadBackupResponse has the bytes; none at the end.
type ReadBackupResponse struct{ Data []byte }

// DeleteBackupRequest names a backup.
type DeleteBackupRequest struct{ Name string }

// DeleteBackupResponse has nothing to say yet.
type DeleteBackupResponse struct{}
