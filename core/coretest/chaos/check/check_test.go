package check_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/chaos/check"
)

// at is a moment of the campaign, in seconds.
func at(seconds int) time.Time { return time.Unix(1_700_000_000+int64(seconds), 0) }

// sound is a campaign in which every promise was kept: an ordinary thread
// whose second message was interrupted, one that is delivered, one that merges
// and one that interrupts.
func sound() check.Records {
	accepted := func(marker, thread string, message int64, run string) check.Sent {
		promise := check.Acceptance{ThreadID: thread, MessageID: message, RunID: run}
		return check.Sent{Marker: marker, ThreadID: thread, Accepted: []check.Acceptance{promise, promise}}
	}
	user := func(id int64, thread, run, marker string) check.Message {
		return check.Message{ID: id, ThreadID: thread, RunID: run, Role: "user", Kind: "text", Content: "Please answer " + marker + "."}
	}
	reply := func(id int64, thread, run, content string) check.Message {
		return check.Message{ID: id, ThreadID: thread, RunID: run, Role: "assistant", Kind: "text", Content: content}
	}
	run := func(id, thread string, message int64, state string) check.Run {
		return check.Run{ID: id, ThreadID: thread, MessageID: message, State: state, Attempt: 1, Source: "web", Key: "key-" + id, Finished: true}
	}
	merged := run("r5", "merging", 5, "merged")
	merged.MergedInto = "r6"
	records := check.Records{
		Wanted: []check.Kind{check.Daemon, check.Plugin}, Sightings: 1,
		Strikes: []check.Strike{
			{Kind: check.Daemon, What: "daemon 7", From: at(15), To: at(15)},
			{Kind: check.Plugin, What: "plugin web 8", From: at(50), To: at(50)},
		},
		Threads: []check.Thread{
			{ID: "plain", Name: "T01"}, {ID: "carried", Name: "T02", Delivered: true},
			{ID: "merging", Name: "T03"}, {ID: "hasty", Name: "T04", Interrupts: true},
		},
		Sent: []check.Sent{
			accepted("m-T01-0001", "plain", 1, "r1"), accepted("m-T01-0002", "plain", 2, "r2"),
			accepted("m-T02-0001", "carried", 3, "r3"), accepted("m-T02-0002", "carried", 4, "r4"),
			accepted("m-T03-0001", "merging", 5, "r5"), accepted("m-T03-0002", "merging", 6, "r6"),
			accepted("m-T04-0001", "hasty", 7, "r7"), accepted("m-T04-0002", "hasty", 8, "r8"),
		},
		Messages: []check.Message{
			user(1, "plain", "r1", "m-T01-0001"), user(2, "plain", "r2", "m-T01-0002"),
			user(3, "carried", "r3", "m-T02-0001"), user(4, "carried", "r4", "m-T02-0002"),
			user(5, "merging", "r5", "m-T03-0001"), user(6, "merging", "r6", "m-T03-0002"),
			user(7, "hasty", "r7", "m-T04-0001"), user(8, "hasty", "r8", "m-T04-0002"),
			{ID: 9, ThreadID: "plain", RunID: "r1", Role: "system", Kind: "status", Event: "pipeline_start"},
			{ID: 10, ThreadID: "plain", RunID: "r1", Role: "system", Kind: "status", Event: "pipeline_complete", Outcome: "succeeded"},
			reply(11, "plain", "r1", "I have read m-T01-0001."), reply(12, "plain", "r2", "I have read m-T01-0002."),
			reply(13, "carried", "r3", "I have read m-T02-0001."), reply(14, "carried", "r4", "I have read m-T02-0002."),
			reply(15, "merging", "r6", "I have read m-T03-0001 and m-T03-0002."),
			reply(16, "hasty", "r8", "I have read m-T04-0002."),
		},
		Runs: []check.Run{
			run("r1", "plain", 1, "succeeded"), run("r2", "plain", 2, "succeeded"),
			run("r3", "carried", 3, "succeeded"), run("r4", "carried", 4, "succeeded"),
			merged, run("r6", "merging", 6, "succeeded"),
			run("r7", "hasty", 7, "cancelled"), run("r8", "hasty", 8, "succeeded"),
		},
		Asked: []check.Ask{
			{Marker: "m-T01-0001", At: at(1)}, {Marker: "m-T01-0002", At: at(10)},
			{Marker: "m-T01-0002", At: at(20), Interrupted: true},
		},
		Turns: []check.Turn{
			{RunID: "r1", Success: true, Ended: at(2)}, {RunID: "r2", Ended: at(15)}, {RunID: "r2", Success: true, Ended: at(21)},
		},
		Deliveries: []check.Delivery{
			{ID: "d1", MessageID: 13, Target: "T02", State: "delivered"}, {ID: "d2", MessageID: 14, Target: "T02", State: "delivered"},
		},
		Carried: []check.Carried{
			{DeliveryID: "d1", MessageID: 13, Target: "T02", Attempt: 1}, {DeliveryID: "d1", MessageID: 13, Target: "T02", Attempt: 2},
			{DeliveryID: "d2", MessageID: 14, Target: "T02", Attempt: 1}, {DeliveryID: "d1", MessageID: 13, Target: "T02", Attempt: 3},
		},
	}
	id := int64(100)
	for _, run := range records.Runs { // what a plugin did to each
		if run.State == "succeeded" {
			for _, event := range []string{"courier_seen", "courier_done"} {
				id++
				records.Messages = append(records.Messages, check.Message{
					ID: id, ThreadID: run.ThreadID, RunID: run.ID, Role: "system", Kind: "status", Event: event, Attempt: 1,
				})
			}
		}
	}
	return records
}

