package approvals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Approval returns an approval, or CodeNotFound.
func (a *Approvals) Approval(ctx context.Context, id string) (pluginsdk.Approval, error) {
	approval, err := a.Store.Approval(ctx, id)
	return approval.Approval, err
}

// Approvals returns a page of the selected approvals; more says that others follow.
func (a *Approvals) Approvals(ctx context.Context, query pluginsdk.ApprovalQuery) (page []pluginsdk.Approval, more bool, err error) {
	limit := pageOf(query.Limit)
	query.Limit = limit
	all, err := a.Store.Approvals(ctx, query)
	if err != nil {
		return nil, false, err
	}
	for _, one := range all {
		page = append(page, one.Approval)
	}
	return page, len(all) == limit, nil
}

func pageOf(limit int) int {
	if limit <= 0 {
		return 100
	}
	return min(limit, pageSize)
}

// Decide is a person's answer, given through a plugin. The first one holds: a later one is
// CodeStale, and the error says how it was answered, unless it is the same person's same
// answer again.
func (a *Approvals) Decide(ctx context.Context, by ledger.By, request pluginsdk.DecideApprovalRequest) (pluginsdk.Approval, error) {
	approval, err := a.Store.Approval(ctx, request.ID)
	if err != nil {
		return pluginsdk.Approval{}, err
	}
	by.Author = by.Name()
	decision, err := a.decision(approval, by, request)
	if err != nil {
		return pluginsdk.Approval{}, err
	}
	if approval.State != pluginsdk.ApprovalOpen {
		return answeredBefore(approval.Approval, decision)
	}
	done, err := a.Store.DecideApproval(ctx, decision)
	a.wake(approval.ID) // also after an error: it may be stored all the same
	if pluginsdk.CodeOf(err) == pluginsdk.CodeStale {
		return answeredBefore(done.Approval, decision)
	}
	if err != nil {
		return pluginsdk.Approval{}, err
	}
	a.resolved(ctx, done)
	return done.Approval, nil
}

// decision checks a person's answer and says what it does.
func (a *Approvals) decision(of ledger.Approval, by ledger.By, request pluginsdk.DecideApprovalRequest) (ledger.ApprovalDecision, error) {
	if len(request.Words) > ledger.MaxAnswerWords {
		return ledger.ApprovalDecision{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "words: at most %d bytes, this has %d", ledger.MaxAnswerWords, len(request.Words))
	}
	now := a.Now()
	d := ledger.ApprovalDecision{
		ID: of.ID, Choice: request.Choice, Answers: request.Answers, Words: strings.TrimSpace(request.Words), By: by, At: now,
	}
	allow, rule := true, ""
	if of.Kind == pluginsdk.ApprovalQuestion && request.Choice != choiceDeny {
		var err error
		if d.Answers, err = answersTo(of.Approval, request); err != nil {
			return d, err
		}
	} else {
		at := slices.IndexFunc(of.Choices, func(c pluginsdk.ApprovalChoice) bool { return c.ID == request.Choice })
		if at < 0 {
			return d, pluginsdk.Errorf(pluginsdk.CodeInvalid, "choice: %.100q is not one of %s", request.Choice, choiceIDs(of.Choices))
		}
		d.Answers, allow, rule = nil, of.Choices[at].Allow, of.Choices[at].Rule
	}
	if offered, ok := of.Offers[request.Choice]; ok && allow {
		id, err := uuid.NewV7()
		if err != nil {
			return d, err
		}
		offered.ID, offered.ThreadID, offered.ApprovalID = id.String(), of.ThreadID, of.ID
		offered.Author, offered.Plugin, offered.CreatedAt = by.Author, by.Plugin, now
		d.Rule = &offered
	}
	if d.State = pluginsdk.ApprovalDenied; allow {
		d.State = pluginsdk.ApprovalAllowed
	}
	d.Who = cmp.Or(by.AuditName(), "somebody")
	d.Said = saidOf(of.Approval, d, rule)
	return d, nil
}

