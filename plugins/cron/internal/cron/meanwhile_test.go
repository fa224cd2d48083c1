package cron

import (
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What is done with a schedule while a plugin is asked about a change of it stays: it is neither turned on again, nor made
// again, nor changed back.
func TestWhatIsDoneWhileAPluginIsAsked(t *testing.T) {
	for done, holds := range map[string]func(w *world) bool{
		"off watch":                        func(w *world) bool { return !w.job("watch").Enabled },
		"rm watch":                         func(w *world) bool { return !strings.Contains(w.command("list"), "watch") },
		"edit watch | hours = 08:00-10:00": func(w *world) bool { return w.job("watch").Spec.Hours != "" },
		"edit watch | prompt = Look up":    func(w *world) bool { return w.job("watch").Spec.Prompt == "Look up" },
	} {
		for _, asks := range []string{"confirm watch", "edit watch | when = plugin:news other words"} {
			t.Run(done+" during "+asks, func(t *testing.T) {
				w := newWorld(t, hour(), nil)
				w.hourly(pluginsdk.CronSpec{})
				spec := w.job("watch").Spec
				spec.When = "plugin:news words"
				w.save(spec)
				w.host.Cron = func(string, pluginsdk.CronQuestion) (pluginsdk.OnCronResponse, error) {
					w.host.Cron = nil
					if got := w.command(done); strings.HasPrefix(got, "error") {
						t.Error(got)
					}
					return pluginsdk.OnCronResponse{}, nil
				}
				if got := w.as(pluginsdk.ScopeAdmin, asks); !strings.HasPrefix(got, "error: ") || !strings.Contains(got, "just now") {
					t.Error(got)
				}
				if !holds(w) {
					t.Errorf("%s is undone", done)
				}
			})
		}
	}
}
