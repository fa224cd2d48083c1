package budget_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/examples/drafts/budget"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

func served(t *testing.T, host *plugintest.Host, now time.Time) *plugintest.Plugin {
	t.Helper()
	host.SetSettings([]byte(`{"day": 2, "run": 0.75}`))
	return host.Serve(t, &budget.Plugin{Now: func() time.Time { return now }})
}

func asked(t *testing.T, plugin *plugintest.Plugin) *pluginsdk.OnBeforeRunResponse {
	t.Helper()
	answer, err := plugin.OnBeforeRun(t.Context(), &pluginsdk.OnBeforeRunRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// cost has an attempt end that cost money, and stores what the plugin says of it.
func cost(t *testing.T, host *plugintest.Host, plugin *plugintest.Plugin, run string, attempt int, usd float64) {
	t.Helper()
	answer, err := plugin.OnPipelineComplete(t.Context(), &pluginsdk.OnPipelineCompleteRequest{
		Call: pluginsdk.Call{ID: fmt.Sprint(run, attempt), RunID: run, Attempt: attempt}, Thread: pluginsdk.Thread{ID: "T"}, Outcome: pluginsdk.OutcomeSucceeded, CostUSD: usd,
	})
	if err != nil {
		t.Fatal(err)
	}
	if applied := host.Apply(plugin.Manifest(), run, "T", answer.Effects); applied.Dropped != nil {
		t.Errorf("left out: %q", applied.Dropped)
	}
}

// An operator who sets a limit must not find more spent, nor be denied what was
// not spent: an attempt that is told of twice costs once, one that was tried again
// costs twice, and a plugin that is started anew knows of both.
func TestADayCostsNoMoreThanItsLimit(t *testing.T) {
	host, today := plugintest.NewHost(), time.Now().UTC()
	plugin := served(t, host, today)
	first := asked(t, plugin)
	account := "day:" + today.Format(time.DateOnly)
	if first.Deny || !slices.Equal(first.Reservations, []pluginsdk.Reservation{{Account: account, LimitUSD: 2, AmountUSD: 0.75}}) || first.CostCapUSD != 0.75 {
		t.Errorf("the first run: %+v", first)
	}
	cost(t, host, plugin, "run-1", 1, 0.75)
	cost(t, host, plugin, "run-1", 1, 0.75) // told of twice
	cost(t, host, plugin, "run-1", 2, 0.75)
	cost(t, host, plugin, "run-2", 1, 0) // the agent was not reached
	plugin = served(t, host, today)
	if answer := asked(t, plugin); answer.Deny || answer.Reservations[0].AmountUSD != 0.5 || answer.CostCapUSD != 0.5 {
		t.Errorf("with 0.50 left: %+v, %+v", answer, answer.Reservations)
	}
	cost(t, host, plugin, "run-3", 1, 0.5)
	if answer := asked(t, plugin); !answer.Deny || !strings.Contains(answer.Reason, "2.00 USD were spent today, of 2.00") {
		t.Errorf("with nothing left: %+v", answer)
	}
	if answer := asked(t, served(t, host, today.AddDate(0, 0, 1))); answer.Deny {
		t.Errorf("tomorrow: %+v", answer)
	}
}

// Who cannot know what was spent must not let it be spent.
func TestWithoutTheFiguresNothingIsAllowed(t *testing.T) {
	host := plugintest.NewHost()
	plugin := served(t, host, time.Now())
	host.Fail("Metrics.Query", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the database is away"))
	if _, err := plugin.OnBeforeRun(t.Context(), &pluginsdk.OnBeforeRunRequest{}); err == nil {
		t.Error("it allows the run")
	}
}
