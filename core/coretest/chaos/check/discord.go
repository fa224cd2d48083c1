package check

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The columns of what people write on Discord, and of what they read there.
const (
	columnUnsubmitted = "discord: said, not submitted"
	columnTwice       = "discord: submitted twice"
	columnMissing     = "discord: reply missing"
	columnDoubled     = "discord: reply doubled"
	columnDisordered  = "discord: reply out of order"
	columnLeftOver    = "discord: left over"
	columnBreach      = "discord: breach"
	columnPinged      = "discord: pinged"
)

// parkedEvent is the event of a message that says that its run waits for a plan. Where the run was
// asked for, the bot has another message say so, which becomes the answer.
const parkedEvent = "pipeline_parked"

// stopButton is the label of the button that is there while a run is at work.
const stopButton = "Stop"

// onDiscord judges what was said and what stands there. Without a Discord in the load
// nothing is judged.
func (j *judge) onDiscord(report *Report) []Column {
	columns := []Column{
		{Name: columnUnsubmitted}, {Name: columnTwice}, {Name: columnMissing}, {Name: columnDoubled},
		{Name: columnDisordered}, {Name: columnLeftOver}, {Name: columnBreach}, {Name: columnPinged},
	}
	if j.Discord == nil {
		for i := range columns {
			columns[i].LeftOut = "nobody writes on Discord in this load"
		}
		return columns
	}
	found := map[string][]string{}
	note := func(column, format string, args ...any) {
		found[column] = append(found[column], fmt.Sprintf(format, args...))
	}
	j.submitted(note)
	for _, place := range j.Discord.Places {
		j.read(place, report, note)
	}
	j.answeredElsewhere(note)
	for _, breach := range j.Discord.Breaches {
		if !j.unknowing(breach) {
			note(columnBreach, "%s: %s (%s, at %s)", breach.Rule, breach.What, breach.Where, breach.At.Format(clock))
		}
	}
	if j.Discord.AtOnce > 1 {
		note(columnBreach, "the bot had %d connections at once", j.Discord.AtOnce)
	}
	report.Said, report.Troubles = len(j.Discord.Said), map[Kind]int{}
	for _, trouble := range j.Discord.Troubles {
		report.Troubles[trouble.Kind]++
	}
	for i := range columns {
		columns[i].Violations = found[columns[i].Name]
	}
	return columns
}

// submitted wants one run of each message, and at most one of each command: these last for
// three seconds, and Discord tells who gave them that they came to nothing.
func (j *judge) submitted(note func(string, string, ...any)) {
	runs := map[string][]string{}
	for _, run := range j.Runs {
		if strings.HasPrefix(run.Source, j.Discord.Plugin) {
			runs[run.Key] = append(runs[run.Key], run.ID)
		}
	}
	twice := func(what, id string) {
		if len(runs[id]) > 1 {
			note(columnTwice, "%s has the runs %s", what, strings.Join(runs[id], ", "))
		}
	}
	for _, said := range j.Discord.Said {
		what := fmt.Sprintf("%s (message %s in %s, at %s)", said.Marker, said.ID, j.place(said.Channel), said.At.Format(clock))
		if len(runs[said.ID]) == 0 {
			note(columnUnsubmitted, "%s", what)
		}
		twice(what, said.ID)
	}
	for _, command := range j.Discord.Commands {
		twice(fmt.Sprintf("the command %s in %s", command.ID, j.place(command.Channel)), command.ID)
	}
}

// due is a delivery with what is left of its words.
type due struct {
	Delivery
	words []string
	at    int   // the place of its first message among those that stand there; -1: it is not there whole
	parts []int // the places of all of them
}

