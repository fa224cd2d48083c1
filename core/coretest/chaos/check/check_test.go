package check_test

import (
	"fmt"
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
		Closings: []check.Closing{{From: at(500), To: at(502), Refused: 1}},
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
	work(&records)
	asking(&records)
	onDiscord(&records)
	onSchedule(&records)
	return records
}

// work adds what a plugin had done: a turn that was asked anew after the kill, one in
// the session of its thread, a task whose work was rejected once and that wakes its
// parent's agent, and one that was cancelled.
func work(r *check.Records) {
	answered := func(key, run string) check.Job {
		return check.Job{Key: key, Promised: []string{run, run}, Ended: []check.End{{State: "succeeded", Text: "I have read " + key + "."}}}
	}
	r.Places, r.AtOnce = 4, 4
	r.Jobs = []check.Job{
		answered("w-0001", "t1"), answered("w-0002", "t2"),
		{
			Key: "w-0003", Task: true, Wake: true, Rejections: 1, Promised: []string{"task1"},
			Iterations: map[int]string{1: "i1", 2: "i2"}, Ended: []check.End{{State: "completed"}},
		},
		{Key: "w-0004", Task: true, Cancel: check.Cancelled, Promised: []string{"task2"}, Ended: []check.End{{State: "cancelled"}}},
	}
	turn := func(id, key string, beside bool) check.Run {
		return check.Run{ID: id, ThreadID: "carried", State: "succeeded", Attempt: 1, Source: "turn", Key: key, Finished: true, Beside: beside}
	}
	iteration := func(id, thread string, message int64, key, state string) check.Run {
		return check.Run{ID: id, ThreadID: thread, MessageID: message, State: state, Attempt: 1, Source: "task", Key: key, Finished: true}
	}
	r.Runs = append(r.Runs, turn("t1", "w-0001", true), turn("t2", "w-0002", false),
		iteration("i1", "task thread 1", 20, "task1/1", "succeeded"), iteration("i2", "task thread 1", 21, "task1/2", "succeeded"),
		iteration("i3", "task thread 2", 22, "task2/1", "cancelled"), iteration("wake", "carried", 30, "task1/wake", "succeeded"))
	told := func(id int64, task, status string) check.Message {
		return check.Message{ID: id, ThreadID: "carried", Role: "system", Kind: "notification", Event: "task", Task: task, Status: status}
	}
	r.Messages = slices.Insert(r.Messages, 16,
		check.Message{ID: 20, ThreadID: "task thread 1", RunID: "i1", Role: "user", Kind: "text", Content: "Please answer w-0003-1"},
		check.Message{ID: 21, ThreadID: "task thread 1", RunID: "i2", Role: "user", Kind: "text", Content: "Please answer w-0003-2"},
		check.Message{ID: 22, ThreadID: "task thread 2", RunID: "i3", Role: "user", Kind: "text", Content: "Please answer w-0004-1"},
		check.Message{ID: 23, ThreadID: "task thread 1", RunID: "i1", Role: "assistant", Kind: "text", Content: "I have read w-0003-1."},
		check.Message{ID: 24, ThreadID: "task thread 1", RunID: "i2", Role: "assistant", Kind: "text", Content: "I have read w-0003-2."},
		told(27, "task3", "completed"), told(28, "task1", "completed"), told(29, "task2", "cancelled"),
		check.Message{ID: 30, ThreadID: "carried", RunID: "wake", Role: "user", Kind: "text", Content: "Task (task1) is completed."},
	)
	for _, id := range []int64{27, 28, 29} {
		delivery := fmt.Sprintf("d%d", id)
		r.Deliveries = append(r.Deliveries, check.Delivery{ID: delivery, MessageID: id, Target: "T02", State: "delivered"})
		r.Carried = append(r.Carried, check.Carried{DeliveryID: delivery, MessageID: id, Target: "T02", Attempt: 1})
	}
	r.Tasks = []check.Task{
		{ID: "task1", Key: "w-0003", ThreadID: "task thread 1", ParentID: "carried", Status: "completed", Iterations: 2, Rejections: 1, Ended: true},
		{ID: "task2", Key: "w-0004", ThreadID: "task thread 2", ParentID: "carried", Status: "cancelled", Iterations: 1, Ended: true},
		{ID: "task3", ThreadID: "task thread 3", ParentID: "carried", Status: "completed", Ended: true, Prompt: "do d-0001"},
	}
	r.Works, r.Merges = []check.Work{{Marker: "d-0001"}}, []check.Merge{{TaskID: "task3", Commit: "c1", Tree: "t2"}}
	r.Witness = "courier"
	// The plugin died before its first verdict was stored.
	r.Calls = []check.Call{
		{TaskID: "task1", Hook: "reviewing", ID: "task1:1", At: at(14)}, {TaskID: "task1", Hook: "reviewing", ID: "task1:1", At: at(16)},
		{TaskID: "task1", Hook: "reviewing", ID: "task1:2", At: at(18)}, {TaskID: "task1", Hook: "handing", ID: "task1:2", At: at(20)},
	}
	r.Answers = []check.Answer{
		{TaskID: "task1", Plugin: "courier", Hook: "reviewing", Round: 1, At: at(17)}, {TaskID: "task1", Plugin: "courier", Hook: "reviewing", Round: 2, At: at(19)},
		{TaskID: "task1", Plugin: "courier", Hook: "handing", Round: 2, At: at(21)},
		{TaskID: "task3", Plugin: "worktree", Hook: "reviewing", Round: 1, Trees: []string{"t1"}}, {TaskID: "task3", Plugin: "validation", Hook: "reviewing", Round: 1, Verdict: "reject"},
		{TaskID: "task3", Plugin: "worktree", Hook: "reviewing", Round: 2, Trees: []string{"t2"}}, {TaskID: "task3", Plugin: "validation", Hook: "reviewing", Round: 2, Verdict: "accept"},
	}
	r.Asked = append(r.Asked, check.Ask{Marker: "w-0001", At: at(14)}, check.Ask{Marker: "w-0001", At: at(17)},
		check.Ask{Marker: "w-0002", At: at(22)}, check.Ask{Marker: "w-0003-1", At: at(23)})
	r.Turns = append(r.Turns, check.Turn{RunID: "t1", Success: true, Ended: at(18)}, check.Turn{RunID: "t2", Success: true, Ended: at(23)},
		check.Turn{RunID: "i1", Success: true, Ended: at(24)})
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
	if report.Accepted != 18 || report.Answered != 15 || report.Merged != 1 || report.Cancelled != 2 || report.Carried != 19 || report.Turns != 2 || report.Tasks != 2 || report.Works != 1 ||
		report.Decided != 6 || report.Deeds != 5 || report.Ruled != 3 || report.Said != 5 || report.Read != 6 || report.Long != 1 || report.Live != 1 ||
		report.Fires != 5 || report.NotMade != 2 {
		t.Errorf("counts: %+v", report)
	}
	if report.Strikes[check.Daemon] != 1 || report.Strikes[check.Plugin] != 1 || report.Strikes[check.Agent] != 0 {
		t.Errorf("strikes: %v", report.Strikes)
	}
}

