package hostapi

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What plugins write is bounded where it comes in, field by field, and what they read
// where it goes out, so that each answer fits into a message of the wire: one row that
// does not would make a list unreadable for everybody, for ever.

const (
	// maxRows and maxRowsBytes are how many rows one call appends, and how many bytes
	// of words they have; one row of a hook's effects has no more bytes either.
	maxRows      = 1000
	maxRowsBytes = 4 << 20
	// maxKey is how long the key of a call may be, in bytes.
	maxKey = 512
	// maxWord is how long a row's model and source may be, in bytes.
	maxWord = 256
	// maxMetadata and maxAttachments are how many bytes a row has of them.
	maxMetadata    = 1 << 20
	maxAttachments = 64 << 10

	// maxTaskText is how long a task's result and the message that it came from may be: as
	// long as a message. Its prompt leaves room in one for the context that stands before
	// it (256 KiB), and for what its plugin adds. The others are bytes of all rules, of all
	// labels, and of who has asked for it.
	maxTaskText      = 1 << 20
	maxTaskPrompt    = 640 << 10
	maxTaskTools     = 16 << 10
	maxTaskLabels    = 16 << 10
	maxTaskRequester = 1 << 10
	maxTaskWords     = 64 << 10 // a reason, or feedback
	maxTaskMark      = 64

	// maxCronName, maxCronSchedule, maxCronPlace, maxCronPrompt and maxCronResult are
	// bytes: of a name, an expression, a thread or target, a prompt and a result.
	maxCronName     = 256
	maxCronSchedule = 256
	maxCronPlace    = 512
	maxCronPrompt   = 64 << 10
	maxCronResult   = 4 << 10
	// maxCronExcept is bytes of all exceptions of a job, maxCronFires how many fires one report has.
	maxCronExcept = 16 << 10
	maxCronFires  = 100

	// maxPage is how much of rows one answer carries, in bytes: half of what the wire
	// allows.
	maxPage = 8 << 20
)

// length is a field with how many bytes it has and may have.
type length struct {
	field     string
	size, max int
}

// checkLengths refuses (CodeInvalid) the first field that is too long.
func checkLengths(fields ...length) error {
	for _, one := range fields {
		if one.size > one.max {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: at most %d bytes, this has %d", one.field, one.max, one.size)
		}
	}
	return nil
}

func checkKey(key string) error { return checkLengths(length{"key", len(key), maxKey}) }

func checkTask(task pluginsdk.NewTask) error {
	if cost := task.CostCapUSD; math.IsNaN(cost) || math.IsInf(cost, 0) {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "costCapUsd: %v is not an amount", cost)
	}
	tools, labels := 0, 0
	for _, rule := range task.AllowedTools {
		tools += len(rule)
	}
	for label, value := range task.Labels {
		labels += len(label) + len(value)
	}
	return checkLengths(
		length{"originalMessage", len(task.OriginalMessage), maxTaskText},
		length{"prompt", len(task.Prompt), maxTaskPrompt},
		length{"allowedTools", tools, maxTaskTools},
		length{"labels", labels, maxTaskLabels},
		length{"requestedBy", len(task.RequestedBy), maxTaskRequester},
	)
}

func checkCronLengths(spec pluginsdk.CronSpec) error {
	return checkLengths(
		length{"name", len(spec.Name), maxCronName},
		length{"schedule", len(spec.Schedule), maxCronSchedule},
		length{"prompt", len(spec.Prompt), maxCronPrompt},
		length{"threadId", len(spec.ThreadID), maxCronPlace},
		length{"reportTo", len(spec.ReportTo.String()), maxCronPlace},
		length{"except", len(spec.Except), maxCronExcept},
		length{"hours", len(spec.Hours), maxCronName},
		length{"trigger", len(spec.Trigger), maxCronExcept},
		length{"model", len(spec.Model), maxWord},
		length{"when", len(spec.When), maxCronExcept},
		length{"tools", len(strings.Join(spec.Tools, "")), maxTurnTools},
	)
}

// checkFires checks what is reported of fires.
func checkFires(fires []pluginsdk.CronFire) error {
	if len(fires) > maxCronFires {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "fires: %d at once; %d are possible", len(fires), maxCronFires)
	}
	for _, fire := range fires {
		if err := checkLengths(length{"reason", len(fire.Reason), maxCronResult}, length{"runId", len(fire.RunID), maxCronName}, length{"data", len(fire.Data), maxCronPrompt}); err != nil {
			return err
		}
		for field, at := range map[string]time.Time{"due": fire.Due, "until": fire.Until, "decidedAt": fire.DecidedAt, "endedAt": fire.EndedAt} {
			if err := checkTime(field, at); err != nil {
				return err
			}
		}
		switch fire.State {
		case pluginsdk.FirePending, pluginsdk.FireRunning, pluginsdk.FireSucceeded, pluginsdk.FireFailed, pluginsdk.FireCancelled, pluginsdk.FireSkipped, pluginsdk.FireMissed:
		default:
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "state: %q is no state of a fire", fire.State)
		}
	}
	return nil
}

// sizeOfEvent is how many bytes an event has in an answer.
func sizeOfEvent(event pluginsdk.Event) int64 {
	const fixed = 64
	return fixed + int64(len(event.Type)+len(event.ThreadID)+len(event.Data)+len(event.Boot))
}

// sizeOf is how many bytes of words something has, roughly: no less than it has in a
// message of the wire.
func sizeOf[T any](thing T) int64 {
	text, err := json.Marshal(thing)
	if err != nil {
		return maxPage // nobody knows; it is no part of a page with others
	}
	return int64(len(text))
}

// page cuts rows to what one answer carries, at least one: from the front, or with
// last from the end.
func page[T any](rows []T, last bool, sizeOf func(T) int64) []T {
	var size int64
	n := 0
	for n < len(rows) {
		row := rows[n]
		if last {
			row = rows[len(rows)-1-n]
		}
		if size += sizeOf(row); n > 0 && size > maxPage {
			break
		}
		n++
	}
	if last {
		return rows[len(rows)-n:]
	}
	return rows[:n]
}

// maxListed is how many of what is read whole one answer carries.
const maxListed = 1000

// listed is a page of what is read whole: from the first that is next on, as many as
// the limit allows and one answer carries. More says that others follow.
func listed[V any](rows []V, next func(V) bool, limit int) (some []V, more bool) {
	first := slices.IndexFunc(rows, next)
	if first < 0 {
		return nil, false
	}
	rows = rows[first:]
	if limit <= 0 || limit > maxListed {
		limit = maxListed
	}
	some = page(rows[:min(len(rows), limit)], false, func(row V) int64 { return sizeOf(row) })
	return some, len(some) < len(rows)
}
