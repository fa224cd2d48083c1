// Package cron is the plugin that fires scheduled jobs.
package cron

import (
	"runtime"
	"time"

	"github.com/seed-706843ae/harness/plugins/cron/internal/cron"
	"github.com/seed-706843ae/harness/plugins/internal/run"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// New returns the plugin, and sets up this process for it. It does not return in a process
// that was started to end what a job's command has left behind (see run.Reap).
func New() pluginsdk.Plugin {
	run.Reap()
	runtime.GOMAXPROCS(1) // it waits for others; see the plugin time
	return new(cron.Plugin)
}

// NewStepped returns the plugin for tests in which years pass: now is its clock, and it looks at the jobs when the
// test calls Step. The test starts such a plugin, and never activates it.
func NewStepped(now func() time.Time) *cron.Plugin { return &cron.Plugin{Now: now} }
