package discord

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
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
	// aliveSlacks is how much later Discord may tell of a message than it was written, in
	// shortest waits.
	aliveSlacks = 60
	maxPause    = time.Minute // before what failed is tried again
	// identifyPauses is how far two sessions are apart that are begun with one token, in
	// shortest waits. Source: events/gateway#rate-limiting.
	identifyPauses = 5
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
	warned   *recent // strangers who were told that they are not talked to
	offers   *offers
	readers  chan struct{} // has an element for each channel that is being read
	work     sync.WaitGroup
	asked    *asked
	filling  sync.Mutex // held while what was written in a channel is put into its lane, in order

	mu      sync.Mutex // guards what follows
	app     wire.Application
	self    wire.User
	content bool // the bot is told what people write everywhere
	conn    *gateway.Connection
	guilds  map[string]bool
	awaited map[string]bool         // guilds that the gateway has yet to tell of
	directs bool                    // direct messages were looked for
	current map[string]bool         // channels of which events tell all
	gaps    map[string]bool         // channels that are being read, so that no event is needed
	edits   map[string]wire.Message // what messages say now, until that is dealt with
	failure error                   // what keeps the bot from being connected
	over    bool                    // and no more is tried
	reports glance                  // the channel for reports
}

func newSession(p *Plugin, of *account) *session {
	ctx, cancel := context.WithCancel(context.Background())
	s := &session{
		p: p, token: of, ctx: ctx, cancel: cancel, channels: newChannels(), lanes: newLanes(ctx, p.host.Log),
		recent: newRecent(), warned: newRecent(), readers: make(chan struct{}, readers),
		guilds: make(map[string]bool), awaited: make(map[string]bool), current: make(map[string]bool),
		gaps: make(map[string]bool), edits: make(map[string]wire.Message),
		asked: &asked{byID: make(map[string]wire.Message)},
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
	s.hear()
	err := s.introduce()
	if err == nil {
		s.work.Go(s.keepAlive)
		s.p.side.push("", false, s.p.resume)
		err = s.listen()
	}
	if err != nil && s.ctx.Err() == nil {
		s.p.host.Log.Error("the bot is not connected to Discord, and will not be before its settings are changed", "err", err)
		s.mu.Lock()
		s.failure, s.over = err, true
		s.mu.Unlock()
	}
	<-s.ctx.Done()
	s.work.Wait()
	s.offers.stop()
	s.lanes.wait()
	if s.seen != nil {
		s.seen.close()
	}
}

// introduce learns who the bot is, and reads what is stored.
func (s *session) introduce() error {
	return s.insist("Discord does not say who the bot is", func() error {
		err := s.learn()
		if err != nil {
			s.fail(err)
		}
		return err
	})
}

// insist does something again and again as long as what goes wrong may pass, until the
// session is over. what says in a log what goes wrong.
func (s *session) insist(what string, do func() error) error {
	for pause := s.p.pace; ; pause = min(2*pause, maxPause) {
		err := do()
		switch {
		case s.ctx.Err() != nil:
			return s.ctx.Err()
		case err == nil || !passing(err):
			return err
		}
		s.p.host.Log.Warn(what+"; trying again", "err", err, "in", pause.String())
		if !s.rest(pause) {
			return s.ctx.Err()
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

// refused reports whether Discord has refused the bot for good.
func (s *session) refused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// learn asks who the bot is. Where Discord tells that to nobody, the gateway does when the
// session is ready; then nobody is the owner but whom the settings name.
func (s *session) learn() error {
	app, err := s.client().Application(s.ctx)
	if err != nil && !untold(err) {
		return err
	}
	self, err := s.token.me(s.ctx)
	if err != nil && !untold(err) {
		return err
	}
	read, err := readSeen(s.ctx, s.p.host.State, s.p.host.Log)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.app, s.self.ID, s.failure = app, self, nil
	// Without any flags it is not told what the application may be told: it is tried.
	s.content = app.Flags == 0 || app.Flags&(wire.FlagMessageContent|wire.FlagMessageContentLimited) != 0
	s.seen = read
	return nil
}

// untold reports whether Discord has refused an answer for good, and not the token.
func untold(err error) bool {
	var refusal *rest.Error
	return errors.As(err, &refusal) && refusal.Status != http.StatusUnauthorized && !rest.Passing(err)
}

// listen keeps the connection until the session ends. Without the privileged intent it is
// made anew when Discord refuses that one.
func (s *session) listen() error {
	for {
		if !s.rest(time.Until(time.UnixMilli(s.token.asked.Load()).Add(identifyPauses * s.p.pace))) {
			return nil
		}
		wanted := intents
		if s.reads() {
			wanted |= intentMessageContent
		}
		conn := gateway.New(gateway.Config{Token: s.token.Token, Intents: wanted, URL: s.gateway, Handle: s.handle, Log: s.p.host.Log, Wait: s.p.pace})
		s.mu.Lock()
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

// gateway says where to connect. A token that is refused here is refused there.
func (s *session) gateway(ctx context.Context) (wire.GatewayBot, error) {
	bot, err := s.client().Gateway(ctx)
	var refusal *rest.Error
	if errors.As(err, &refusal) && refusal.Status == http.StatusUnauthorized {
		return bot, &gateway.Fatal{Code: closedToken, Reason: refusal.Error()}
	}
	s.token.asked.Store(time.Now().UnixMilli())
	return bot, err
}

// keepAlive notes now and then that the bot is connected.
func (s *session) keepAlive() {
	for s.rest(alivePause) {
		s.noteAlive()
	}
}

// noteAlive notes up to when the bot has been told of everything, once it has been: of the
// guilds that it is in, and of direct messages.
func (s *session) noteAlive() {
	s.mu.Lock()
	var heard time.Time
	if s.conn != nil && s.directs && len(s.awaited) == 0 {
		heard = s.conn.Status().Heard
	}
	s.mu.Unlock()
	if !heard.IsZero() {
		s.seen.live(s.ctx, heard.Add(-aliveSlacks*s.p.pace), s.lanes.busy)
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
	case "CHANNEL_CREATE", "THREAD_CREATE":
		on(s, event, func(made wire.Channel) { s.appeared(made, event.Type == "CHANNEL_CREATE" || made.NewlyCreated) })
	case "CHANNEL_UPDATE", "THREAD_UPDATE":
		on(s, event, s.changed)
	case "CHANNEL_DELETE", "THREAD_DELETE":
		on(s, event, s.vanished)
	case "GUILD_ROLE_CREATE", "GUILD_ROLE_UPDATE":
		on(s, event, func(of wire.RoleEvent) { s.channels.roleOf(of.GuildID, of.Role, s.me()) })
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
// told, and is read. Guilds and their channels follow in events of their own.
func (s *session) ready(r wire.Ready) {
	s.channels.reset()
	s.mu.Lock()
	s.self, s.directs = r.User, false
	if s.app.ID == "" {
		s.app.ID, s.app.Flags = r.Application.ID, r.Application.Flags
	}
	clear(s.guilds)
	clear(s.current)
	clear(s.awaited)
	for _, guild := range r.Guilds {
		s.awaited[guild.ID] = true
	}
	s.mu.Unlock()
	s.token.know(r.User.ID)
	s.p.host.Log.Info("connected to Discord", "bot", r.User.Username, "guilds", len(r.Guilds))
	s.offers.changed()
	s.lanes.push("", true, s.direct)
}

// guildCreate tells of a guild after ready, when it comes back, or when the bot joins it.
func (s *session) guildCreate(g wire.Guild) {
	if g.Unavailable {
		return
	}
	for _, channel := range s.channels.guild(g, s.me()) {
		s.catchUp(channel)
	}
	s.mu.Lock()
	s.guilds[g.ID] = true
	delete(s.awaited, g.ID)
	s.mu.Unlock()
	s.offers.changed()
}

// guildDelete tells that the bot was taken out of a guild, or that Discord has lost it for
// a while.
func (s *session) guildDelete(g wire.Guild) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.Unavailable {
		s.awaited[g.ID] = true
		return
	}
	s.channels.dropGuild(g.ID)
	delete(s.awaited, g.ID)
	delete(s.guilds, g.ID)
}

// appeared takes in a channel that was made, or a thread that the bot was added to, perhaps
// by what was written there just now.
func (s *session) appeared(channel wire.Channel, fresh bool) {
	s.channels.put(channel)
	if fresh {
		s.told(channel.ID)
		return
	}
	s.catchUp(channel)
}

// changed takes in what a channel is now. A thread that was archived is opened again by
// what is written next.
func (s *session) changed(channel wire.Channel) {
	if channel.Metadata.Archived {
		s.vanished(channel)
		return
	}
	s.channels.put(channel)
}

// vanished forgets a channel.
func (s *session) vanished(channel wire.Channel) {
	s.channels.drop(channel.ID)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.current, channel.ID)
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
