package daemon_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// scrape returns what Prometheus reads of the daemon, by the words before the value.
func (in *installation) scrape() map[string]float64 {
	in.t.Helper()
	request, err := http.NewRequestWithContext(in.t.Context(), http.MethodGet, in.base+"/metrics", nil)
	if err != nil {
		in.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		in.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		in.t.Fatalf("GET /metrics: %d %v %s", response.StatusCode, err, body)
	}
	problems, err := promlint.New(strings.NewReader(string(body))).Lint()
	if err != nil {
		in.t.Errorf("Prometheus cannot read it: %v", err)
	}
	for _, problem := range problems {
		if !strings.HasSuffix(problem.Metric, "_recent_seconds") { // quantiles, but of too few calls for a summary
			in.t.Fatalf("%s: %s", problem.Metric, problem.Text)
		}
	}
	samples := make(map[string]float64)
	for line := range strings.Lines(string(body)) {
		line = strings.TrimSpace(line)
		if at := strings.LastIndexByte(line, ' '); at > 0 && line[0] != '#' {
			if samples[line[:at]], err = strconv.ParseFloat(line[at+1:], 64); err != nil {
				in.t.Errorf("%s: %v", line, err)
			}
		}
	}
	return samples
}

// An operator's alarms hang on these: messages that came in and how they ended, what the
// agent used for them, what waits, what has not reached its people, and how the database
// does.
func TestMetricsTellHowTheDaemonDoes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(*testing.T) string) {
		in := newInstallation(t, database(t), courierName)
		in.config.PluginBackoff, in.config.Version = in.config.RetryBase, "1.2.3"
		in.demo(`[{"match":"damson","text":"first","costUsd":0.25},{"match":"medlar","failure":{"kind":"budget","message":"no"}}]`)
		in.mishaps("refuse")
		in.start()
		in.sql("UPDATE plugins SET enabled = true WHERE name = 'courier'")
		store := in.database()
		thread, _, err := store.CreateThread(t.Context(), pluginsdk.NewThread{Source: courierName, SourceID: "the house at the corner"})
		if err != nil {
			t.Fatal(err)
		}
		before := in.scrape()
		for _, sample := range []string{`harness_runs_accepted_total{kind="message"}`, `harness_runs_ended_total{kind="message",state="failed"}`, `harness_turns_total{kind="message",outcome="answered"}`} {
			if value, told := before[sample]; !told || value != 0 {
				t.Errorf("before anything has happened: %s is %v, told %v: the first of them would be no rise", sample, value, told)
			}
		}
		watch := in.watch()
		in.say(watch, thread.ID, "damson")
		in.say(watch, thread.ID, "medlar")
		in.say(watch, thread.ID, "/status") // the core answers it at once
		var now map[string]float64
		in.until("the deliveries are told of", func() bool {
			now = in.scrape()
			return now[`harness_delivery_attempts_total{plugin="courier",state="delivered"}`] >= 2 &&
				now[`harness_deliveries{plugin="courier",state="dead"}`] == 1 && now[`harness_deliveries_oldest_seconds`] == 0
		})
		for sample, want := range map[string]float64{
			`harness_build_info{agent="demo",database="` + store.Dialect() + `",version="1.2.3"}`: 1,

			`harness_runs_accepted_total{kind="message"}`:                2,
			`harness_runs_accepted_total{kind="command"}`:                0,
			`harness_runs_ended_total{kind="message",state="succeeded"}`: 1,
			`harness_runs_ended_total{kind="message",state="failed"}`:    1,
			`harness_run_duration_seconds_count{kind="message"}`:         2,
			`harness_turns_total{kind="message",outcome="answered"}`:     1,
			`harness_turns_total{kind="message",outcome="budget"}`:       1,
			`harness_turn_duration_seconds_count{kind="message"}`:        2,
			`harness_turn_cost_usd_total{model="demo",notional="false"}`: 0.25,
			`harness_places`:                                                          5,
			`harness_places_taken{class="people"}`:                                    0,
			`harness_runs_waiting{class="people"}`:                                    0,
			`harness_runs_oldest_seconds{class="turns"}`:                              0,
			`harness_delivery_attempts_total{plugin="courier",state="dead"}`:          1,
			`harness_deliveries{plugin="courier",state="dead"}`:                       1,
			`harness_deliveries_oldest_seconds`:                                       0,
			`harness_tasks{status="running"}`:                                         0,
			`harness_tasks_ended_total{status="completed"}`:                           0,
			`harness_approvals_asked_total{kind="tool"}`:                              0,
			`harness_approvals_ended_total{state="expired"}`:                          0,
			`harness_approvals_ruled_total`:                                           0,
			`harness_approvals_open`:                                                  0,
			`harness_approvals_oldest_seconds`:                                        0,
			`harness_files_bytes`:                                                     0,
			`harness_files_uploads`:                                                   0,
			`harness_tokens_refused_total{for="login"}`:                               0,
			`harness_database_up`:                                                     1,
			`harness_database_lock_held`:                                              1,
			`harness_paused`:                                                          0,
			`harness_database_write_failures_total`:                                   0,
			`harness_plugin_state{plugin="courier",state="serving"}`:                  1,
			`harness_plugin_host_errors_total{method="Metrics.Figures",plugin="web"}`: 0,
		} {
			if value, told := now[sample]; !told || value != want {
				t.Errorf("%s is %v, told %v; want %v", sample, value, told, want)
			}
		}
		for _, sample := range []string{
			"harness_start_time_seconds", "harness_database_size_bytes", "harness_events_published_total", "harness_memory_bytes", "harness_goroutines",
			`harness_turn_tokens_total{model="demo",tokens="input"}`, `harness_turn_tokens_total{model="demo",tokens="output"}`,
			`harness_database_write_duration_seconds_count{durable="true"}`, "harness_database_write_wait_seconds_count", "harness_cpu_seconds_total",
			"harness_files_quota_bytes",
		} {
			if now[sample] <= 0 {
				t.Errorf("%s is %v", sample, now[sample])
			}
		}
		if _, told := now["harness_search_index_lag_messages"]; !told {
			t.Error("how far the index is behind is not told")
		}
		if t.Failed() {
			for sample, value := range now {
				t.Log(sample, value)
			}
		}
	})
}

// The alarm for a database that is away must not need the database.
func TestMetricsTellThatTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	config, gate := storetest.BehindGateway(t)
	in := newInstallation(t, config.URL)
	in.start()
	told := func(up, held float64) func() bool {
		return func() bool {
			now := in.scrape()
			accepted, counted := now[`harness_runs_accepted_total{kind="message"}`]
			_, waiting := now[`harness_runs_waiting{class="people"}`]
			if counted && accepted == 0 && waiting == (up == 1) {
				return now["harness_database_up"] == up && now["harness_database_lock_held"] == held
			}
			return false
		}
	}
	in.until("that all is well is told", told(1, 1))
	gate.Close()
	in.until("that the database is away is told", told(0, 0))
	gate.Open()
	in.until("that it is back is told", told(1, 1))
}
