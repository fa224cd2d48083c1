package summaries

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-706843ae/harness/plugins/summaries/internal/memory"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	memoryFile = "context/memory.md"
	inboxFile  = "context/inbox.md"
	// mostText is how many bytes a file has at most that is consolidated: both are kept in the record, before and after.
	mostText = 100 << 10
)

// mostRounds is how often a file is written again that somebody else has changed meanwhile.
const mostRounds = 20

const memoryPrompt = `The JSON below has the entries of a memory, which is for facts that stay true (people, preferences, decisions, projects), and new lines of an inbox. Take what is worth keeping from the inbox into the memory:

- "entries": new entries. "text": one fact on one line, in the words of its lines, with the dates that they have; "section": the section that it belongs to; "sources": the names of the inbox lines that it is from, such as i1; "replaces": names of entries that it takes the place of, such as m1, when it changes or extends them
- "delete": entries that the inbox shows to be no longer true, with "why"
- "skip": inbox lines that nothing is to be kept of (known already, or true for a day only), with "why"

Repeat no entry. What you do not name stays as it is.

`

var memorySchema = json.RawMessage(`{"type": "object", "additionalProperties": false, "required": ["entries", "delete", "skip"], "properties": {
	"entries": {"type": "array", "items": {"type": "object", "additionalProperties": false, "required": ["text", "section", "sources"], "properties": {
		"text": {"type": "string"}, "section": {"type": "string"}, "sources": {"type": "array", "items": {"type": "string"}}, "replaces": {"type": "array", "items": {"type": "string"}}}}},
	"delete": {"type": "array", "items": {"type": "object", "additionalProperties": false, "required": ["id", "why"], "properties": {"id": {"type": "string"}, "why": {"type": "string"}}}},
	"skip": {"type": "array", "items": {"type": "object", "additionalProperties": false, "required": ["id", "why"], "properties": {"id": {"type": "string"}, "why": {"type": "string"}}}}}}`)

// consolidate has the inbox consolidated, beside the call: a turn takes longer than a command may.
func (p *Plugin) consolidate(ctx context.Context, by string) (string, error) {
	if !p.config.Load().Memory {
		return "", pluginsdk.Errorf(pluginsdk.CodeStale, "the consolidation is off (the setting memory of the plugin summaries)")
	}
	if open, err := p.open(ctx); err != nil {
		return "", err
	} else if open != nil {
		return "", errAtWork
	}
	n, err := p.next(ctx)
	if err != nil {
		return "", err
	}
	if err := p.enter(ctx, &record{N: n, At: p.now(), By: by, Phase: phaseAsked}); err != nil {
		return "", err
	}
	return fmt.Sprintf("Consolidation %d of the inbox into the memory has begun, and takes about a minute. What becomes of it: /memory log. There is nothing else to do for it.", n), nil
}

// settle carries on what is at work on the memory until it is over. The caller holds mu.
func (p *Plugin) settle(ctx context.Context) error {
	if !p.memory.Load() {
		return nil
	}
	for {
		r, err := p.open(ctx)
		if err != nil {
			return err
		}
		if r == nil {
			p.memory.Store(false)
			return nil
		}
		if err := p.advance(ctx, r); err != nil {
			return err
		}
	}
}

