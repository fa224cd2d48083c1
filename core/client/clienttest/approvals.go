package clienttest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// asked is an approval, and what waits for its answer.
type asked struct {
	pluginsdk.Approval
	over chan struct{} // closed when it is not open any more
}

// AddApproval adds an approval without telling anybody, and returns it with an id, a state
// and choices if it has none. The channel is closed when it is not open any more.
func (d *Daemon) AddApproval(approval pluginsdk.Approval) (pluginsdk.Approval, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.addApproval(approval)
}

func (d *Daemon) addApproval(approval pluginsdk.Approval) (pluginsdk.Approval, <-chan struct{}) {
	approval.ID = cmp.Or(approval.ID, "approval-"+strconv.Itoa(len(d.approvals)+1))
	approval.ThreadID = cmp.Or(approval.ThreadID, Primary)
	approval.Kind = cmp.Or(approval.Kind, pluginsdk.ApprovalTool)
	approval.State = cmp.Or(approval.State, pluginsdk.ApprovalOpen)
	if approval.Choices == nil && approval.Kind != pluginsdk.ApprovalQuestion {
		approval.Choices = []pluginsdk.ApprovalChoice{{ID: "allow", Label: "Allow once", Allow: true}, {ID: "deny", Label: "Deny"}}
	}
	if approval.CreatedAt.IsZero() {
		approval.CreatedAt = time.Now()
	}
	if approval.ExpiresAt.IsZero() {
		approval.ExpiresAt = approval.CreatedAt.Add(72 * time.Hour)
	}
	one := &asked{approval, make(chan struct{})}
	if approval.State != pluginsdk.ApprovalOpen {
		close(one.over)
	}
	d.approvals = append(d.approvals, one)
	return approval, one.over
}

// AskPeople adds an approval and tells of it.
func (d *Daemon) AskPeople(approval pluginsdk.Approval) (pluginsdk.Approval, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	approval, over := d.addApproval(approval)
	d.publishApproval(pluginsdk.EventApprovalRequested, approval)
	return approval, over
}

// Ask asks people in the turn, waits until it is over, and returns what was asked as it is
// then.
func (t *Turn) Ask(approval pluginsdk.Approval) pluginsdk.Approval {
	approval.ThreadID, approval.RunID = t.Accepted.ThreadID, t.Accepted.RunID
	approval, over := t.daemon.AskPeople(approval)
	select {
	case <-over:
	case <-t.Cancelled:
		t.daemon.EndApproval(approval.ID, pluginsdk.ApprovalWithdrawn, "")
	case <-t.daemon.t.Context().Done():
	}
	return t.daemon.Approval(approval.ID)
}

// Approval returns an approval as it is now.
func (d *Daemon) Approval(id string) pluginsdk.Approval {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.approvals {
		if one.ID == id {
			return one.Approval
		}
	}
	return pluginsdk.Approval{}
}

// EndApproval ends an approval that is open: it was answered elsewhere, by author, has
// expired, or was withdrawn; and tells of it.
func (d *Daemon) EndApproval(id string, state pluginsdk.ApprovalState, author string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.approvals {
		if one.ID == id && one.State == pluginsdk.ApprovalOpen {
			one.Author = author
			d.endApproval(one, state)
		}
	}
}

func (d *Daemon) endApproval(one *asked, state pluginsdk.ApprovalState) {
	one.State, one.DecidedAt = state, time.Now()
	close(one.over)
	d.publishApproval(pluginsdk.EventApprovalResolved, one.Approval)
}

// above are the threads that one is below, the nearest first.
func (d *Daemon) above(id string) (above []string) {
	for n := 0; n < len(d.threads); n++ {
		if d.threads[n].ID == id && d.threads[n].ParentThreadID != "" {
			id = d.threads[n].ParentThreadID
			above, n = append(above, id), -1
		}
	}
	return above
}

func (d *Daemon) publishApproval(kind pluginsdk.EventType, approval pluginsdk.Approval) {
	d.publish(kind, approval.ThreadID, pluginsdk.ApprovalPayload{
		ApprovalID: approval.ID, ThreadID: approval.ThreadID, RunID: approval.RunID, State: approval.State, Title: approval.Title,
		AboveThreadIDs: d.above(approval.ThreadID),
	})
}

// AddRule adds a rule.
func (d *Daemon) AddRule(rule pluginsdk.ApprovalRule) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rules = append(d.rules, rule)
}

// Answered returns the answers that were handed in, as JSON, each after the id.
func (d *Daemon) Answered() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.answered)
}

