package budget

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// lookEvery is how long after a turn has begun it is looked at what it has cost.
	lookEvery = time.Minute
	// forget is how long a run is looked for that does not end.
	forget = time.Hour
	// mostAsked is how many runs are asked for at once.
	mostAsked = 100
)

// begun is what the gate has let through since it was last looked at. While nothing begins, nobody
// looks.
type begun struct {
	wake chan struct{} // has an element when there is something to look at

	mu   sync.Mutex
	runs map[string]awaited
	soft map[string]passing // accounts of soft budgets, by name
}

// awaited is a run that was let through.
type awaited struct {
	since time.Time
	plain bool // no model was asked for: the agent has chosen it
}

// passing are the soft budgets of an account, and where a turn was last counted in it.
type passing struct {
	budgets  []Budget
	threadID string
}

func (b *begun) note(runID string, asked turn, now time.Time, accounts []account) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.runs == nil {
		b.runs, b.soft = make(map[string]awaited), make(map[string]passing)
	}
	b.runs[runID] = awaited{now, asked.model == ""}
	for _, one := range accounts {
		if len(one.soft) > 0 {
			b.soft[one.name] = passing{one.soft, asked.threadID}
		}
	}
	b.awake()
}

// open reports whether there is something to look at.
func (b *begun) open() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.runs)+len(b.soft) > 0
}

func (b *begun) awake() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// take returns what there is to look at, and keeps nothing of it.
func (b *begun) take() (runs map[string]awaited, soft map[string]passing) {
	b.mu.Lock()
	defer b.mu.Unlock()
	runs, soft = b.runs, b.soft
	b.runs, b.soft = nil, nil
	return runs, soft
}

// again has what could not be looked at, or is not over, be looked at once more.
func (b *begun) again(runs map[string]awaited, soft map[string]passing) {
	if len(runs)+len(soft) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.runs == nil {
		b.runs, b.soft = make(map[string]awaited), make(map[string]passing)
	}
	maps.Copy(b.runs, runs)
	for name, one := range soft {
		if _, newer := b.soft[name]; !newer {
			b.soft[name] = one
		}
	}
	b.awake()
}

// follow looks at what turns have cost, until ctx ends.
func (p *Plugin) follow(ctx context.Context, ended chan<- struct{}) {
	defer close(ended)
	every := p.Every
	if every == 0 {
		every = lookEvery
	}
	for {
		select {
		case <-p.begun.wake:
		case <-ctx.Done():
			return
		}
		timer := time.NewTimer(every)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		if err := p.look(ctx); err != nil && ctx.Err() == nil {
			p.host.Log.Warn("what turns have cost could not be looked at; trying again", "err", err, "in", every)
		}
	}
}

// remember takes what the newest turns have cost.
func (p *Plugin) remember(ctx context.Context) error {
	answer, err := p.host.Runs.List(ctx, &pluginsdk.ListRunsRequest{Query: pluginsdk.RunQuery{Newest: true, Limit: mostAsked}})
	if err != nil {
		return err
	}
	for _, run := range slices.Backward(answer.Runs) {
		p.take(run)
	}
	return nil
}

// take counts a run that is over.
func (p *Plugin) take(run pluginsdk.Run) (over bool) {
	if !run.State.Final() {
		return false
	}
	p.rows.Ended(run)
	if run.Result != nil && !run.Result.Demo {
		used := run.Usage
		p.costs.add(run.Result.Model, run.CostUSD)
		p.tokens.add(run.Result.Model, float64(used.InputTokens+used.OutputTokens+used.CacheReadTokens+used.CacheWriteTokens))
	}
	return true
}

