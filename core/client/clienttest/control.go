package clienttest

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// cancelled returns what is closed when a run's end is asked for.
func (d *Daemon) cancelled(runID string) chan struct{} {
	if d.cancels == nil {
		d.cancels = make(map[string]chan struct{})
	}
	if d.cancels[runID] == nil {
		d.cancels[runID] = make(chan struct{})
	}
	return d.cancels[runID]
}

// interrupt asks for a run's end, once.
func (d *Daemon) interrupt(runID string) {
	if !slices.Contains(d.ended, runID) {
		d.ended = append(d.ended, runID)
		close(d.cancelled(runID))
	}
}

func (d *Daemon) cancelRun(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	d.interrupt(r.PathValue("id"))
	d.mu.Unlock()
	d.getRun(w, r)
}

// retryRun accepts the message of a run again, as the inbox does.
func (d *Daemon) retryRun(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.posts++
	n := slices.IndexFunc(d.runs, func(run client.Run) bool { return run.ID == r.PathValue("id") })
	switch {
	case n < 0:
		refuse(w, http.StatusNotFound, "there is no run "+r.PathValue("id"))
		return
	case d.runs[n].State != pluginsdk.RunFailed && d.runs[n].State != pluginsdk.RunCancelled:
		refuse(w, http.StatusUnprocessableEntity, "run "+d.runs[n].ID+" is "+string(d.runs[n].State))
		return
	}
	accepted, turn := d.accept(client.ChatRequest{
		ThreadID: d.runs[n].ThreadID, Content: d.messages[d.runs[n].MessageID-1].Content,
		Source: "retry", IdempotencyKey: d.runs[n].ID,
	})
	if turn != nil {
		d.work.Go(func() { d.answer(turn) })
	}
	if d.failing > 0 {
		d.failing--
		panic(http.ErrAbortHandler)
	}
	reply(w, http.StatusAccepted, accepted)
}

// stopThread asks for the end of what runs, and ends what waits when it is
// told to.
func (d *Daemon) stopThread(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Queue pluginsdk.Queue `json:"queue"`
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var stopped pluginsdk.Stopped
	for n := range d.runs {
		run := &d.runs[n]
		switch {
		case run.ThreadID != r.PathValue("id"):
		case run.State == pluginsdk.RunRunning:
			stopped.RunID = run.ID
			d.interrupt(run.ID)
		case run.State == pluginsdk.RunQueued && request.Queue == pluginsdk.DropQueue:
			stopped.Dropped = append(stopped.Dropped, run.ID)
			run.State, run.Error = pluginsdk.RunCancelled, "stopped by a person"
			d.publish(pluginsdk.EventPipelineError, run.ThreadID, pluginsdk.ErrorPayload{
				ThreadID: run.ThreadID, RunID: run.ID, Error: run.Error,
			})
		}
	}
	reply(w, http.StatusOK, stopped)
}
