package check_test

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/seed-706843ae/harness/core/coretest/chaos/check"
)

// asking adds a thread in which the agent asks before it acts: one run was parked, and two
// people answered at once; one was denied; one was allowed by a rule, which served the next
// and was ended then; of one the daemon died when the answer was spent; and one made a rule
// that holds.
func asking(r *check.Records) {
	const thread = "asking"
	r.Threads = append(r.Threads, check.Thread{ID: thread, Name: "T900", Delivered: true})
	var rows []check.Message
	id := int64(40)
	row := func(run, role, kind, event, content string) int64 {
		id++
		rows = append(rows, check.Message{ID: id, ThreadID: thread, RunID: run, Role: role, Kind: kind, Event: event, Content: content, Attempt: 1})
		return id
	}
	deliver := func(message int64) {
		delivery := fmt.Sprintf("d%d", message)
		r.Deliveries = append(r.Deliveries, check.Delivery{ID: delivery, MessageID: message, Target: "T900", State: "delivered"})
		r.Carried = append(r.Carried, check.Carried{DeliveryID: delivery, MessageID: message, Target: "T900", Attempt: 1})
	}
	for n := 1; n <= 6; n++ {
		run, marker := fmt.Sprintf("q%d", n), fmt.Sprintf("m-T900-%04d", n)
		message := row(run, "user", "text", "", "Please answer "+marker+".")
		row(run, "system", "status", "courier_seen", "")
		r.Sent = append(r.Sent, check.Sent{Marker: marker, ThreadID: thread, Accepted: []check.Acceptance{{thread, message, run}}})
		r.Runs = append(r.Runs, check.Run{
			ID: run, ThreadID: thread, MessageID: message, State: "succeeded", Attempt: 1, Source: "courier", Key: marker, Finished: true,
		})
	}
	approval := func(id, run, deed, state, choice, rule string, decided, spent int) {
		shown := row(run, "system", "status", "approval", "Bash: echo "+deed)
		deliver(shown)
		r.Approvals = append(r.Approvals, check.Approval{
			ID: id, RunID: run, ThreadID: thread, MessageID: shown, Deed: deed, State: state, Choice: choice, Author: "Ann", RuleID: rule,
			Decided: at(decided), Spent: at(spent), Audited: 1,
		})
		r.Decisions = append(r.Decisions, check.Decision{ApprovalID: id, Author: "Ann", Choice: choice, Status: http.StatusOK, Parked: id == "A1"})
	}
	try := func(n, deed, seconds int) {
		marker := fmt.Sprintf("m-T900-%04d", n)
		again := slices.ContainsFunc(r.Tries, func(t check.Try) bool { return t.Marker == marker })
		r.Tries = append(r.Tries, check.Try{Marker: marker, Deed: fmt.Sprintf("a-T900-%04d", deed), At: at(seconds)})
		r.Asked = append(r.Asked, check.Ask{Marker: marker, At: at(seconds), Interrupted: again})
	}
	done := func(deed, seconds int) {
		r.Deeds = append(r.Deeds, check.Deed{Name: fmt.Sprintf("a-T900-%04d", deed), At: at(seconds)})
	}
	turn := func(run string, seconds int) {
		r.Turns = append(r.Turns, check.Turn{RunID: run, Success: true, Ended: at(seconds)})
	}
	try(5, 4, 14)
	approval("A5a", "q5", "a-T900-0004", "allowed", check.ChoiceAllow, "", 14, 14)
	try(5, 4, 17)
	approval("A5b", "q5", "a-T900-0004", "allowed", check.ChoiceAllow, "", 18, 18)
	done(4, 19)
	turn("q5", 20)
	try(1, 1, 100)
	turn("q1", 101)
	approval("A1", "q1", "a-T900-0001", "allowed", check.ChoiceAllow, "", 110, 112)
	r.Decisions = append(r.Decisions, check.Decision{ApprovalID: "A1", Author: "Bob", Choice: check.ChoiceDeny, Status: http.StatusConflict})
	try(1, 1, 111)
	done(1, 113)
	turn("q1", 114)
	try(2, 2, 120)
	approval("A2", "q2", "a-T900-0002", "denied", check.ChoiceDeny, "", 122, 122)
	try(3, 3, 130)
	approval("A3", "q3", "a-T900-0003", "allowed", check.ChoiceRule, "R1", 132, 132)
	done(3, 133)
	try(4, 3, 140)
	done(3, 141)
	r.Revoked = []check.Revocation{{RuleID: "R1", Status: http.StatusNoContent, At: at(150)}}
	try(6, 5, 160)
	approval("A6", "q6", "a-T900-0005", "allowed", check.ChoiceRule, "R2", 162, 162)
	done(5, 163)
	r.Rules = []string{"R2"}
	for n := 1; n <= 6; n++ {
		run := fmt.Sprintf("q%d", n)
		deliver(row(run, "assistant", "text", "", fmt.Sprintf("I have read m-T900-%04d.", n)))
		row(run, "system", "status", "courier_done", "")
	}
	r.Messages = slices.Insert(r.Messages, 16, rows...)
}