// breach is a way to break a promise.
type breach struct {
	column, how string
	spoil       func(*check.Records)
	names       string // what a violation has to mention
}

// The test that the checker screams: each broken promise shows in its own
// column and in no other, with a line that names what it is about.
func TestEachBrokenPromiseShowsInItsColumn(t *testing.T) {
	// Some break a second promise with the first.
	also := map[string]string{
		"a reply of a run that was given up": "out of order",
		"the message was stored twice":       "never answered",
		"a delivery":                         "delivery lost",
		"a run that waits":                   "row left open",
		"the agent had no turn":              "asked again",
		"nobody allowed":                     "asked again",
		"nothing was carried":                "delivery lost, approval hanging, notification lost or doubled, discord: left over",
		"only a part of it is there":         "nothing proved",
		"it is there with other words":       "nothing proved",
		"while nothing had died":             "turn asked again",
		"promised as another run":            "run doubled",
		"the turn is at work":                "row left open",
		"a task that is at work":             "notification lost or doubled",
		"the key has two tasks":              "notification lost or doubled",
		"one row too many":                   "run doubled",
	}
	covered := map[string]bool{}
	for _, broken := range slices.Concat(brokenApprovals, brokenOnDiscord, brokenBooks, []breach{
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
			r.Carried[0], r.Carried[2] = r.Carried[2], r.Carried[0]
			r.Carried[1] = r.Carried[0]
		}, "message 13"},
		{"orphaned process", "left behind", func(r *check.Records) { r.Strays = []check.Stray{{4711, "claude -p"}} }, "4711"},
		{"orphaned process", "nobody could have seen one", func(r *check.Records) { r.Sightings = 0 }, "ever seen with the mark"},
		{"nothing proved", "nothing was accepted", func(r *check.Records) { *r = check.Records{Sightings: 1} }, "accepted"},
		{"nothing proved", "nothing was answered", func(r *check.Records) { *r = check.Records{Sightings: 1} }, "answered"},
		{"nothing proved", "nothing was carried", func(r *check.Records) { r.Deliveries, r.Carried = nil, nil }, "carried"},
		{"nothing proved", "the agent was asked nothing", func(r *check.Records) { r.Asked = nil }, "asked"},
		{"nothing proved", "the plan always let turns through", func(r *check.Records) { r.Closings[0].Refused = 0 }, "used-up window"},
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
		{"effect lost or doubled", "no start", func(r *check.Records) { r.Messages = slices.Delete(r.Messages, len(r.Messages)-2, len(r.Messages)-1) }, "rows of its start"},
		{"effect lost or doubled", "no end", func(r *check.Records) { r.Messages = r.Messages[:len(r.Messages)-1] }, "0 rows of its end"},
		{"effect lost or doubled", "two ends", func(r *check.Records) { r.Messages = append(r.Messages, r.Messages[len(r.Messages)-1]) }, "2 rows of its end"},
		{"effect lost or doubled", "of an attempt that came to nothing", func(r *check.Records) { r.Messages[len(r.Messages)-1].Attempt = 2 }, "noted with attempt 2"},
		{"activity doubled", "began twice", func(r *check.Records) { r.Messages = append(r.Messages, r.Messages[8]) }, "r1"},
		{"activity doubled", "succeeded twice", func(r *check.Records) { r.Messages = append(r.Messages, r.Messages[9]) }, "r1"},
		{"turn promised, not stored", "the run is not there", func(r *check.Records) {
			r.Jobs[0].Promised = []string{"t9"}
			r.Asked = r.Asked[:3]
			r.Runs = slices.DeleteFunc(r.Runs, func(run check.Run) bool { return run.ID == "t1" })
		}, "t9"},
		{"turn promised, not stored", "refused", func(r *check.Records) { r.Jobs[0].Refused = []string{"denied"} }, "denied"},
		{"turn promised, not stored", "never heard", func(r *check.Records) {
			r.Jobs = append(r.Jobs, check.Job{Key: "w-0009"})
		}, "w-0009"},
		{"turn never ended", "the turn is at work", func(r *check.Records) {
			of(r.Runs, "t1").State, of(r.Runs, "t1").Finished = "running", false
		}, "w-0001"},
		{"turn never ended", "it failed", func(r *check.Records) { of(r.Runs, "t1").State, of(r.Runs, "t1").Error = "failed", "no place" }, "no place"},
		{"turn never ended", "nobody was told", func(r *check.Records) { r.Jobs[0].Ended = nil }, "never told"},
		{"turn never ended", "told something else", func(r *check.Records) { r.Jobs[0].Ended[0].State = "failed" }, "told that it is failed"},
		{"turn never ended", "the answer is another's", func(r *check.Records) { r.Jobs[0].Ended[0].Text = "I have read w-0002." }, "no answer to it"},
		{"turn asked again", "after its answer was known", func(r *check.Records) { r.Asked = append(r.Asked, check.Ask{Marker: "w-0001", At: at(19)}) }, "after its answer was known"},
		{"turn asked again", "while nothing had died", func(r *check.Records) {
			r.Asked = append(r.Asked, check.Ask{Marker: "w-0009", At: at(40)}, check.Ask{Marker: "w-0009", At: at(45)})
			r.Jobs = append(r.Jobs, check.Job{
				Key: "w-0009", Promised: []string{"t9"}, Ended: []check.End{{State: "succeeded", Text: "w-0009"}},
			})
			r.Runs = append(r.Runs, check.Run{ID: "t9", Key: "w-0009", State: "succeeded", Finished: true, Beside: true})
		}, "nothing was killed"},
		{"turn asked again", "without being told, in its thread's session", func(r *check.Records) {
			r.Asked = append(r.Asked[:5:5], check.Ask{Marker: "w-0002", At: at(14)}, check.Ask{Marker: "w-0002", At: at(16)})
		}, "without being told"},
		{"turn asked again", "two answers", func(r *check.Records) {
			r.Turns = append(r.Turns, check.Turn{RunID: "t1", Success: true, Ended: at(19)})
		}, "t1"},
		{"asked again", "an iteration", func(r *check.Records) {
			r.Asked = append(r.Asked, check.Ask{Marker: "w-0003-1", At: at(25)})
		}, "w-0003-1"},
		{"turn doubled", "promised as another run", func(r *check.Records) {
			r.Jobs[0].Promised[1] = "t2"
			of(r.Runs, "t2").Key = "w-0001"
			r.Jobs, r.Asked = slices.Delete(r.Jobs, 1, 2), slices.Delete(r.Asked, 5, 6)
		}, "t1, t2"},
		{"turn doubled", "one row too many", func(r *check.Records) {
			again := *of(r.Runs, "t1")
			again.ID = "t9"
			r.Runs = append(r.Runs, again)
		}, "t1, t9"},
		{"place leaked", "one", func(r *check.Records) { r.AtOnce = 3 }, "3 runs"},
		{"place leaked", "one too many", func(r *check.Records) { r.AtOnce = 5 }, "5 runs"},
		{"task never ended", "a task that is at work", func(r *check.Records) { r.Tasks[0].Status, r.Tasks[0].Ended = "running", false }, "still running"},
		{"task never ended", "its end is not done", func(r *check.Records) { r.Tasks[1].Ended = false; r.Messages = drop(r.Messages, 29) }, "not done"},
		{"task never ended", "it failed", func(r *check.Records) {
			r.Tasks[0].Status, r.Tasks[0].Error, r.Jobs[2].Ended[0].State = "failed", "out of attempts", "failed"
			message(r, 28).Status = "failed"
		}, "out of attempts"},
		{"task never ended", "completed, and it was cancelled before", func(r *check.Records) {
			r.Tasks[1].Status, r.Jobs[3].Ended[0].State = "completed", "completed"
			message(r, 29).Status = "completed"
		}, "should be cancelled"},
		{"task never ended", "a rejection that is not counted", func(r *check.Records) { r.Tasks[0].Rejections = 2 }, "rejected 2 times"},
		{"task never ended", "the task is not there", func(r *check.Records) {
			r.Jobs = append(r.Jobs, check.Job{Key: "w-0009", Task: true, Promised: []string{"task9"}})
		}, "task9"},
		{"task never ended", "nobody was told", func(r *check.Records) { r.Jobs[2].Ended = nil }, "never told"},
		{"task never ended", "refused", func(r *check.Records) { r.Jobs[2].Refused = []string{"denied"} }, "denied"},
		{"task never ended", "never heard", func(r *check.Records) { r.Jobs = append(r.Jobs, check.Job{Key: "w-0009", Task: true}) }, "w-0009"},
		{"task doubled", "the key has two tasks", func(r *check.Records) {
			again := r.Tasks[0]
			again.ID, again.ThreadID, again.Iterations, again.Rejections = "task9", "elsewhere", 0, 0
			r.Tasks = append(r.Tasks, again)
		}, "task1 and task9"},
		{"task doubled", "an iteration without a run", func(r *check.Records) { r.Tasks[0].Iterations = 3 }, "has 2 runs"},
		{"task doubled", "an iteration of another run", func(r *check.Records) { r.Jobs[2].Iterations[1] = "i9" }, "i9"},
		{"task doubled", "it ended twice", func(r *check.Records) {
			r.Jobs[2].Ended = append(r.Jobs[2].Ended, check.End{State: "cancelled"})
		}, "told before that it was cancelled"},
		{"notification lost or doubled", "no notification", func(r *check.Records) { r.Messages = drop(r.Messages, 29); dropDelivery(r, 29) }, "has 0 notifications"},
		{"notification lost or doubled", "two notifications", func(r *check.Records) {
			again := *message(r, 28)
			again.ID, again.ThreadID = 31, "plain"
			r.Messages = append(r.Messages, again)
		}, "has 2 notifications"},
		{"notification lost or doubled", "of another end", func(r *check.Records) { message(r, 28).Status = "failed" }, "told that it is failed"},
		{"notification lost or doubled", "a notification that is not carried", func(r *check.Records) { dropDelivery(r, 29) }, "has no delivery"},
		{"notification lost or doubled", "not woken", func(r *check.Records) { r.Messages = drop(r.Messages, 30) }, "told 0 times"},
		{"notification lost or doubled", "woken twice", func(r *check.Records) {
			again := *message(r, 30)
			again.ID = 31
			r.Messages = append(r.Messages, again)
		}, "told 2 times"},
		{"notification lost or doubled", "woken for nothing", func(r *check.Records) { r.Jobs[2].Wake = false }, "told 1 times"},
		{"notification lost or doubled", "woken in vain", func(r *check.Records) { of(r.Runs, "wake").State = "cancelled" }, "is cancelled"},
		{"verdict asked again", "in the round that it had answered", func(r *check.Records) { r.Calls[1].At = at(18) }, "task1:1"},
		{"verdict asked again", "after the handover", func(r *check.Records) {
			r.Calls = append(r.Calls, check.Call{TaskID: "task1", Hook: "handing", ID: "task1:2", At: at(22)})
		}, "handing"},
		{"nothing proved", "nobody asked for a turn", func(r *check.Records) { r.Jobs = r.Jobs[2:]; r.Asked = r.Asked[:3] }, "no turn that a plugin asked for"},
		{"task stuck", "work that is not done", func(r *check.Records) {
			r.Tasks[2].Status, r.Tasks[2].Ended, r.Merges = "waiting", false, nil
			r.Messages = drop(r.Messages, 27)
		}, "d-0001"},
		{"task stuck", "work of which no task was made", func(r *check.Records) { r.Works[0].Marker = "d-0002" }, "d-0002"},
		{"task stuck", "work that was refused", func(r *check.Records) { r.Works[0].Refused = "400" }, "refused"},
		{"merged twice or never", "two merges", func(r *check.Records) {
			r.Merges = append(r.Merges, check.Merge{TaskID: "task3", Commit: "c2", Tree: "t2"})
		}, "c2"},
		{"merged twice or never", "no merge", func(r *check.Records) { r.Merges = nil }, "task3"},
		{"merged another tree", "that of a round before", func(r *check.Records) { r.Merges[0].Tree = "t1" }, "t1"},
		{"merged another tree", "one that a stranger has shown", func(r *check.Records) {
			r.Merges[0].Tree = "forged"
			r.Answers = append(r.Answers, check.Answer{TaskID: "task3", Plugin: "courier", Hook: "reviewing", Round: 2, Trees: []string{"forged"}})
		}, "forged"},
		{"merged another tree", "the maker has shown none", func(r *check.Records) { r.Answers[5].Trees = nil }, "t2"},
		{"merged unreviewed", "nobody has accepted it", func(r *check.Records) { r.Answers = r.Answers[:6] }, "t2"},
		{"left in the repository", "a branch", func(r *check.Records) { r.Leftovers = []string{"branch task/x"} }, "task/x"},
		{"nothing proved", "no task", func(r *check.Records) { noTasks(r) }, "no task was made"},
		{"nothing proved", "the places were not tried", func(r *check.Records) { r.Places, r.AtOnce = 0, 0 }, "places"},
		{"daemon gave up", "for no reason", func(r *check.Records) { r.Exits = []check.Exit{{At: at(60), Why: "the lock was lost"}} }, "the lock was lost"},
	}) {
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
				} else if len(column.Violations) > 0 && !strings.Contains(also[broken.how], column.Name) {
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
	left := []string{"asked again", "turn asked again", "task stuck", "merged twice or never", "merged unreviewed", "merged another tree", "left in the repository", "done unasked", "approval lost", "approval hanging"}
	for _, column := range check.Judge(records).Columns {
		if (column.LeftOut != "") != slices.Contains(left, column.Name) {
			t.Errorf("%s: left out: %q", column.Name, column.LeftOut)
		}
	}
}

