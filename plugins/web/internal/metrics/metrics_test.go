package metrics

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// An operator's alarm for a plugin that is in quarantine, or slow, hangs on
// these lines.
func TestScrapeTellsOfEachPlugin(t *testing.T) {
	host := plugintest.NewHost()
	host.AddPlugin(pluginsdk.PluginInfo{
		Name: "clock", State: pluginsdk.PluginServing, Restarts: 2,
		Figures: pluginsdk.PluginFigures{
			Slow: 3, HeldBack: 4, RowsDropped: 5, Host: map[string]pluginsdk.CallFigures{"Messages.Append": {Calls: 6, Errors: 1}},
			RSSBytes: 1 << 20, CPUSeconds: 1.5, Processes: 1,
			Hooks: map[pluginsdk.Hook]pluginsdk.CallFigures{
				pluginsdk.HookMessage: {Calls: 7, Errors: 2, Timeouts: 1, P50: time.Millisecond, P99: 20 * time.Millisecond},
			},
		},
	})
	host.AddPlugin(pluginsdk.PluginInfo{Name: "broken", State: pluginsdk.PluginQuarantined, Checks: []pluginsdk.Check{{Name: "was well", State: pluginsdk.CheckOK}}})
	host.AddPlugin(pluginsdk.PluginInfo{Name: "metrics", State: pluginsdk.PluginServing, Checks: []pluginsdk.Check{
		{Name: "spending", State: pluginsdk.CheckOK}, {Name: "spending", State: pluginsdk.CheckWarning}, {Name: "spending", State: pluginsdk.CheckOK},
		{Name: "budget daily", State: pluginsdk.CheckWarning}, {Name: "budgets", State: pluginsdk.CheckFailing}, {Name: "fine", State: pluginsdk.CheckOK}, {Name: "cut \xe2", State: "of tomorrow"},
	}})
	told := scrape(t, host.SDK())
	if strings.Contains(told, "was well") {
		t.Error("what a plugin has found that does not serve is told as if it were so")
	}
	requireTold(t, told,
		`harness_plugin_state{plugin="clock",state="serving"} 1`,
		`harness_plugin_state{plugin="broken",state="quarantined"} 1`,
		`harness_plugin_check{check="spending",plugin="metrics"} 1`,
		`harness_plugin_check{check="budget daily",plugin="metrics"} 1`,
		`harness_plugin_check{check="budgets",plugin="metrics"} 2`,
		`harness_plugin_check{check="fine",plugin="metrics"} 0`,
		`harness_plugin_check{check="cut ?",plugin="metrics"} 1`,
		`harness_plugin_restarts_total{plugin="clock"} 2`,
		`harness_plugin_resident_memory_bytes{plugin="clock"} 1.048576e+06`,
		`harness_plugin_cpu_seconds_total{plugin="clock"} 1.5`,
		`harness_plugin_hook_calls_total{hook="OnMessage",plugin="clock"} 7`,
		`harness_plugin_hook_errors_total{hook="OnMessage",plugin="clock"} 2`,
		`harness_plugin_hook_timeouts_total{hook="OnMessage",plugin="clock"} 1`,
		`harness_plugin_hook_recent_seconds{hook="OnMessage",plugin="clock",quantile="0.99"} 0.02`,
		`harness_plugin_host_calls_total{method="Messages.Append",plugin="clock"} 6`,
		`harness_plugin_host_errors_total{method="Messages.Append",plugin="clock"} 1`,
		`harness_plugin_slow_calls_total{plugin="clock"} 3`,
		`harness_plugin_held_back_total{plugin="clock"} 4`,
		`harness_plugin_rows_dropped_total{plugin="clock"} 5`,
	)
}

