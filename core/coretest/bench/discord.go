package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/discord"
)

const (
	quietCPUAim    = 0.2 // percent of a core
	quietMemoryAim = 25  // MB

	maxQuiet = time.Minute // that nothing is said, each of two times
)

// discord is what the plugin holds and uses while nothing is said on Discord, before and
// after it was talked to, and how soon an answer is there.
func (b *bench) discord() (err error) {
	dir, err := os.MkdirTemp("", "harness-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	program, err := discord.Build(dir)
	if err != nil {
		return err
	}
	service, err := discord.Start(ctx, program)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.Close()) }()
	d, err := b.start(nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	if err := d.operate("settings", "set", "discord", "apiURL="+service.API()); err != nil {
		return err
	}
	if err := service.Connect(ctx, d.URL, "token"); err != nil {
		return err
	}
	guild, err := service.Make(ctx, "guild", discord.Object{"name": "Home"})
	if err != nil {
		return err
	}
	channel, err := service.Make(ctx, "channel", discord.Object{"guild": guild, "name": "general"})
	if err != nil {
		return err
	}
	var state struct{ Ready, Most int }
	for state.Ready == 0 {
		if err := service.Ask(ctx, "state", nil, &state); err != nil {
			return err
		}
		<-time.After(100 * time.Millisecond)
	}
	bot, err := d.discordPlugin()
	if err != nil {
		return err
	}
	b.quiet("quiet", bot)
	answered := make([]time.Duration, 0, b.talks)
	for n := range b.talks {
		took, err := converse(ctx, service, channel, n)
		if err != nil {
			return err
		}
		answered = append(answered, took)
	}
	b.row("said -> answered on Discord, demo agent", "%s", spread(answered))
	b.quiet(fmt.Sprintf("quiet again, after %d answers", b.talks), bot)
	if err := service.Ask(ctx, "state", nil, &state); err != nil {
		return err
	}
	b.row("connections to the gateway at once", "%d (aim 1)", state.Most)
	return nil
}

// quiet measures the plugin while nothing happens.
func (b *bench) quiet(when string, bot process) {
	<-time.After(5 * time.Second) // the garbage of what was before is not what is asked for
	before, rest := bot.cpu(), min(b.hush, maxQuiet)
	<-time.After(rest)
	rss, pss := bot.memory()
	b.row(when, "RSS %.1f MB (aim %d), PSS %.1f MB, %.3f %% of a core (aim %.1f)",
		rss, quietMemoryAim, pss, 100*float64(bot.cpu()-before)/float64(rest), quietCPUAim)
}

// discordPlugin is the plugin's process.
func (d *installation) discordPlugin() (process, error) {
	processes, err := d.processes()
	if err != nil {
		return process{}, err
	}
	for _, p := range processes {
		if p.name == "plugin discord" {
			return p, nil
		}
	}
	return process{}, errors.New("the plugin discord is not among the daemon's processes")
}

// converse is from a message on Discord until its answer stands there.
func converse(ctx context.Context, service *discord.Server, channel string, n int) (time.Duration, error) {
	began := time.Now()
	asked, err := service.Make(ctx, "say", discord.Object{"channel": channel, "text": fmt.Sprintf("<@%s> how is it, for the time %d?", service.Bot, n)})
	if err != nil {
		return 0, err
	}
	for {
		all, err := service.Messages(ctx, channel)
		if err != nil {
			return 0, err
		}
		for _, m := range all {
			if m.ReplyTo == asked {
				return time.Since(began), nil
			}
		}
		<-time.After(5 * time.Millisecond)
	}
}