// approvalOf is the approval of that id.
func approvalOf(r *check.Records, id string) *check.Approval {
	return &r.Approvals[slices.IndexFunc(r.Approvals, func(a check.Approval) bool { return a.ID == id })]
}

// undo takes a deed out.
func undo(r *check.Records, deed string) {
	r.Deeds = slices.DeleteFunc(r.Deeds, func(d check.Deed) bool { return d.Name == deed })
}

// again does a deed once more.
func again(r *check.Records, deed string, seconds int) {
	r.Deeds = append(r.Deeds, check.Deed{Name: deed, At: at(seconds)})
}

// unsay takes what people have answered out.
func unsay(r *check.Records, which func(check.Decision) bool) {
	r.Decisions = slices.DeleteFunc(r.Decisions, which)
}

// stray is an approval of a run that is over.
func stray(state string) check.Approval {
	return check.Approval{ID: "A9", RunID: "r1", ThreadID: "plain", State: state, MessageID: 9}
}

// brokenApprovals are the ways in which what the agent asks people can go wrong.
var brokenApprovals = []breach{
	{"done unasked", "it was denied", func(r *check.Records) { again(r, "a-T900-0002", 123) }, "a-T900-0002"},
	{"done unasked", "once more than it was allowed", func(r *check.Records) { again(r, "a-T900-0001", 115) }, "for the 2. time"},
	{"done unasked", "before the answer was spent", func(r *check.Records) { approvalOf(r, "A1").Spent = at(116) }, "a-T900-0001"},
	{"done unasked", "by a rule that was ended", func(r *check.Records) { r.Revoked[0].At = at(139) }, "m-T900-0004"},
	{"done unasked", "by a rule of another thread", func(r *check.Records) {
		approvalOf(r, "A3").ThreadID, message(r, approvalOf(r, "A3").MessageID).ThreadID = "plain", "plain"
	}, "m-T900-0004"},
	{"done unasked", "nobody tried to", func(r *check.Records) { again(r, "a-T900-0099", 115) }, "no agent"},
	{"done unasked", "more often than it was tried", func(r *check.Records) { again(r, "a-T900-0003", 142) }, "tried 1 times"},
	{"done unasked", "allowed by who did not say so", func(r *check.Records) {
		unsay(r, func(d check.Decision) bool { return d.ApprovalID == "A5a" })
	}, "A5a"},
	{"done unasked", "a rule that was ended is there", func(r *check.Records) { r.Rules = append(r.Rules, "R1") }, "R1"},
	{"approval lost", "two were told that theirs holds", func(r *check.Records) {
		r.Decisions = append(r.Decisions, check.Decision{ApprovalID: "A5b", Author: "Bob", Choice: check.ChoiceDeny, Status: http.StatusOK})
	}, "Bob"},
	{"approval lost", "it is not there", func(r *check.Records) {
		r.Decisions = append(r.Decisions, check.Decision{ApprovalID: "A9", Author: "Ann", Choice: check.ChoiceAllow, Status: http.StatusOK})
	}, "A9"},
	{"approval lost", "an answer was refused", func(r *check.Records) {
		r.Decisions = append(r.Decisions, check.Decision{ApprovalID: "A1", Author: "Cid", Choice: check.ChoiceDeny, Status: http.StatusNotFound})
	}, "404"},
	{"approval lost", "an answer was never heard", func(r *check.Records) {
		r.Decisions = append(r.Decisions, check.Decision{ApprovalID: "A1", Author: "Cid", Choice: check.ChoiceDeny})
	}, "Cid"},
	{"approval lost", "the audit log does not say it", func(r *check.Records) { approvalOf(r, "A1").Audited = 0 }, "audit log"},
	{"approval lost", "the rule is gone", func(r *check.Records) { r.Rules = nil }, "R2"},
	{"approval lost", "a rule cannot be ended", func(r *check.Records) {
		r.Revoked = append(r.Revoked, check.Revocation{RuleID: "R9", Status: http.StatusForbidden, At: at(170)})
	}, "R9"},
	{"approval lost", "allowed, and never done", func(r *check.Records) { undo(r, "a-T900-0001") }, "A1"},
	{"approval hanging", "it is open", func(r *check.Records) { r.Approvals = append(r.Approvals, stray("open")) }, "A9"},
	{"approval hanging", "it has expired", func(r *check.Records) { r.Approvals = append(r.Approvals, stray("expired")) }, "A9"},
	{"approval hanging", "nobody was shown it", func(r *check.Records) { approvalOf(r, "A1").MessageID = 9_999 }, "never shown"},
	{"approval hanging", "they were shown another", func(r *check.Records) { approvalOf(r, "A1").MessageID = approvalOf(r, "A2").MessageID }, "never shown"},
	{"approval hanging", "it was not carried", func(r *check.Records) { dropDelivery(r, approvalOf(r, "A1").MessageID) }, "has no delivery"},
	{"approval hanging", "a run that waits", func(r *check.Records) {
		r.Runs = append(r.Runs, check.Run{ID: "r9", ThreadID: "plain", State: "waiting"})
	}, "r9"},
	{"asked again", "it had not been parked", func(r *check.Records) {
		approvalOf(r, "A1").Decided, approvalOf(r, "A1").Spent = at(100), at(100)
	}, "nothing was killed"},
	{"nothing proved", "nobody allowed", func(r *check.Records) {
		r.Approvals, r.Decisions, r.Deeds, r.Tries, r.Rules, r.Revoked = nil, nil, nil, nil, nil, nil
	}, "nobody allowed"},
	{"nothing proved", "nobody denied", func(r *check.Records) {
		unsay(r, func(d check.Decision) bool { return d.ApprovalID == "A2" })
		r.Approvals = slices.DeleteFunc(r.Approvals, func(a check.Approval) bool { return a.ID == "A2" })
	}, "nobody denied"},
	{"nothing proved", "no run was parked", func(r *check.Records) {
		for i := range r.Decisions {
			r.Decisions[i].Parked = false
		}
	}, "no run was parked"},
	{"nothing proved", "no two people at once", func(r *check.Records) {
		unsay(r, func(d check.Decision) bool { return d.Author == "Bob" })
	}, "two people"},
	{"nothing proved", "no rule was used", func(r *check.Records) {
		undo(r, "a-T900-0003")
		undo(r, "a-T900-0005")
		r.Tries = slices.DeleteFunc(r.Tries, func(t check.Try) bool { return t.Deed == "a-T900-0003" || t.Deed == "a-T900-0005" })
	}, "no rule allowed"},
	{"nothing proved", "nothing was allowed once", func(r *check.Records) {
		undo(r, "a-T900-0001")
		undo(r, "a-T900-0004")
		r.Tries = slices.DeleteFunc(r.Tries, func(t check.Try) bool { return t.Deed == "a-T900-0001" || t.Deed == "a-T900-0004" })
	}, "allowed once"},
	{"nothing proved", "no rule was ended", func(r *check.Records) { r.Revoked, r.Rules = nil, append(r.Rules, "R1") }, "no rule was ended"},
}