func (d *Daemon) listApprovals(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	query := r.URL.Query()
	listed := slices.Clone(d.approvals)
	if query.Get("newest") != "false" {
		slices.Reverse(listed)
	}
	found := []pluginsdk.Approval{}
	skip := query.Get("after") != ""
	for _, one := range listed {
		in := matches(query.Get("thread"), one.ThreadID) ||
			query.Get("below") == "true" && slices.Contains(d.above(one.ThreadID), query.Get("thread"))
		if !skip && in && matches(query.Get("run"), one.RunID) &&
			(len(query["state"]) == 0 || slices.Contains(query["state"], string(one.State))) {
			short := one.Approval
			short.Input = nil
			found = append(found, short)
		}
		if one.ID == query.Get("after") {
			skip = false
		}
	}
	some := found[:min(len(found), d.limit(r))]
	reply(w, http.StatusOK, map[string]any{"approvals": some, "more": len(some) < len(found)})
}

func (d *Daemon) getApproval(w http.ResponseWriter, r *http.Request) {
	if approval := d.Approval(r.PathValue("id")); approval.ID != "" {
		reply(w, http.StatusOK, approval)
		return
	}
	refuse(w, http.StatusNotFound, "there is no approval with the id "+r.PathValue("id"))
}

func (d *Daemon) decideApproval(w http.ResponseWriter, r *http.Request) {
	var answer client.ApprovalAnswer
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	n := slices.IndexFunc(d.approvals, func(one *asked) bool { return one.ID == r.PathValue("id") })
	if n < 0 {
		refuse(w, http.StatusNotFound, "there is no approval with the id "+r.PathValue("id"))
		return
	}
	if d.unanswered > 0 {
		d.unanswered--
		refuse(w, http.StatusServiceUnavailable, "the connection to the database was lost")
		return
	}
	if d.forbidden {
		refuse(w, http.StatusForbidden, "this needs a token with the scope approve")
		return
	}
	one, state := d.approvals[n], pluginsdk.ApprovalDenied
	taken := slices.IndexFunc(one.Choices, func(c pluginsdk.ApprovalChoice) bool { return c.ID == answer.Choice })
	switch {
	case one.State != pluginsdk.ApprovalOpen && answer.Choice != "" && one.Choice == answer.Choice && one.Words == answer.Words && one.Author == answer.Author:
		reply(w, http.StatusOK, one.Approval) // the same answer of the same person is no other
		return
	case one.State != pluginsdk.ApprovalOpen:
		refuse(w, http.StatusConflict, "approval "+one.ID+" is "+string(one.State)+", by "+cmp.Or(one.Author, "nobody"))
		return
	case answer.Choice != "" && taken < 0:
		refuse(w, http.StatusUnprocessableEntity, "choice: "+answer.Choice+" is not offered")
		return
	case answer.Choice == "" || one.Choices[taken].Allow:
		state = pluginsdk.ApprovalAllowed
	}
	text, _ := json.Marshal(client.ApprovalAnswer{Choice: answer.Choice, Answers: answer.Answers, Words: answer.Words}) // without who it was
	d.answered = append(d.answered, one.ID+" "+string(text))
	one.Choice, one.Answers, one.Words, one.Author, one.Plugin = answer.Choice, answer.Answers, answer.Words, answer.Author, "web"
	d.endApproval(one, state)
	reply(w, http.StatusOK, one.Approval)
}

// ForbidDecisions refuses the answers that people hand in with 403.
func (d *Daemon) ForbidDecisions() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forbidden = true
}

// LoseDecisions answers the next answers that people hand in with 503.
func (d *Daemon) LoseDecisions(requests int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unanswered = requests
}

func (d *Daemon) listRules(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found := []pluginsdk.ApprovalRule{}
	skip := r.URL.Query().Get("after") != ""
	for _, rule := range d.rules {
		if !skip && matches(r.URL.Query().Get("thread"), rule.ThreadID) {
			found = append(found, rule)
		}
		if rule.ID == r.URL.Query().Get("after") {
			skip = false
		}
	}
	some := found[:min(len(found), d.limit(r))]
	reply(w, http.StatusOK, map[string]any{"rules": some, "more": len(some) < len(found)})
}

func (d *Daemon) revokeRule(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rules = slices.DeleteFunc(d.rules, func(rule pluginsdk.ApprovalRule) bool { return rule.ID == r.PathValue("id") })
	w.WriteHeader(http.StatusNoContent)
}
