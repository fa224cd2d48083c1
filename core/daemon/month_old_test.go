package daemon_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// monthOld is a backup that was made by a Harness of 2026-11-23, before it had schedules, budgets and summaries:
// conversations with the demo agent, a delegated task, two installed plugins, context files that people have
// changed, and jobs that an operator put into the table cron_jobs by SQL, for a plugin of their own.
const monthOld = "testdata/month-old.backup"

// An operator who upgrades from last month keeps every conversation and file, is not surprised by what their old
// rows do, and is not stopped by a budget that they have never seen.
func TestAnInstallationOfLastMonthGoesOn(t *testing.T) {
	each(t, func(t *testing.T, database func(*testing.T) string) {
		in := newInstallation(t, database(t))
		for _, name := range []string{"delegation", "cron", "metrics", "summaries"} {
			in.link(filepath.Join(pluginDir, name), name)
		}
		report, err := daemon.Restore(t.Context(), in.config, monthOld, false, nil)
		if err != nil || len(report.Problems) > 0 {
			t.Fatalf("%v, %q", err, report.Problems)
		}
		// Their files are in no backup; redact is a guard without which nothing is answered.
		in.sql("UPDATE plugins SET enabled = false WHERE name IN ('redact', 'slack-like')")
		in.start()

		var garden string
		for _, thread := range in.threads() {
			if thread.Name == "The garden" {
				garden = thread.ID
			}
		}
		if rows := in.messages(garden); len(rows) == 0 || rows[0].Content != "When do the roses bloom?" {
			t.Errorf("the garden's conversation is %+v", rows)
		}
		workspace := filepath.Join(in.config.Data, "workspace")
		if text, err := os.ReadFile(filepath.Join(workspace, "CLAUDE.md")); err != nil || !strings.HasSuffix(string(text), "Answer in British English.\n") {
			t.Errorf("CLAUDE.md ends with %q, %v", text[max(0, len(text)-80):], err)
		}

		in.until("the seeds and what became of the old jobs", func() bool {
			_, seeded := in.job("Weekly Review")
			return seeded && strings.Contains(in.fires("dentist"), "missed: ")
		})
		for name, want := range map[string]struct {
			enabled bool
			prompt  string
		}{
			"morning":              {true, "Say good morning."},
			"each minute":          {true, "Say tick."},
			"bad":                  {true, "x"},
			"zone":                 {true, "x"},
			"off":                  {false, "Never."},
			"Morning Digest":       {true, "My own digest."},
			"Memory Consolidation": {false, ""},
		} {
			job, ok := in.job(name)
			if !ok || job.Enabled != want.enabled || want.prompt != "" && job.Spec.Prompt != want.prompt {
				t.Errorf("the job %s is now %+v, %v", name, job, ok)
			}
		}
		if said := in.fires("dentist"); !strings.Contains(said, "missed: this time had passed") || strings.Count(said, "\n") != 1 {
			t.Errorf("the reminder of last month: %s", said)
		}
		if said := in.fires("off"); said != "" {
			t.Errorf("the job that was off: %s", said)
		}

		w := in.watch()
		in.say(w, garden, "/cron run each minute")
		in.until("an answer to the old job", func() bool {
			for _, row := range in.messages(garden) {
				if row.Role == pluginsdk.RoleAssistant && strings.Contains(row.Content, "Say tick.") {
					return true
				}
			}
			return false
		})
		in.wantSaid(w, garden, "/budget", "daily", "none of them stops anything")
		in.wantSaid(w, garden, "/summaries", "off")
		for _, check := range daemon.Doctor(t.Context(), in.config) {
			for _, job := range []string{"bad", "zone"} {
				if strings.Contains(check.Name, "schedule "+job) && (check.OK || check.Remedy == "") {
					t.Errorf("doctor says of the job %s: %+v", job, check)
				}
			}
		}
	})
}

// threads are all of them.
func (in *installation) threads() []pluginsdk.Thread {
	in.t.Helper()
	var page struct{ Threads []pluginsdk.Thread }
	in.call(http.MethodGet, "/api/threads", nil, &page)
	return page.Threads
}

// job is a scheduled job, if it is there.
func (in *installation) job(name string) (job pluginsdk.CronJob, ok bool) {
	in.t.Helper()
	status := in.call(http.MethodGet, "/api/crons/"+url.PathEscape(name), nil, &job)
	return job, status == http.StatusOK
}

// fires says what became of the times at which a job was due, a line each.
func (in *installation) fires(name string) string {
	in.t.Helper()
	var page struct{ Fires []pluginsdk.CronFire }
	in.call(http.MethodGet, "/api/crons/"+url.PathEscape(name)+"/fires", nil, &page)
	var lines strings.Builder
	for _, fire := range page.Fires {
		lines.WriteString(string(fire.State) + ": " + fire.Reason + "\n")
	}
	return lines.String()
}