// What an operator is woken by stands there whatever it is: the daemon says which figures
// it has.
func TestScrapeTellsOfTheDaemon(t *testing.T) {
	host := plugintest.NewHost()
	host.AddFigure(pluginsdk.Figure{Name: "harness_runs_ended_total", Help: "Runs that are over.", Kind: pluginsdk.FigureCounter, Samples: []pluginsdk.FigureSample{
		{Labels: map[string]string{"kind": "message", "state": "failed"}, Value: 3}, {Labels: map[string]string{"kind": "turn", "state": "failed"}, Value: 1},
	}})
	host.AddFigure(pluginsdk.Figure{Name: "harness_paused", Help: "1 while it is \"paused\".", Kind: pluginsdk.FigureGauge, Samples: []pluginsdk.FigureSample{{}}})
	host.AddFigure(pluginsdk.Figure{Name: "harness_run_duration_seconds", Help: "Runs.", Kind: pluginsdk.FigureHistogram, Samples: []pluginsdk.FigureSample{{
		Labels: map[string]string{"kind": "a \\ and a \" and a\nnew line"}, Value: 7.5, Count: 3,
		Buckets: []pluginsdk.FigureBucket{{Bound: 0.5, Count: 1}, {Bound: 1, Count: 2}},
	}}})
	host.AddFigure(pluginsdk.Figure{Name: "harness_of_tomorrow", Help: "Of a kind that is not known yet.", Kind: "summary", Samples: []pluginsdk.FigureSample{{Value: 2}}})
	requireTold(t, scrape(t, host.SDK()),
		`harness_runs_ended_total{kind="message",state="failed"} 3`,
		`harness_runs_ended_total{kind="turn",state="failed"} 1`,
		`# TYPE harness_runs_ended_total counter`,
		`# HELP harness_paused 1 while it is "paused".`,
		`harness_paused 0`,
		`harness_run_duration_seconds_bucket{kind="a \\ and a \" and a\nnew line",le="0.5"} 1`,
		`harness_run_duration_seconds_bucket{kind="a \\ and a \" and a\nnew line",le="1"} 2`,
		`harness_run_duration_seconds_bucket{kind="a \\ and a \" and a\nnew line",le="+Inf"} 3`,
		`harness_run_duration_seconds_sum{kind="a \\ and a \" and a\nnew line"} 7.5`,
		`harness_run_duration_seconds_count{kind="a \\ and a \" and a\nnew line"} 3`,
		`harness_of_tomorrow 2`,
	)
}

// A daemon that is older than its web, one that has not granted something, one whose
// database is away: what can be told is told.
func TestScrapeTellsWhatItCan(t *testing.T) {
	for what, failing := range map[string]struct {
		method string
		err    error
		told   string
		logged bool
	}{
		"an older daemon":         {"Metrics.Figures", pluginsdk.Errorf(pluginsdk.CodeUnimplemented, "no"), `harness_plugin_state{plugin="clock",state="serving"} 1`, false},
		"a grant that is missing": {"Metrics.Figures", pluginsdk.Errorf(pluginsdk.CodeDenied, "no"), `harness_plugin_state{plugin="clock",state="serving"} 1`, true},
		"a database that is away": {"Plugins.List", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "no"), `harness_database_up 0`, true},
	} {
		host := plugintest.NewHost()
		host.AddPlugin(pluginsdk.PluginInfo{Name: "clock", State: pluginsdk.PluginServing})
		host.AddFigure(pluginsdk.Figure{Name: "harness_database_up", Help: "Up.", Kind: pluginsdk.FigureGauge, Samples: []pluginsdk.FigureSample{{}}})
		host.Fail(failing.method, failing.err)
		var log strings.Builder
		answer := httptest.NewRecorder()
		Handler(host.SDK(), slog.New(slog.NewTextHandler(&log, nil))).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		if answer.Code != http.StatusOK || !strings.Contains(answer.Body.String(), failing.told) {
			t.Errorf("%s: %d %s", what, answer.Code, answer.Body)
		}
		if got := log.Len() > 0; got != failing.logged {
			t.Errorf("%s: logged %q", what, log.String())
		}
	}
}

func TestScrapeOfAHostThatRefusesFails(t *testing.T) {
	host := plugintest.NewHost()
	host.Fail("Plugins.List", pluginsdk.Errorf(pluginsdk.CodeDenied, "no"))
	host.Fail("Metrics.Figures", pluginsdk.Errorf(pluginsdk.CodeDenied, "no"))
	answer := httptest.NewRecorder()
	Handler(host.SDK(), slog.New(slog.DiscardHandler)).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if answer.Code != 500 {
		t.Errorf("status %d", answer.Code)
	}
}

// scrape returns what a scrape answers. Whoever reads it must be able to.
func scrape(t *testing.T, host pluginsdk.Host) string {
	t.Helper()
	answer := httptest.NewRecorder()
	Handler(host, slog.New(slog.DiscardHandler)).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if answer.Code != http.StatusOK {
		t.Fatalf("%d %s", answer.Code, answer.Body)
	}
	problems, err := promlint.New(strings.NewReader(answer.Body.String())).Lint()
	problems = slices.DeleteFunc(problems, func(problem promlint.Problem) bool {
		return strings.HasSuffix(problem.Metric, "_recent_seconds") // quantiles, but of too few calls for a summary
	})
	if err != nil || len(problems) > 0 {
		t.Errorf("it cannot be read, or not well: %v %v", err, problems)
	}
	return answer.Body.String()
}

func requireTold(t *testing.T, told string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(told, line+"\n") {
			t.Errorf("not told: %s", line)
		}
	}
	if t.Failed() {
		t.Log(told)
	}
}