// look takes what the turns have cost that were let through, reads the budgets and the accounts
// anew, and tells people of soft budgets that are passed.
func (p *Plugin) look(ctx context.Context) error {
	runs, soft := p.begun.take()
	open, err := p.lookAtRuns(ctx, runs)
	left := make(map[string]passing)
	for name, one := range soft {
		told, failed := p.lookAtSoft(ctx, name, one)
		if failed != nil {
			err = failed
		}
		if !told && len(open) > 0 || failed != nil { // turns that it counts may still go on
			left[name] = one
		}
	}
	p.begun.again(open, left)
	if failed := errors.Join(p.burn(ctx), p.unread(ctx)); failed != nil {
		err = failed
	}
	if failed := p.rows.Write(ctx, p.host, p.now()); failed != nil {
		err = failed
		p.begun.awake()
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	if failed := p.load(ctx); failed != nil {
		err = failed
	}
	return err
}

// lookAtRuns returns those that are to be looked at once more.
func (p *Plugin) lookAtRuns(ctx context.Context, runs map[string]awaited) (open map[string]awaited, err error) {
	open = make(map[string]awaited)
	now := p.now()
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(runs)), mostAsked) {
		answer, failed := p.host.Runs.List(ctx, &pluginsdk.ListRunsRequest{Query: pluginsdk.RunQuery{IDs: ids, Limit: mostAsked}})
		if failed != nil {
			err = failed
			for _, id := range ids {
				open[id] = runs[id]
			}
			continue
		}
		for _, run := range answer.Runs {
			over := p.take(run)
			if over && runs[run.ID].plain && run.Result != nil && run.Result.Model != "" {
				p.ownChoice.Store(&run.Result.Model)
			}
			switch {
			case over:
			case now.Sub(runs[run.ID].since) < forget:
				open[run.ID] = runs[run.ID]
			default:
				p.rows.Late(run.ID)
			}
		}
	}
	return open, err
}

// lookAtSoft tells people once that a soft budget is passed.
func (p *Plugin) lookAtSoft(ctx context.Context, name string, of passing) (told bool, err error) {
	answer, err := p.host.Budgets.Account(ctx, &pluginsdk.GetBudgetAccountRequest{Name: name})
	if err != nil {
		return false, err
	}
	for _, b := range of.budgets {
		if answer.Account.SpentUSD < b.limit() {
			continue
		}
		told = true
		if err := p.tell(ctx, b, name, of.threadID, answer.Account.SpentUSD); err != nil {
			return false, err
		}
	}
	return told, nil
}

// primary is the primary thread; empty: there is none.
func (p *Plugin) primary(ctx context.Context) (string, error) {
	answer, err := p.host.Threads.List(ctx, &pluginsdk.ListThreadsRequest{Query: pluginsdk.ThreadQuery{Kind: pluginsdk.ThreadPrimary, Limit: 1}})
	if err != nil || len(answer.Threads) == 0 {
		return "", err
	}
	return answer.Threads[0].ID, nil
}

// tell tells it to the people of the thread that the budget is for, else to those of the primary one.
func (p *Plugin) tell(ctx context.Context, b Budget, account, threadID string, spent float64) error {
	if b.Scope.Kind != Thread && b.Scope.Kind != Task && b.Scope.Kind != Cron {
		primary, err := p.primary(ctx)
		if err != nil {
			return err
		}
		threadID = cmp.Or(primary, threadID)
	}
	if threadID == "" {
		return nil
	}
	thread, err := p.host.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: threadID})
	switch {
	case pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound || err == nil && thread.Thread.Apart:
		return nil // its people are not to know what the owner spends
	case err != nil:
		return err
	}
	text := fmt.Sprintf("The budget %s (%s) is passed: %s are spent. It is soft, so turns go on. To have it hold: harness budget set %s hard", b.Name, b.words(), b.say(spent), b.Name)
	action := pluginsdk.RowAction{Label: "Have it hold", Command: "/" + command + " set " + b.Name + " hard"}
	if !p.known.Load().ledger.Confirmed {
		text = fmt.Sprintf("%s were spent, which is more than %s %s. Nobody has confirmed a budget on this installation yet, so nothing is stopped. "+
			"To have this budget hold: harness budget confirm. To have another one: harness budget set %s %s", b.say(spent), b.say(b.limit()), b.Window.words(), b.Name, more(b))
		action = pluginsdk.RowAction{Label: "Confirm the budgets", Command: "/" + command + " confirm"}
	}
	var offers pluginsdk.RowMetadata
	if action.Check() == nil {
		offers.Actions = []pluginsdk.RowAction{action}
	}
	metadata, err := json.Marshal(offers)
	if err != nil {
		return err
	}
	_, err = p.host.Messages.Append(ctx, &pluginsdk.AppendMessagesRequest{
		ThreadID: threadID, Key: fmt.Sprintf("soft:%s:%s:%.2f", b.Name, account, b.limit()), Deliver: true,
		Messages: []pluginsdk.NewMessage{{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Content: text, Metadata: metadata}},
	})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeConflict { // it was told, with what was spent then
		return nil
	}
	return err
}
