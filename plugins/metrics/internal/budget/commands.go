package budget

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// command is what people type.
const command = "budget"

const (
	setUsage = "set NAME AMOUNT [tokens] [day|week|month|ever] [all|billed|thread=ID|task=ID|cron=NAME|plugin=NAME|account=NAME] [soft|hard]"
	usage    = "list | " + setUsage + " | rm NAME | confirm. AMOUNT: 25 (dollars), 2M tokens, or 50% of the plan's windows. * in the place of ID or NAME: each has it for itself. soft: people are told; hard: turns wait or are denied"
)

func commands() []pluginsdk.CommandSpec {
	return []pluginsdk.CommandSpec{{
		Name: command, Scope: pluginsdk.ScopeApprove, Beside: true, Description: "budgets: what the agent may cost, and what it has cost", Usage: usage,
		Options: []pluginsdk.CommandOption{
			{Name: "what", Description: "what to do", Type: pluginsdk.OptionChoice, Choices: []string{"list", "set", "rm", "confirm"}},
			{Name: "budget", Description: "its name; for set: NAME AMOUNT and the rest", Type: pluginsdk.OptionText},
		},
	}}
}

// OnCommand does what a person has typed.
func (p *Plugin) OnCommand(ctx context.Context, request *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
	if request.Name != command {
		return nil, nil //nolint:nilnil // it is another plugin's
	}
	verb, rest, _ := strings.Cut(strings.TrimSpace(request.Body), " ")
	rest = strings.TrimSpace(rest)
	if err := mayType(request, verb); err != nil {
		return nil, err
	}
	reply, decided, err := p.typed(ctx, request, verb, rest)
	if err != nil {
		return nil, err
	}
	answer := &pluginsdk.OnCommandResponse{Handled: true, Reply: reply}
	if decided != "" {
		answer.Audit = []string{decided}
	}
	return answer, nil
}

// mayType refuses what is not a person's: who spends the money must not decide how much there is.
func mayType(request *pluginsdk.OnCommandRequest, verb string) error {
	thread := request.Thread
	switch {
	case request.Origin != pluginsdk.FromPerson || request.Message.Origin.OfAgent():
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "/budget is for people: say what you need, and a person decides what it may cost")
	case thread.Apart:
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "budgets are not for a thread apart: its people are not to know what the others do; use another thread, or harness budget")
	case verb != "" && verb != "list" && (thread.Kind == pluginsdk.ThreadTask || thread.Kind == pluginsdk.ThreadCron):
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "budgets are not changed in the thread of a task or of a schedule; use another thread, or harness budget")
	}
	return nil
}

// typed does what a command says. decided is what the audit log says of it; empty: nothing was changed.
func (p *Plugin) typed(ctx context.Context, request *pluginsdk.OnCommandRequest, verb, rest string) (reply, decided string, err error) {
	switch verb {
	case "", "list":
		reply, err = p.list(ctx)
		return reply, "", err
	case "set":
		return p.setBudget(ctx, request, rest)
	case "rm":
		return p.remove(ctx, request.Call.ID, rest)
	case "confirm":
		return p.confirm(ctx, request.Call.ID)
	}
	return "", "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "/budget has no %.40q; it has %s", verb, usage)
}

const unconfirmed = "Nobody has confirmed a budget on this installation yet, so none of them stops anything: harness budget confirm."

func (p *Plugin) list(ctx context.Context) (string, error) {
	known := p.known.Load()
	all, err := p.standOfAll(ctx, known)
	return p.listed(known, all), err
}

// standOfAll returns how the budgets stand, in their order.
func (p *Plugin) standOfAll(ctx context.Context, known *known) ([]standing, error) {
	all := make([]standing, len(known.ledger.Budgets))
	for i, b := range known.ledger.Budgets {
		var err error
		if all[i], err = p.standOf(ctx, known, b); err != nil {
			return all, err
		}
	}
	return all, nil
}

// listed is what people read of the budgets.
func (p *Plugin) listed(known *known, all []standing) string {
	var lines []string
	if known.broken != nil {
		lines = append(lines, fmt.Sprintf("The budgets that are stored cannot be read (%v). Until they can, this one holds:", known.broken))
	}
	for i, b := range known.ledger.Budgets {
		lines = append(lines, p.line(b, all[i]))
	}
	if len(known.ledger.Budgets) == 0 {
		lines = append(lines, "There are no budgets: nothing bounds what the agent costs. Set one: harness budget set daily 25 day")
	} else if !known.ledger.Confirmed {
		lines = append(lines, "", unconfirmed)
	}
	return strings.Join(lines, "\n")
}

// line is a budget in one line, with what was spent of it.
func (p *Plugin) line(b Budget, stand standing) string {
	_, ends := b.own(p.now(), p.settings.Load().zone)
	return fmt.Sprintf("- **%s**: %s%s%s", b.Name, b.words(), stand.words(b), anew(ends))
}

func anew(ends time.Time) string {
	if ends.IsZero() {
		return ""
	}
	return "; begins anew on " + moment(ends)
}

func (p *Plugin) stands(ctx context.Context, account string) (pluginsdk.BudgetAccount, error) {
	answer, err := p.host.Budgets.Account(ctx, &pluginsdk.GetBudgetAccountRequest{Name: account})
	if err != nil {
		return pluginsdk.BudgetAccount{}, err
	}
	return answer.Account, nil
}

