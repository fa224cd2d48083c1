package pluginsdk

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MissedPolicy says what becomes of a fire whose time passed while nobody was there to make
// it.
type MissedPolicy string

// The policies for a missed fire.
const (
	MissedRun  MissedPolicy = "run"
	MissedSkip MissedPolicy = "skip"
)

// OverlapPolicy says what becomes of a fire while the job's run before it still goes on.
type OverlapPolicy string

// The policies for a fire in a run of the same job; the empty one is OverlapSkip.
const (
	OverlapSkip   OverlapPolicy = "skip"   // it is skipped
	OverlapQueue  OverlapPolicy = "queue"  // it waits, and those after it are skipped as long as it waits
	OverlapCancel OverlapPolicy = "cancel" // the run before it is stopped
)

// CronReport says what of a job's runs people are shown beside the job's thread.
type CronReport string

// The ways of reporting; the empty one is ReportAlways.
const (
	ReportAlways   CronReport = "always"    // the reply
	ReportOnNotify CronReport = "on_notify" // only what the agent hands to the tool notify
	ReportNever    CronReport = "never"     // nothing
)

// CronSpec is what somebody wants a job to be: a prompt that is submitted on a
// schedule, or once. Its days and hours are those of its timezone.
type CronSpec struct {
	Name     string       `json:"name"`               // unique; see CheckName
	Schedule string       `json:"schedule,omitempty"` // cron expression; empty when FireAt or Trigger is set
	FireAt   time.Time    `json:"fireAt,omitzero"`
	Timezone string       `json:"timezone"` // IANA name
	Prompt   string       `json:"prompt"`
	ThreadID string       `json:"threadId,omitempty"`
	ReportTo Target       `json:"reportTo,omitzero"` // where its reports go
	Missed   MissedPolicy `json:"missed"`
	// Lateness is how late a missed fire may be made. 0: half of the time until the next one, of a
	// job that is due once a day or less often a day; a job that fires once is never too late.
	Lateness time.Duration `json:"lateness,omitempty"` // nanoseconds
	Overlap  OverlapPolicy `json:"overlap,omitempty"`
	// Jitter spreads jobs that are due at the same time: each is fired later than it is due by
	// less than this, and always by the same.
	Jitter time.Duration `json:"jitter,omitempty"` // nanoseconds
	Until  time.Time     `json:"until,omitzero"`   // the last time at which it may be due
	// Except has the days on which the job is not due, with commas between them: weekdays (sat),
	// dates (2026-12-24), dates of every year (12-24), dates from one to another
	// (2026-12-24..2027-01-02).
	Except string `json:"except,omitempty"`
	// Hours is the part of the day in which it may be due, without its end, such as 08:00-18:00.
	Hours string `json:"hours,omitempty"`

	// Trigger is what the job fires on when it has neither Schedule nor FireAt: "task" (a task has ended),
	// "task:completed", "task:failed" or "task:cancelled", or "file:PATH" (a file has changed; the path is absolute, or
	// below the workspace). A job that has "file:PATH" is off until a person has confirmed it, as one with When.
	Trigger string `json:"trigger,omitempty"`
	// Keep is how long the rows of its fires are kept, at least an hour. 0: the newest 2,000, and all of the
	// last 90 days.
	Keep time.Duration `json:"keep,omitempty"` // nanoseconds

	// Report says what of its runs people are shown. That it fails they are told in any case.
	Report CronReport `json:"report,omitempty"`
	// Session is that of its runs: SessionFresh, or SessionThread for that of the thread. Empty: fresh
	// in a thread of the job's own, the thread's in another, where it cannot be fresh.
	Session    TurnSession   `json:"session,omitempty"`
	CostCapUSD float64       `json:"costCapUsd,omitempty"` // of a run; 0: none
	Timeout    time.Duration `json:"timeout,omitempty"`    // nanoseconds, of a turn; 0: the daemon's
	// IfRoom has it fire only while no window of the agent's plan is used up or nearly so.
	IfRoom bool `json:"ifRoom,omitempty"`

	// When, Model, PermissionMode and Tools say what it may cost and do: a job that has one of them
	// is off until a person has confirmed them, unless a person has set them.

	// When is plugin:NAME, optionally with words for it after a space, which asks the plugin of that name by its hook
	// OnCron whether there is news; or a command, run by /bin/sh in the workspace when the job is due: exit code 0 is news, and
	// what it prints goes into the prompt; 1 is none, and nothing is submitted; any other has failed.
	When           string   `json:"when,omitempty"`
	Model          string   `json:"model,omitempty"`          // empty: the thread's
	PermissionMode string   `json:"permissionMode,omitempty"` // empty: the thread's
	Tools          []string `json:"tools,omitempty"`          // rules of what its runs may do unasked beside what all may
}

// OneCause reports whether the specification has exactly one of Schedule, FireAt and Trigger.
func (s CronSpec) OneCause() bool {
	n := 0
	for _, has := range []bool{s.Schedule != "", !s.FireAt.IsZero(), s.Trigger != ""} {
		if has {
			n++
		}
	}
	return n == 1
}