// answeredBefore is the answer to who answers what is answered already.
func answeredBefore(approval pluginsdk.Approval, d ledger.ApprovalDecision) (pluginsdk.Approval, error) {
	same := approval.Choice == d.Choice && approval.Author == d.By.Author && approval.Plugin == d.By.Plugin && approval.State == d.State &&
		approval.Words == d.Words && slices.EqualFunc(approval.Answers, d.Answers, func(a, b pluginsdk.QuestionAnswer) bool {
		return a.Text == b.Text && slices.Equal(a.Labels, b.Labels)
	})
	if same {
		return approval, nil
	}
	return approval, pluginsdk.Errorf(pluginsdk.CodeStale, "%s", overWords(approval))
}

// resolved tells everybody that an approval is over.
func (a *Approvals) resolved(ctx context.Context, done ledger.ApprovalDecided) {
	a.publish(ctx, pluginsdk.EventApprovalResolved, done.Approval)
	if done.Requeued {
		a.Inbox.WakeThread(done.Approval.ThreadID)
	}
}

// Rules returns a page of the rules that hold; more says that others follow.
func (a *Approvals) Rules(ctx context.Context, request pluginsdk.ListApprovalRulesRequest) (page []pluginsdk.ApprovalRule, more bool, err error) {
	request.Limit = pageOf(request.Limit)
	all, err := a.Store.ApprovalRules(ctx, request)
	if err != nil {
		return nil, false, err
	}
	return all, len(all) == request.Limit, nil
}

// Revoke ends a rule; one that is gone is no error.
func (a *Approvals) Revoke(ctx context.Context, by ledger.By, id string) error {
	by.Author = by.Name()
	_, err := a.Store.RevokeApprovalRule(ctx, id, by.AuditName())
	return err
}

// Over takes back what a run has asked: it is over.
func (a *Approvals) Over(ctx context.Context, runID string) error { return a.close(ctx, runID) }

func (a *Approvals) close(ctx context.Context, runID string, only ...string) error {
	closed, err := a.Store.CloseApprovals(ctx, runID, only...)
	for _, one := range closed {
		a.wake(one.ID)
		a.publish(ctx, pluginsdk.EventApprovalResolved, one)
	}
	return err
}

// sweep ends what nobody has answered in time, takes back what is left of runs that are
// over, and wakes runs that wait for nothing. One that it cannot end holds up no other.
func (a *Approvals) sweep(ctx context.Context) error {
	var failed []error
	query := pluginsdk.ApprovalQuery{States: []pluginsdk.ApprovalState{pluginsdk.ApprovalOpen}, Limit: pageSize}
	for {
		open, err := a.Store.Approvals(ctx, query)
		if err != nil {
			return err
		}
		now := a.Now()
		for _, one := range open {
			if !one.ExpiresAt.After(now) {
				failed = append(failed, a.expire(ctx, one.Approval, now))
			}
		}
		if len(open) < pageSize {
			break
		}
		query.After = open[len(open)-1].ID
	}
	approvals, runs, err := a.Store.StrayApprovals(ctx)
	if err != nil {
		return errors.Join(append(failed, err)...)
	}
	for _, id := range approvals {
		one, err := a.Store.Approval(ctx, id)
		if err == nil {
			err = a.close(ctx, one.RunID, id)
		}
		failed = append(failed, err)
	}
	for _, id := range runs {
		threadID, err := a.Store.Unpark(ctx, id)
		if threadID != "" {
			a.Inbox.WakeThread(threadID)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

func (a *Approvals) expire(ctx context.Context, approval pluginsdk.Approval, now time.Time) error {
	done, err := a.Store.DecideApproval(ctx, ledger.ApprovalDecision{
		ID: approval.ID, State: pluginsdk.ApprovalExpired, At: now, Who: "core",
		Said: fmt.Sprintf("Nobody answered in time: %s", approval.Title),
	})
	a.wake(approval.ID)
	switch pluginsdk.CodeOf(err) { //nolint:exhaustive // the others are errors
	case "":
		a.resolved(ctx, done)
	case pluginsdk.CodeStale, pluginsdk.CodeNotFound:
		return nil
	}
	return err
}

// named is how people are told who somebody is.
func named(author, plugin string) string {
	name := cmp.Or(author, "Somebody")
	if plugin != "" {
		name += " (" + plugin + ")"
	}
	return name
}
