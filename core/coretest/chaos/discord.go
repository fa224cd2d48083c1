package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/chaos/check"
	"github.com/seed-706843ae/harness/core/coretest/discord"
)

const (
	// discordPlugin is the plugin's name, and discordToken the bot's token.
	discordPlugin = "discord"
	discordToken  = "chaos-token"
	// heartbeatEvery is short, so that a connection that has gone silent is noticed soon.
	heartbeatEvery = time.Second
	// connectPatience is how long the bot may take to be connected again.
	connectPatience = 15 * time.Second
	// restLong is how long nothing may be asked of Discord for it to be at rest.
	restLong = 2 * time.Second
)

// community is the people on a Discord, which outlives the daemon as the model does.
type community struct {
	*discord.Server
	dir           string // of the program; not the campaign's, whose processes are the daemon's
	friend, guild string // a user beside the owner, and where they meet

	mu       sync.Mutex // guards what follows
	said     []check.Said
	commands []check.Command
	troubles []check.Trouble
}

// startDiscord builds and starts the Discord. Close must be called when it succeeds.
func startDiscord(ctx context.Context, seed uint64) (*community, error) {
	dir, err := os.MkdirTemp("", "harness-chaos-discord-")
	if err != nil {
		return nil, err
	}
	c := &community{dir: dir}
	if err := c.start(ctx, seed); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *community) start(ctx context.Context, seed uint64) error {
	program, err := discord.Build(c.dir)
	if err != nil {
		return err
	}
	config, err := discordConfig(seed)
	if err != nil {
		return err
	}
	if c.Server, err = discord.Start(ctx, program, "-token", discordToken, "-config", string(config)); err != nil {
		return err
	}
	if c.guild, err = c.Make(ctx, "guild", discord.Object{"name": "Chaos"}); err != nil {
		return err
	}
	c.friend, err = c.Make(ctx, "user", discord.Object{"name": "friend", "shown": "A Friend", "guilds": []string{c.guild}})
	return err
}

// discordConfig is of a Discord whose limits are as narrow as the real one's, and end sooner.
func discordConfig(seed uint64) ([]byte, error) {
	limits := discord.Object{}
	for _, bucket := range []string{"dm", "history", "message", "send", "edit", "typing", "thread", "threads", "webhook", "change"} {
		limits[bucket] = discord.Object{"count": 5, "per": time.Second}
	}
	config := discord.Object{
		"Seed": seed, "HeartbeatInterval": heartbeatEvery, "IdentifyEvery": time.Second, "Limits": limits, "SessionStarts": 100_000,
	}
	if seed%2 == 0 {
		config["NonceFor"] = time.Second // what is posted again is not known by its nonce any more
	}
	return json.Marshal(config)
}

// close ends it.
func (c *community) close() error {
	var ended error
	if c.Server != nil {
		ended = c.Close()
	}
	return errors.Join(ended, os.RemoveAll(c.dir))
}

// state is what the program counts.
type state struct{ Most, Ready, Requests int }

func (c *community) state(ctx context.Context) (s state, err error) {
	err = c.Ask(ctx, "state", nil, &s)
	return s, err
}

// connected waits until the bot is, at most for limit.
func (c *community) connected(ctx context.Context, limit time.Duration) (is bool, err error) {
	return until(ctx, limit, func() bool {
		s, err := c.state(ctx)
		return err == nil && s.Ready == 1
	})
}

// quiet waits until nothing is asked of Discord any more, at most for patience: what a bot
// does behind its answers is done then.
func (c *community) quiet(ctx context.Context) error {
	began, still, before := time.Now(), time.Now(), -1
	for time.Since(still) < restLong && time.Since(began) < patience {
		s, err := c.state(ctx)
		if err != nil {
			return err
		}
		if s.Requests != before {
			before, still = s.Requests, time.Now()
		}
		if err := pause(ctx, drainPause); err != nil {
			return err
		}
	}
	return nil
}

// settings are the plugin's. Nothing is too old or too much to be answered.
func (c *community) settings(places []discord.Object) ([]byte, error) {
	return json.Marshal(discord.Object{
		"apiURL": c.API(), "owner": c.Owner, "users": []string{c.friend}, "starts": "everything",
		"catchUpHours": 720, "catchUpMessages": 1000, "places": places,
	})
}