func (p *Plugin) setBudget(ctx context.Context, request *pluginsdk.OnCommandRequest, rest string) (reply, decided string, err error) {
	asked, err := parseChange(rest)
	if err == nil && !p.known.Load().has(asked.name, asked.scope) {
		asked.scope, err = p.resolve(ctx, asked.scope)
	}
	if err != nil {
		return "", "", err
	}
	by := request.Message.Label().String()
	var made, before Budget
	err = p.change(ctx, func(found ledger) (ledger, error) {
		confirms := !found.Confirmed
		found.Confirmed, before = true, Budget{}
		if i := slices.IndexFunc(found.Budgets, func(b Budget) bool { return b.Name == asked.name }); i >= 0 {
			before = found.Budgets[i]
		}
		found.Budgets, made, err = asked.put(found.Budgets, by, p.now())
		if err == nil {
			err = p.countSpent(ctx, p.known.Load(), made) // before it lets anything through
		}
		found.decide(request.Call.ID, setWords(before, made, confirms))
		decided = found.Last.Said
		return found, err
	})
	if err != nil {
		return "", "", err
	}
	stand, err := p.standOf(ctx, p.known.Load(), made)
	if err != nil {
		return "", "", err
	}
	line := p.line(made, stand)
	if before.Name != "" && (before.Scope != made.Scope || before.Window != made.Window || before.unit() != made.unit() || (before.Share > 0) != (made.Share > 0)) {
		line += fmt.Sprintf("\n\nIt was %s.", before.words())
	}
	unheard, err := p.unheardOf(ctx, made.Scope)
	if err != nil { // the budget holds all the same
		p.host.Log.Warn("it is not known whether what a budget counts has ever cost anything", "budget", made.Name, "err", err)
	}
	if unheard != "" {
		line += "\n\n" + unheard
	}
	if made.Soft {
		return line + "\n\nIt is soft: people are told when it is passed, and turns go on.", decided, nil
	}
	return line + "\n\nIt holds from the next turn on. Messages that wait for it go on by themselves; what was denied is given again with /retry.", decided, nil
}

// setWords are what the audit log says of a budget that was set.
func setWords(before, made Budget, confirms bool) string {
	words := fmt.Sprintf("made the budget %s: %s", made.Name, made.words())
	if before.Name != "" {
		words = fmt.Sprintf("changed the budget %s to %s, from %s", made.Name, made.words(), before.words())
	}
	if confirms {
		words += "; with that all budgets are confirmed"
	}
	return words
}

// has reports whether the budget counts that already. What it counts may be gone by now, and is, of a task, its thread.
func (k *known) has(name string, scope Scope) bool {
	return slices.ContainsFunc(k.ledger.Budgets, func(b Budget) bool { return b.Name == name && b.Scope == scope })
}

// resolve finds the thread of a task, in which what the task costs is counted, and refuses what is not there: such
// a budget would count nothing. Of the name of a plugin or an account that is not known, it may come later.
func (p *Plugin) resolve(ctx context.Context, scope Scope) (Scope, error) {
	if scope.Of == each {
		return scope, nil
	}
	if scope.Kind == Thread {
		_, err := p.host.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: scope.Of})
		return scope, err
	}
	if scope.Kind != Task {
		return scope, nil
	}
	answer, err := p.host.Tasks.Get(ctx, &pluginsdk.GetTaskRequest{ID: scope.Of})
	if err != nil {
		return scope, err
	}
	scope.Of = answer.Task.ThreadID
	return scope, nil
}

func (p *Plugin) remove(ctx context.Context, call, rest string) (reply, decided string, err error) {
	err = p.change(ctx, func(found ledger) (ledger, error) {
		i := slices.IndexFunc(found.Budgets, func(b Budget) bool { return b.Name == rest })
		switch {
		case i >= 0:
			found.decide(call, fmt.Sprintf("removed the budget %s: %s", rest, found.Budgets[i].words()))
			found.Budgets = slices.Delete(slices.Clone(found.Budgets), i, i+1)
		case !found.Last.by(call): // else it was removed by this command, which is given again
			return found, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no budget %.100q; there are %s", rest, names(found.Budgets))
		}
		decided = found.Last.Said
		return found, nil
	})
	if err != nil {
		return "", "", err
	}
	list, err := p.list(ctx)
	return fmt.Sprintf("The budget %s is removed.\n\n%s", rest, list), decided, err
}

func (p *Plugin) confirm(ctx context.Context, call string) (reply, decided string, err error) {
	err = p.change(ctx, func(found ledger) (ledger, error) {
		found.Confirmed = true
		each := make([]string, len(found.Budgets))
		for i, b := range found.Budgets {
			each[i] = fmt.Sprintf("%s (%s)", b.Name, b.words())
		}
		found.decide(call, "confirmed the budgets: "+cmp.Or(strings.Join(each, ", "), "none"))
		decided = found.Last.Said
		return found, nil
	})
	if err != nil {
		return "", "", err
	}
	list, err := p.list(ctx)
	return "The budgets hold from the next turn on.\n\n" + list, decided, err
}

// names lists budgets.
func names(all []Budget) string {
	if len(all) == 0 {
		return "none"
	}
	list := make([]string, len(all))
	for i, b := range all {
		list[i] = b.Name
	}
	return strings.Join(list, ", ")
}
