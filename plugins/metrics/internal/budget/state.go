package budget

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// stateKey is where the budgets are kept.
const stateKey = "budgets"

// ledger is what is kept of the budgets.
type ledger struct {
	Version int `json:"version"`
	// Confirmed says that a person has set or confirmed a budget, or that the installation began
	// with one.
	Confirmed bool     `json:"confirmed"`
	Budgets   []Budget `json:"budgets"`
	// Last is what a command has decided last; nil: none has yet.
	Last *decision `json:"last,omitempty"`
}

// decision is what a command has decided. A command that is given again, since the daemon or the
// plugin died over it, says of itself in the audit log what it said first.
type decision struct {
	Call string `json:"call"` // of the hook that answered the command
	Said string `json:"said"`
}

// by reports whether a call has made the last decision.
func (d *decision) by(call string) bool { return d != nil && call != "" && d.Call == call }

// decide keeps what a call has decided, unless it has made the last decision already.
func (l *ledger) decide(call, said string) {
	if !l.Last.by(call) {
		l.Last = &decision{call, said}
	}
}

const ledgerVersion = 1

// standard is the budget that an installation begins with.
func standard() ledger {
	return ledger{Version: ledgerVersion, Budgets: []Budget{{Name: "daily", USD: 25, Window: Day, Scope: Scope{Kind: Billed}, By: "Harness"}}}
}

// read returns the budgets as they are stored. Where that makes no sense, the standard one holds.
func (p *Plugin) read(ctx context.Context) (known, error) {
	answer, err := p.host.State.Get(ctx, &pluginsdk.GetStateRequest{Key: stateKey})
	switch {
	case pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound:
		found := known{ledger: standard()}
		found.ledger.Confirmed, err = p.isNew(ctx)
		return found, err
	case err != nil:
		return known{}, err
	}
	found := known{revision: answer.Entry.Revision}
	if found.ledger, err = parseLedger(answer.Entry.Value); err != nil {
		found.broken, found.ledger = err, standard()
		found.ledger.Confirmed = true
	}
	return found, nil
}

func parseLedger(raw []byte) (found ledger, err error) {
	if err := json.Unmarshal(raw, &found); err != nil {
		return found, err
	}
	if found.Version != ledgerVersion {
		return found, fmt.Errorf("it is of the version %d, and this plugin knows %d", found.Version, ledgerVersion)
	}
	for _, b := range found.Budgets {
		if _, err := parseScope(b.Scope.String()); err != nil || !b.makesSense() || !budgetName.MatchString(b.Name) {
			return found, fmt.Errorf("the budget %q makes no sense", b.Name)
		}
	}
	return found, nil
}

// makesSense reports whether the budget has one amount.
func (b Budget) makesSense() bool {
	return b.USD >= 0 && b.Tokens >= 0 && b.Share >= 0 && (b.USD > 0 && b.Tokens+b.Share == 0 || b.Tokens > 0 && b.USD+b.Share == 0 || b.Share > 0 && b.USD+b.Tokens == 0)
}

// oldest is how long a run must have been there for an installation to have been in use before.
const oldest = 10 * time.Minute

// isNew reports whether the installation was not in use before it had budgets.
func (p *Plugin) isNew(ctx context.Context) (bool, error) {
	answer, err := p.host.Runs.List(ctx, &pluginsdk.ListRunsRequest{Query: pluginsdk.RunQuery{Limit: 1}})
	if err != nil {
		return false, err
	}
	return len(answer.Runs) == 0 || p.now().Sub(answer.Runs[0].QueuedAt) < oldest, nil
}

// begin stores the budget that the installation begins with.
func (p *Plugin) begin(ctx context.Context) error {
	return p.change(ctx, func(found ledger) (ledger, error) { return found, nil })
}

// change changes the budgets as they are stored now.
func (p *Plugin) change(ctx context.Context, edit func(ledger) (ledger, error)) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	for {
		found, err := p.read(ctx)
		if err != nil {
			return err
		}
		if found.broken != nil {
			return pluginsdk.Errorf(pluginsdk.CodeInternal, "the budgets that are stored cannot be read (%w): restore a backup, or remove the key %q of the plugin %s from plugin_state", found.broken, stateKey, name)
		}
		if found.ledger, err = edit(found.ledger); err != nil {
			return err
		}
		raw, err := json.Marshal(found.ledger)
		if err != nil {
			return err
		}
		_, err = p.host.State.Put(ctx, &pluginsdk.PutStateRequest{Key: stateKey, Value: raw, If: &pluginsdk.StateCondition{Revision: found.revision}})
		switch {
		case pluginsdk.CodeOf(err) == pluginsdk.CodeConflict:
			continue
		case err != nil:
			return err
		}
		if err := p.load(ctx); err != nil {
			return err
		}
		p.recheck(ctx)
		return nil
	}
}

// recheck has what waits for a budget tried again: there may be room for it now. If that fails, it is
// tried again within the hour all the same.
func (p *Plugin) recheck(ctx context.Context) {
	if _, err := p.host.Budgets.Recheck(ctx, &pluginsdk.RecheckBudgetsRequest{}); err != nil {
		p.host.Log.Warn("what waits for a budget cannot be told to go on; it is tried again within the hour", "err", err)
	}
}
