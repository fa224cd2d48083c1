package chat

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/seed-706843ae/harness/plugins/web/internal/markdown"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// How much of a conversation a page shows at once: so many messages, of so many bytes
// together, and of each so many.
const (
	pageItems = 40
	pageBytes = 160 << 10
	itemBytes = 24 << 10
	// readAtOnce is how many rows are read for a page: about half of them say that a run
	// began or ended.
	readAtOnce = 120
	// overlap is how far before the newest known row news are shown again: a row may become
	// visible after one with a greater id. lookedAt is how far what was said without an answer is
	// looked at: it may have ended meanwhile.
	overlap  = 32
	lookedAt = 200
	// newsAtOnce is how many rows are read of news.
	newsAtOnce = 400
)

// said is a part of what was said in a thread, oldest first.
type said struct {
	ThreadID string
	Items    []item
	Older    int64 // there is more before this id; 0: there is none
	Newer    int64 // unless it ends with the newest: there is more after this id
	Last     int64 // the greatest id of the rows that were read, shown or not
	Tail     bool  // it ends with the newest
}

// form is how a message is shown: the class of its element.
type form string

const (
	ofPerson form = "of-person"
	ofAgent  form = "of-agent"
	ofPlugin form = "of-plugin" // words of a plugin, or of the core: answers of commands
	note     form = "of-note"   // a notification
	summary  form = "of-summary"
	line     form = "of-line"    // something that happened
	failure  form = "of-failure" // something that went wrong
)

// item is a message as it is shown.
type item struct {
	Message pluginsdk.Message
	Form    form
	Who     string
	Own     bool     // the viewer's own words
	Cut     bool     // there is more of it than is shown
	Work    *figures // of an answer, or of a run that failed; nil: none are told
	Retry   bool     // its run can be handed in once more
	Mark    string   // what becomes of it; empty: it was answered, or it needs no answer
	Over    bool     // nothing else becomes of it
	Ended   string   // of a line about a question of the agent: how that ended
}

// figures are what a run took.
type figures struct {
	Took         time.Duration
	Tools        int
	Tokens       int64
	ToolsCounted bool
}

// HTML is the text as it is shown.
func (i item) HTML() templ.Component { return templ.Raw(markdown.HTML(i.text())) }

func (i item) text() string {
	if i.Cut {
		return beginning(i.Message.Content, itemBytes)
	}
	return i.Message.Content
}

// beginning is at most so many bytes of a text, up to the end of a line if there is one.
func beginning(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = strings.ToValidUTF8(text[:most], "")
	if end := strings.LastIndexByte(text, '\n'); end > most/2 {
		text = text[:end]
	}
	return text
}

// window says which part of a conversation is shown. The zero window is its end.
type window struct{ before, around, after int64 }

func windowOf(query url.Values) (w window, err error) {
	if w.before, err = number(query, "before"); err != nil {
		return w, err
	}
	if w.around, err = number(query, "around"); err != nil {
		return w, err
	}
	w.after, err = number(query, "after")
	return w, err
}

// said reads a part of a conversation.
func (c *chat) said(ctx context.Context, threadID string, at window, who viewer) (said, error) {
	switch {
	case at.around > 0:
		return c.around(ctx, threadID, at.around, who)
	case at.after > 0:
		found, err := c.saidAfter(ctx, threadID, at.after, readAtOnce, who)
		return found.bounded(), err
	}
	return c.saidBefore(ctx, threadID, at.before, who)
}

// saidBefore reads what was said before a message; 0: the newest.
func (c *chat) saidBefore(ctx context.Context, threadID string, before int64, who viewer) (said, error) {
	found := said{ThreadID: threadID, Tail: before == 0, Newer: max(0, before-1)}
	var items []item
	for range 4 { // of rows that are not shown there may be many
		rows, err := c.messages(ctx, threadID, url.Values{"last": {"true"}, "before": {id(before)}, "limit": {id(readAtOnce)}})
		if err != nil {
			return said{}, err
		}
		if len(rows) == 0 {
			found.Older = 0
			break
		}
		found.Last = max(found.Last, rows[len(rows)-1].ID)
		before = rows[0].ID
		found.Older = before
		items = append(itemsOf(rows, who), items...)
		if len(items) >= pageItems || len(rows) < readAtOnce && size(rows) < 1<<20 {
			if len(rows) < readAtOnce {
				found.Older = 0
			}
			break
		}
	}
	kept := fitting(items)
	if len(kept) < len(items) {
		found.Older = kept[0].Message.ID
	}
	found.Items = kept
	return found, nil
}

