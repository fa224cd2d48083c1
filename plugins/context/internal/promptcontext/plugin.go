// Package promptcontext puts what the agent should know in front of a prompt:
// the workspace's context files, and the conversation so far when the agent's
// session does not hold it.
package promptcontext

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// workspaceVariable names the workspace of the installation.
const workspaceVariable = "HARNESS_WORKSPACE"

// Plugin answers OnBeforeInvoke with `# Context` and `# Conversation History`
// in front of the prompt it is given, each only when it is not empty. The files
// are for the threads that the settings name, the history for every thread. Because
// it goes before the time plugin in the order of the chain, a prompt reads:
// the time, the context, the history, then the core's header and the message.
type Plugin struct {
	messages pluginsdk.Messages
	log      *slog.Logger
	shelf    atomic.Pointer[shelf]
}

// shelf is the context files, and who is shown them.
type shelf struct {
	files    *directory
	audience audience
}

// section returns `# Context` as a thread is shown it.
func (s *shelf) section(thread pluginsdk.Thread) string {
	return s.files.section(func(name string) bool { return s.audience.shows(thread, name) })
}

// Manifest describes the plugin.
func (*Plugin) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name:         "context",
		Version:      "0.1.0",
		Description:  "Puts the workspace's context files and the conversation's history in front of prompts",
		PromptPrefix: true,
		Capabilities: []pluginsdk.CapabilityRequest{{
			Capability: pluginsdk.CapMessagesRead,
			Reason:     "read the conversation that a new session of the agent does not know",
		}},
		Environment: []pluginsdk.EnvironmentRequest{{
			Name:   workspaceVariable,
			Reason: "find the workspace, whose context directory holds the files",
		}},
		SettingsSchema: settingsSchema,
	}
}

// Start reads the settings. Wrong ones are an error that names what is wrong. A directory
// that the settings name and that is not there is CodeUnavailable: it can be on a disk that
// comes later, and the plugin is started again until it is there.
func (p *Plugin) Start(ctx context.Context, host pluginsdk.Host) error {
	p.messages, p.log = host.Messages, host.Log
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	answer, err := host.Settings.Get(ctx, &pluginsdk.GetSettingsRequest{})
	if err != nil {
		return err
	}
	err = p.configure(answer.Settings)
	if errors.Is(err, errNoDirectory) {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%w", err)
	}
	return err
}

// OnSettingsChange takes new settings. Wrong ones are an error, and the last
// good ones stay in force.
func (p *Plugin) OnSettingsChange(_ context.Context, change *pluginsdk.OnSettingsChangeRequest) (*pluginsdk.OnSettingsChangeResponse, error) {
	return &pluginsdk.OnSettingsChangeResponse{}, p.configure(change.Settings)
}

func (p *Plugin) configure(raw []byte) error {
	config, err := parseConfig(raw, os.Getenv(workspaceVariable))
	if err != nil {
		return err
	}
	if err := config.checkDir(); err != nil {
		return err
	}
	if config.Dir == "" {
		p.log.Warn("no context directory: " + workspaceVariable + " is not set, and the setting dir is not either")
	}
	p.shelf.Store(&shelf{files: newDirectory(config.Dir, config.named, config.MaxFileBytes, p.log), audience: config.audience})
	return nil
}

// OnBeforeInvoke returns the parts, which go in front of the prompt. A part that
// cannot be read is logged and left out: a prompt without it is better than none.
func (p *Plugin) OnBeforeInvoke(ctx context.Context, prompt *pluginsdk.OnBeforeInvokeRequest) (*pluginsdk.OnBeforeInvokeResponse, error) {
	var parts []string
	if section := p.shelf.Load().section(prompt.Thread); section != "" {
		parts = append(parts, section)
	}
	if prompt.Thread.SessionID == "" {
		history, err := p.history(ctx, prompt)
		if err != nil {
			p.log.Error("the conversation's history could not be read; the agent goes without it",
				"thread", prompt.Thread.ID, "run", prompt.Call.RunID, "err", err)
		}
		if history != "" {
			parts = append(parts, history)
		}
	}
	return &pluginsdk.OnBeforeInvokeResponse{Prefix: strings.Join(parts, pluginsdk.PromptSeparator)}, nil
}
