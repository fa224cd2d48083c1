// Package cron fires scheduled jobs.
package cron

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	_ "time/tzdata" // a machine without a zone database must still know the zones

	"github.com/seed-706843ae/harness/plugins/internal/run"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const name = "cron"

// Plugin submits the prompt of each job when it is due, once for each time that it is due, whatever
// is killed over it: a fire is decided on disk first, then submitted under a key of its job and
// time, then followed to its end. It keeps nothing but what is in the jobs' rows and their fires'.
type Plugin struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time

	host pluginsdk.Host
	// mostFailures is the setting pauseAfter.
	mostFailures atomic.Int64
	do           func(context.Context, run.Command) (run.Result, error) // runs the commands of jobs
	work         context.Context                                        // ends when it is not active any more; commands end with it
	// fingerprint and stat read the files of jobs; they may hang.
	fingerprint func(path, known string) (string, error)
	stat        func(path string) (os.FileInfo, error)

	mu     sync.Mutex                      // held while jobs are looked at, and guards what follows
	loaded bool                            // open is what the rows say
	open   map[string][]pluginsdk.CronFire // by job, in order: those of which something is yet to become
	spread map[fireKey]time.Time           // when a fire is made that is not made at once
	// lookings are the commands that look for news for a fire, until it is made.
	lookings map[fireKey]*looking
	sights   map[string]*sight   // by job: the read of the file that its trigger names
	looks    int                 // how often the jobs were looked at
	began    time.Time           // when it began to look: it was not there at times before
	removed  map[string]bool     // jobs that were removed and have fires in open
	unsure   map[fireKey]bool    // fires that a process before this one may have submitted
	event    time.Time           // when something that has happened may have a job fire; zero: nothing has
	words    allowance           // the times in words that were translated lately
	written  *string             // the block of system.md as it was written last; nil: not known
	refused  int                 // how often in a row it could not be written, since somebody was faster
	notices  map[string][]string // by run: the calls by which it has told people something

	reads atomic.Int64       // how many files are being read, or asked what they are
	again atomic.Bool        // rows of fires may have been written by others
	over  atomic.Bool        // the run of a fire may be over
	wake  chan struct{}      // has an element when it is to look at once
	end   context.CancelFunc // of the goroutine that looks; nil: it is not active
	ended chan struct{}      // closed when it looks no more
}

// Manifest describes the plugin.
func (*Plugin) Manifest() pluginsdk.Manifest {
	ends := []string{string(pluginsdk.EventPipelineComplete), string(pluginsdk.EventPipelineError), string(pluginsdk.EventPipelineMerged)}
	tasks := []string{string(pluginsdk.EventTaskValidated), string(pluginsdk.EventTaskFailed), string(pluginsdk.EventTaskCancelled)}
	return pluginsdk.Manifest{
		Name: name, Version: "0.1.0", Description: "Fires jobs on a schedule, and keeps what became of each fire", Exclusive: true,
		Environment: []pluginsdk.EnvironmentRequest{{Name: workspaceVariable, Reason: "where the commands of jobs run"}},
		Commands:    commands(),
		Tools:       tools(),
		Events:      slices.Concat(ends, tasks, []string{string(pluginsdk.EventCronChanged), string(pluginsdk.EventResync)}),
		EventRules:  []pluginsdk.EventRule{{Types: ends, Own: true}, {Types: append(tasks, string(pluginsdk.EventCronChanged))}},
		Capabilities: []pluginsdk.CapabilityRequest{
			{Capability: pluginsdk.CapCronsRead, Reason: "know the jobs"},
			{Capability: pluginsdk.CapCronsWrite, Reason: "make and change jobs for people and the agent, and say what became of each fire"},
			{Capability: pluginsdk.CapThreadsRead, Reason: "know whether an agent that calls its tools speaks with strangers, or is a schedule's"},
			{Capability: pluginsdk.CapThreadsWrite, Reason: "each job has a thread"},
			{Capability: pluginsdk.CapThreadsAdmin, Reason: "have what a job says go to where the job says, and fire into threads of all sources"},
			{Capability: pluginsdk.CapMessagesSubmit, Reason: "give the agent the prompt of a job"},
			{Capability: pluginsdk.CapMessagesRead, Reason: "know after a crash whether a prompt was given"},
			{Capability: pluginsdk.CapMessagesWrite, Reason: "say in a job's thread that it was turned off after failures"},
			{Capability: pluginsdk.CapRunsRead, Reason: "know what became of a fire, and what it has cost"},
			{Capability: pluginsdk.CapRunsControl, Reason: "stop the run before, of jobs that want that"},
			{Capability: pluginsdk.CapTasksRead, Reason: "know which tasks have ended, for jobs that fire on that"},
			{Capability: pluginsdk.CapAgentInvoke, Reason: "translate a time in words, such as every weekday at 9, into a schedule"},
			{Capability: pluginsdk.CapInstallationRead, Reason: "know whether the agent's plan has room, for jobs that fire only with some"},
			{Capability: pluginsdk.CapWorkspaceRead, Reason: "tell the agent in system.md which schedules are on"},
			{Capability: pluginsdk.CapWorkspaceWrite, Reason: "keep that current"},
			{Capability: pluginsdk.CapState, Reason: "know which jobs it has made at the first start"},
			{Capability: pluginsdk.CapEventsRead, Reason: "learn that a job was changed, and that the run of a fire is over"},
		},
		SettingsSchema: json.RawMessage(settingsSchema),
	}
}