// openDiscord makes the channels of the writers, and has the bot connect.
func (w *world) openDiscord(ctx context.Context) (writers []*writer, err error) {
	var places []discord.Object
	for n, role := range roles {
		one := &writer{world: w, role: role, number: firstWriter + n, random: seeded(w.seed, uint64(firstWriter+n))}
		if one.by = w.discord.Owner; role.friend {
			one.by = w.discord.friend
		}
		if one.channel, err = w.discord.place(ctx, role, one.by); err != nil {
			return nil, err
		}
		rules := discord.Object{"channel": one.channel}
		if role.mention {
			rules["starts"] = "mention"
		}
		if role.threads {
			rules["newThreads"] = true
		}
		if len(rules) > 1 {
			places = append(places, rules)
		}
		writers = append(writers, one)
	}
	settings, err := w.discord.settings(places)
	if err != nil {
		return nil, err
	}
	if err := w.database.configure(ctx, discordPlugin, string(settings)); err != nil {
		return nil, err
	}
	// A secret is not written by SQL, and not known before the address is.
	door, secret := &web{http: w.http, base: w.url}, map[string]string{"token": discordToken}
	if err := door.insist(ctx, "/api/plugins/"+discordPlugin+"/settings", map[string]any{"values": secret}); err != nil {
		return nil, err
	}
	if is, err := w.discord.connected(ctx, time.Minute); err != nil || !is {
		return nil, errors.Join(err, errors.New("the bot does not connect to the fake Discord"))
	}
	return writers, nil
}

// place makes where somebody writes.
func (c *community) place(ctx context.Context, role role, by string) (string, error) {
	if role.direct {
		return c.Make(ctx, "dm", discord.Object{"id": by})
	}
	channel, err := c.Make(ctx, "channel", discord.Object{"guild": c.guild, "name": role.name})
	if err != nil || !role.thread {
		return channel, err
	}
	return c.Make(ctx, "thread", discord.Object{"channel": channel, "name": role.name, "by": by})
}

// evidence is what was written on Discord, and what stands there now.
func (c *community) evidence(ctx context.Context) (*check.Discord, error) {
	c.mu.Lock()
	found := &check.Discord{Plugin: discordPlugin, Said: c.said, Commands: c.commands, Troubles: c.troubles}
	c.mu.Unlock()
	s, err := c.state(ctx)
	if err != nil {
		return nil, err
	}
	found.AtOnce = s.Most
	if err := c.Ask(ctx, "breaches", nil, &found.Breaches); err != nil {
		return nil, err
	}
	for i, command := range found.Commands {
		var became struct{ Original *struct{ ID string } }
		if err := c.Ask(ctx, "interaction", discord.Object{"id": command.ID}, &became); err != nil {
			return nil, err
		}
		if became.Original != nil {
			found.Commands[i].Answer = became.Original.ID
		}
	}
	for _, guild := range []string{c.guild, ""} { // direct messages are in none
		var channels []struct{ ID, Name string }
		if err := c.Ask(ctx, "channels", discord.Object{"id": guild}, &channels); err != nil {
			return nil, err
		}
		for _, channel := range channels {
			place := check.Place{ID: channel.ID, Name: channel.Name}
			if place.Posted, err = c.posted(ctx, channel.ID); err != nil {
				return nil, err
			}
			found.Places = append(found.Places, place)
		}
	}
	return found, nil
}

// posted is what the bot has written in a channel for everybody.
func (c *community) posted(ctx context.Context, channel string) (posted []check.Posted, err error) {
	var messages []struct {
		ID, Text, Only string
		Bot, Loading   bool
		Past           []string
		Pinged         json.RawMessage
		Buttons        []struct{ Label string }
		At             time.Time
	}
	if err := c.Ask(ctx, "messages", discord.Object{"id": channel}, &messages); err != nil {
		return nil, err
	}
	for _, message := range messages {
		if !message.Bot || message.Only != "" {
			continue
		}
		one := check.Posted{ID: message.ID, Text: message.Text, Thinking: message.Loading, Edits: len(message.Past), At: message.At}
		if pinged := string(message.Pinged); pinged != "{}" {
			one.Pinged = pinged
		}
		for _, button := range message.Buttons {
			one.Buttons = append(one.Buttons, button.Label)
		}
		posted = append(posted, one)
	}
	return posted, nil
}