// A load without a courier has nothing to deliver: no zero is claimed there.
func TestDeliveriesThatNobodyAskedForAreLeftOut(t *testing.T) {
	records := sound()
	records.Deliveries, records.Carried, records.Discord = nil, nil, nil
	for i := range records.Threads {
		records.Threads[i].Delivered = false
	}
	report := check.Judge(records)
	if !report.Clean() {
		t.Error("the report is not clean")
	}
	for _, column := range report.Columns {
		if left := strings.HasPrefix(column.Name, "delivery ") || strings.HasPrefix(column.Name, "discord: "); (column.LeftOut != "") != left {
			t.Errorf("%s: left out: %q", column.Name, column.LeftOut)
		}
	}
}

// drop returns the messages without one.
func drop(messages []check.Message, id int64) []check.Message {
	return slices.DeleteFunc(messages, func(m check.Message) bool { return m.ID == id })
}

// dropDelivery takes the delivery of a message out.
func dropDelivery(r *check.Records, message int64) {
	r.Deliveries = slices.DeleteFunc(r.Deliveries, func(d check.Delivery) bool { return d.MessageID == message })
	r.Carried = slices.DeleteFunc(r.Carried, func(c check.Carried) bool { return c.MessageID == message })
}

// noTasks takes everything out that has to do with a task.
func noTasks(r *check.Records) {
	r.Jobs, r.Tasks, r.Calls, r.Answers, r.Works, r.Merges = r.Jobs[:2], nil, nil, nil, nil, nil
	for _, id := range []int64{20, 21, 22, 23, 24, 28, 29, 30} {
		r.Messages = drop(r.Messages, id)
		dropDelivery(r, id)
	}
}

func message(r *check.Records, id int64) *check.Message {
	return &r.Messages[slices.IndexFunc(r.Messages, func(m check.Message) bool { return m.ID == id })]
}

func of(runs []check.Run, id string) *check.Run {
	return &runs[slices.IndexFunc(runs, func(r check.Run) bool { return r.ID == id })]
}

func dropMessage(r *check.Records, id int64) {
	r.Messages = slices.DeleteFunc(r.Messages, func(m check.Message) bool { return m.ID == id })
}
