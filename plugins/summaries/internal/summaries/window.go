package summaries

import (
	"cmp"
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
	// summaryPurpose is the purpose of turns for summaries.
	summaryPurpose = "summary"
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
	changed := w.clip(p.now())
	if !w.Stopped.IsZero() {
		w.skip(w.Stopped, cmp.Or(p.activated, p.now()))
		w.Stopped, changed = time.Time{}, true
	}
	if changed {
		if err := p.save(ctx, w); err != nil {
			return 0, err
		}
	}
	if w.Turn != nil && w.summarises(c) {
		if err := p.finish(ctx, w); err != nil {
			return 0, err
		}
	}
	if off := !w.summarises(c); off || w.Off {
		// Turned on again, it begins with what is said from then on.
		if off != w.Off {
			if err := p.turn(ctx, w, off); err != nil {
				return 0, err
			}
		}
		if off {
			p.since.Store(0)
			return 0, p.listen(ctx, false)
		}
	}
	look, err := p.look(ctx, w, c)
	if err != nil {
		return 0, err
	}
	since := p.since.Load()
	if since == 0 && len(w.Left) == 0 && len(w.Rotate) == 0 {
		return look, p.listen(ctx, true)
	}
	now := p.now()
	if wait := p.due(w, c, since).Sub(now); wait > 0 {
		return sooner(wait, look), p.listen(ctx, since == 0)
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
	return sooner(p.rest(w, c), look), nil
}

// turn turns summaries off, or on again.
func (p *Plugin) turn(ctx context.Context, w *work, off bool) error {
	switch {
	case !off:
		w.skip(w.OffSince, p.now())
	case w.Turn != nil:
		if err := p.dropTurn(ctx, w); err != nil {
			return err
		}
	}
	w.Off, w.OffSince, w.Until, w.Left, w.Turn, w.Rotate, w.Looked = off, p.now(), p.now(), nil, nil, nil, time.Time{}
	return p.save(ctx, w)
}

// dropTurn cancels the turn that was begun, and counts what it has cost. A turn that was only to be begun is not.
func (p *Plugin) dropTurn(ctx context.Context, w *work) error {
	query := pluginsdk.RunQuery{Newest: true, Limit: 100}
	for range mostPages {
		page, err := p.host.Runs.List(ctx, &pluginsdk.ListRunsRequest{Query: query})
		if err != nil {
			return err
		}
		for _, run := range page.Runs {
			query.After = run.ID
			switch {
			case run.QueuedAt.Before(w.Begun):
				return nil
			case run.Plugin != name || run.Purpose != summaryPurpose:
				continue
			}
			if _, err := p.host.Agent.Cancel(ctx, &pluginsdk.CancelTurnRequest{RunID: run.ID}); err != nil {
				return err
			}
			if _, err := p.host.Agent.Wait(ctx, &pluginsdk.WaitTurnRequest{RunID: run.ID}); err != nil {
				return err
			}
			ended, err := p.host.Runs.Get(ctx, &pluginsdk.GetRunRequest{ID: run.ID})
			if err != nil {
				return err
			}
			w.Spent.add(p.now(), ended.Run.CostUSD)
			return nil
		}
		if len(page.Runs) < query.Limit {
			return nil
		}
	}
	return nil
}

// rest is how long to wait for the next window; 0: until there is news.
func (p *Plugin) rest(w *work, c config) time.Duration {
	since := p.since.Load()
	if w.Quiet || since == 0 && len(w.Left) == 0 && len(w.Rotate) == 0 {
		return 0
	}
	least := time.Millisecond
	if since == 0 && len(w.Left) == 0 { // for sessions alone that are to end it is not looked more often
		least = lookEvery
	}
	return max(p.due(w, c, since).Sub(p.now()), least)
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
	if len(threads) > 0 {
		if w.Quiet, err = p.demo(ctx); err != nil || w.Quiet {
			p.know(w)
			return err
		}
	}
	t := turn{Until: until}
	var data []conversation
	room, long := newsBytes, 0
	for _, thread := range threads {
		if room <= 0 {
			t.Left = append(t.Left, thread.ID)
			continue
		}
		session := p.toRotate(w, thread)
		n, err := p.newsOf(ctx, thread, w, c, session != "")
		if err != nil {
			return err
		}
		if session != "" && !n.ends { // there are words of people that no summary row would tell
			delete(w.Rotate, thread.ID)
			session = ""
		}
		if session != "" && n.longUpto == 0 { // the newest summary row tells all there is to tell
			ended := n.before == "" // or there is nothing
			if !ended {
				if ended, err = p.rotate(ctx, thread, session); err != nil {
					return err
				}
			}
			w.tried(thread.ID, ended)
			session = ""
		}
		if len(n.said) == 0 && n.longUpto == 0 {
			continue
		}
		if n.size > room && len(data) > 0 {
			room = 0
			t.Left = append(t.Left, thread.ID)
			continue
		}
		if long >= mostLong {
			if n.long, n.longUpto, session = nil, 0, ""; len(n.said) == 0 {
				continue // it comes with the next turn
			}
		}
		if n.longUpto > 0 {
			long++
		}
		room -= n.size
		ref := "t" + strconv.Itoa(len(data)+1)
		t.Threads = append(t.Threads, asked{Ref: ref, ThreadID: thread.ID, Upto: n.upto, LongUpto: n.longUpto, LeavesOut: n.leavesOut, Session: session, Partial: n.partial, Tools: n.tools && n.longUpto > 0})
		data = append(data, conversationOf(n, ref, c, page))
	}
	if len(data) == 0 {
		w.Until, w.Left = until, nil
		return p.save(ctx, w)
	}
	encoded, err := encode(data)
	if err != nil {
		return err
	}
	w.Number++
	t.Request = c.request(fmt.Sprintf("summary/%d/%d", w.Number, now.UnixMicro()), summaryPurpose, summaryPrompt+encoded, summarySchema, c.DailyUSD-w.Spent.of(now))
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

// demo reports whether the demo agent answers, as the newest run says that an agent has answered: nothing is asked of it. Commands
// are answered by no agent.
func (p *Plugin) demo(ctx context.Context) (bool, error) {
	query := pluginsdk.RunQuery{States: []pluginsdk.RunState{pluginsdk.RunSucceeded}, Newest: true, Limit: 100}
	for range mostPages {
		page, err := p.host.Runs.List(ctx, &pluginsdk.ListRunsRequest{Query: query})
		if err != nil {
			return false, err
		}
		for _, run := range page.Runs {
			if query.After = run.ID; run.Kind != pluginsdk.RunCommand && run.Result != nil {
				return run.Result.Demo, nil
			}
		}
		if len(page.Runs) < query.Limit {
			break
		}
	}
	return false, nil
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
	ended := make(map[string]bool) // by thread: its session
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
		said.Lines, said.Name = withoutTools(t, one, w.Begun, said.Lines, said.Name)
		if thread, err = p.name(ctx, c, thread, said.Name); err != nil {
			return err
		}
		done, err := p.summarise(ctx, one, said.Long)
		if err == nil && done && one.Session != "" {
			ended[thread.ID], err = p.rotate(ctx, thread, one.Session)
		}
		if err != nil {
			return err
		}
		if one.Upto == 0 {
			continue // nothing is new in it
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
		if one.Upto != 0 {
			w.Cursors[one.ThreadID] = one.Upto
		}
		if one.Session != "" {
			w.tried(one.ThreadID, ended[one.ThreadID])
		}
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

// summarise adds a summary row to a long thread, unless something was said in it since: the row would hide that. It reports
// whether the row is there.
func (p *Plugin) summarise(ctx context.Context, one asked, words string) (bool, error) {
	if one.LongUpto == 0 || words == "" {
		return false, nil
	}
	page, err := p.host.Messages.List(ctx, &pluginsdk.ListMessagesRequest{Query: pluginsdk.MessageQuery{
		ThreadID: one.ThreadID, Kinds: []pluginsdk.MessageKind{pluginsdk.MessageText}, Roles: []pluginsdk.Role{pluginsdk.RoleUser, pluginsdk.RoleAssistant}, Last: true, Limit: 1,
	}})
	if err != nil {
		return false, err
	}
	if newestOf(page.Messages) != one.LongUpto {
		return false, nil
	}
	if len(words) > maxLong {
		words = digest.OneLine(words, maxLong)
	}
	row := pluginsdk.NewMessage{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageSummary, Content: words}
	if len(one.LeavesOut) > 0 || one.Partial != "" {
		notes := rowNotes{SummaryMetadata: pluginsdk.SummaryMetadata{LeavesOut: one.LeavesOut}, Partial: one.Partial}
		if row.Metadata, err = json.Marshal(notes); err != nil {
			return false, err
		}
	}
	_, err = p.host.Messages.Append(ctx, &pluginsdk.AppendMessagesRequest{
		ThreadID: one.ThreadID, Key: fmt.Sprintf("summary/%d", one.LongUpto), Messages: []pluginsdk.NewMessage{row},
	})
	return err == nil, err
}
