// Package adapter connects a chat service to Harness: what people write there
// becomes messages in threads, and replies are carried back.
package adapter

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-706843ae/harness/plugins/examples/slack-like/internal/chat"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// name is the plugin's.
	name = "slack-like"
	// source is that of its threads: what the plugin is called can change, and a
	// thread's source cannot.
	source = "slack"
)

// Plugin is the adapter. Between Activate and Deactivate it listens to the
// service; it can deliver whenever it is started.
type Plugin struct {
	// HTTP is the client for calls of the service; nil means one of its own.
	HTTP *http.Client
	// Pause is the wait before the service is asked again after an error. It
	// doubles up to a minute; 0 means 1 s.
	Pause time.Duration

	host     pluginsdk.Host
	settings atomic.Pointer[settings]
	changed  chan struct{} // has an element when the settings are new

	mu     sync.Mutex
	cancel context.CancelFunc // ends the listener; nil while there is none
	ended  chan struct{}      // closed when the last listener has ended; nil before the first
}

// Manifest describes the plugin. It is exclusive: two processes that listen as
// one bot would both read every message.
func (*Plugin) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name:        name,
		Version:     "0.1.0",
		Description: "Connects a chat service",
		Sources:     []string{source},
		Exclusive:   true,
		Capabilities: []pluginsdk.CapabilityRequest{
			{Capability: pluginsdk.CapThreadsWrite, Reason: "each channel is a thread"},
			{Capability: pluginsdk.CapMessagesSubmit, Reason: "what people write in a channel is given to the agent"},
			{Capability: pluginsdk.CapState, Reason: "remembers up to which message the channels were read"},
		},
		SettingsSchema: schema,
	}
}

// Start reads the settings. Nothing is connected yet: a new version is started
// beside the old one, which still listens.
func (p *Plugin) Start(ctx context.Context, host pluginsdk.Host) error {
	p.host, p.changed = host, make(chan struct{}, 1)
	answer, err := host.Settings.Get(ctx, &pluginsdk.GetSettingsRequest{})
	if err != nil {
		return err
	}
	return p.configure(answer.Settings)
}

// OnSettingsChange takes new settings, also while it listens. Wrong ones are
// an error, and the last good ones stay in force.
func (p *Plugin) OnSettingsChange(_ context.Context, change *pluginsdk.OnSettingsChangeRequest) (*pluginsdk.OnSettingsChangeResponse, error) {
	return &pluginsdk.OnSettingsChangeResponse{}, p.configure(change.Settings)
}

func (p *Plugin) configure(raw json.RawMessage) error {
	parsed, err := parse(raw)
	if err != nil {
		return err
	}
	p.settings.Store(parsed)
	select {
	case p.changed <- struct{}{}:
	default: // the listener will see these, too
	}
	return nil
}

// client is the service as the settings are now.
func (p *Plugin) client() (*chat.Client, error) {
	settings := p.settings.Load()
	if settings.URL == "" || settings.Token == "" {
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the settings url and token are not set yet")
	}
	client := p.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	return &chat.Client{URL: settings.URL, Token: settings.Token, HTTP: client}, nil
}

// Activate begins to listen.
func (p *Plugin) Activate(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cancel != nil {
		return nil
	}
	// The listener outlives this call, so it has a context of its own.
	ctx, cancel := context.WithCancel(context.Background())
	before, ended := p.ended, make(chan struct{})
	p.cancel, p.ended = cancel, ended
	go func() {
		defer close(ended)
		if before != nil {
			<-before
		}
		p.listen(ctx)
	}()
	return nil
}

// Deactivate ends listening, and returns when nothing more is read.
func (p *Plugin) Deactivate(ctx context.Context) error {
	p.mu.Lock()
	ended := p.ended
	if p.cancel != nil {
		p.cancel()
		p.cancel = nil
	}
	p.mu.Unlock()
	if ended == nil {
		return nil
	}
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
