package inbox

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// turnPatience is how long a turn that a run has asked for waits for its beginning. The
// run has a place, and may be waiting for the turn.
const turnPatience = 30 * time.Second

// maxTurnsWaiting is how many turns of one plugin may wait.
const maxTurnsWaiting = 100

// StartTurn stores a turn that a plugin asks for, and returns its run; called again with
// the same key, the first one's. The caller checks what the plugin may ask for. A turn
// that was asked for by a run at work fails if it cannot begin within TurnPatience: the
// run has a place, and might wait for itself.
func (in *Inbox) StartTurn(ctx context.Context, plugin string, request pluginsdk.StartTurnRequest, causeRunID string) (ledger.AcceptedTurn, error) {
	if err := in.open(); err != nil {
		return ledger.AcceptedTurn{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return ledger.AcceptedTurn{}, pluginsdk.Errorf(pluginsdk.CodeInternal, "make a run id: %w", err)
	}
	turn := ledger.NewTurn{
		RunID: id.String(), Plugin: plugin, Request: request, CauseRunID: causeRunID,
		TraceID: strings.ReplaceAll(uuid.NewString(), "-", ""), MaxDepth: in.config.MaxDepth, MaxWaiting: maxTurnsWaiting,
	}
	if !turn.Beside() && in.worksIn(causeRunID, request.ThreadID) {
		return ledger.AcceptedTurn{}, pluginsdk.Errorf(pluginsdk.CodeInvalid,
			"session: the session of thread %s is at work on the very run that asks for the turn; ask for a fresh one", request.ThreadID)
	}
	accepted, err := in.store.AcceptTurn(ctx, turn)
	if err != nil {
		return ledger.AcceptedTurn{}, err
	}
	if !accepted.Existed {
		in.figures.accepted.Add(1, string(pluginsdk.RunTurn))
		if in.atWork(causeRunID) {
			in.expire(accepted)
		}
	}
	in.lanes.Wake(accepted.Queue)
	return accepted, nil
}

// worksIn reports whether the run executes in the thread's queue.
func (in *Inbox) worksIn(runID, threadID string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	at, ok := in.running[runID]
	return ok && !at.beside && at.threadID == threadID
}

func (in *Inbox) atWork(runID string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	_, ok := in.running[runID]
	return ok
}

// expire ends a turn that has not begun within TurnPatience. After a crash no run waits
// for the turn, so it then begins whenever there is a place.
func (in *Inbox) expire(turn ledger.AcceptedTurn) {
	in.lanes.Go(func() {
		timer := time.NewTimer(in.config.TurnPatience)
		defer timer.Stop()
		select {
		case <-in.intake.Done():
			return
		case <-timer.C:
		}
		reason := "exhausted: what plugins start is paused by an operator (harness resume)"
		if !in.isQuiet() {
			reason = "exhausted: no place was free for this turn within " + in.config.TurnPatience.String() +
				", and what has asked for it holds one itself; try again, or have more places (HARNESS_AGENTS)"
		}
		expired, err := in.store.ExpireQueued(context.WithoutCancel(in.intake), turn.RunID, reason)
		if err != nil {
			in.config.Log.Warn("a turn that waits for too long cannot be ended; it goes on waiting", "run", turn.RunID, "err", err)
		}
		if expired {
			in.announceCancelled(turn.ThreadID, turn.RunID, pluginsdk.RunTurn, pluginsdk.Errorf(pluginsdk.CodeExhausted, "%s", reason))
			in.lanes.Wake(turn.Queue)
		}
	})
}
