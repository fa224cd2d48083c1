// Package metrics is GET /metrics: the daemon's own figures, and what plugins have done
// and used, in the text format of Prometheus.
package metrics

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// scrapeTimeout bounds the calls of the host that a scrape makes.
const scrapeTimeout = 5 * time.Second

// Handler answers scrapes. The host is asked anew at each. What it does not tell is left
// out, and logged; a scrape fails when it tells nothing at all.
func Handler(host pluginsdk.Host, log *slog.Logger) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(daemon{host.Metrics}, newCollector(host.Plugins))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError,
	})
}

var _ prometheus.Collector = (*collector)(nil)

// collector turns the figures of the plugins into metrics.
type collector struct {
	plugins pluginsdk.Plugins

	up, restarts, cpu, memory, processes *prometheus.Desc
	check                                *prometheus.Desc
	calls, errors, timeouts, duration    *prometheus.Desc
	hostCalls, hostErrors, hostDuration  *prometheus.Desc
	slow, heldBack, dropped              *prometheus.Desc
}

func newCollector(plugins pluginsdk.Plugins) *collector {
	of := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("harness_plugin_"+name, help, append([]string{"plugin"}, labels...), nil)
	}
	return &collector{
		plugins:   plugins,
		up:        of("state", "1 for the state that the plugin is in.", "state"),
		restarts:  of("restarts_total", "Times that the plugin was started again after a fault."),
		cpu:       of("cpu_seconds_total", "CPU time of the plugin's processes."),
		memory:    of("resident_memory_bytes", "Resident memory of the plugin's processes."),
		processes: of("processes", "Processes of the plugin."),
		check:     of("check", "How the plugin, while it serves, found a thing when it looked last, about every minute: 0 well, 1 a warning, 2 failing.", "check"),
		calls:     of("hook_calls_total", "Calls of the hook.", "hook"),
		errors:    of("hook_errors_total", "Calls of the hook that failed, timeouts included.", "hook"),
		timeouts:  of("hook_timeouts_total", "Calls of the hook that were given up at their deadline.", "hook"),
		duration:  of("hook_recent_seconds", "How long the latest calls of the hook took.", "hook", "quantile"),

		hostCalls:    of("host_calls_total", "Calls that the plugin made of the core.", "method"),
		hostErrors:   of("host_errors_total", "Calls that the plugin made of the core and that failed.", "method"),
		hostDuration: of("host_recent_seconds", "How long the latest calls of the method took.", "method", "quantile"),
		slow:         of("slow_calls_total", "Calls of hooks in runs that took longer than a second."),
		heldBack:     of("held_back_total", "Calls of the core that a quota refused."),
		dropped:      of("rows_dropped_total", "Rows that the plugin left for its runs and that were not stored."),
	}
}

// Describe sends nothing: which metrics there are depends on the plugins.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of every plugin.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	for request := (pluginsdk.ListPluginsRequest{}); ; {
		answer, err := c.plugins.List(ctx, &request)
		if err != nil {
			out <- prometheus.NewInvalidMetric(c.up, fmt.Errorf("list the plugins: %w", err))
			return
		}
		for _, info := range answer.Plugins {
			c.plugin(out, info)
			request.After = info.Name
		}
		if !answer.More || len(answer.Plugins) == 0 {
			return
		}
	}
}

func (c *collector) plugin(out chan<- prometheus.Metric, info pluginsdk.PluginInfo) {
	send := func(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, kind, value, append([]string{info.Name}, labels...)...)
	}
	figures := info.Figures
	send(c.up, prometheus.GaugeValue, 1, string(info.State))
	send(c.restarts, prometheus.CounterValue, float64(info.Restarts))
	send(c.cpu, prometheus.CounterValue, figures.CPUSeconds)
	send(c.memory, prometheus.GaugeValue, float64(figures.RSSBytes))
	send(c.processes, prometheus.GaugeValue, float64(figures.Processes))
	send(c.slow, prometheus.CounterValue, float64(figures.Slow))
	send(c.heldBack, prometheus.CounterValue, float64(figures.HeldBack))
	send(c.dropped, prometheus.CounterValue, float64(figures.RowsDropped))
	if info.State == pluginsdk.PluginServing { // what one that is off has found last is true no longer
		for name, state := range checked(info.Checks) {
			send(c.check, prometheus.GaugeValue, state, name)
		}
	}
	for hook, calls := range figures.Hooks {
		send(c.calls, prometheus.CounterValue, float64(calls.Calls), string(hook))
		send(c.errors, prometheus.CounterValue, float64(calls.Errors), string(hook))
		send(c.timeouts, prometheus.CounterValue, float64(calls.Timeouts), string(hook))
		send(c.duration, prometheus.GaugeValue, calls.P50.Seconds(), string(hook), "0.5")
		send(c.duration, prometheus.GaugeValue, calls.P99.Seconds(), string(hook), "0.99")
	}
	for method, calls := range figures.Host {
		send(c.hostCalls, prometheus.CounterValue, float64(calls.Calls), method)
		send(c.hostErrors, prometheus.CounterValue, float64(calls.Errors), method)
		send(c.hostDuration, prometheus.GaugeValue, calls.P50.Seconds(), method, "0.5")
		send(c.hostDuration, prometheus.GaugeValue, calls.P99.Seconds(), method, "0.99")
	}
}

// checked returns how bad each thing is that a plugin has looked at, by its name: of several checks of one name the worst.
func checked(checks []pluginsdk.Check) map[string]float64 {
	worst := make(map[string]float64)
	for _, check := range checks {
		name, state := strings.ToValidUTF8(check.Name, "?"), 1.0 // also of a state that is not known here
		switch check.State {
		case pluginsdk.CheckOK:
			state = 0
		case pluginsdk.CheckFailing:
			state = 2
		case pluginsdk.CheckWarning:
		}
		worst[name] = max(worst[name], state)
	}
	return worst
}
