package summaries

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/summaries/internal/digest"
	"github.com/seed-706843ae/harness/plugins/summaries/internal/heard"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// threadBytes is how much of what is new in a thread a prompt has, messageBytes of one message, and newsBytes of
	// all threads.
	threadBytes, messageBytes, newsBytes = 8 << 10, 1500, 80 << 10
	// longBytes is how much of a long thread a prompt has, and longMessageBytes of one message of it.
	longBytes, longMessageBytes = 60 << 10, 600
	// mostLong is how many summary rows a turn is asked for.
	mostLong = 2
	// mostPages is how many pages of threads a window looks at.
	mostPages = 10
)

// said is a message in a prompt.
type said struct {
	Who  string `json:"who"`
	Text string `json:"text"`
}

// news is what is new in a thread.
type news struct {
	thread pluginsdk.Thread
	said   []said
	upto   int64 // the last message of them
	size   int
	// tools reports whether the agent used tools in the thread. What they may have said is in long and before, and not in said.
	tools bool
	// long is all that was said since the last summary row, which is before; only of a thread that is to have another row.
	// longUpto is the last message of the thread then.
	long     []said
	before   string
	longUpto int64
	longSize int
	// leavesOut are the newest messages since then that long does not have: of schedules and plugins, of times in
	// which summaries were off, and those for which a prompt has no room.
	leavesOut []int64
	// partial is the thread's session when it has words of people that neither long nor the rows before it tell; else empty.
	partial string
	// ends reports whether the thread's session may end: nothing that people have said in it would be hidden, and what
	// schedules and plugins have said since the last row is shown to the next session.
	ends bool
}

const (
	// mostLeftOut is how many messages a summary row names that it does not tell of: the plugin context shows those
	// that are among the newest 50.
	mostLeftOut = 50
	// shownBehind is how many messages behind the newest summary row the plugin context shows.
	shownBehind = 25
)

// active returns the threads that may have news, the latest activity first, and the latest activity of all.
func (p *Plugin) active(ctx context.Context, w *work, c config) (threads []pluginsdk.Thread, until time.Time, err error) {
	until = w.Until
	query := pluginsdk.ThreadQuery{Kinds: []pluginsdk.ThreadKind{pluginsdk.ThreadPrimary, pluginsdk.ThreadGeneral}, Order: pluginsdk.ActivityFirst, Limit: 100}
	for range mostPages {
		page, err := p.host.Threads.List(ctx, &pluginsdk.ListThreadsRequest{Query: query})
		if err != nil {
			return nil, until, err
		}
		for _, thread := range page.Threads {
			if thread.LastActivity.Before(w.Until) {
				return p.withLeft(ctx, w, c, threads, until)
			}
			if thread.LastActivity.After(until) {
				until = thread.LastActivity
			}
			if c.learnsFrom(thread) {
				threads = append(threads, thread)
			}
			query.After = thread.ID
		}
		if len(page.Threads) < query.Limit {
			break
		}
	}
	return p.withLeft(ctx, w, c, threads, until)
}

// withLeft adds the threads that had no room before, and those whose session is to end, behind the others.
func (p *Plugin) withLeft(ctx context.Context, w *work, c config, threads []pluginsdk.Thread, until time.Time) ([]pluginsdk.Thread, time.Time, error) {
	for _, id := range slices.Concat(w.Left, slices.Sorted(maps.Keys(w.Rotate))) {
		if slices.ContainsFunc(threads, func(t pluginsdk.Thread) bool { return t.ID == id }) {
			continue
		}
		answer, err := p.host.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: id})
		if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
			delete(w.Rotate, id)
			continue
		}
		if err != nil {
			return nil, until, err
		}
		if !c.learnsFrom(answer.Thread) { // it has become apart, or the settings have changed
			delete(w.Rotate, id)
			continue
		}
		threads = append(threads, answer.Thread)
	}
	return threads, until, nil
}

