package discord

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/gateway"
	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
)

// What the bot wants to be told. The last one is privileged: it is left out where the
// application has not switched it on, and then the bot reads only what is meant for it.
// Source: events/gateway#list-of-intents.
const (
	intentGuilds         = 1 << 0
	intentGuildMessages  = 1 << 9
	intentDirectMessages = 1 << 12
	intentMessageContent = 1 << 15
	intents              = intentGuilds | intentGuildMessages | intentDirectMessages
)

// closedIntents is the gateway's refusal of an intent that is not switched on.
// Source: topics/opcodes-and-status-codes#gateway-gateway-close-event-codes.
const closedIntents = 4014

const (
	alivePause = 5 * time.Minute // between notes that the bot is connected
	firstPause = time.Second     // before Discord is asked again who the bot is
	maxPause   = time.Minute
)

// session is the bot's life with one token: it is who it is, connected, and reads.
type session struct {
	p      *Plugin
	token  *account        // the account that it began with; settings may have been changed since
	ctx    context.Context //nolint:containedctx // of all that the session does
	cancel context.CancelFunc

	channels *channels
	lanes    *lanes
	seen     *seen
	recent   *recent
	offers   *offers

	mu      sync.Mutex // guards what follows
	app     wire.Application
	self    wire.User
	content bool // the bot is told what people write everywhere
	conn    *gateway.Connection
	guilds  map[string]bool
	gaps    map[string]bool // channels that are read again from where they were left
	failure error           // why the session cannot go on
}

func newSession(p *Plugin, of *account) *session {
	ctx, cancel := context.WithCancel(context.Background())
	s := &session{
		p: p, token: of, ctx: ctx, cancel: cancel, channels: newChannels(), lanes: newLanes(ctx, p.host.Log),
		recent: newRecent(), guilds: make(map[string]bool), gaps: make(map[string]bool),
	}
	s.offers = newOffers(s)
	return s
}

// account is the settings as they are now.
func (s *session) account() *account { return s.p.account.Load() }

func (s *session) client() *rest.Client { return s.token.client }

// run is the session's life. It returns when all that it began has ended.
func (s *session) run() {
	defer s.cancel()
	err := s.introduce()
	if err == nil {
		go s.keepAlive()
		s.p.side.push("", false, s.p.resume)
		err = s.listen()
	}
	if err != nil && s.ctx.Err() == nil {
		s.p.host.Log.Error("the bot is not connected to Discord, and will not be before its settings are changed", "err", err)
		s.mu.Lock()
		s.failure = err
		s.mu.Unlock()
	}
	<-s.ctx.Done()
	s.lanes.wait()
	s.offers.wait()
	if s.seen != nil {
		s.seen.flush(context.Background())
	}
}

// introduce learns who the bot is, and reads what is stored. What may pass is tried again.
func (s *session) introduce() error {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := s.learn()
		if err == nil || !passing(err) {
			return err
		}
		s.p.host.Log.Warn("Discord does not say who the bot is; trying again", "err", err, "in", pause.String())
		s.fail(err)
		if !s.rest(pause) {
			return nil
		}
	}
}

// rest waits; false: the session is over.
func (s *session) rest(pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.ctx.Done():
		return false
	}
}

func (s *session) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = err
}

func (s *session) learn() error {
	app, err := s.client().Application(s.ctx)
	if err != nil {
		return err
	}
	self, err := s.token.me(s.ctx)
	if err != nil {
		return err
	}
	read, err := readSeen(s.ctx, s.p.host.State, s.p.host.Log)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.app, s.self.ID, s.failure = app, self, nil
	s.content = app.Flags&(wire.FlagMessageContent|wire.FlagMessageContentLimited) != 0
	s.seen = read
	return nil
}