// A checker that is content with everything proves nothing, and one that
// complains about what is allowed is not listened to.
func TestKeptPromisesAreAllZero(t *testing.T) {
	report := check.Judge(sound())
	for _, column := range report.Columns {
		for _, violation := range column.Violations {
			t.Errorf("%s: %s", column.Name, violation)
		}
	}
	if !report.Clean() {
		t.Error("the report is not clean")
	}
	if report.Accepted != 8 || report.Answered != 6 || report.Merged != 1 || report.Cancelled != 1 || report.Carried != 4 {
		t.Errorf("counts: %+v", report)
	}
	if report.Strikes[check.Daemon] != 1 || report.Strikes[check.Plugin] != 1 || report.Strikes[check.Agent] != 0 {
		t.Errorf("strikes: %v", report.Strikes)
	}
}

// The test that the checker screams: each broken promise shows in its own
// column and in no other, with a line that names what it is about.
func TestEachBrokenPromiseShowsInItsColumn(t *testing.T) {
	// Some break a second promise with the first.
	also := map[string]string{
		"a reply of a run that was given up": "out of order",
		"the message was stored twice":       "never answered",
		"a delivery":                         "delivery lost",
		"nothing was carried":                "delivery lost",
	}
	covered := map[string]bool{}
	for _, broken := range []struct {
		column, how string
		spoil       func(*check.Records)
		names       string // what a violation has to mention
	}{
		{"never answered", "the run failed", func(r *check.Records) {
			r.Runs[1].State, r.Runs[1].Error = "failed", "out of attempts"
			dropMessage(r, 12)
		}, "m-T01-0002"},
		{"never answered", "it succeeded without a word", func(r *check.Records) { dropMessage(r, 12) }, "r2"},
		{"never answered", "the reply is to something else", func(r *check.Records) { r.Messages[11].Content = "Hello." }, "Hello."},
		{"never answered", "cancelled in a thread that does not interrupt", func(r *check.Records) {
			r.Runs[1].State = "cancelled"
			dropMessage(r, 12)
		}, "nobody had asked"},
		{"never answered", "cancelled, and nothing newer there", func(r *check.Records) {
			r.Runs[7].State = "cancelled"
			dropMessage(r, 16)
		}, "m-T04-0002"},
		{"never answered", "merged into nothing", func(r *check.Records) { r.Runs[4].MergedInto = "" }, "m-T03-0001"},
		{"never answered", "merged in a circle", func(r *check.Records) { r.Runs[4].MergedInto = "r5" }, "circle"},
		{"never answered", "merged, and the answer leaves it out", func(r *check.Records) {
			r.Messages[14].Content = "I have read m-T03-0002."
		}, "m-T03-0001"},
		{"answered twice", "two replies of a run", func(r *check.Records) {
			again := r.Messages[11]
			again.ID, again.Content = 17, "And another thing."
			r.Messages = append(r.Messages, again)
		}, "r2"},
		{"answered twice", "another run's reply answers it too", func(r *check.Records) {
			r.Messages[11].Content = "I have read m-T01-0001 and m-T01-0002."
		}, "m-T01-0001"},
		{"out of order", "the second message is answered first", func(r *check.Records) {
			r.Messages[10], r.Messages[11] = r.Messages[11], r.Messages[10]
		}, "T01"},
		{"reply without question", "a reply of no run", func(r *check.Records) {
			r.Messages = append(r.Messages, check.Message{ID: 17, ThreadID: "plain", Role: "assistant", Kind: "text", Content: "Boo."})
		}, "message 17"},
		{"reply without question", "a reply of a run that was given up", func(r *check.Records) {
			r.Messages = append(r.Messages, check.Message{ID: 6_000, ThreadID: "merging", RunID: "r5", Role: "assistant", Kind: "text", Content: "Late."})
		}, "r5 is merged"},
		{"reply without question", "an answer to another thread", func(r *check.Records) {
			r.Messages[11].Content += " And m-T09-0001."
		}, "m-T09-0001"},
		{"promised, not stored", "the message is not there", func(r *check.Records) {
			r.Sent = append(r.Sent, check.Sent{Marker: "m-T01-0003", ThreadID: "plain", Accepted: []check.Acceptance{{"plain", 99, "r99"}}})
		}, "message 99"},
		{"promised, not stored", "the run is not there", func(r *check.Records) {
			r.Sent[0].Accepted = []check.Acceptance{{"plain", 1, "r99"}}
		}, "r99"},
		{"promised, not stored", "the message is another one", func(r *check.Records) {
			r.Sent[0].Accepted = []check.Acceptance{{"plain", 2, "r2"}}
		}, "another one"},
		{"promised, not stored", "a client was refused", func(r *check.Records) { r.Sent[0].Refused = []string{"409"} }, "409"},
		{"promised, not stored", "a client was never heard", func(r *check.Records) { r.Sent[0].Accepted = nil }, "m-T01-0001"},
		{"run doubled", "the key was given two runs", func(r *check.Records) { r.Runs[1].Key = r.Runs[0].Key }, "key-r1"},
		{"run doubled", "the message was stored twice", func(r *check.Records) {
			again, run, answer := r.Messages[1], r.Runs[1], r.Messages[11]
			again.ID, again.RunID, run.ID, run.MessageID, run.Key, answer.ID, answer.RunID = 17, "r9", "r9", 17, "", 18, "r9"
			answer.Content = "I have read it."
			seen, done := r.Messages[len(r.Messages)-2], r.Messages[len(r.Messages)-1]
			seen.RunID, done.RunID = "r9", "r9"
			r.Messages, r.Runs = append(r.Messages, again, answer, seen, done), append(r.Runs, run)
		}, "m-T01-0002"},
		{"asked again", "without being told", func(r *check.Records) { r.Asked[2].Interrupted = false }, "without being told"},
		{"asked again", "while nothing had died", func(r *check.Records) { r.Strikes[0].From, r.Strikes[0].To = at(3), at(3) }, "nothing was killed"},
		{"asked again", "after its answer was known", func(r *check.Records) {
			r.Strikes = append(r.Strikes, check.Strike{Kind: check.Agent, From: at(30), To: at(30)})
			r.Asked = append(r.Asked, check.Ask{Marker: "m-T01-0002", At: at(40), Interrupted: true})
		}, "after its answer was known"},
		{"asked again", "two answers of one run", func(r *check.Records) {
			r.Turns = append(r.Turns, check.Turn{RunID: "r1", Success: true, Ended: at(5)})
		}, "r1"},
		{"delivery lost", "no row", func(r *check.Records) { r.Deliveries, r.Carried = r.Deliveries[1:], r.Carried[2:3] }, "message 13"},
		{"delivery lost", "given up", func(r *check.Records) { r.Deliveries[1].State = "dead" }, "dead"},
		{"delivery lost", "acknowledged by nobody", func(r *check.Records) { r.Carried = r.Carried[:2] }, "d2"},
		{"delivery doubled", "two rows", func(r *check.Records) {
			r.Deliveries = append(r.Deliveries, check.Delivery{ID: "d3", MessageID: 14, Target: "other", State: "delivered"})
			r.Carried = append(r.Carried, check.Carried{DeliveryID: "d3", MessageID: 15, Target: "other"})
		}, "message 14"},
		{"delivery doubled", "carried under another id", func(r *check.Records) { r.Carried[1].DeliveryID = "d2" }, "d1 and d2"},
		{"delivery doubled", "carried under an unknown id", func(r *check.Records) { r.Carried[1].DeliveryID = "d9" }, "d9"},
		{"delivery out of order", "the newer one first", func(r *check.Records) {
			r.Carried = []check.Carried{r.Carried[2], r.Carried[0]}
		}, "message 13"},
		{"orphaned process", "left behind", func(r *check.Records) { r.Strays = []check.Stray{{4711, "claude -p"}} }, "4711"},
		{"orphaned process", "nobody could have seen one", func(r *check.Records) { r.Sightings = 0 }, "ever seen with the mark"},
		{"nothing proved", "nothing was accepted", func(r *check.Records) { *r = check.Records{Sightings: 1} }, "accepted"},
		{"nothing proved", "nothing was answered", func(r *check.Records) { *r = check.Records{Sightings: 1} }, "answered"},
		{"nothing proved", "nothing was carried", func(r *check.Records) { r.Deliveries, r.Carried = nil, nil }, "carried"},
		{"nothing proved", "the agent was asked nothing", func(r *check.Records) { r.Asked = nil }, "asked"},
		{"nothing proved", "the agent had no turn", func(r *check.Records) { r.Turns = nil }, "turn"},
		{"nothing proved", "no agent was there to be hit", func(r *check.Records) {
			r.Wanted = check.Kinds()[:3]
			r.Strikes[1].Meant = check.Agent
		}, "agent (1 hit"},
		{"row left open", "a delivery", func(r *check.Records) {
			r.Deliveries = append(r.Deliveries, check.Delivery{ID: "d3", MessageID: 2, State: "pending"})
		}, "d3"},
		{"row left open", "a final run without an end", func(r *check.Records) { r.Runs[0].Finished = false }, "r1"},
		{"row left open", "a run of nobody's", func(r *check.Records) {
			r.Runs = append(r.Runs, check.Run{ID: "r9", ThreadID: "plain", State: "running"})
		}, "r9"},
		{"row left open", "a task", func(r *check.Records) { r.OpenTasks = []string{"t1"} }, "t1"},
		{"effect lost or doubled", "no start", func(r *check.Records) { r.Messages = slices.Delete(r.Messages, len(r.Messages)-2, len(r.Messages)-1) }, "rows of its start"},
		{"effect lost or doubled", "no end", func(r *check.Records) { r.Messages = r.Messages[:len(r.Messages)-1] }, "0 rows of its end"},
		{"effect lost or doubled", "two ends", func(r *check.Records) { r.Messages = append(r.Messages, r.Messages[len(r.Messages)-1]) }, "2 rows of its end"},
		{"effect lost or doubled", "of an attempt that came to nothing", func(r *check.Records) { r.Messages[len(r.Messages)-1].Attempt = 2 }, "noted with attempt 2"},
		{"activity doubled", "began twice", func(r *check.Records) { r.Messages = append(r.Messages, r.Messages[8]) }, "r1"},
		{"activity doubled", "succeeded twice", func(r *check.Records) { r.Messages = append(r.Messages, r.Messages[9]) }, "r1"},
		{"daemon gave up", "for no reason", func(r *check.Records) { r.Exits = []check.Exit{{At: at(60), Why: "the lock was lost"}} }, "the lock was lost"},
	} {
		covered[broken.column] = true
		t.Run(broken.column+"/"+broken.how, func(t *testing.T) {
			records := sound()
			broken.spoil(&records)
			report := check.Judge(records)
			if report.Clean() {
				t.Fatal("nothing was noticed")
			}
			for _, column := range report.Columns {
				if column.Name == broken.column {
					if !slices.ContainsFunc(column.Violations, func(v string) bool { return strings.Contains(v, broken.names) }) {
						t.Errorf("no line names %q: %q", broken.names, column.Violations)
					}
				} else if len(column.Violations) > 0 && column.Name != also[broken.how] {
					t.Errorf("%s: %q", column.Name, column.Violations)
				}
			}
		})
	}
	for _, column := range check.Judge(sound()).Columns {
		if !covered[column.Name] {
			t.Errorf("nothing breaks %q here", column.Name)
		}
	}
}

// The demo agent keeps no log: a zero there would claim what nobody has seen.
func TestWhatTheAgentWasAskedCanBeLeftOut(t *testing.T) {
	records := sound()
	records.Asked, records.AskedUnknown = nil, true
	for _, column := range check.Judge(records).Columns {
		if (column.LeftOut != "") != (column.Name == "asked again") {
			t.Errorf("%s: left out: %q", column.Name, column.LeftOut)
		}
	}
}

// A load without a courier has nothing to deliver: no zero is claimed there.
func TestDeliveriesThatNobodyAskedForAreLeftOut(t *testing.T) {
	records := sound()
	records.Threads[1].Delivered, records.Deliveries, records.Carried = false, nil, nil
	report := check.Judge(records)
	if !report.Clean() {
		t.Error("the report is not clean")
	}
	for _, column := range report.Columns {
		if (column.LeftOut != "") != strings.HasPrefix(column.Name, "delivery ") {
			t.Errorf("%s: left out: %q", column.Name, column.LeftOut)
		}
	}
}

func dropMessage(r *check.Records, id int64) {
	r.Messages = slices.DeleteFunc(r.Messages, func(m check.Message) bool { return m.ID == id })
}