// Start keeps the host, and reads the settings.
func (p *Plugin) Start(ctx context.Context, host pluginsdk.Host) error {
	p.host = host
	answer, err := host.Settings.Get(ctx, &pluginsdk.GetSettingsRequest{})
	if err == nil {
		err = p.set(answer.Settings)
	}
	if err != nil {
		return err
	}
	p.wake = make(chan struct{}, 1)
	p.forget()
	p.work = context.WithoutCancel(ctx)
	if p.do == nil {
		p.do = run.Do
	}
	if p.fingerprint == nil {
		p.fingerprint = fingerprint
	}
	if p.stat == nil {
		p.stat = os.Stat
	}
	return nil
}

const (
	// lookAnyway is how often the jobs are read while one is on, beside when one is due and when it is
	// told that they were changed: the clock on the wall may be set, and a timer does not follow that.
	// While none is on, they are read every lookRarely.
	lookAnyway = 30 * time.Second
	lookRarely = 5 * time.Minute
	// lookSoon is how long after a look that failed there is another.
	lookSoon = 3 * time.Second
	// lookLate is how long after the moment at which a job is due the jobs are read: the clock of a
	// timer and that on the wall differ a little.
	lookLate = 5 * time.Millisecond
	// lookAgain is how long there is at least between two looks of which nobody has asked for the second.
	lookAgain = 50 * time.Millisecond
	// settleEvery is how often it is asked what became of fires, whatever was told: an event may
	// be lost.
	settleEvery = 30 * time.Second
)

// Activate makes the jobs that it comes with, and begins to fire.
func (p *Plugin) Activate(ctx context.Context) error {
	p.mu.Lock()
	p.forget() // what became of fires while it was not active is in their rows
	work, end := context.WithCancel(context.WithoutCancel(ctx))
	p.work = work
	p.mu.Unlock()
	p.end, p.ended = end, make(chan struct{})
	go p.follow(work, p.ended)
	return nil
}

// forget has it know nothing of fires but what their rows say.
func (p *Plugin) forget() {
	p.loaded, p.began = false, p.now()
	p.spread, p.lookings, p.unsure = make(map[fireKey]time.Time), make(map[fireKey]*looking), make(map[fireKey]bool)
	p.notices, p.sights, p.removed = make(map[string][]string), make(map[string]*sight), make(map[string]bool)
}

// Deactivate ends firing. What is under way goes on: its end is seen by the process that comes next.
func (p *Plugin) Deactivate(context.Context) error {
	if p.end != nil {
		p.end()
		<-p.ended
		p.end = nil
	}
	return nil
}

// follow looks at the jobs until ctx ends.
func (p *Plugin) follow(ctx context.Context, ended chan<- struct{}) {
	defer close(ended)
	var settled time.Time
	for seeded := false; ; {
		var failed error
		if !seeded {
			failed = p.seed(ctx)
			seeded = failed == nil
		}
		wait, err := p.look(ctx)
		failed = errors.Join(failed, err)
		if over := p.over.Swap(false); over || time.Since(settled) > settleEvery {
			if time.Since(settled) > settleEvery {
				p.again.Store(true) // the next look reads them: an event may be lost
			}
			settled = time.Now()
			if err := p.settle(ctx); err != nil {
				failed = errors.Join(failed, err)
				p.over.Store(true)
			}
		}
		if ctx.Err() != nil {
			return
		}
		if failed != nil {
			wait = lookSoon
			p.host.Log.Warn("scheduled jobs could not all be looked at; trying again", "err", failed, "in", wait)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-p.wake:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// soon has the jobs looked at at once.
func (p *Plugin) soon() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *Plugin) now() time.Time {
	if p.Now != nil {
		return p.Now()
	}
	return time.Now().UTC()
}

// OnBroadcast takes in that runs are over, and that jobs or fires were written. What became of them is read elsewhere: an event does not
// wait for the host.
func (p *Plugin) OnBroadcast(_ context.Context, request *pluginsdk.OnBroadcastRequest) (*pluginsdk.OnBroadcastResponse, error) {
	for _, event := range request.Events {
		if event.Type != pluginsdk.EventCronChanged && !strings.HasPrefix(string(event.Type), "task:") {
			p.over.Store(true)
		}
		if event.Type == pluginsdk.EventCronChanged || event.Type == pluginsdk.EventResync {
			p.again.Store(true)
		}
	}
	p.soon()
	return nil, nil
}
