package check_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/chaos/check"
)

// onSchedule adds scheduled jobs: one that was asked to fire, one that was due twice and then missed two times, and one
// that was made while the daemon was away; and what turns have cost: of a person's run, and of two fires, of which one
// had two models. An attempt that was killed has cost what was set aside for it.
func onSchedule(r *check.Records) {
	const thread = "schedules"
	id := int64(7000)
	fire := func(job, marker string, due time.Time, cause string) {
		id++
		run, key := fmt.Sprintf("f%d", id), fmt.Sprintf("%s@%d", job, due.Unix())
		r.Messages = slices.Insert(r.Messages, len(r.Messages)-2, // other tests break what is last
			check.Message{ID: id, ThreadID: thread, RunID: run, Role: "user", Kind: "text", Content: "Please answer " + marker + "."})
		r.Runs = append(r.Runs, check.Run{ID: run, ThreadID: thread, MessageID: id, State: "succeeded", Attempt: 1, Source: "cron", Key: key, Finished: true})
		r.Fires = append(r.Fires, check.Fire{JobID: job, Due: due, Cause: cause, State: "succeeded", RunID: run, Key: key})
	}
	r.Schedules = []check.Schedule{
		{ID: "j1", Name: "asked", Marker: "c-0001", Promised: []time.Time{at(200)}, Unsure: 1},
		{ID: "j2", Name: "minute", Marker: "c-0002", Due: []time.Time{at(300), at(360), at(420), at(480)}, MayFrom: at(240), MayTo: at(250)},
		{ID: "j3", Name: "once", Marker: "c-0003", Due: []time.Time{at(310)}, Away: true},
	}
	fire("j1", "c-0001", at(200), "asked")
	fire("j1", "c-0001", at(205), "asked") // of the request that nobody answered
	fire("j2", "c-0002", at(245), "schedule")
	fire("j2", "c-0002", at(300), "schedule")
	fire("j3", "c-0003", at(310), "schedule")
	r.Fires = append(r.Fires,
		check.Fire{JobID: "j2", Due: at(360), Cause: "schedule", State: "skipped", Reason: "the one before still goes on", Key: "j2@360"},
		check.Fire{JobID: "j2", Due: at(420), Until: at(480), Count: 2, Cause: "schedule", State: "missed", Reason: "nobody was there to make it", Key: "j2@420"},
		check.Fire{JobID: "of nobody's", Due: at(1), Cause: "schedule", State: "pending"})
	cost := func(run, cron string, usd float64, models map[string]float64) {
		of(r.Runs, run).CostUSD += usd
		r.Costs = append(r.Costs, check.Cost{RunID: run, USD: usd, Of: map[string]string{"cron": cron, "day": "2026-11-28"}, Models: models})
	}
	cost("r1", "", 0.01, map[string]float64{"sonnet": 0.01})
	cost("f7001", "asked", 0.003, map[string]float64{"sonnet": 0.002, "haiku": 0.001})
	cost("f7005", "once", 0.002, map[string]float64{"sonnet": 0.002})
	total := check.Sum{Turns: 3, USD: 0.015}
	r.Usages = []check.Usage{
		{Total: total},
		{By: "day", Total: total, Sums: map[string]check.Sum{"2026-11-28": total}},
		{By: "cron", Total: total, Sums: map[string]check.Sum{"": {1, 0.01}, "asked": {1, 0.003}, "once": {1, 0.002}}},
		{By: "model", Total: total, Sums: map[string]check.Sum{"sonnet": {3, 0.014}, "haiku": {1, 0.001}}},
	}
	r.Budgets = []check.Budget{{Name: "all", SpentUSD: 0.065}}
	r.BilledUSD, r.Summed = 0.016, 2 // a call of the attempt that was killed, too
}

// fireOf is a row of a fire.
func fireOf(r *check.Records, job string, due time.Time) *check.Fire {
	return &r.Fires[slices.IndexFunc(r.Fires, func(f check.Fire) bool { return f.JobID == job && f.Due.Equal(due) })]
}

func dropFire(r *check.Records, job string, due time.Time) {
	r.Fires = slices.DeleteFunc(r.Fires, func(f check.Fire) bool { return f.JobID == job && f.Due.Equal(due) })
}