// read compares what was delivered to a place with what stands there: each delivery once,
// whole, in order, and nothing else.
func (j *judge) read(place Place, report *Report, note func(string, string, ...any)) {
	var dues []*due
	for _, delivery := range j.Deliveries {
		words := strings.Fields(j.messages[delivery.MessageID].Content)
		if delivery.Plugin == j.Discord.Plugin && delivery.Target == place.ID && delivery.State == "delivered" && len(words) > 0 {
			dues = append(dues, &due{Delivery: delivery, words: words, at: -1})
		}
	}
	used := make([]bool, len(place.Posted))
	last := 0
	for _, d := range dues {
		if j.messages[d.MessageID].Event == parkedEvent {
			continue
		}
		switch {
		case d.stands(place.Posted, used, j.answer(d, place.Posted)): // where the command was given, not in order
		case d.find(place.Posted, used, last):
			last = d.at
		case d.find(place.Posted, used, 0) && !j.answers(place.Posted[d.at]):
			note(columnDisordered, "%s: delivery %s of message %d stands before what was delivered earlier: %q",
				place, d.ID, d.MessageID, shorten(strings.Join(d.words, " ")))
		}
		if d.at < 0 {
			note(columnMissing, "%s: delivery %s of message %d is called delivered, and is not there whole: %q",
				place, d.ID, d.MessageID, shorten(strings.Join(d.words, " ")))
			continue
		}
		report.Read++
		if len(d.parts) > 1 {
			report.Long++
		}
	}
	for _, d := range dues {
		if j.messages[d.MessageID].Event == parkedEvent {
			d.find(place.Posted, used, 0) // many say the same; of most, the message that says so became the answer
		}
	}
	for i, posted := range place.Posted {
		what := fmt.Sprintf("%s: message %s of %s: %q", place, posted.ID, posted.At.Format(clock), shorten(posted.Text))
		if posted.Pinged != "" {
			note(columnPinged, "%s: %s", what, posted.Pinged)
		}
		if used[i] && posted.Edits > 0 {
			report.Live++
		}
		of := slices.IndexFunc(dues, func(d *due) bool { return d.has(posted.Text) })
		switch {
		case slices.Contains(posted.Buttons, stopButton):
			note(columnLeftOver, "%s, with the button %s", what, stopButton)
		case used[i]:
		case !posted.Thinking && j.answers(posted):
		case posted.Thinking && j.diedSoonAfter(posted.At):
		case posted.Thinking:
			note(columnLeftOver, "%s: it says that the bot thinks", what)
		case of >= 0 && dues[of].at < 0: // a part of what is missing
		case of >= 0:
			note(columnDoubled, "%s", what)
		case !j.brokenOff(posted.Text):
			note(columnLeftOver, "%s: nothing was delivered that says so", what)
		}
	}
}

// find looks for the delivery from a place on: messages that say together what it says.
// Others may stand between them.
func (d *due) find(posted []Posted, used []bool, from int) bool {
	for start := from; start < len(posted); start++ {
		if d.stands(posted, used, start) {
			return true
		}
	}
	return false
}

// stands reports whether the delivery begins at a place, and notes its places if it does.
func (d *due) stands(posted []Posted, used []bool, start int) bool {
	left, parts := d.words, []int(nil)
	for i := start; i < len(posted) && len(left) > 0; i++ {
		words := strings.Fields(posted[i].Text)
		if used[i] || len(words) == 0 || len(words) > len(left) || !slices.Equal(words, left[:len(words)]) {
			if i == start {
				return false
			}
			continue
		}
		left, parts = left[len(words):], append(parts, i)
	}
	if len(left) > 0 {
		return false
	}
	for _, i := range parts {
		used[i] = true
	}
	d.at, d.parts = parts[0], parts
	return true
}

// answer is the place of the message that answers the command of which the delivery tells;
// len(posted): it tells of none, or that message is not there.
func (j *judge) answer(d *due, posted []Posted) int {
	key := j.runs[j.messages[d.MessageID].RunID].Key
	for _, command := range j.Discord.Commands {
		at := slices.IndexFunc(posted, func(p Posted) bool { return p.ID == command.Answer })
		if command.ID == key && at >= 0 {
			return at
		}
	}
	return len(posted)
}

// has reports whether a text is of what the delivery says.
func (d *due) has(text string) bool {
	return strings.Contains(strings.Join(d.words, " "), strings.Join(strings.Fields(text), " "))
}

// answers reports whether a message is the answer to a command that was chosen. It stands where
// the command was given, before what the bot has posted meanwhile.
func (j *judge) answers(posted Posted) bool {
	return slices.ContainsFunc(j.Discord.Commands, func(c Command) bool { return c.Answer == posted.ID })
}

// brokenOff reports whether a text is what there was of an answer that nobody got: its run
// was given up.
func (j *judge) brokenOff(text string) bool {
	marker := Marker.FindString(text)
	if marker == "" {
		return false
	}
	run, _, problem := j.follow(j.marked[marker].RunID)
	return problem == "" && run.State != "succeeded"
}

