package budget

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Window is how long a budget lasts before it begins anew.
type Window string

// The windows of a budget. That of the last one never ends.
const (
	Day   Window = "day"
	Week  Window = "week"
	Month Window = "month"
	Ever  Window = "ever"
)

var windows = []Window{Day, Week, Month, Ever}

// words says how often the budget is there.
func (w Window) words() string {
	if w == Ever {
		return "in all"
	}
	return "a " + string(w)
}

// span returns the name of the window that now is in, and when that ends; the zero time: never. A
// week begins on Monday.
func (w Window) span(now time.Time, zone *time.Location) (name string, ends time.Time) {
	now = now.In(zone)
	day := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, zone)
	switch w {
	case Day:
		return "day:" + day.Format(time.DateOnly), day.AddDate(0, 0, 1)
	case Week:
		monday := day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
		return "week:" + monday.Format(time.DateOnly), monday.AddDate(0, 0, 7)
	case Month:
		return "month:" + day.Format("2006-01"), time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, zone)
	case Ever:
	}
	return "ever", time.Time{}
}

// begins is when the window has begun that now is in; the zero time: it is there for ever.
func (w Window) begins(now time.Time, zone *time.Location) time.Time {
	_, ends := w.span(now, zone)
	switch w {
	case Day:
		return ends.AddDate(0, 0, -1)
	case Week:
		return ends.AddDate(0, 0, -7)
	case Month:
		return ends.AddDate(0, -1, 0)
	case Ever:
	}
	return time.Time{}
}

// ScopeKind says what a budget counts.
type ScopeKind string

// What budgets count: all turns; those that somebody is billed for, which those of a plan are not;
// those of a thread, a task, a scheduled job, a plugin or an account.
const (
	All     ScopeKind = "all"
	Billed  ScopeKind = "billed"
	Thread  ScopeKind = "thread"
	Task    ScopeKind = "task"
	Cron    ScopeKind = "cron"
	Named   ScopeKind = "plugin"
	Account ScopeKind = "account"
)

var scopeKinds = []ScopeKind{All, Billed, Thread, Task, Cron, Named, Account}

// each is the Of of a scope that is a budget of its own for each thread, task, ...
const each = "*"

// Scope is what a budget counts.
type Scope struct {
	Kind ScopeKind `json:"kind"`
	// Of names the one: an id of a thread (also that of a task), the name of a job, a plugin or an
	// account, or *: each has the budget for itself. Empty for all and billed.
	Of string `json:"of,omitempty"`
}

func (s Scope) String() string {
	if s.Of == "" {
		return string(s.Kind)
	}
	return string(s.Kind) + "=" + s.Of
}

// parseScope reads all, billed, thread=ID, cron=*, ...
func parseScope(text string) (Scope, error) {
	kind, of, named := strings.Cut(text, "=")
	scope := Scope{Kind: ScopeKind(kind), Of: of}
	whole := scope.Kind == All || scope.Kind == Billed
	switch {
	case !slices.Contains(scopeKinds, scope.Kind):
		return scope, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%q is not something that a budget counts: all, billed, thread=ID, task=ID, cron=NAME, plugin=NAME, account=NAME; with * in the place of the one, each has the budget for itself", text)
	case whole && named:
		return scope, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s counts all of them, and takes no =%s", kind, of)
	case !whole && (of == "" || len(of) > 100):
		return scope, pluginsdk.Errorf(pluginsdk.CodeInvalid, "say which %s, as in %s=NAME, or %s=* for each", kind, kind, kind)
	}
	return scope, nil
}

// turn is what budgets look at of a run.
type turn struct {
	threadID, threadName string
	job                  string // the scheduled job whose prompt it answers; empty: none
	kind                 pluginsdk.ThreadKind
	plugin               string
	root                 string // where the chain of runs began that has caused it: a plugin; empty: nothing has
	account              string
	billed               bool   // somebody pays for it, by call
	people               bool   // people wait for it
	waits                bool   // a person has written it, or what has caused it: it waits for a budget
	model                string // that was asked for; empty: the usual one
}

// counts reports whether a budget of the scope counts the turn, and under which name.
func (s Scope) counts(t turn) (name string, counted bool) {
	var of string
	switch s.Kind {
	case All:
		return "all", true
	case Billed:
		return "billed", t.billed
	case Thread:
		of = t.threadID
	case Task:
		if t.kind == pluginsdk.ThreadTask {
			of = t.threadID
		}
	case Cron:
		// The account has the job's name, so that a job that is made anew under its name goes on with what it has spent.
		// What people write in the job's thread counts as the job as long as the thread has its name.
		of = t.job
		if of == "" && t.kind == pluginsdk.ThreadCron {
			of = cmp.Or(t.threadName, t.threadID)
		}
		of = strings.ToLower(strings.ReplaceAll(of, " ", "_"))
		return "cron/" + of, of != "" && (s.Of == each || strings.ToLower(s.Of) == of)
	case Named:
		if of = t.plugin; s.Of == t.root { // what a plugin causes counts to it as well
			of = t.root
		}
	case Account:
		of = t.account
	}
	return string(s.Kind) + "/" + of, of != "" && (s.Of == each || s.Of == of)
}

