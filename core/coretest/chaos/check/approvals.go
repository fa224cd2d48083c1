package check

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// The choices that people make of what the agent asks.
const (
	ChoiceAllow = "allow"
	ChoiceDeny  = "deny"
	ChoiceRule  = "rule:1" // exactly this call, from now on
)

// How an approval stands.
const (
	allowed = "allowed"
	denied  = "denied"
	expired = "expired"
	open    = "open"
)

// doneUnasked finds deeds that nobody has allowed, and answers that nobody has given. A deed
// is the run's whose agent was the last to try it. Each needs an approval of that run which
// was spent before it was done, and each approval is good for one; but for those that a
// rule of the thread allowed.
func (j *judge) doneUnasked(report *Report) (violations []string) {
	done := map[string]int{}  // by marker
	asked := map[string]int{} // likewise: those that no rule allowed
	for _, deed := range j.Deeds {
		try, tried := j.tryOf(deed)
		if !tried {
			violations = append(violations, fmt.Sprintf("%s was done at %s, and no agent had tried to", deed.Name, deed.At.Format(clock)))
			continue
		}
		report.Deeds++
		if done[try.Marker]++; done[try.Marker] > j.tries(try.Marker) {
			violations = append(violations, fmt.Sprintf("%s: %s was done %d times, and tried %d times", j.name(try.Marker), deed.Name, done[try.Marker], j.tries(try.Marker)))
		}
		if j.ruled(try, deed) {
			report.Ruled++
			continue
		}
		asked[try.Marker]++
		spent := 0
		for _, a := range j.approvalsOf(try) {
			if a.State == allowed && !a.Spent.IsZero() && !a.Spent.After(deed.At) {
				spent++
			}
		}
		if asked[try.Marker] > spent {
			violations = append(violations, fmt.Sprintf("%s: %s was done at %s, for the %d. time, and allowed, and spent, %d times before",
				j.name(try.Marker), deed.Name, deed.At.Format(clock), asked[try.Marker], spent))
		}
	}
	for _, a := range j.Approvals {
		answered := a.State == allowed || a.State == denied
		if answered && a.Deed != "" && !slices.ContainsFunc(j.Decisions, func(d Decision) bool { return d.made(a) }) {
			violations = append(violations, fmt.Sprintf("approval %s is %s by %q (%q), who did not say so", a.ID, a.State, a.Author, a.Choice))
		}
	}
	for _, revoked := range j.Revoked {
		if slices.Contains(j.Rules, revoked.RuleID) {
			violations = append(violations, fmt.Sprintf("rule %s was ended at %s, and is there", revoked.RuleID, revoked.At.Format(clock)))
		}
	}
	return violations
}

// made reports whether an approval is as this answer says.
func (d Decision) made(a Approval) bool {
	state := allowed
	if d.Choice == ChoiceDeny {
		state = denied
	}
	return d.ApprovalID == a.ID && a.State == state && a.Choice == d.Choice && a.Author == d.Author && (d.Choice == ChoiceRule) == (a.RuleID != "")
}

// tryOf is the try that a deed was the doing of.
func (j *judge) tryOf(deed Deed) (last Try, found bool) {
	for _, try := range j.Tries {
		if try.Deed == deed.Name && !try.At.After(deed.At) {
			last, found = try, true
		}
	}
	return last, found
}

// tries is how often an agent tried what a message asks for.
func (j *judge) tries(marker string) (n int) {
	for _, try := range j.Tries {
		if try.Marker == marker {
			n++
		}
	}
	return n
}

// approvalsOf are what the run of a try has asked about its deed, oldest first.
func (j *judge) approvalsOf(try Try) (approvals []Approval) {
	run, _, _ := j.follow(j.marked[try.Marker].RunID)
	for _, a := range j.Approvals {
		if a.RunID == run.ID && a.Deed == try.Deed {
			approvals = append(approvals, a)
		}
	}
	return approvals
}

// ruled reports whether a rule allowed a deed: one of its thread, made before it was done,
// and not ended before it was tried.
func (j *judge) ruled(try Try, deed Deed) bool {
	return slices.ContainsFunc(j.Approvals, func(a Approval) bool {
		ended := j.revokedAt(a.RuleID)
		return a.RuleID != "" && a.Deed == deed.Name && a.ThreadID == j.marked[try.Marker].ThreadID &&
			!a.Decided.After(deed.At) && (ended.IsZero() || try.At.Before(ended))
	})
}

// revokedAt is when people had ended a rule; zero: they had not.
func (j *judge) revokedAt(ruleID string) time.Time {
	for _, revoked := range j.Revoked {
		if revoked.RuleID == ruleID {
			return revoked.At
		}
	}
	return time.Time{}
}