// saidAfter reads what was said after a message: of so many rows.
func (c *chat) saidAfter(ctx context.Context, threadID string, after int64, most int, who viewer) (said, error) {
	found := said{ThreadID: threadID, Last: after, Older: after + 1}
	rows, err := c.messages(ctx, threadID, url.Values{"after": {id(after)}, "limit": {id(most)}})
	if err != nil {
		return said{}, err
	}
	found.Items = itemsOf(rows, who)
	found.Tail = len(rows) < most
	if len(rows) > 0 {
		found.Last = rows[len(rows)-1].ID
	}
	found.Newer = found.Last
	return found, nil
}

// bounded is as much of the beginning as a page has room for.
func (s said) bounded() said {
	if kept := fittingFirst(s.Items); len(kept) < len(s.Items) {
		s.Items, s.Tail = kept, false
		s.Last = kept[len(kept)-1].Message.ID
		s.Newer = s.Last
	}
	return s
}

// around reads what was said before and after a message, and that itself.
func (c *chat) around(ctx context.Context, threadID string, message int64, who viewer) (said, error) {
	before, err := c.saidBefore(ctx, threadID, message+1, who)
	if err != nil {
		return said{}, err
	}
	after, err := c.saidAfter(ctx, threadID, message, readAtOnce, who)
	if err != nil {
		return said{}, err
	}
	after = after.bounded()
	after.Older, after.Last = before.Older, max(after.Last, before.Last)
	after.Items = append(before.Items, after.Items...)
	return after, nil
}

func (c *chat) messages(ctx context.Context, threadID string, query url.Values) ([]pluginsdk.Message, error) {
	if query["kind"] == nil {
		query["kind"] = []string{"text", "notification", "summary", "status"}
	}
	if query.Get("before") == "0" {
		query.Del("before")
	}
	var page struct {
		Messages []pluginsdk.Message `json:"messages"`
	}
	err := c.Get(ctx, "/api/threads/"+url.PathEscape(threadID)+"/messages", query, &page)
	return page.Messages, err
}

func id[N int | int64](n N) string { return strconv.FormatInt(int64(n), 10) }

func size(rows []pluginsdk.Message) (bytes int) {
	for _, row := range rows {
		bytes += len(row.Content) + len(row.Metadata)
	}
	return bytes
}

// fitting are the newest of the items that a page has room for, and at least one.
func fitting(items []item) []item {
	bytes := 0
	for i := len(items) - 1; i >= 0; i-- {
		bytes += min(len(items[i].Message.Content), itemBytes)
		if i < len(items)-1 && (bytes > pageBytes || len(items)-i > pageItems) {
			return items[i+1:]
		}
	}
	return items
}

// fittingFirst is the same of the oldest of them.
func fittingFirst(items []item) []item {
	bytes := 0
	for i, one := range items {
		bytes += min(len(one.Message.Content), itemBytes)
		if i > 0 && (bytes > pageBytes || i >= pageItems) {
			return items[:i]
		}
	}
	return items
}

// event is what the metadata of a row says that it is about.
type event struct {
	Event        string `json:"event"`
	DurationMS   int64  `json:"durationMs"`
	InputTokens  int64  `json:"inputTokens"`
	OutputTokens int64  `json:"outputTokens"`
	ToolCalls    *int   `json:"toolCalls"`
	ApprovalID   string `json:"approvalId"`
}

func eventOf(row pluginsdk.Message) (about event) {
	if len(row.Metadata) > 0 {
		_ = json.Unmarshal(row.Metadata, &about) // of others' rows it may be anything
	}
	return about
}

// itemsOf are the rows that people read. What says only that a run began or ended is told by
// the figures of its answer, and a question of the agent by how it was answered.
func itemsOf(rows []pluginsdk.Message, who viewer) []item {
	took := make(map[string]*figures)
	for _, row := range rows {
		if about := eventOf(row); row.Kind == pluginsdk.MessageStatus && about.Event == "pipeline_complete" {
			took[row.RunID] = &figures{Took: time.Duration(about.DurationMS) * time.Millisecond, Tokens: about.InputTokens + about.OutputTokens}
			if about.ToolCalls != nil {
				took[row.RunID].Tools, took[row.RunID].ToolsCounted = *about.ToolCalls, true
			}
		}
	}
	items := make([]item, 0, len(rows))
	for _, row := range rows {
		if one, shown := itemOf(row, who); shown {
			one.Cut = len(row.Content) > itemBytes
			if one.Form == ofAgent || one.Retry {
				one.Work = took[row.RunID]
			}
			items = append(items, one)
		}
	}
	return items
}