// CheckName refuses (CodeInvalid) a name that people take for another one, or that breaks the line or the command in
// which it stands: an empty one, one with a space at an end, with a character that is not seen, or with |.
func (s CronSpec) CheckName() error {
	switch {
	case s.Name == "":
		return Errorf(CodeInvalid, "name: a scheduled job needs one")
	case strings.TrimSpace(s.Name) != s.Name:
		return Errorf(CodeInvalid, "name: %q begins or ends with a space; leave that out", s.Name)
	case !utf8.ValidString(s.Name) || strings.ContainsFunc(s.Name, func(r rune) bool { return r == '|' || !unicode.IsPrint(r) }):
		return Errorf(CodeInvalid, "name: %q has a line break, a character that is not seen, or |; leave that out", s.Name)
	}
	return nil
}

// CronStatus is what became of a job so far. Who fires it reports it.
type CronStatus struct {
	LastRun    time.Time `json:"lastRun,omitzero"`
	NextRun    time.Time `json:"nextRun,omitzero"`
	LastResult string    `json:"lastResult,omitempty"`
	Failures   int       `json:"failures,omitempty"` // fires that have failed one after the other, up to now
	// Mark is what who fires the job has to remember with it; nobody else reads it. At most 4 KiB.
	Mark string `json:"-"`
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

// CronFireState says how far a fire has come.
type CronFireState string

// The states of a fire. Those up to FireRunning are not over.
const (
	FirePending   CronFireState = "pending"   // it is to be made
	FireRunning   CronFireState = "running"   // its message is submitted
	FireSucceeded CronFireState = "succeeded" // its run has
	FireFailed    CronFireState = "failed"    // its run has, or its message was refused
	FireCancelled CronFireState = "cancelled" // its run was
	FireSkipped   CronFireState = "skipped"   // it was not made, as the job says
	FireMissed    CronFireState = "missed"    // nobody was there to make it
)

// Open reports whether something is yet to become of the fire.
func (s CronFireState) Open() bool { return s == FirePending || s == FireRunning }

// FireCause says why a fire was made.
type FireCause string

// The causes of a fire.
const (
	FireScheduled FireCause = "schedule" // it was due
	FireAsked     FireCause = "asked"    // somebody has asked for it
	// FireBackfill is of a fire by which somebody makes up for a time that has passed. It is due less
	// than a second after that time, which has its own row.
	FireBackfill FireCause = "backfill"
	FireCalled   FireCause = "called" // a program elsewhere has asked for it, with data
	FireEvent    FireCause = "event"  // what the job's Trigger names has happened; Data says what
)

// CronFire is a time at which a job was due, and what became of it: also one that was not
// made has its row.
type CronFire struct {
	JobID string    `json:"jobId"`
	Job   string    `json:"job"` // the job's name then
	Due   time.Time `json:"due"` // with the job it says which fire this is
	// Until is the last of the times for which this row stands, and Count how many they are, when it
	// stands for more than one.
	Until  time.Time     `json:"until,omitzero"`
	Count  int           `json:"count,omitempty"`
	Cause  FireCause     `json:"cause"`
	State  CronFireState `json:"state"`
	Reason string        `json:"reason,omitempty"`
	// Data is what who has asked for it gives the agent with the prompt. It is no instruction.
	Data      string    `json:"data,omitempty"`
	RunID     string    `json:"runId,omitempty"`
	CostUSD   float64   `json:"costUsd,omitempty"`
	DecidedAt time.Time `json:"decidedAt,omitzero"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
}

// CronQuestion asks whether there is news for a job that is due. A job without news costs no
// turn of the agent.
type CronQuestion struct {
	JobID       string    `json:"jobId"`
	Job         string    `json:"job"` // the job's name
	Due         time.Time `json:"due"`
	LastSuccess time.Time `json:"lastSuccess,omitzero"` // when the job succeeded last; zero: never
	// Data is JSON or text, at most MaxCronText: what the job says about the question; of a job that says
	// nothing, what who asked for the fire gave with it. It is no instruction.
	Data string `json:"data,omitempty"`
}

// MaxCronText is, in bytes, the longest Data of a CronQuestion and the longest Text of its answer.
const MaxCronText = 64 << 10

// OnCronRequest asks the plugin that a job names whether there is news for the job.
type OnCronRequest struct {
	Call     Call
	Question CronQuestion
}

// OnCronResponse says whether there is news. nil: there is none.
type OnCronResponse struct {
	News bool
	// Text is given to the agent with the job's prompt when there is news: UTF-8, at most MaxCronText.
	// It is ignored without news.
	Text string
}

// CronHook is asked when a job is due that names the plugin. The call has 30 s. It must have no lasting
// effect: after a crash the same question is asked again, with another id. An error fails that fire of the
// job, and nothing else.
type CronHook interface {
	OnCron(ctx context.Context, request *OnCronRequest) (*OnCronResponse, error)
}