// approvalsLost finds answers that people were told of and that are not stored so, rules
// that are gone, and what was allowed and never done although its run has succeeded.
func (j *judge) approvalsLost(report *Report) (violations []string) {
	stored := map[string]Approval{}
	for _, a := range j.Approvals {
		stored[a.ID] = a
	}
	for _, d := range j.Decisions {
		a, known := stored[d.ApprovalID]
		switch {
		case !known:
			violations = append(violations, fmt.Sprintf("approval %s was shown to %s and is not there", d.ApprovalID, d.Author))
		case d.Status == http.StatusOK && !d.made(a):
			violations = append(violations, fmt.Sprintf("approval %s: %s was told that %q holds, and it is %s by %q (%q, rule %q)",
				a.ID, d.Author, d.Choice, a.State, a.Author, a.Choice, a.RuleID))
		case d.Status == 0:
			violations = append(violations, fmt.Sprintf("approval %s: what %s said was never answered, although they went on trying", a.ID, d.Author))
		case d.Status != http.StatusOK && d.Status != http.StatusConflict:
			violations = append(violations, fmt.Sprintf("approval %s: what %s said was refused: %d", a.ID, d.Author, d.Status))
		}
	}
	for _, revoked := range j.Revoked {
		if revoked.Status != http.StatusNoContent {
			violations = append(violations, fmt.Sprintf("the end of rule %s was refused: %d", revoked.RuleID, revoked.Status))
		}
	}
	for _, a := range j.Approvals {
		if a.State == allowed || a.State == denied {
			report.Decided++
			if a.Audited != 1 {
				violations = append(violations, fmt.Sprintf("approval %s is %s, and the audit log says so %d times", a.ID, a.State, a.Audited))
			}
		}
		if a.RuleID != "" && j.revokedAt(a.RuleID).IsZero() && !slices.Contains(j.Rules, a.RuleID) {
			violations = append(violations, fmt.Sprintf("rule %s, of approval %s, is gone, and nobody ended it", a.RuleID, a.ID))
		}
	}
	return append(violations, j.neverDone()...)
}

// neverDone finds runs that succeeded although the last that they asked was allowed, and was
// not done. What was allowed before that may have been asked again: nobody knew whether it
// was done.
func (j *judge) neverDone() (violations []string) {
	done, last := map[string]bool{}, map[string]Try{}
	for _, deed := range j.Deeds {
		if try, tried := j.tryOf(deed); tried {
			done[try.Marker] = true
		}
	}
	for _, try := range j.Tries {
		last[try.Marker] = try
	}
	for marker, try := range ordered(last) {
		run, _, _ := j.follow(j.marked[marker].RunID)
		approvals := j.approvalsOf(try)
		if n := len(approvals); run.State == "succeeded" && n > 0 && approvals[n-1].State == allowed && !done[marker] {
			violations = append(violations, fmt.Sprintf("%s: %s was allowed (approval %s), its run has succeeded, and it was never done",
				j.name(marker), try.Deed, approvals[n-1].ID))
		}
	}
	return violations
}

// approvalsHanging finds questions that nobody can have seen or that are still open, and
// runs that wait.
func (j *judge) approvalsHanging() (violations []string) {
	deliveries := map[int64]int{}
	for _, delivery := range j.Deliveries {
		deliveries[delivery.MessageID]++
	}
	for _, a := range j.Approvals {
		what := fmt.Sprintf("approval %s (run %s, thread %s)", a.ID, a.RunID, j.thread(a.ThreadID))
		shown, known := j.messages[a.MessageID]
		switch {
		case a.State == open:
			violations = append(violations, fmt.Sprintf("%s is open, and its run is %q", what, j.runs[a.RunID].State))
		case a.State == expired:
			violations = append(violations, what+" has expired, long before its time")
		case !known || shown.ThreadID != a.ThreadID || shown.Event != "approval" || !strings.Contains(shown.Content, a.Deed):
			violations = append(violations, fmt.Sprintf("%s was never shown: its message %d is not there, or is another", what, a.MessageID))
		case j.threads[a.ThreadID].Delivered && deliveries[a.MessageID] == 0:
			violations = append(violations, fmt.Sprintf("%s was never shown: message %d has no delivery", what, a.MessageID))
		}
	}
	for _, run := range j.Runs {
		if run.State == "waiting" {
			violations = append(violations, fmt.Sprintf("run %s (thread %s) waits for people, and nobody will answer", run.ID, j.thread(run.ThreadID)))
		}
	}
	return violations
}

// unasking names what of asking was not tried.
func (j *judge) unasking(report Report) (violations []string) {
	answered := func(what func(Decision) bool) bool {
		return slices.ContainsFunc(j.Decisions, func(d Decision) bool { return d.Status == http.StatusOK && what(d) })
	}
	for _, part := range []struct {
		tried bool
		what  string
	}{
		{answered(func(d Decision) bool { return d.Choice == ChoiceAllow }), "nobody allowed what the agent asked"},
		{answered(func(d Decision) bool { return d.Choice == ChoiceDeny }), "nobody denied what the agent asked"},
		{answered(func(d Decision) bool { return d.Choice == ChoiceRule }), "nobody allowed anything by rule"},
		{answered(func(d Decision) bool { return d.Parked }), "no run was parked before it was answered"},
		{slices.ContainsFunc(j.Decisions, func(d Decision) bool { return d.Status == http.StatusConflict }), "no two people answered the same question"},
		{report.Ruled > 0, "no rule allowed anything"},
		{report.Deeds > report.Ruled, "nothing was done that people had allowed once"},
		{len(j.Revoked) > 0, "no rule was ended"},
	} {
		if !part.tried {
			violations = append(violations, part.what)
		}
	}
	return violations
}

// parked reports whether a turn was ended to wait for people, and not with an answer: what
// it had asked was answered, or that was given to the agent, later. An answer that came while
// it was being parked is not given to the agent at all when it has made a rule.
func (j *judge) parked(turn Turn) bool {
	return turn.Success && slices.ContainsFunc(j.Approvals, func(a Approval) bool {
		ruled := a.RuleID != "" && a.Spent.IsZero()
		return a.RunID == turn.RunID && (a.Decided.After(turn.Ended) || a.Spent.After(turn.Ended) ||
			ruled && a.Decided.After(turn.Ended.Add(-lastBreath)))
	})
}

// parkedBetween reports whether a run was.
func (j *judge) parkedBetween(runID string, from, to time.Time) bool {
	return slices.ContainsFunc(j.Turns, func(t Turn) bool {
		return t.RunID == runID && !t.Ended.Before(from) && !t.Ended.After(to) && j.parked(t)
	})
}
