package check_test

import (
	"slices"

	"github.com/seed-706843ae/harness/core/coretest/chaos/check"
)

// The messages of the bot in the channel of onDiscord, by where they stand.
const (
	postedBusy = iota
	postedShort
	postedBroken
	_ // the answer to the first /status
	postedLong
	postedRest
	postedThinking
)

// onDiscord adds what was said on Discord: a command that is typed, a question with a short
// answer, one whose answer was broken off for a newer one, and that one's long answer, of
// which the first message was shown while it was written. Of two commands that were chosen
// one came when the plugin died. Two others, with a question between them, have the same
// answer; the first of them was given before that long answer was posted, and answered after.
func onDiscord(r *check.Records) {
	const thread, channel = "channel", "c1"
	r.Threads = append(r.Threads, check.Thread{ID: thread, Name: "#general", Delivered: true, Interrupts: true})
	var rows []check.Message
	row := func(id int64, run, role, event, content string) {
		kind := "text"
		if event != "" {
			kind = "status"
		}
		rows = append(rows, check.Message{ID: id, ThreadID: thread, RunID: run, Role: role, Kind: kind, Event: event, Content: content, Attempt: 1})
	}
	ask := func(id int64, run, key, content, state string) {
		row(id, run, "user", "", content)
		r.Runs = append(r.Runs, check.Run{
			ID: run, ThreadID: thread, MessageID: id, State: state, Attempt: 1, Source: "discord-owner", Key: key, Finished: true,
		})
	}
	answer := func(id int64, run, content string) {
		row(id, run, "system", "courier_seen", "")
		row(id+1, run, "assistant", "", content)
		row(id+2, run, "system", "courier_done", "")
		r.Deliveries = append(r.Deliveries, check.Delivery{ID: "c" + run, MessageID: id + 1, Plugin: "discord", Target: channel, State: "delivered"})
	}
	ask(201, "c0", "900", "/busy interrupt", "succeeded")
	answer(202, "c0", "The busy mode is interrupt.")
	row(205, "c0", "system", "pipeline_parked", "Parked.") // another message has said so
	r.Deliveries = append(r.Deliveries, check.Delivery{ID: "p1", MessageID: 205, Plugin: "discord", Target: channel, State: "delivered"})
	ask(211, "c1", "901", "Please answer m-T700-0001.", "succeeded")
	answer(212, "c1", "I have read m-T700-0001.")
	ask(221, "c2", "902", "Please answer m-T700-0002.", "cancelled")
	ask(231, "c3", "903", "Please answer m-T700-0003.", "succeeded")
	answer(232, "c3", "I have read m-T700-0003.\n\nLine 1 of 2.\n\nLine 2 of 2.")
	ask(241, "c4", "906", "/status", "succeeded")
	answer(242, "c4", "All is well.")
	ask(251, "c5", "908", "Please answer m-T700-0004.", "succeeded")
	answer(252, "c5", "I have read m-T700-0004.")
	ask(261, "c6", "907", "/status", "succeeded")
	answer(262, "c6", "All is well.")
	r.Messages = slices.Insert(r.Messages, 16, rows...)
	r.Discord = &check.Discord{
		Plugin: "discord", AtOnce: 1,
		Said: []check.Said{
			{ID: "900", Channel: channel, At: at(200)}, {ID: "901", Channel: channel, Marker: "m-T700-0001", At: at(201)},
			{ID: "902", Channel: channel, Marker: "m-T700-0002", At: at(202), Edited: true}, {ID: "903", Channel: channel, Marker: "m-T700-0003", At: at(211)},
			{ID: "908", Channel: channel, Marker: "m-T700-0004", At: at(216)},
		},
		Commands: []check.Command{
			{ID: "904", Channel: channel, At: at(220), Answer: "p6"}, {ID: "905", Channel: channel, At: at(225), Answer: "p7"},
			{ID: "906", Channel: channel, At: at(212), Answer: "s1"}, {ID: "907", Channel: channel, At: at(228), Answer: "s2"},
		},
		Places: []check.Place{{ID: channel, Name: "general", Posted: []check.Posted{
			{ID: "p1", Text: "The busy mode is interrupt."}, {ID: "p2", Text: "I have read m-T700-0001.", Buttons: []string{"Try again"}},
			{ID: "p3", Text: "I look at m-T700-0002 first."}, {ID: "s1", Text: "All is well."}, {ID: "p4", Text: "I have read m-T700-0003.\n\nLine 1 of 2.", Edits: 2},
			{ID: "p5", Text: "Line 2 of 2."}, {ID: "p6", Thinking: true, At: at(220)}, {ID: "p7", Text: "Nothing is said to that."},
			{ID: "p8", Text: "I have read m-T700-0004."}, {ID: "s2", Text: "All is well."},
		}}},
		Breaches: []check.Breach{{Rule: "identify too soon", At: at(222)}, {Rule: "interaction answered late", At: at(213)}},
		Troubles: []check.Trouble{
			{Kind: check.TroubleKill, From: at(221), To: at(223)}, {Kind: check.TroubleGateway, From: at(210), To: at(212)},
			{Kind: check.TroubleRequest, From: at(230), To: at(232)},
		},
	}
}

// posted is a message of the bot's.
func posted(r *check.Records, n int) *check.Posted { return &r.Discord.Places[0].Posted[n] }