// answeredElsewhere finds replies that go somewhere else than where was asked: to that
// place, or to the thread that was opened from the question.
func (j *judge) answeredElsewhere(note func(string, string, ...any)) {
	said := map[string]Said{}
	for _, one := range j.Discord.Said {
		said[one.ID] = one
	}
	replies := map[int64]Message{}
	for _, reply := range j.replies {
		replies[reply.ID] = reply
	}
	for _, delivery := range j.Deliveries {
		one, ok := said[j.runs[replies[delivery.MessageID].RunID].Key]
		if ok && delivery.Target != one.Channel && delivery.Target != one.ID {
			note(columnMissing, "%s was asked in %s, and message %d answers it in %s", one.Marker, j.place(one.Channel), delivery.MessageID, j.place(delivery.Target))
		}
	}
}

// place names a place of Discord's.
func (j *judge) place(id string) string {
	for _, place := range j.Discord.Places {
		if place.ID == id {
			return place.String()
		}
	}
	return id
}

// memory is how long Discord may hold against a bot what only the process before knew.
const memory = 15 * time.Second

// toldLate is how long after a trouble with the gateway delayed events may still arrive.
const toldLate = 3 * time.Second

// unknowing reports whether a breach is one that the plugin cannot avoid. After a kill it does
// not know what the process before was told of limits, and when that one last began a session.
// While the gateway was broken, it was not told of an interaction in time to answer it.
func (j *judge) unknowing(breach Breach) bool {
	if breach.Rule == "interaction answered late" {
		return slices.ContainsFunc(j.Discord.Troubles, func(t Trouble) bool {
			return t.Kind == TroubleGateway && !strings.HasPrefix(t.What, "events come") && !t.From.After(breach.At) && !breach.At.After(t.To.Add(toldLate))
		})
	}
	return slices.Contains([]string{"rate limit ignored", "global rate limit ignored", "identify too soon"}, breach.Rule) &&
		j.died(breach.At.Add(-memory), breach.At)
}

// diedSoonAfter reports whether the plugin died between its first answer to a command, that
// it thinks, and the next thing it does: the command is lost, and Discord says so in time.
func (j *judge) diedSoonAfter(at time.Time) bool { return j.died(at, at.Add(lastBreath)) }

// died reports whether the plugin was killed, or may have been, in that time.
func (j *judge) died(from, to time.Time) bool {
	return slices.ContainsFunc(j.Strikes, func(s Strike) bool {
		return (s.Kind == Daemon || s.Kind == Plugin && strings.Contains(s.What, j.Discord.Plugin)) && !s.To.Before(from) && !s.From.After(to)
	}) || slices.ContainsFunc(j.Discord.Troubles, func(t Trouble) bool {
		return t.Kind == TroubleKill && !t.From.Before(from) && !t.From.After(to)
	})
}

// unwritten names what has to happen on Discord and did not.
func (j *judge) unwritten(report Report) (violations []string) {
	if j.Discord == nil {
		return nil
	}
	inGap := func(said Said) bool {
		return slices.ContainsFunc(j.Discord.Troubles, func(t Trouble) bool { return !said.At.Before(t.From) && !said.At.After(t.To) })
	}
	for _, part := range []struct {
		missing bool
		what    string
	}{
		{len(j.Discord.Said) == 0, "nothing was said on Discord"},
		{!slices.ContainsFunc(j.Discord.Said, inGap), "nothing was said on Discord while something was wrong with it"},
		{!slices.ContainsFunc(j.Discord.Said, func(s Said) bool { return s.Edited }), "nothing was edited on Discord"},
		{report.Read == 0, "no reply stands on Discord"},
		{report.Long == 0 && !j.AskedUnknown, "no reply on Discord has several messages"},
		{report.Live == 0 && !j.AskedUnknown, "no reply on Discord was shown while it was written"},
	} {
		if part.missing {
			violations = append(violations, part.what)
		}
	}
	for _, kind := range TroubleKinds() {
		if report.Troubles[kind] == 0 {
			violations = append(violations, fmt.Sprintf("nothing went wrong with Discord of the kind %s", kind))
		}
	}
	return violations
}