// newsOf reads what people and the assistant have said in a thread since it was last summarised. rotate is set when the thread's
// session is to end: then all that was said since the last summary row is read, however short the thread is.
func (p *Plugin) newsOf(ctx context.Context, thread pluginsdk.Thread, w *work, c config, rotate bool) (n news, err error) {
	n.thread = thread
	after := w.Cursors[thread.ID]
	rows, err := p.rows(ctx, thread.ID, c.LongThread+1, pluginsdk.MessageText, pluginsdk.MessageSummary)
	if err != nil {
		return n, err
	}
	all := true // rows has all since the newest summary row
	if len(rows) > c.LongThread && !slices.ContainsFunc(rows, isSummary) {
		if rows, all, err = p.sinceSummary(ctx, thread.ID); err != nil {
			return n, err
		}
	}
	spoken, err := p.spoken(ctx, rows)
	if err != nil {
		return n, err
	}
	used, err := p.knowTools(ctx, w, thread.ID)
	if err != nil {
		return n, err
	}
	people := heard.New()
	var ids []int64     // of the messages in long
	skipped := false    // people have said something since the newest summary row that long does not have
	var before rowNotes // of the newest summary row
	for _, row := range spoken {
		if isSummary(row) {
			n.before, n.long, ids, skipped, before = row.Content, nil, nil, false, notesOf(row)
			n.tools = used.after(row.ID)
			continue
		}
		if w.skipped(row.CreatedAt) {
			skipped = true
			continue
		}
		text := row.Content
		switch {
		case row.Role == pluginsdk.RoleUser:
			people.Add(heard.Message{Text: row.Author, At: row.CreatedAt})
			people.Add(heard.Message{Text: text, At: row.CreatedAt})
		case used.after(row.ID):
			n.tools, text = true, heardOf(text, people, row.CreatedAt)
		}
		ids = append(ids, row.ID)
		n.long = append(n.long, said{who(row), digest.OneLine(row.Content, longMessageBytes)})
		if row.ID > after {
			n.said, n.upto = append(n.said, said{who(row), digest.OneLine(text, messageBytes)}), row.ID
		}
	}
	n.said, n.size = newest(n.said, threadBytes)
	n.long, n.longSize = newest(n.long, longBytes)
	if skipped || !all || len(n.long) < len(ids) || before.Partial != "" && before.Partial == thread.SessionID {
		n.partial = thread.SessionID
	}
	told := ids[len(ids)-len(n.long):]
	leftOut, shown := leftOut(rows, told)
	n.ends = rotate && n.partial == "" && shown
	if len(n.long) == 0 || !n.ends && (len(ids) <= c.LongThread || len(n.said) == 0) {
		n.long = nil
		return n, nil
	}
	n.longUpto, n.leavesOut = newestOf(rows), leftOut[max(0, len(leftOut)-mostLeftOut):]
	return n, nil
}

// leftOut are the rows after the newest summary that people or the assistant have said, in whomever's name, and that are not
// told. shown reports whether a new session is shown all of them: beside the next summary row, or, where nothing is told and
// there is none, behind the newest one.
func leftOut(rows []pluginsdk.Message, told []int64) (ids []int64, shown bool) {
	behind := 0 // rows from the first one that is left out on
	for _, row := range rows {
		switch {
		case isSummary(row):
			ids, behind = nil, 0
		case row.Kind != pluginsdk.MessageText || row.Role == pluginsdk.RoleSystem:
		case !slices.Contains(told, row.ID):
			ids = append(ids, row.ID)
			behind++
		case len(ids) > 0:
			behind++
		}
	}
	most := mostLeftOut
	if len(told) == 0 {
		most = shownBehind
	}
	return ids, behind <= most
}

// rowNotes is what a summary row says of itself.
type rowNotes struct {
	pluginsdk.SummaryMetadata

	// Partial is the session that the thread had when it has words of people that no summary row tells; else empty.
	Partial string `json:"partial,omitempty"`
}

// notesOf reads them; a row of somebody else's has none.
func notesOf(row pluginsdk.Message) (notes rowNotes) {
	if len(row.Metadata) > 0 && json.Unmarshal(row.Metadata, &notes) != nil {
		return rowNotes{}
	}
	return notes
}

func isSummary(m pluginsdk.Message) bool { return m.Kind == pluginsdk.MessageSummary }

