package discord

import (
	"context"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/seed-706843ae/harness/plugins/discord/internal/slash"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// offersPause is how long commands have to be left alone before Discord is told of them: a
// daemon that starts brings its plugins one after the other.
const offersPause = 2 * time.Second

// offers keeps Discord's commands in step with those that there are: in each guild, where
// they are there at once, and in direct messages.
type offers struct {
	s *session

	mu       sync.Mutex
	timer    *time.Timer // nil: nothing is to be looked at
	work     sync.WaitGroup
	commands []pluginsdk.Command
	left     []string                                   // what cannot be offered, in words
	told     map[string][]*discordgo.ApplicationCommand // what Discord has, by guild; empty for direct messages
	failure  error
}

func newOffers(s *session) *offers {
	return &offers{s: s, told: make(map[string][]*discordgo.ApplicationCommand)}
}

// changed says that commands or guilds may have come or gone.
func (o *offers) changed() { o.in(offersPause) }

func (o *offers) in(pause time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer != nil || o.s.ctx.Err() != nil {
		return
	}
	o.work.Add(1)
	o.timer = time.AfterFunc(pause, func() {
		defer o.work.Done()
		o.mu.Lock()
		o.timer = nil
		o.mu.Unlock()
		err := o.tell(o.s.ctx)
		o.mu.Lock()
		o.failure = err
		o.mu.Unlock()
		if err != nil && o.s.ctx.Err() == nil {
			o.s.p.host.Log.Warn("Discord could not be told of the commands; trying again", "err", err, "in", maxPause.String())
			o.in(maxPause)
		}
	})
}

// wait returns when nothing is told any more. The session's context has ended before.
func (o *offers) wait() {
	o.mu.Lock()
	if o.timer != nil && o.timer.Stop() {
		o.timer = nil
		o.work.Done()
	}
	o.mu.Unlock()
	o.work.Wait()
}

// tell makes what Discord has what there is.
func (o *offers) tell(ctx context.Context) error {
	list, err := o.list(ctx)
	if err != nil {
		return err
	}
	set := slash.Build(list)
	o.mu.Lock()
	o.commands, o.left = list, set.Left
	o.mu.Unlock()
	err = o.put(ctx, "", set.Global)
	for _, guild := range o.s.inGuilds() {
		if failed := o.put(ctx, guild, set.Guild); failed != nil && err == nil && passing(failed) {
			err = failed // a guild that does not let the bot have commands is no reason to try for ever
		}
	}
	return err
}

func (o *offers) list(ctx context.Context) ([]pluginsdk.Command, error) {
	ctx, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	list, err := o.s.p.host.Commands.List(ctx, &pluginsdk.ListCommandsRequest{})
	if err != nil {
		return nil, err
	}
	return list.Commands, nil
}

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

// command is a command by its name.
func (o *offers) command(called string) (pluginsdk.Command, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, command := range o.commands {
		if command.Name == called {
			return command, true
		}
	}
	return pluginsdk.Command{}, false
}
