package summaries

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/seed-706843ae/harness/plugins/summaries/internal/digest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// gather is how long after the first news a window begins: what is said meanwhile comes with it.
	gather = time.Minute
	// mostRest is how long summaries rest at most after turns that failed.
	mostRest = 6 * time.Hour
)

// window has what was said since the last turn summarised, once it is due, and returns how long to wait until it is; 0: until
// there is news.
func (p *Plugin) window(ctx context.Context) (time.Duration, error) {
	c := *p.config.Load()
	w, err := p.load(ctx)
	if err != nil {
		return 0, err
	}
	if w.Turn != nil && w.summarises(c) {
		if err := p.finish(ctx, w); err != nil {
			return 0, err
		}
	}
	if off := !w.summarises(c); off || w.Off {
		// Turned on again, it begins with what is said from then on.
		if off != w.Off {
			w.Off, w.Until, w.Left, w.Turn = off, p.now(), nil, nil
			if err := p.save(ctx, w); err != nil {
				return 0, err
			}
		}
		if off {
			p.since.Store(0)
			return 0, p.listen(ctx, false)
		}
	}
	since := p.since.Load()
	if since == 0 && len(w.Left) == 0 {
		return 0, p.listen(ctx, true)
	}
	now := p.now()
	if wait := p.due(w, c, since).Sub(now); wait > 0 {
		return wait, p.listen(ctx, false)
	}
	// Before the threads are looked at: what ends from here on is news again.
	if err := p.listen(ctx, true); err != nil {
		return 0, err
	}
	p.since.CompareAndSwap(since, 0)
	if err := p.begin(ctx, w, c, now); err != nil {
		p.since.CompareAndSwap(0, now.UnixNano())
		return 0, err
	}
	if w.Turn != nil {
		if err := p.finish(ctx, w); err != nil {
			return 0, err
		}
	}
	return p.rest(w, c), nil
}

// rest is how long to wait for the next window; 0: until there is news.
func (p *Plugin) rest(w *work, c config) time.Duration {
	since := p.since.Load()
	if w.Quiet || since == 0 && len(w.Left) == 0 {
		return 0
	}
	return max(p.due(w, c, since).Sub(p.now()), time.Millisecond)
}

// due is when the next turn for summaries may be begun.
func (p *Plugin) due(w *work, c config, since int64) time.Time {
	due := w.Begun.Add(c.every())
	if w.Failed != nil {
		if again := w.Failed.At.Add(min(c.every()<<min(w.Failed.Times, 10), mostRest)); again.After(due) {
			due = again
		}
	}
	if since > 0 {
		if first := time.Unix(0, since).Add(min(gather, c.every())); first.After(due) {
			due = first
		}
	}
	if now := p.now(); c.DailyUSD-w.Spent.of(now) < leastUSD {
		if day := now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour); day.After(due) {
			due = day
		}
	}
	return due
}

// begin puts together what a turn is asked, and keeps that before it is asked. Without news there is no turn.
func (p *Plugin) begin(ctx context.Context, w *work, c config, now time.Time) error {
	if err := p.forget(ctx); err != nil {
		return err
	}
	threads, until, err := p.active(ctx, w, c)
	if err != nil {
		return err
	}
	file, err := p.read(ctx, summariesFile)
	if err != nil {
		return err
	}
	page := digest.Parse(file.text)
	if err := p.dropGone(ctx, c, page, file); err != nil {
		return err
	}
	if w.Quiet, err = p.demo(ctx, threads); err != nil || w.Quiet {
		p.know(w)
		return err
	}
	t := turn{Until: until}
	var data []conversation
	room, long := newsBytes, 0
	for _, thread := range threads {
		if room <= 0 {
			t.Left = append(t.Left, thread.ID)
			continue
		}
		n, err := p.newsOf(ctx, thread, w.Cursors[thread.ID], c)
		if err != nil {
			return err
		}
		if len(n.said) == 0 {
			continue
		}
		if n.size > room && len(data) > 0 {
			room = 0
			t.Left = append(t.Left, thread.ID)
			continue
		}
		if long >= mostLong {
			n.long, n.longUpto = nil, 0
		}
		if n.longUpto > 0 {
			long++
		}
		room -= n.size
		ref := "t" + strconv.Itoa(len(data)+1)
		t.Threads = append(t.Threads, asked{Ref: ref, ThreadID: thread.ID, Upto: n.upto, LongUpto: n.longUpto})
		data = append(data, conversationOf(n, ref, c, page))
	}
	if len(data) == 0 {
		if until.After(w.Until) || len(w.Left) > 0 {
			w.Until, w.Left = until, nil
			return p.save(ctx, w)
		}
		return nil
	}
	encoded, err := encode(data)
	if err != nil {
		return err
	}
	w.Number++
	t.Request = c.request(fmt.Sprintf("summary/%d/%d", w.Number, now.UnixMicro()), "summary", summaryPrompt+encoded, summarySchema, c.DailyUSD-w.Spent.of(now))
	w.Turn, w.Begun = &t, now
	return p.save(ctx, w)
}

func conversationOf(n news, ref string, c config, page *digest.File) conversation {
	one := conversation{Thread: ref, Name: digest.OneLine(n.thread.Name, 200), Unnamed: c.names(n.thread), New: n.said}
	if n.longUpto > 0 {
		one.Long, one.Before = n.long, n.before
	}
	sections := page.Sections()
	if i := slices.IndexFunc(sections, func(s digest.Section) bool { return s.ThreadID == n.thread.ID }); i >= 0 {
		one.SoFar = sections[i].String()
	}
	return one
}

