// Package discord brings the assistant to Discord: what people write there becomes
// messages, and what they are to read is carried back.
package discord

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	name    = "discord"
	version = "0.1.0"
	// source is that of the threads of people, sourceOwner of those in which nobody but
	// the owner speaks and reads.
	source      = "discord"
	sourceOwner = "discord-owner"
)

// hostTime bounds a call of the host.
const hostTime = 30 * time.Second

// Plugin is the bot. Between Activate and Deactivate it is connected and reads; it can
// deliver whenever it is started and has a token.
type Plugin struct {
	host      pluginsdk.Host
	account   atomic.Pointer[account]
	runs      *runs
	views     *views
	at        *inFlight // submissions, by channel
	side      *lanes    // what follows from events, by run and approval
	reactions *reactions
	hearing   hearing
	pace      time.Duration // the shortest wait before what failed is tried again; 0: a second. For tests

	mu      sync.Mutex // guards what follows
	active  bool
	session *session // nil: not connected, and not about to be
	ended   chan struct{}
}

// account is the settings, and who asks Discord by them. It is replaced as a whole.
type account struct {
	*config
	client *rest.Client // nil: there is no token

	// asked is when a session with the gateway was last begun, or was about to be, in
	// milliseconds: that of the token, whatever the other settings.
	asked *atomic.Int64

	mu   sync.Mutex
	self string // the bot's user id; empty before Discord was asked
}

// Manifest describes the plugin. It is exclusive: two processes that listen as one bot
// would both read every message.
func (*Plugin) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name: name, Version: version, Description: "Brings the assistant to Discord",
		Sources: []string{source, sourceOwner}, Exclusive: true,
		Commands: []pluginsdk.CommandSpec{{
			Name: name, Beside: true, Description: "the bot's invitation, and how it stands with Discord", Usage: "invite|status", Options: []pluginsdk.CommandOption{
				{Name: "what", Type: pluginsdk.OptionChoice, Choices: []string{"invite", "status"}, Required: true},
			},
		}},
		Events:     slices.Concat(concerning[0].Types, concerning[1].Types, concerning[2].Types, []string{string(pluginsdk.EventResync)}),
		EventRules: concerning,
		Capabilities: []pluginsdk.CapabilityRequest{
			{Capability: pluginsdk.CapThreadsRead, Reason: "know which threads are Discord's, and offer their names"},
			{Capability: pluginsdk.CapThreadsWrite, Reason: "each channel is a thread"},
			{Capability: pluginsdk.CapMessagesRead, Reason: "find what a message answers, and why a run has ended"},
			{Capability: pluginsdk.CapMessagesSubmit, Reason: "what people write is given to the agent"},
			{Capability: pluginsdk.CapRunsRead, Reason: "show how far the answer to a message is"},
			{Capability: pluginsdk.CapRunsControl, Reason: "people stop and repeat what the agent does, by buttons and commands"},
			{Capability: pluginsdk.CapDeliveriesRead, Reason: "know what was posted last before a post is repeated, and where a plugin's buttons were shown"},
			{Capability: pluginsdk.CapEventsRead, Reason: "show an answer while it is written"},
			{Capability: pluginsdk.CapCommandsRead, Reason: "offer the commands that there are as Discord's own"},
			{Capability: pluginsdk.CapApprovalsRead, Reason: "show what the agent asks people"},
			{Capability: pluginsdk.CapApprovalsDecide, Reason: "hand in what those answer who may"},
			{Capability: pluginsdk.CapFilesRead, Reason: "send the files that the agent makes"},
			{Capability: pluginsdk.CapFilesWrite, Reason: "give the agent the files that people send"},
			{Capability: pluginsdk.CapState, Reason: "remember up to which message the channels were read"},
			{Capability: pluginsdk.CapTasksRead, Reason: "show the tasks that people are told of"},
			{Capability: pluginsdk.CapTasksDecide, Reason: "hand in a person's word on a task that waits for one"},
		},
		Environment: []pluginsdk.EnvironmentRequest{
			{Name: tokenVariable, Reason: "the bot's token, where no setting has it"},
			{Name: channelVariable, Reason: "the channel for what has no place of its own, where no setting names it"},
		},
		SettingsSchema: settingsSchema,
	}
}