// listen keeps the connection until the session ends. Without the privileged intent it is
// made anew when Discord refuses that one.
func (s *session) listen() error {
	for {
		wanted := intents
		s.mu.Lock()
		if s.content {
			wanted |= intentMessageContent
		}
		conn := gateway.New(gateway.Config{
			Token: s.token.Token, Intents: wanted, URL: s.client().Gateway, Handle: s.handle, Log: s.p.host.Log,
		})
		s.conn = conn
		s.mu.Unlock()
		err := conn.Run(s.ctx)
		var fatal *gateway.Fatal
		if !errors.As(err, &fatal) || fatal.Code != closedIntents || wanted == intents {
			return err
		}
		s.p.host.Log.Warn("the application has not switched on the Message Content Intent: the bot reads direct messages and mentions only")
		s.mu.Lock()
		s.content = false
		s.mu.Unlock()
	}
}

// keepAlive notes now and then that the bot is connected: channels that it has never read
// are read from there on after its next start.
func (s *session) keepAlive() {
	for s.rest(alivePause) {
		s.mu.Lock()
		connected := s.conn != nil && s.conn.Status().Connected
		s.mu.Unlock()
		if connected {
			s.seen.live(s.ctx)
		}
	}
}

// handle deals with an event of the gateway. It does no work itself: what people write goes
// into the lane of its channel.
func (s *session) handle(event gateway.Event) {
	switch event.Type {
	case "READY":
		on(s, event, s.ready)
	case "GUILD_CREATE":
		on(s, event, s.guildCreate)
	case "GUILD_DELETE":
		on(s, event, s.guildDelete)
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE":
		on(s, event, s.channels.put)
	case "CHANNEL_DELETE", "THREAD_DELETE":
		on(s, event, func(gone wire.Channel) { s.channels.drop(gone.ID) })
	case "MESSAGE_CREATE":
		on(s, event, s.written)
	case "MESSAGE_UPDATE":
		on(s, event, s.edited)
	case "INTERACTION_CREATE":
		on(s, event, s.interacted)
	}
}

// on reads an event's data and gives it to do. What cannot be read is logged: one event that
// Discord writes in a new way keeps none of the others from being read.
func on[T any](s *session, event gateway.Event, do func(T)) {
	var data T
	if err := json.Unmarshal(event.Data, &data); err != nil {
		s.p.host.Log.Error("an event of Discord's cannot be read", "event", event.Type, "err", err)
		return
	}
	do(data)
}

// ready begins a session of the gateway's: what was written since the one before was not
// told, and is fetched. Guilds and their channels follow in events of their own.
func (s *session) ready(r wire.Ready) {
	s.mu.Lock()
	s.self = r.User
	s.guilds = make(map[string]bool)
	s.mu.Unlock()
	s.p.host.Log.Info("connected to Discord", "bot", r.User.Username, "guilds", len(r.Guilds))
	go s.direct(s.seen.base())
}

// guildCreate tells of a guild after ready, when it comes back, or when the bot joins it.
func (s *session) guildCreate(g wire.Guild) {
	if g.Unavailable {
		return
	}
	s.mu.Lock()
	s.guilds[g.ID] = true
	self := s.self.ID
	s.mu.Unlock()
	base := s.seen.base()
	for _, channel := range s.channels.guild(g, self) {
		s.catchUp(channel, base)
	}
	s.offers.changed()
}

// guildDelete tells that the bot was taken out of a guild, or that Discord has lost it for
// a while.
func (s *session) guildDelete(g wire.Guild) {
	if g.Unavailable {
		return
	}
	s.channels.dropGuild(g.ID)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.guilds, g.ID)
}

// inGuilds are the guilds that the bot is in.
func (s *session) inGuilds() (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.guilds {
		ids = append(ids, id)
	}
	return ids
}

// owner is the user whose assistant it is.
func (s *session) owner() string {
	if set := s.account().Owner; set != "" {
		return set
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.app.OwnerID()
}

// me is the bot's user id.
func (s *session) me() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.self.ID
}

// application is the bot's own.
func (s *session) application() wire.Application {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.app
}