// shared reports whether people and what plugins start spend from it together.
func (s Scope) shared() bool { return s.Kind == All || s.Kind == Billed || s.Kind == Account }

// Budget is what turns may cost.
type Budget struct {
	Name string `json:"name"`
	// One of USD, Tokens and Share is set. Share is of each window of the plan of a turn's account, in per
	// cent: a turn does not begin while more of one is used. It keeps no account, and has no window of its own.
	USD    float64   `json:"usd,omitempty"`
	Tokens float64   `json:"tokens,omitempty"`
	Share  float64   `json:"share,omitempty"`
	Window Window    `json:"window"`
	Scope  Scope     `json:"scope"`
	Soft   bool      `json:"soft,omitempty"` // people are told when it is passed, and nothing is denied
	By     string    `json:"by"`
	At     time.Time `json:"at,omitzero"`
}

// words is the budget without what was spent of it.
func (b Budget) words() string {
	text := fmt.Sprintf("%s %s", b.say(b.limit()), b.Window.words())
	if b.Share > 0 {
		text = fmt.Sprintf("%.0f %% of each window of the plan", b.Share)
	}
	switch {
	case b.Scope.Kind == Billed:
		text += " for what is billed"
	case b.Scope.Of == each:
		text += " for each " + string(b.Scope.Kind)
	case b.Scope.Of != "":
		text += fmt.Sprintf(" for the %s %s", b.Scope.Kind, b.Scope.Of)
	}
	if b.Soft {
		return text + ", soft"
	}
	return text
}

// account is where the budget keeps what a turn costs; empty: it does not count the turn. Budgets
// that count the same share one, and it stays when the amount is changed.
func (b Budget) account(t turn, now time.Time, zone *time.Location) (name string, ends time.Time) {
	of, counted := b.Scope.counts(t)
	if !counted || b.Share > 0 {
		return "", time.Time{}
	}
	name, ends = b.Window.span(now, zone)
	if b.Tokens > 0 {
		name = "tokens/" + name
	}
	return name + "/" + of, ends
}

// limit is what may be spent, in the budget's unit.
func (b Budget) limit() float64 { return b.USD + b.Tokens }

// unit is what the budget's account is in.
func (b Budget) unit() pluginsdk.Unit {
	if b.Tokens > 0 {
		return pluginsdk.UnitTokens
	}
	return pluginsdk.UnitUSD
}

// say is an amount of the budget's unit as people read it.
func (b Budget) say(amount float64) string {
	if b.Tokens > 0 {
		return tokens(amount)
	}
	return dollars(amount)
}

// own is the account of a budget that has only one; empty: each of what it counts has one.
func (b Budget) own(now time.Time, zone *time.Location) (name string, ends time.Time) {
	if b.Share > 0 {
		return "", time.Time{}
	}
	if b.Scope.Of == each {
		_, ends = b.Window.span(now, zone)
		return "", ends
	}
	return b.account(turnOf(b.Scope.Of), now, zone)
}

var budgetName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)

// most is how many budgets there are at most: a run is counted in so many accounts.
const most = 16

// dollars is an amount as people read it.
func dollars(usd float64) string { return fmt.Sprintf("$%.2f", usd) }

// more is an amount to raise a budget to, as it is typed: a shell would read $25 as something else.
func more(b Budget) string {
	switch {
	case b.Tokens > 0:
		return typed(2*b.Tokens) + " tokens"
	case b.Share > 0:
		return strconv.FormatFloat(min(100, b.Share+20), 'f', -1, 64) + "%"
	}
	return strconv.FormatFloat(2*b.USD, 'f', -1, 64)
}

// tokens is a number of tokens as people read it: 940 tokens, 12.4k tokens, 1.25M tokens.
func tokens(count float64) string {
	switch {
	case count >= 999_950:
		return typed(math.Round(count/1e4)*1e4) + " tokens"
	case count >= 1e3:
		return typed(math.Round(count/100)*100) + " tokens"
	}
	return typed(math.Round(count)) + " tokens"
}

// typed is a whole number of tokens as it can be typed: 2M, 1.5k.
func typed(count float64) string {
	switch {
	case count >= 1e6:
		return strconv.FormatFloat(count/1e6, 'f', -1, 64) + "M"
	case count >= 1e3:
		return strconv.FormatFloat(count/1e3, 'f', -1, 64) + "k"
	}
	return strconv.FormatFloat(count, 'f', -1, 64)
}

// moment is when something ends, as people read it.
func moment(at time.Time) string { return at.Format("Mon 2006-01-02 15:04 MST") }