// brokenOnDiscord are the ways to break what is promised of Discord.
var brokenOnDiscord = []breach{
	{"discord: said, not submitted", "nobody heard it", func(r *check.Records) {
		r.Discord.Said = append(r.Discord.Said, check.Said{ID: "909", Channel: "c1", Marker: "m-T700-0009"})
	}, "m-T700-0009 (message 909 in general"},
	{"discord: submitted twice", "for the owner, and for everybody", func(r *check.Records) {
		again := *of(r.Runs, "c1")
		again.ID, again.Source = "c9", "discord"
		r.Runs = append(r.Runs, again)
	}, "c1, c9"},
	{"discord: submitted twice", "a command", func(r *check.Records) {
		for _, id := range []string{"c8", "c9"} {
			run := check.Run{ID: id, ThreadID: "channel", MessageID: 201, State: "succeeded", Source: "discord", Key: "904", Finished: true}
			if run.ID == "c9" {
				run.Source = "discord-owner"
			}
			r.Runs = append(r.Runs, run)
		}
	}, "the command 904"},
	{"discord: reply missing", "it is not there", func(r *check.Records) {
		r.Discord.Places[0].Posted = slices.Delete(r.Discord.Places[0].Posted, postedShort, postedShort+1)
	}, "m-T700-0001"},
	{"discord: reply missing", "only a part of it is there", func(r *check.Records) {
		r.Discord.Places[0].Posted = slices.Delete(r.Discord.Places[0].Posted, postedRest, postedRest+1)
	}, "m-T700-0003"},
	{"discord: reply missing", "it is there with other words", func(r *check.Records) { posted(r, postedRest).Text = "Line 2 of" }, "m-T700-0003"},
	{"discord: reply missing", "it went somewhere else", func(r *check.Records) {
		r.Deliveries[slices.IndexFunc(r.Deliveries, func(d check.Delivery) bool { return d.ID == "cc1" })].Target = "c2"
		r.Discord.Places = append(r.Discord.Places, check.Place{ID: "c2", Name: "elsewhere", Posted: []check.Posted{*posted(r, postedShort)}})
		r.Discord.Places[0].Posted = slices.Delete(r.Discord.Places[0].Posted, postedShort, postedShort+1)
	}, "answers it in elsewhere"},
	{"discord: reply doubled", "all of it", func(r *check.Records) {
		r.Discord.Places[0].Posted = append(r.Discord.Places[0].Posted, *posted(r, postedShort))
	}, "p2"},
	{"discord: reply doubled", "a part of it", func(r *check.Records) {
		r.Discord.Places[0].Posted = slices.Insert(r.Discord.Places[0].Posted, postedRest, check.Posted{ID: "p9", Text: "Line 2 of 2."})
	}, "p5"},
	{"discord: reply out of order", "the newer one first", func(r *check.Records) {
		all := r.Discord.Places[0].Posted
		all[postedBusy], all[postedShort] = all[postedShort], all[postedBusy]
	}, "m-T700-0001"},
	{"discord: left over", "a button", func(r *check.Records) { posted(r, postedBroken).Buttons = []string{"Stop"} }, "with the button Stop"},
	{"discord: left over", "a button below an answer", func(r *check.Records) { posted(r, postedLong).Buttons = []string{"Stop"} }, "p4"},
	{"discord: left over", "what was shown of an answer that is there", func(r *check.Records) {
		r.Discord.Places[0].Posted = append(r.Discord.Places[0].Posted, check.Posted{ID: "p9", Text: "I look at m-T700-0003 first."})
	}, "p9"},
	{"discord: left over", "words of nobody", func(r *check.Records) {
		r.Discord.Places[0].Posted = append(r.Discord.Places[0].Posted, check.Posted{ID: "p9", Text: "Oh."})
	}, "p9"},
	{"discord: left over", "it says that it thinks, and nothing died", func(r *check.Records) { posted(r, postedThinking).At = at(226) }, "thinks"},
	{"discord: breach", "a rule", func(r *check.Records) {
		r.Discord.Breaches = append(r.Discord.Breaches, check.Breach{Rule: "content length", What: "2001 letters", At: at(222)})
	}, "2001 letters"},
	{"discord: breach", "a limit that the process itself was told of", func(r *check.Records) { r.Discord.Breaches[0].At = at(260) }, "identify too soon"},
	{"discord: breach", "an interaction that the bot was told of in time", func(r *check.Records) { r.Discord.Breaches[1].At = at(230) }, "interaction answered late"},
	{"discord: breach", "two connections", func(r *check.Records) { r.Discord.AtOnce = 2 }, "2 connections"},
	{"discord: pinged", "everybody", func(r *check.Records) { posted(r, postedShort).Pinged = `{"everyone":true}` }, "everyone"},
	{"nothing proved", "nobody wrote on Discord", func(r *check.Records) {
		for _, said := range r.Discord.Said {
			r.Runs[slices.IndexFunc(r.Runs, func(run check.Run) bool { return run.Key == said.ID })].Key = ""
		}
		r.Discord.Said = nil
	}, "nothing was said on Discord"},
	{"nothing proved", "nobody wrote in a gap", func(r *check.Records) { r.Discord.Said[3].At = at(219) }, "while something was wrong with it"},
	{"nothing proved", "nobody edited anything", func(r *check.Records) { r.Discord.Said[2].Edited = false }, "edited"},
	{"nothing proved", "no long answer", func(r *check.Records) {
		all := r.Discord.Places[0].Posted
		all[postedLong].Text += " " + all[postedRest].Text
		r.Discord.Places[0].Posted = slices.Delete(all, postedRest, postedRest+1)
	}, "several messages"},
	{"nothing proved", "no answer was shown early", func(r *check.Records) { posted(r, postedLong).Edits = 0 }, "while it was written"},
	{"nothing proved", "the gateway was always there", func(r *check.Records) {
		r.Discord.Troubles[1].Kind, r.Discord.Breaches = check.TroubleRequest, nil
	}, "of the kind gateway"},
}