// itemOf is a row as it is shown, and whether it is.
func itemOf(row pluginsdk.Message, who viewer) (one item, shown bool) {
	one.Message = row
	switch {
	case row.Kind == pluginsdk.MessageStatus:
		return statusOf(one)
	case row.Kind == pluginsdk.MessageNotification:
		one.Form, one.Who = note, plugin(row)
	case row.Kind == pluginsdk.MessageSummary:
		one.Form, one.Who = summary, plugin(row)
	case row.Kind != pluginsdk.MessageText:
		return one, false
	case row.Role == pluginsdk.RoleUser:
		one.Form, one.Who = ofPerson, row.Author
		switch one.Own = row.Author == who.Name && !row.Origin.OfAgent(); {
		case one.Own:
			one.Who = "You"
		case row.Origin.OfAgent(): // has caused it, whoever is named
			one.Who = row.Label().String()
		case row.Author == "":
			one.Who = "Somebody"
		}
	case row.Role == pluginsdk.RoleAssistant:
		one.Form, one.Who = ofAgent, "Agent"
	default:
		one.Form, one.Who = ofPlugin, plugin(row)
	}
	return one, true
}

// plugin is who wrote a row that is nobody's words.
func plugin(row pluginsdk.Message) string {
	if row.Origin.OfAgent() {
		return row.Label().String()
	}
	switch row.Source {
	case "", "core", "pipeline":
		return "Harness"
	case "agent":
		return "Agent"
	}
	return row.Source
}

// statusOf is a row about something that happened, if it matters to people.
func statusOf(one item) (item, bool) {
	about := eventOf(one.Message)
	one.Form, one.Who = line, plugin(one.Message)
	switch about.Event {
	case "pipeline_start", "pipeline_complete", "approval":
		return one, false
	case "pipeline_error":
		one.Form, one.Retry = failure, one.Message.RunID != ""
	case "pipeline_cancelled":
		one.Retry = one.Message.RunID != ""
	case "permission_denied":
		one.Form = failure
	}
	one.Ended, _ = strings.CutPrefix(about.Event, "approval_")
	if one.Ended == about.Event {
		one.Ended = ""
	}
	return one, one.Message.Content != ""
}

// older is the part of what was said before a message.
func (c *chat) older(r *http.Request) (templ.Component, error) {
	before, err := number(r.URL.Query(), "before")
	if err != nil {
		return nil, err
	}
	who := viewerOf(r)
	found, err := c.said(r.Context(), r.PathValue("thread"), window{before: before}, who)
	if err != nil {
		return nil, err
	}
	return olderItems(found, who), nil
}

// wholeMessage is the page of a message that is too long for its conversation.
func (c *chat) wholeMessage(r *http.Request) (site.View, error) {
	thread := r.PathValue("thread")
	row, err := c.message(r, r.PathValue("message"))
	if err != nil {
		return site.View{}, err
	}
	one, shown := itemOf(row, viewerOf(r))
	if !shown {
		return site.View{}, notThere("message", r.PathValue("message"))
	}
	return site.View{Title: "A message", At: "/chat", Body: wholeMessage(thread, one)}, nil
}

// message reads one of the thread's messages.
func (c *chat) message(r *http.Request, text string) (pluginsdk.Message, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return pluginsdk.Message{}, notThere("message", text)
	}
	rows, err := c.messages(r.Context(), r.PathValue("thread"), url.Values{"after": {id(n - 1)}, "limit": {"1"}})
	if err != nil {
		return pluginsdk.Message{}, err
	}
	if i := slices.IndexFunc(rows, func(row pluginsdk.Message) bool { return row.ID == n }); i >= 0 {
		return rows[i], nil
	}
	return pluginsdk.Message{}, notThere("message", text)
}

func notThere(what, id string) error {
	return &site.Problem{Status: http.StatusNotFound, Detail: "this thread has no " + what + " " + id}
}