// demo reports whether the demo agent answers people: nothing is asked of it.
func (p *Plugin) demo(ctx context.Context, threads []pluginsdk.Thread) (bool, error) {
	if len(threads) == 0 {
		return false, nil
	}
	page, err := p.host.Runs.List(ctx, &pluginsdk.ListRunsRequest{Query: pluginsdk.RunQuery{ThreadID: threads[0].ID, States: []pluginsdk.RunState{pluginsdk.RunSucceeded}, Newest: true, Limit: 1}})
	if err != nil || len(page.Runs) == 0 {
		return false, err
	}
	return page.Runs[0].Result != nil && page.Runs[0].Result.Demo, nil
}

// finish waits for the turn that was begun, and takes its answer in. Done again after a crash, it does nothing twice.
func (p *Plugin) finish(ctx context.Context, w *work) error {
	t := w.Turn
	a, err := p.ask(ctx, t.Request)
	if err != nil {
		return err
	}
	var answer summaryAnswer
	if a.failed == "" && !a.demo {
		if err := json.Unmarshal(a.output, &answer); err != nil {
			a.failed = "its answer cannot be read: " + err.Error()
		}
	}
	w.Turn, w.Quiet = nil, a.demo
	w.Spent.add(p.now(), a.cost)
	c := *p.config.Load()
	if !w.summarises(c) { // it was turned off while the agent was at work
		return p.save(ctx, w)
	}
	if a.failed != "" {
		times := 1
		if w.Failed != nil {
			times += w.Failed.Times
		}
		w.Failed = &failure{At: p.now(), Why: a.failed, Times: times}
		for _, one := range t.Threads {
			w.Left = append(w.Left, one.ThreadID)
		}
		w.Left = append(w.Left, t.Left...)
		slices.Sort(w.Left)
		w.Left = slices.Compact(w.Left)
		w.Until = t.Until
		return p.save(ctx, w)
	}
	if !a.demo {
		if err := p.take(ctx, w, c, t, answer); err != nil {
			return err
		}
	}
	w.Failed, w.Until, w.Left = nil, t.Until, t.Left
	return p.save(ctx, w)
}

// take writes what the turn has answered of the threads that it was asked about. Threads that have become apart or are gone
// meanwhile are left out.
func (p *Plugin) take(ctx context.Context, w *work, c config, t *turn, answer summaryAnswer) error {
	var sections []digest.Section
	day := w.Begun.UTC().Format(dayLayout)
	for _, said := range answer.Threads {
		i := slices.IndexFunc(t.Threads, func(one asked) bool { return one.Ref == said.Thread })
		if i < 0 {
			continue
		}
		one := t.Threads[i]
		got, err := p.host.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: one.ThreadID})
		if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
			continue
		}
		if err != nil {
			return err
		}
		thread := got.Thread
		if !c.learnsFrom(thread) {
			continue
		}
		if thread, err = p.name(ctx, c, thread, said.Name); err != nil {
			return err
		}
		if err := p.summarise(ctx, one, said.Long); err != nil {
			return err
		}
		section := digest.Section{ThreadID: thread.ID, Name: thread.Name, Day: day, Lines: said.Lines}
		if thread.Kind == pluginsdk.ThreadPrimary && section.Name == "" {
			section.Name = "the primary thread"
		}
		if section.Says() {
			sections = append(sections, section)
		}
	}
	if err := p.write(ctx, w, sections); err != nil {
		return err
	}
	for _, one := range t.Threads {
		w.Cursors[one.ThreadID] = one.Upto
	}
	return nil
}

// maxThreadName is how long a name is that the plugin gives.
const maxThreadName = 60

// name gives a thread a name, if it has none still.
func (p *Plugin) name(ctx context.Context, c config, thread pluginsdk.Thread, words string) (pluginsdk.Thread, error) {
	words = digest.OneLine(words, maxThreadName)
	if !c.names(thread) || words == "" {
		return thread, nil
	}
	answer, err := p.host.Threads.Update(ctx, &pluginsdk.UpdateThreadRequest{ID: thread.ID, Patch: pluginsdk.ThreadPatch{Name: &words}})
	if err != nil {
		return thread, err
	}
	return answer.Thread, nil
}

// maxLong is how many bytes a summary row has.
const maxLong = 8 << 10

// summarise adds a summary row to a long thread, unless something was said in it since: the row would hide that.
func (p *Plugin) summarise(ctx context.Context, one asked, words string) error {
	if one.LongUpto == 0 || words == "" {
		return nil
	}
	page, err := p.host.Messages.List(ctx, &pluginsdk.ListMessagesRequest{Query: pluginsdk.MessageQuery{
		ThreadID: one.ThreadID, Kinds: []pluginsdk.MessageKind{pluginsdk.MessageText}, Roles: []pluginsdk.Role{pluginsdk.RoleUser, pluginsdk.RoleAssistant}, Last: true, Limit: 1,
	}})
	if err != nil {
		return err
	}
	if newestOf(page.Messages) != one.LongUpto {
		return nil
	}
	if len(words) > maxLong {
		words = digest.OneLine(words, maxLong)
	}
	_, err = p.host.Messages.Append(ctx, &pluginsdk.AppendMessagesRequest{
		ThreadID: one.ThreadID, Key: fmt.Sprintf("summary/%d", one.LongUpto),
		Messages: []pluginsdk.NewMessage{{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageSummary, Content: words}},
	})
	return err
}
