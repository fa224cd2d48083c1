package metrics

import (
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

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
	host.AddPlugin(pluginsdk.PluginInfo{Name: "broken", State: pluginsdk.PluginQuarantined})
	answer := httptest.NewRecorder()
	Handler(host.SDK().Plugins, slog.New(slog.DiscardHandler)).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.Code != 200 {
		t.Fatalf("%d %v", answer.Code, err)
	}
	for _, want := range []string{
		`harness_plugin_state{plugin="clock",state="serving"} 1`,
		`harness_plugin_state{plugin="broken",state="quarantined"} 1`,
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
	} {
		if !strings.Contains(string(body), want) {
			t.Errorf("not told: %s", want)
		}
	}
	if t.Failed() {
		t.Log(string(body))
	}
}

func TestScrapeOfAHostThatRefusesFails(t *testing.T) {
	host := plugintest.NewHost()
	host.Fail("Plugins.List", pluginsdk.Errorf(pluginsdk.CodeDenied, "no"))
	answer := httptest.NewRecorder()
	Handler(host.SDK().Plugins, slog.New(slog.DiscardHandler)).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	if answer.Code != 500 {
		t.Errorf("status %d", answer.Code)
	}
}
