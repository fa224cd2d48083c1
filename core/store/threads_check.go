package store

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// How many bytes of each word a thread has at most: what is in it goes into every
// call of a hook and into every list.
const (
	sourceMax       = 64
	sourceIDMax     = 512
	nameMax         = 1 << 10
	wordMax         = 256 // of a model, of an effort
	cwdMax          = 4 << 10
	instructionsMax = 64 << 10
)

// length is a word with how long it may be.
type length struct {
	field, text string
	max         int
}

func checkLengths(words ...length) error {
	for _, one := range words {
		if len(one.text) > one.max {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: it has %d bytes; at most %d are allowed", one.field, len(one.text), one.max)
		}
	}
	return nil
}

// checkTarget refuses a target that would not be read as it is written.
func checkTarget(to pluginsdk.Target) error {
	read, err := pluginsdk.ParseTarget(to.String())
	if err != nil || read != to || clean(to.String()) != to.String() {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "reportTo: %.100q is no target; write PLUGIN:PLACE or thread:ID", to.String())
	}
	return checkLengths(length{"reportTo", to.String(), sourceIDMax})
}

// checkTarget refuses a target of a thread (empty: of one that is being made) that is
// a thread which does not exist, or from which no reply arrives anywhere, because
// the threads on the way report to each other, or are too many. Of two that are set
// at the same moment each may pass; Integrity finds that.
func (t *tx) checkTarget(ctx context.Context, of string, to pluginsdk.Target) error {
	for hops := 0; to.ThreadID != ""; hops++ {
		if to.ThreadID == of || hops == targetHops {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "reportTo: the replies would never arrive: "+
				"the threads report to each other, or are more than %d", targetHops)
		}
		next, err := t.targetThread(ctx, to.ThreadID)
		if errors.Is(err, sql.ErrNoRows) && hops == 0 {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "reportTo: no thread with the id %q", to.ThreadID)
		}
		if errors.Is(err, sql.ErrNoRows) || err == nil && next.ReportTo.ThreadID == to.ThreadID {
			return nil // theirs goes nowhere, and so does this one's
		}
		if err != nil {
			return err
		}
		to = next.ReportTo
	}
	return nil
}

func checkBusyMode(mode pluginsdk.BusyMode) error {
	switch mode {
	case pluginsdk.BusyQueue, pluginsdk.BusySteer, pluginsdk.BusyCollect, pluginsdk.BusyInterrupt:
		return nil
	}
	return pluginsdk.Errorf(pluginsdk.CodeInvalid, "busyMode: %q is not one of queue, steer, collect, interrupt", mode)
}

// checkCwd refuses a working directory that would depend on where the daemon was
// started. Whether it exists is found out when a session begins in it.
func checkCwd(dir string) error {
	if dir != "" && !filepath.IsAbs(dir) {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "cwd: %q is not an absolute path", dir)
	}
	return nil
}

func checkThreadStatus(status pluginsdk.ThreadStatus) error {
	switch status {
	case pluginsdk.ThreadActive, pluginsdk.ThreadIdle, pluginsdk.ThreadArchived:
		return nil
	}
	return pluginsdk.Errorf(pluginsdk.CodeInvalid, "status: %q is not one of active, idle, archived", status)
}
