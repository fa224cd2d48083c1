package discord

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/plugins/discord/internal/slash"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// offersPause is how long after a change Discord is told of it: a daemon that starts brings its plugins one after the other.
const offersPause = time.Second

// offersLane is the lane in which Discord is told of commands.
const offersLane = "commands"

// offers keeps Discord's commands in step with those that there are: in each guild, where
// they are there at once, and in direct messages.
type offers struct {
	s *session

	mu       sync.Mutex
	timer    *time.Timer // nil: nothing is to be looked at
	at       time.Time   // when it ends
	commands []pluginsdk.Command
	left     []string                                   // what cannot be offered, in words
	told     map[string][]*discordgo.ApplicationCommand // what Discord has, by guild; empty for direct messages
	refused  map[string]error                           // the guilds that do not let the bot offer commands
	failure  error                                      // of the last time
}

func newOffers(s *session) *offers {
	return &offers{s: s, told: make(map[string][]*discordgo.ApplicationCommand)}
}

// changed says that commands or guilds may have come or gone.
func (o *offers) changed() { o.in(offersPause) }

// in has Discord told in a while, unless that is to be done sooner.
func (o *offers) in(pause time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := time.Now().Add(pause)
	if o.s.ctx.Err() != nil || o.timer != nil && !at.Before(o.at) {
		return
	}
	if o.timer != nil {
		o.timer.Stop()
	}
	o.timer, o.at = time.AfterFunc(pause, o.due), at
}

// due has Discord told now, in a lane: never twice at a time.
func (o *offers) due() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.timer = nil
	if o.s.ctx.Err() == nil {
		o.s.lanes.push(offersLane, false, o.tell)
	}
}

// stop says that nothing more is to be told. The session's context has ended before.
func (o *offers) stop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer != nil {
		o.timer.Stop()
	}
}

// tell makes what Discord has what there is. What may pass is tried again in a while; what
// Discord refuses is not, before something has changed.
func (o *offers) tell(ctx context.Context) {
	err := o.agree(ctx)
	o.mu.Lock()
	o.failure = err
	o.mu.Unlock()
	switch {
	case err == nil, ctx.Err() != nil:
	case passing(err):
		o.s.p.host.Log.Warn("Discord could not be told of the commands; trying again", "err", err, "in", maxPause.String())
		o.in(maxPause)
	default:
		o.s.p.host.Log.Error("Discord does not take the commands", "err", err)
	}
}

func (o *offers) agree(ctx context.Context) error {
	list, err := o.list(ctx)
	if err != nil {
		return err
	}
	set, guilds, refused := slash.Build(list), o.s.inGuilds(), make(map[string]error)
	o.mu.Lock()
	o.left = set.Left
	for guild := range o.told {
		if guild != "" && !slices.Contains(guilds, guild) {
			delete(o.told, guild) // what it has when the bot comes back is not known
		}
	}
	o.mu.Unlock()
	err = o.put(ctx, "", set.Global)
	for _, guild := range guilds {
		failed := o.put(ctx, guild, set.Guild)
		switch {
		case failed == nil:
		case rest.Forbidden(failed) || rest.Gone(failed):
			refused[guild] = failed
			o.s.p.host.Log.Warn("a server does not let the bot offer commands", "guild", guild, "err", failed)
		case err == nil || passing(failed):
			err = failed
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refused = refused
	return err
}

// list asks for the commands that there are, and keeps them.
func (o *offers) list(ctx context.Context) ([]pluginsdk.Command, error) {
	ctx, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	list, err := o.s.p.host.Commands.List(ctx, &pluginsdk.ListCommandsRequest{})
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.commands = list.Commands
	return list.Commands, nil
}

// put makes a guild's commands what is wanted. Nothing is written where they are.
func (o *offers) put(ctx context.Context, guild string, want []*discordgo.ApplicationCommand) error {
	o.mu.Lock()
	have, known := o.told[guild]
	o.mu.Unlock()
	app := o.s.application().ID
	var err error
	if !known {
		if have, err = o.s.client().Commands(ctx, app, guild); err != nil {
			return err
		}
	}
	if !slash.Same(have, want) {
		if err := o.s.client().SetCommands(ctx, app, guild, want); err != nil {
			return err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told[guild] = want
	return nil
}

// known is a command by its name, as far as the commands were read.
func (o *offers) known(called string) (pluginsdk.Command, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.commands, func(c pluginsdk.Command) bool { return c.Name == called })
	if i < 0 {
		return pluginsdk.Command{}, false
	}
	return o.commands[i], true
}

// command is a command by its name. One that is not there any more has its name only: the
// host says so when it is given.
func (o *offers) command(ctx context.Context, called string) pluginsdk.Command {
	if command, ok := o.known(called); ok {
		return command
	}
	if _, err := o.list(ctx); err != nil {
		o.s.p.host.Log.Warn("the commands cannot be read: one is given without the names of its options", "command", called, "err", err)
	}
	if command, ok := o.known(called); ok {
		return command
	}
	return pluginsdk.Command{CommandSpec: pluginsdk.CommandSpec{Name: called}}
}

// problems says what people cannot pick, and what keeps Discord from being told; nil: nothing.
func (o *offers) problems() (said []string, remedy string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.left) > 0 {
		said, remedy = append(said, o.left...), "type them as a message to the bot"
	}
	if len(o.refused) > 0 {
		said = append(said, fmt.Sprintf("%d servers do not let the bot offer commands, though people can type them as a message", len(o.refused)))
		remedy = inviteRemedy + " into them anew"
	}
	if o.failure != nil {
		said = append(said, "Discord could not be told of them: "+o.failure.Error())
		if remedy = waitingRemedy; !passing(o.failure) {
			remedy = "see the log: `harness plugin logs " + name + "`"
		}
	}
	return said, remedy
}