// advance makes the step that follows the record's phase, and keeps what has become of it.
func (p *Plugin) advance(ctx context.Context, r *record) error {
	var err error
	switch r.Phase {
	case phaseAsked:
		err = p.collect(ctx, r)
	case phaseTurning:
		err = p.propose(ctx, r)
	case phaseWriting:
		err = p.carryOut(ctx, r)
	case phaseReverting:
		err = p.carryBack(ctx, r)
	case phaseDone, phaseNothing, phaseFailed, phaseReverted:
	}
	if err != nil {
		return err
	}
	switch r.Phase {
	case phaseDone, phaseNothing, phaseFailed, phaseReverted:
		return p.leave(ctx, r)
	case phaseAsked, phaseTurning, phaseWriting, phaseReverting:
	}
	if err = p.put(ctx, openKey, r, nil); !errors.Is(err, errTooLong) {
		return err
	}
	if r.Phase == phaseReverting { // its next step begins with what is kept of it
		return pluginsdk.Errorf(pluginsdk.CodeExhausted, "inbox.md is too long for consolidation %d to be reverted: shorten it by hand", r.N)
	}
	// Nothing of what it has decided is written yet.
	*r = record{N: r.N, At: r.At, By: r.By, CostUSD: r.CostUSD}
	r.fail("memory.md and inbox.md are too long together: shorten them by hand")
	return p.leave(ctx, r)
}

func (r *record) fail(format string, args ...any) {
	r.Phase, r.Why = phaseFailed, fmt.Sprintf(format, args...)
}

// collect reads what is to be consolidated.
func (p *Plugin) collect(ctx context.Context, r *record) error {
	c := *p.config.Load()
	w, err := p.load(ctx)
	if err != nil {
		return err
	}
	left := c.DailyUSD - w.Spent.of(p.now())
	if left < leastUSD {
		r.fail("the day's budget of $%.2f is used up; raise dailyUsd, or ask again after midnight UTC", c.DailyUSD)
		return nil
	}
	was, err := p.read(ctx, memoryFile)
	if err != nil {
		return err
	}
	inbox, err := p.read(ctx, inboxFile)
	if err != nil {
		return err
	}
	if len(was.text) > mostText || len(inbox.text) > mostText {
		r.fail("memory.md has %d bytes and inbox.md %d: each may have %d; shorten them by hand", len(was.text), len(inbox.text), mostText)
		return nil
	}
	if r.Input.Lines, r.LeftOut, err = p.lines(ctx, c, inbox); err != nil {
		return err
	}
	if len(r.Input.Lines) == 0 {
		r.Phase = phaseNothing
		return nil
	}
	for i, item := range memory.Parse(was.text).Items() {
		r.Input.Entries = append(r.Input.Entries, memory.Entry{Item: item, ID: fmt.Sprintf("m%d", i+1)})
	}
	data, err := shown(r.Input)
	if err != nil {
		return err
	}
	r.Request = c.request(fmt.Sprintf("memory/%d/%d", r.N, r.At.UnixMicro()), "memory", memoryPrompt+data, memorySchema, left)
	r.Phase = phaseTurning
	return nil
}

// shown is what the agent is given, as data.
func shown(in memory.Input) (string, error) {
	type row struct {
		ID      string `json:"id"`
		Section string `json:"section,omitempty"`
		Day     string `json:"day,omitempty"`
		Text    string `json:"text"`
	}
	var data struct {
		Memory []row `json:"memory"`
		Inbox  []row `json:"inbox"`
	}
	for _, entry := range in.Entries {
		data.Memory = append(data.Memory, row{ID: entry.ID, Section: entry.Section, Text: entry.Text})
	}
	for _, line := range in.Lines {
		data.Inbox = append(data.Inbox, row{ID: line.ID, Day: line.Day, Text: line.Text})
	}
	return encode(data)
}

// propose asks the agent, counts what that has cost, and decides what is done of its proposal.
func (p *Plugin) propose(ctx context.Context, r *record) error {
	a, err := p.ask(ctx, r.Request)
	if err != nil {
		return err
	}
	if err := p.count(ctx, r, a.cost); err != nil {
		return err
	}
	r.CostUSD = a.cost
	r.Request.Prompt = "" // it was answered
	switch {
	case a.demo:
		r.fail("the demo agent has answered, which proposes nothing")
	case a.failed != "":
		r.fail("the turn has failed: %s", a.failed)
	default:
		if err := json.Unmarshal(a.output, &r.Answer); err != nil {
			r.fail("the agent's answer cannot be read: %s", err)
			return nil
		}
		return p.plan(ctx, r)
	}
	return nil
}

