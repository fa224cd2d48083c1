package cron

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// limits are what of a specification an operator may get wrong by SQL without the job being another one: the last good ones
// hold while some are wrong.
type limits struct {
	Missed   pluginsdk.MissedPolicy  `json:"missed,omitempty"`
	Lateness time.Duration           `json:"lateness,omitempty"`
	Overlap  pluginsdk.OverlapPolicy `json:"overlap,omitempty"`
	Jitter   time.Duration           `json:"jitter,omitempty"`
	Report   pluginsdk.CronReport    `json:"report,omitempty"`
	Session  pluginsdk.TurnSession   `json:"session,omitempty"`
	Cap      float64                 `json:"cap,omitempty"`
	Timeout  time.Duration           `json:"timeout,omitempty"`
	Keep     time.Duration           `json:"keep,omitempty"`
}

func limitsOf(s pluginsdk.CronSpec) limits {
	return limits{s.Missed, s.Lateness, s.Overlap, s.Jitter, s.Report, s.Session, s.CostCapUSD, s.Timeout, s.Keep}
}

// wrongLimits is what is wrong with the limits of a specification; empty: nothing. A column with a text that is no duration
// is read as a negative one.
func wrongLimits(s pluginsdk.CronSpec) string {
	var wrong []string
	word := func(field, value string, of ...string) {
		if value != "" && !slices.Contains(of, value) {
			wrong = append(wrong, field+": "+strings.ToValidUTF8(value[:min(len(value), 40)], "")+" is not one of "+strings.Join(of, ", "))
		}
	}
	lasts := func(field string, d time.Duration) {
		if d < 0 {
			wrong = append(wrong, field+": it is no duration, such as 90s, 15m or 2h")
		}
	}
	word("missed", string(s.Missed), "run", "skip")
	lasts("lateness", s.Lateness)
	word("overlap", string(s.Overlap), "skip", "queue", "cancel")
	lasts("jitter", s.Jitter)
	word("report", string(s.Report), "always", "on_notify", "never")
	word("session", string(s.Session), string(pluginsdk.SessionFresh), string(pluginsdk.SessionThread))
	if s.CostCapUSD < 0 || math.IsNaN(s.CostCapUSD) || math.IsInf(s.CostCapUSD, 0) {
		wrong = append(wrong, "cost_cap_usd: it is no amount, such as 0.50")
	}
	lasts("timeout", s.Timeout)
	lasts("keep", s.Keep)
	return strings.Join(wrong, "; ")
}

// wrongWords follow what is wrong with limits.
const wrongWords = " (the last good value holds)"

// wrongCause is what is wrong with what says when a job fires, beyond what reading it finds; empty: nothing.
func wrongCause(s pluginsdk.CronSpec) string {
	if s.OneCause() {
		return ""
	}
	if s.Schedule == "" && s.FireAt.IsZero() && s.Trigger == "" {
		return "schedule, fire_at, trigger: none of them is set, or fire_at is no time that can be read; want a schedule of five fields, such as 0 9 * * mon-fri, or a time, such as 2026-12-24T17:00:00Z"
	}
	return "schedule, fire_at, trigger: more than one of them is set; leave one"
}

// healed is a job with the last good limits in place of those that are wrong. One of which none are known stays as it is, and
// cannot be read.
func healed(job pluginsdk.CronJob) pluginsdk.CronJob {
	var good limits
	if wrongLimits(job.Spec) == "" || json.Unmarshal([]byte(noteOf(job).Good), &good) != nil {
		return job
	}
	s := &job.Spec
	s.Missed, s.Lateness, s.Overlap, s.Jitter, s.Report, s.Session, s.CostCapUSD, s.Timeout, s.Keep =
		good.Missed, good.Lateness, good.Overlap, good.Jitter, good.Report, good.Session, good.Cap, good.Timeout, good.Keep
	return job
}

// keepLimits has a decision keep the limits of a job, as its row has them, while they are good, and what is wrong with them.
func (d *decision) keepLimits(row pluginsdk.CronJob) {
	before := d.note
	if d.note.Wrong = clip(wrongLimits(row.Spec)); d.note.Wrong == "" {
		encoded, _ := json.Marshal(limitsOf(row.Spec)) //nolint:errchkjson // strings and numbers
		d.note.Good = string(encoded)
	} else if d.note.Good == "" {
		d.note.Wrong = "" // then it cannot be read, and says that
	}
	d.changed = d.changed || d.note != before
}
