// Package courier is a plugin that carries messages, for campaigns of kills.
// It writes down what it carries before it acknowledges it, and by a seeded
// schedule it refuses, hangs past its deadline, or dies with the message
// delivered and not acknowledged. Its door for people is a directory: a file
// there is a message, and a file beside it says that it was accepted. Beside the
// door are jobs: turns of the agent and tasks, that it sees to until they are over,
// also when it dies meanwhile, and writes down what it is promised and told of them.
package courier

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Name is the plugin's.
const Name = "courier"

// Settings are what an operator writes into the plugin's row.
type Settings struct {
	Dir  string `json:"dir"`  // absolute; asks/, acks/, jobs/ and the logs are in it
	Seed uint64 `json:"seed"` // of its misbehaviour
}

// Grants is what the plugin needs, as its row has it.
func Grants() []pluginsdk.Capability {
	return []pluginsdk.Capability{
		pluginsdk.CapThreadsWrite, pluginsdk.CapMessagesSubmit, pluginsdk.CapMessagesWrite,
		pluginsdk.CapAgentInvoke, pluginsdk.CapTasksRead, pluginsdk.CapTasksWrite, pluginsdk.CapRunsRead,
		pluginsdk.CapTurnsRead, pluginsdk.CapTurnsChange, pluginsdk.CapTurnsDecide, pluginsdk.CapTasksPrepare, pluginsdk.CapTasksJudge,
	}
}

// Plugin is the courier.
type Plugin struct {
	host     pluginsdk.Host
	settings Settings

	mu    sync.Mutex
	tries map[string]int  // calls so far, by what they carried, or asked
	busy  map[string]bool // keys of the jobs that are seen to, or are over
	stop  context.CancelFunc
	ended sync.WaitGroup
}

// Manifest describes the plugin.
func (*Plugin) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name: Name, Version: "1.0.0", Description: "Carries messages to a file, badly",
		Capabilities: []pluginsdk.CapabilityRequest{
			{Capability: pluginsdk.CapThreadsWrite, Reason: "make the threads of its people"},
			{Capability: pluginsdk.CapMessagesSubmit, Reason: "hand in what they say"},
			{Capability: pluginsdk.CapMessagesWrite, Reason: "note each run's start and end"},
			{Capability: pluginsdk.CapAgentInvoke, Reason: "ask for turns"},
			{Capability: pluginsdk.CapTasksRead, Reason: "see how far its tasks are"},
			{Capability: pluginsdk.CapTasksWrite, Reason: "make tasks and take them on"},
			{Capability: pluginsdk.CapRunsRead, Reason: "wait for their iterations"},
		},
		OnFailure: map[pluginsdk.Hook]pluginsdk.OnFailure{
			pluginsdk.HookPipelineStart: pluginsdk.FailClosed, pluginsdk.HookPipelineComplete: pluginsdk.FailClosed,
		},
	}
}

// Start reads the settings, and what earlier lives of the plugin did.
func (p *Plugin) Start(ctx context.Context, host pluginsdk.Host) error {
	p.host = host
	answer, err := host.Settings.Get(ctx, &pluginsdk.GetSettingsRequest{})
	if err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	if err := json.Unmarshal(answer.Settings, &p.settings); err != nil || p.settings.Dir == "" {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: want a dir, got %s", answer.Settings)
	}
	return p.remember()
}

// remember reads what earlier lives of the plugin wrote down: a job that is not over is
// seen to again.
func (p *Plugin) remember() error {
	p.tries, p.busy = map[string]int{}, map[string]bool{}
	calls, err := Log(p.settings.Dir)
	if err != nil {
		return err
	}
	for _, call := range calls {
		p.tries[call.about()]++
	}
	events, err := Work(p.settings.Dir)
	for _, event := range events {
		switch event.What {
		case Asked:
			p.tries[event.about()]++
		case Ended, Refused:
			p.busy[event.Key] = true
		}
	}
	return err
}

// Activate opens the door.
func (p *Plugin) Activate(context.Context) error {
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	p.ended.Go(func() { p.attend(ctx) })
	return nil
}

// Deactivate closes it.
func (p *Plugin) Deactivate(context.Context) error {
	p.stop()
	p.ended.Wait()
	return nil
}

func asks(dir string) string { return filepath.Join(dir, "asks") }
func acks(dir string) string { return filepath.Join(dir, "acks") }
func jobs(dir string) string { return filepath.Join(dir, "jobs") }
