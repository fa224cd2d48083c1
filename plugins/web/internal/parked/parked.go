// Package parked is how pages show a run that waits for a window of a plan: in words, and with
// what somebody may do about it.
package parked

import (
	"net/url"

	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Words say what a run waits for, without an end.
func Words(of pluginsdk.Parked) string {
	if of.Plugin != "" && of.Budget == "" {
		return "Waits for the plugin " + of.Plugin
	}
	if of.Plugin != "" {
		return "Waits for the budget " + of.Budget
	}
	return "Waits for the plan (" + pluginsdk.WindowName(of.Window, of.Model) + ")"
}

// Fallback is the key with which a person may let a parked run go on; nil: there is none that
// has a daily limit.
func Fallback(accounts []pluginsdk.Account, of pluginsdk.Parked) *pluginsdk.Account {
	if of.Plugin != "" { // a budget counts that key too
		return nil
	}
	for _, from := range accounts {
		for i, key := range accounts {
			if from.Name == of.Account && from.Fallback == key.Name && key.Kind == pluginsdk.AccountKey && key.DailyLimitUSD > 0 {
				return &accounts[i]
			}
		}
	}
	return nil
}

// ResumePath is where the forms go that let a run go on now.
func ResumePath(runID string) string { return "/runs/" + url.PathEscape(runID) + "/resume" }

// CancelPath is where the form goes that ends a run.
func CancelPath(runID string) string { return "/runs/" + url.PathEscape(runID) + "/cancel" }

// goNow lets a run go on as it is.
func goNow(runID, back string, small bool) ui.Action {
	return ui.Action{
		To: ResumePath(runID), Label: "Go now", Icon: "play", Small: small, Hidden: hidden(back),
		Title: "Try again now",
	}
}

func cancel(runID, back string, small bool) ui.Action {
	return ui.Action{To: CancelPath(runID), Label: "Cancel", Icon: "x", Small: small, Hidden: hidden(back), Title: "Do not answer this message"}
}

// withFallback lets a run go on with an API key, which costs real money.
func withFallback(runID, back string, key pluginsdk.Account) ui.Action {
	return ui.Action{
		To: ResumePath(runID), Label: "Use the API key " + key.Name + " (limit " + ui.Money(key.DailyLimitUSD) + " a day)", Icon: "key-round",
		Hidden: hidden(back, "fallback", "true"),
		Title:  ui.Money(key.SpentTodayUSD) + " of this limit is used today",
	}
}

func hidden(back string, more ...string) map[string]string {
	fields := map[string]string{}
	if back != "" {
		fields["back"] = back
	}
	for n := 0; n+1 < len(more); n += 2 {
		fields[more[n]] = more[n+1]
	}
	return fields
}
