package invoker

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// DemoPlan is what a rule of the demo agent says of a window of a plan.
type DemoPlan struct {
	Window string `json:"window"`          // such as five_hour
	Model  string `json:"model,omitempty"` // whose use it limits; empty: that of all models
	// Used is from 0 to 1; of a window that is used up, 1.
	Used float64 `json:"used,omitempty"`
	// ResetsIn is in how long it opens, such as 2h, or -1h for an hour ago; empty: it is not
	// told.
	ResetsIn string `json:"resetsIn,omitempty"`
	// Lasts is how long a window that is used up lets nothing through; default: ResetsIn.
	Lasts   string `json:"lasts,omitempty"`
	Warning bool   `json:"warning,omitempty"` // its status is warning
	Overage bool   `json:"overage,omitempty"` // paid use beyond the plan is under way
}

func (p *DemoPlan) validate() error {
	switch {
	case p == nil:
		return nil
	case p.Window == "":
		return fmt.Errorf("plan, planUsedUp: the window has no name; want five_hour, seven_day or another")
	case !(p.Used >= 0 && p.Used <= 1):
		return fmt.Errorf("plan, planUsedUp: used is %v; want 0 to 1", p.Used)
	}
	for name, text := range map[string]string{"resetsIn": p.ResetsIn, "lasts": p.Lasts} {
		if _, err := time.ParseDuration(text); text != "" && err != nil {
			return fmt.Errorf("plan, planUsedUp: %s is %q; want a duration such as 2h", name, text)
		}
	}
	return nil
}

// window is what is told of the plan at a time.
func (p DemoPlan) window(now time.Time) pluginsdk.PlanWindow {
	w := pluginsdk.PlanWindow{Name: p.Window, Model: p.Model, Used: p.Used, Status: pluginsdk.PlanAllowed, Overage: p.Overage}
	if p.Warning {
		w.Status = pluginsdk.PlanWarning
	}
	if in, err := time.ParseDuration(p.ResetsIn); err == nil {
		w.ResetsAt = now.Add(in).UTC()
	}
	return w
}

// closedWindow is a window of an account that the demo agent has used up.
type closedWindow struct {
	account string
	told    pluginsdk.PlanWindow
	until   time.Time
}

// lets reports whether the window does not stand in the way of a turn.
func (c closedWindow) lets(request ledger.AgentRequest, now time.Time) bool {
	return !now.Before(c.until) || demoAccount(request) != c.account || !strings.Contains(request.Model, c.told.Model)
}

// demoAccount is the account that a turn is of.
func demoAccount(request ledger.AgentRequest) string {
	return cmp.Or(request.Account, pluginsdk.EnvironmentAccount)
}

// limited tells of what the rule says of the plan, and returns the failure of a turn that the
// plan does not let through.
func (d *Demo) limited(t *demoTurn) *pluginsdk.Failure {
	account, now := demoAccount(t.request), d.config.Now()
	if t.rule.Plan != nil {
		d.config.OnPlan(account, []pluginsdk.PlanWindow{t.rule.Plan.window(now)})
	}
	d.mu.Lock()
	if up := t.rule.PlanUsedUp; up != nil {
		shut := closedWindow{account: account, told: up.window(now)}
		shut.told.Status, shut.told.Used = pluginsdk.PlanRejected, 1
		lasts, _ := time.ParseDuration(cmp.Or(up.Lasts, up.ResetsIn)) // checked when the script was read
		shut.until = now.Add(lasts)
		d.closed = append(d.closed, shut)
	}
	var shut *closedWindow
	for _, one := range d.closed {
		if !one.lets(t.request, now) {
			shut = &one
		}
	}
	d.mu.Unlock()
	if shut == nil {
		return nil
	}
	d.config.OnPlan(account, []pluginsdk.PlanWindow{shut.told})
	return &pluginsdk.Failure{
		Kind: pluginsdk.FailurePlan, Message: "You've hit your limit", APIStatus: 429, Retryable: true,
		Parked: &pluginsdk.Parked{Account: account, Window: shut.told.Name, Model: shut.told.Model, Until: shut.told.ResetsAt},
	}
}
