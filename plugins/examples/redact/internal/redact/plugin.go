// Package redact takes secrets out of what people are shown.
package redact

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Plugin answers OnBeforeReply with the reply in which a mark stands for
// everything that matches a pattern.
type Plugin struct {
	rules atomic.Pointer[rules]
}

// Manifest describes the plugin. It asks for OnBeforeReply to fail closed: a
// reply that was not looked at must not be shown.
func (*Plugin) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name:           "redact",
		Version:        "0.1.0",
		Description:    "Takes secrets out of replies",
		OnFailure:      map[pluginsdk.Hook]pluginsdk.OnFailure{pluginsdk.HookBeforeReply: pluginsdk.FailClosed},
		SettingsSchema: schema,
	}
}

// Start reads the settings. Wrong ones are an error that names the pattern.
func (p *Plugin) Start(ctx context.Context, host pluginsdk.Host) error {
	answer, err := host.Settings.Get(ctx, &pluginsdk.GetSettingsRequest{})
	if err != nil {
		return err
	}
	return p.configure(answer.Settings)
}

// OnSettingsChange takes new settings. Wrong ones are an error, and the last
// good ones stay in force.
func (p *Plugin) OnSettingsChange(_ context.Context, change *pluginsdk.OnSettingsChangeRequest) (*pluginsdk.OnSettingsChangeResponse, error) {
	return &pluginsdk.OnSettingsChangeResponse{}, p.configure(change.Settings)
}

// configure replaces the rules as a whole: a reply that is being looked at
// sees the old ones or the new ones.
func (p *Plugin) configure(raw json.RawMessage) error {
	compiled, err := compile(raw)
	if err != nil {
		return err
	}
	p.rules.Store(compiled)
	return nil
}

// OnBeforeReply returns the reply without what the rules name.
func (p *Plugin) OnBeforeReply(_ context.Context, reply *pluginsdk.OnBeforeReplyRequest) (*pluginsdk.OnBeforeReplyResponse, error) {
	text := p.rules.Load().apply(reply.Text)
	return &pluginsdk.OnBeforeReplyResponse{Text: &text}, nil
}