// count adds the cost of a consolidation to that of the day, once.
func (p *Plugin) count(ctx context.Context, r *record, cost float64) error {
	w, err := p.load(ctx)
	if err != nil || w.Counted >= r.N {
		return err
	}
	w.Spent.add(p.now(), cost)
	w.Counted = r.N
	return p.save(ctx, w)
}

// plan decides what of the agent's proposal is done with the files as they are now.
func (p *Plugin) plan(ctx context.Context, r *record) error {
	was, err := p.read(ctx, memoryFile)
	if err != nil {
		return err
	}
	inbox, err := p.read(ctx, inboxFile)
	if err != nil {
		return err
	}
	changes, err := p.host.Workspace.History(ctx, &pluginsdk.WorkspaceHistoryRequest{Limit: 1})
	if err != nil {
		return err
	}
	r.Base = 0
	if len(changes.Changes) > 0 {
		r.Base = changes.Changes[0].ID
	}
	r.Memory.Before, r.Inbox.Before = was.text, inbox.text
	r.Plan, r.Memory.After, r.Inbox.After = memory.Apply(was.text, inbox.text, r.Input, r.Answer)
	r.Phase = phaseWriting
	return nil
}

// carryOut writes what is decided: first what falls out to the archive, then the memory, then the inbox. When somebody has
// changed a file meanwhile, it is decided anew.
func (p *Plugin) carryOut(ctx context.Context, r *record) error {
	if err := p.putAway(ctx, r); err != nil {
		return err
	}
	done, err := p.become(ctx, r, memoryFile, r.Memory)
	if err != nil {
		return err
	}
	if !done {
		if err := p.takeBack(ctx, r); err != nil { // it is decided anew, or nothing is done
			return err
		}
		if r.Tries++; r.Tries > mostRounds {
			r.fail("memory.md could not be written: it is changed again and again, or is no text file of at most 1 MiB")
			return nil
		}
		return p.plan(ctx, r)
	}
	if done, err = p.become(ctx, r, inboxFile, r.Inbox); err != nil {
		return err
	}
	if !done {
		if r.Tries++; r.Tries > mostRounds {
			r.Phase, r.Why = phaseDone, "inbox.md could not be written: what is in the memory now is still in it"
			return nil
		}
		now, err := p.read(ctx, inboxFile)
		if err != nil {
			return err
		}
		if len(now.text) > mostText {
			r.Phase, r.Why = phaseDone, fmt.Sprintf("inbox.md has grown to %d bytes meanwhile, and may have %d: what is in the memory now is still in it", len(now.text), mostText)
			return nil
		}
		box := memory.Parse(now.text)
		for _, raw := range r.Plan.Taken {
			box.Remove(raw)
		}
		r.Inbox = texts{now.text, box.String()}
		return nil // written with the next step, which begins with what is stored now
	}
	if err := p.noteVain(ctx, r); err != nil {
		return err
	}
	r.Phase = phaseDone
	return nil
}

// become writes a file, unless this was done before for the same record; false: somebody else has changed it.
func (p *Plugin) become(ctx context.Context, r *record, path string, t texts) (bool, error) {
	if t.Before == t.After {
		return true, nil
	}
	is, err := p.read(ctx, path)
	if err != nil {
		return false, err
	}
	switch is.text {
	case t.After:
		return true, nil
	case t.Before:
		return p.replace(ctx, is, t.After)
	}
	page, err := p.host.Workspace.History(ctx, &pluginsdk.WorkspaceHistoryRequest{Path: path, Limit: 1000})
	if err != nil {
		return false, err
	}
	for _, change := range page.Changes {
		if change.ID > r.Base && change.Plugin == name && change.Kind == pluginsdk.ChangeByPlugin && change.Version == versionOf(t.After) {
			return true, nil // it was written, and somebody has changed it since
		}
	}
	return false, nil
}