// brokenBooks are the ways to miscount, and to lose or double a fire.
var brokenBooks = []breach{
	{"money miscounted", "a sum is gone", func(r *check.Records) { delete(r.Usages[2].Sums, "once") }, `usage by "cron": "once" has 0 turns`},
	{"money miscounted", "a sum of nothing", func(r *check.Records) { r.Usages[1].Sums["2026-11-27"] = check.Sum{Turns: 1} }, "2026-11-27"},
	{"money miscounted", "a turn is in a sum twice", func(r *check.Records) { r.Usages[0].Total = check.Sum{Turns: 4, USD: 0.025} }, `"total" has 4 turns`},
	{"money miscounted", "the part of a second model is gone", func(r *check.Records) { r.Usages[3].Sums["haiku"] = check.Sum{Turns: 1} }, "haiku"},
	{"money miscounted", "a run without the cost of its turn", func(r *check.Records) { of(r.Runs, "r1").CostUSD = 0 }, "run r1"},
	{"money miscounted", "a turn was not spent", func(r *check.Records) { r.Budgets[0].SpentUSD = 0.005 }, "are spent, and the turns have cost"},
	{"money miscounted", "a turn was spent twice", func(r *check.Records) { r.Budgets[0].SpentUSD += 0.003 }, "no number of killed attempts"},
	{"money miscounted", "more than can have been set aside", func(r *check.Records) { r.Budgets[0].SpentUSD = 1000.015 }, "explain no more"},
	{"money miscounted", "less than was billed", func(r *check.Records) { r.BilledUSD = 0.07 }, "were billed"},
	{"money miscounted", "money is still set aside", func(r *check.Records) { r.Budgets[0].SetAsideUSD = 0.05 }, "set aside, although"},

	{"fire lost or doubled", "a time without a row", func(r *check.Records) { dropFire(r, "j2", at(360)) }, "for which there are 0 rows"},
	{"fire lost or doubled", "two rows for a time", func(r *check.Records) { fireOf(r, "j2", at(360)).Due = at(420) }, "for which there are 2 rows"},
	{"fire lost or doubled", "a row for a time at which it was not due", func(r *check.Records) { fireOf(r, "j3", at(310)).Due = at(311) }, "when it was not due"},
	{"fire lost or doubled", "a promised fire without a row", func(r *check.Records) { dropFire(r, "j1", at(200)) }, "was promised, and has no row"},
	{"fire lost or doubled", "more fires than were asked for", func(r *check.Records) { r.Schedules[0].Unsure = 0 }, "was asked to fire 1 times, and has 2 rows"},
	{"fire lost or doubled", "it is left open", func(r *check.Records) { fireOf(r, "j2", at(360)).State = "pending" }, "although all is at rest"},
	{"fire lost or doubled", "missed for no reason", func(r *check.Records) { fireOf(r, "j2", at(420)).Reason = "" }, "for no reason"},
	{"fire lost or doubled", "skipped, and submitted all the same", func(r *check.Records) {
		fire := fireOf(r, "j3", at(310))
		fire.State, fire.Reason = "skipped", "the one before still goes on"
	}, "and has the run f7005"},
	{"fire lost or doubled", "its message is gone", func(r *check.Records) { dropMessage(r, 7005) }, "1 fires were made, and 0 messages"},
	{"fire lost or doubled", "its message is there twice", func(r *check.Records) {
		again := *message(r, 7005)
		again.ID = 7099
		r.Messages = append(r.Messages, again)
	}, "1 fires were made, and 2 messages"},
	{"fire lost or doubled", "its run is gone", func(r *check.Records) { fireOf(r, "j3", at(310)).Key = "another" }, "it was made, and has 0 runs"},
	{"fire lost or doubled", "its run has another key's", func(r *check.Records) { fireOf(r, "j3", at(310)).RunID = "f7001" }, "by the run f7001"},
	{"fire lost or doubled", "it has failed", func(r *check.Records) {
		fire := fireOf(r, "j3", at(310))
		fire.State, fire.Reason = "failed", "out of attempts"
	}, "out of attempts"},
	{"nothing proved", "no fire was made", func(r *check.Records) { r.Schedules, r.Fires = nil, nil }, "no scheduled job has fired"},
	{"nothing proved", "no turn was in the sums", func(r *check.Records) { r.Summed = 0 }, "sums of usage"},
	{"nothing proved", "no budget", func(r *check.Records) { r.Budgets = nil }, "no budget"},
}