func who(m pluginsdk.Message) string {
	if m.Role == pluginsdk.RoleAssistant {
		return "assistant"
	}
	return "person"
}

// newestOf is the newest of the rows that people and the assistant have said, in whomever's name; 0: there is none.
func newestOf(rows []pluginsdk.Message) (id int64) {
	for _, row := range rows {
		if row.Kind == pluginsdk.MessageText && row.Role != pluginsdk.RoleSystem {
			id = row.ID
		}
	}
	return id
}

// rows returns the newest rows of some kinds, oldest first.
func (p *Plugin) rows(ctx context.Context, threadID string, limit int, kinds ...pluginsdk.MessageKind) ([]pluginsdk.Message, error) {
	page, err := p.host.Messages.List(ctx, &pluginsdk.ListMessagesRequest{Query: pluginsdk.MessageQuery{ThreadID: threadID, Kinds: kinds, Last: true, Limit: limit}})
	if err != nil {
		return nil, err
	}
	return page.Messages, nil
}

// mostSince is how many messages of a long thread are read.
const mostSince = 400

// sinceSummary returns the newest summary row of a long thread and what follows it; all is false when that is too much.
func (p *Plugin) sinceSummary(ctx context.Context, threadID string) (rows []pluginsdk.Message, all bool, err error) {
	summary, err := p.rows(ctx, threadID, 1, pluginsdk.MessageSummary)
	if err != nil {
		return nil, false, err
	}
	rows, err = p.rows(ctx, threadID, mostSince, pluginsdk.MessageText)
	all = len(rows) < mostSince
	if err != nil || len(summary) == 0 {
		return rows, all, err
	}
	since := slices.DeleteFunc(slices.Clone(rows), func(m pluginsdk.Message) bool { return m.ID < summary[0].ID })
	return append(summary, since...), all || len(since) < len(rows), nil
}

// spoken keeps of the rows what people have said, what they were answered, and the summaries. What schedules, tasks and
// plugins have said is left out, and so are the answers to that.
func (p *Plugin) spoken(ctx context.Context, rows []pluginsdk.Message) (kept []pluginsdk.Message, err error) {
	persons := make(map[string]bool) // by run: whether it answers a person
	for _, row := range rows {
		if row.Role == pluginsdk.RoleUser {
			persons[row.RunID] = personal(row)
		}
	}
	for _, row := range rows {
		switch {
		case isSummary(row), row.Role == pluginsdk.RoleUser && personal(row):
			kept = append(kept, row)
		case row.Role == pluginsdk.RoleAssistant:
			answers, known := persons[row.RunID]
			if !known {
				if answers, err = p.answersPerson(ctx, row); err != nil {
					return nil, err
				}
				persons[row.RunID] = answers
			}
			if answers {
				kept = append(kept, row)
			}
		}
	}
	return kept, nil
}

// personal reports whether a person has said it. The plugin's own command, which a button of the dashboard gives too, is no word of
// a conversation.
func personal(m pluginsdk.Message) bool {
	return m.Role == pluginsdk.RoleUser && !m.Label().OfAgent() && (m.Author != "" || m.Scope != "") && !strings.HasPrefix(m.Content, "/"+command+" ")
}

// answersPerson reports whether a reply answers a person.
func (p *Plugin) answersPerson(ctx context.Context, reply pluginsdk.Message) (bool, error) {
	page, err := p.host.Messages.List(ctx, &pluginsdk.ListMessagesRequest{Query: pluginsdk.MessageQuery{
		ThreadID: reply.ThreadID, RunID: reply.RunID, Roles: []pluginsdk.Role{pluginsdk.RoleUser}, Limit: 1,
	}})
	if err != nil || reply.RunID == "" {
		return false, err
	}
	return len(page.Messages) == 1 && personal(page.Messages[0]), nil
}

// newest keeps the newest messages that have room.
func newest(all []said, room int) (kept []said, size int) {
	for i := len(all) - 1; i >= 0; i-- {
		cost := len(all[i].Text) + 40
		if size+cost > room {
			return all[i+1:], size
		}
		size += cost
	}
	return all, size
}
