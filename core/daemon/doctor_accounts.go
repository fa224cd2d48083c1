package daemon

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// checkAccounts looks at the accounts of the agent. It is silent about environment as long as
// there is no more to say of it than checkAgent does.
func checkAccounts(all []pluginsdk.Account, now time.Time) (checks []Check) {
	for _, account := range all {
		if account.Name == pluginsdk.EnvironmentAccount && (len(all) == 1 || !account.Default) && len(account.Windows) == 0 && !account.Overage {
			continue
		}
		checks = append(checks, checkAccount(account, now))
	}
	return checks
}

func checkAccount(account pluginsdk.Account, now time.Time) Check {
	check := Check{Name: "account " + account.Name, OK: true, Optional: !account.Default, Detail: string(account.Kind)}
	if account.Default {
		check.Detail += ", the default"
	}
	if account.Overage {
		check.Detail += ", Anthropic may bill you when the plan is used up"
	}
	if !account.Usable && account.Kind != pluginsdk.AccountEnvironment { // of that one checkAgent says it
		check.OK = false
		check.Detail += "; not usable: " + account.Reason
		check.Remedy = "turns with this account fail until you put that right, or use another account: harness account use NAME"
		return check
	}
	var used []string
	for _, w := range account.Windows {
		switch {
		case w.Status != pluginsdk.PlanRejected || !w.ResetsAt.IsZero() && !w.ResetsAt.After(now):
		case w.ResetsAt.IsZero():
			used = append(used, "the "+pluginsdk.WindowName(w.Name, w.Model)+" is used up")
		default:
			used = append(used, fmt.Sprintf("the %s is used up until %s", pluginsdk.WindowName(w.Name, w.Model), w.ResetsAt.Local().Format(time.DateTime)))
		}
	}
	if len(used) > 0 {
		check.OK, check.Optional = false, true
		check.Detail += "; " + strings.Join(used, ", ")
		check.Remedy = "its runs go on by themselves when the limit resets; `harness plan` lists them, and says how to have one go on now"
		return check
	}
	if account.Usable {
		check.Detail += ", usable"
	}
	return check
}