// Start reads the settings. Nothing is connected yet: the version before may still be.
func (p *Plugin) Start(ctx context.Context, host pluginsdk.Host) error {
	p.host = host
	if p.pace == 0 {
		p.pace = time.Second
	}
	p.runs = &runs{state: host.State, log: host.Log, known: make(map[string]*record)}
	p.views = &views{p: p, running: make(map[string]*view)}
	p.side = newLanes(context.Background(), host.Log)
	p.reactions = &reactions{p: p, lanes: newLanes(context.Background(), host.Log), wanted: make(map[question]string), shown: make(map[question]string)}
	p.at = &inFlight{channels: make(map[string][]chan struct{})}
	answer, err := host.Settings.Get(ctx, &pluginsdk.GetSettingsRequest{})
	if err != nil {
		return err
	}
	_, err = p.configure(answer.Settings, false)
	return err
}

// configure takes settings in, and reports whether the bot is another one by them, or is to
// be connected anew.
func (p *Plugin) configure(raw json.RawMessage, anew bool) (another bool, err error) {
	parsed, err := parse(raw)
	if err != nil {
		return false, err
	}
	next := &account{config: parsed, asked: new(atomic.Int64)}
	before := p.account.Load()
	switch {
	case !anew && before != nil && before.Token == parsed.Token && before.APIURL == parsed.APIURL:
		next.client, next.self, next.asked = before.client, before.known(), before.asked
	case parsed.Token != "":
		another = true
		next.client, err = rest.New(rest.Config{Token: parsed.Token, Base: parsed.APIURL, Version: version, Log: p.host.Log})
		if err != nil {
			return false, err
		}
	default:
		another = true
	}
	p.account.Store(next)
	return another, nil
}

// OnSettingsChange takes new settings. Wrong ones are an error, and the last good ones stay
// in force. With another token or address the bot connects anew, and with any change when
// Discord has refused it.
func (p *Plugin) OnSettingsChange(ctx context.Context, change *pluginsdk.OnSettingsChangeRequest) (*pluginsdk.OnSettingsChangeResponse, error) {
	before := p.connected()
	another, err := p.configure(change.Settings, before != nil && before.refused())
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	if another && p.active {
		p.hangUp()
		p.connect()
	}
	p.mu.Unlock()
	p.hearLess(ctx)
	return &pluginsdk.OnSettingsChangeResponse{}, nil
}

// hearLess is hear for a plugin that has no session, whose session calls it otherwise. What it
// is told in spite of it does no harm.
func (p *Plugin) hearLess(ctx context.Context) {
	if p.connected() != nil {
		return
	}
	if err := p.hear(ctx); err != nil {
		p.host.Log.Warn("the host goes on telling events that concern nobody", "err", err)
	}
}

// Activate begins to connect. That Discord does not answer is no error: the bot goes on
// trying, and OnCheck says so.
func (p *Plugin) Activate(ctx context.Context) error {
	p.mu.Lock()
	if !p.active {
		p.active = true
		p.connect()
	}
	p.mu.Unlock()
	p.hearLess(ctx)
	return nil
}

// connect begins a session; the one before has been told to end, and is waited for. The
// caller holds mu.
func (p *Plugin) connect() {
	of := p.account.Load()
	if of.client == nil {
		return
	}
	before, ended := p.ended, make(chan struct{})
	s := newSession(p, of)
	p.session, p.ended = s, ended
	go func() {
		defer close(ended)
		if before != nil {
			<-before
		}
		s.run()
	}()
}

// hangUp tells the session to end. The caller holds mu.
func (p *Plugin) hangUp() {
	if p.session != nil {
		p.session.cancel()
		p.session = nil
	}
}

// Deactivate ends the connection, and returns when nothing more is read.
func (p *Plugin) Deactivate(ctx context.Context) error {
	p.mu.Lock()
	p.active = false
	p.hangUp()
	ended := p.ended
	p.mu.Unlock()
	p.views.stopAll()
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

// connected is the session, or nil.
func (p *Plugin) connected() *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.session
}

// known is the bot's user id as far as it is known.
func (a *account) known() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.self
}

// me is the bot's user id.
func (a *account) me(ctx context.Context) (string, error) {
	if id := a.known(); id != "" {
		return id, nil
	}
	user, err := a.client.Me(ctx)
	if err != nil {
		return "", err
	}
	a.know(user.ID)
	return user.ID, nil
}

// know takes in the bot's user id.
func (a *account) know(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.self = id
}
