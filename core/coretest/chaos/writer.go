package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/chaos/check"
	"github.com/seed-706843ae/harness/core/coretest/discord"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// firstWriter is the number of the first person on Discord: above the crowd's and below
	// the askers'.
	firstWriter = 700
	// writerAhead is how many of a person's messages may wait for an answer.
	writerAhead = 2
	// witnessAhead is the same of the witness, who is not held up by it but silent then.
	witnessAhead = 8
	writerLook   = 300 * time.Millisecond
)

// role is who somebody is on Discord, and where they write.
type role struct {
	name    string
	mode    pluginsdk.BusyMode
	friend  bool // not the owner
	direct  bool // direct messages
	thread  bool // a thread of Discord's
	mention bool // the bot is told only what mentions it
	threads bool // each question is answered in a thread of its own
}

var roles = []role{
	{name: "general", mode: pluginsdk.BusyQueue},
	{name: "work", mode: pluginsdk.BusyCollect, friend: true, mention: true},
	{name: "aside", mode: pluginsdk.BusySteer, thread: true},
	{name: "hurry", mode: pluginsdk.BusyInterrupt, friend: true},
	{name: "owner", mode: pluginsdk.BusyQueue, direct: true},
	{name: "questions", mode: pluginsdk.BusyQueue, friend: true, threads: true},
	// Who writes whenever something is wrong, and not otherwise. The last.
	{name: "news", mode: pluginsdk.BusyCollect},
}

// writer is a person on Discord. They write whether the bot is there or not, and nobody
// tells them that they were heard but the answer.
type writer struct {
	world   *world
	role    role
	number  int
	by      string // a user
	channel string
	random  *rand.Rand

	asked int      // how many questions they have asked
	ids   []string // of what they have said
}

func seeded(seed, stream uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, stream)) //nolint:gosec // a load, not a secret
}

// write goes on until quiet ends, and says a few things at least.
func (p *writer) write(ctx, quiet context.Context) error {
	const least = 3
	if err := p.begin(ctx); err != nil {
		return err
	}
	rest := 900
	if p.role.threads {
		rest = 5000 // each has an agent's process of its own
	}
	for p.asked < least || quiet.Err() == nil {
		if err := p.ask(ctx); err != nil {
			return err
		}
		if p.random.IntN(6) == 0 {
			p.command(ctx)
		}
		if err := p.hold(ctx, quiet); err != nil {
			return err
		}
		_ = pause(quiet, between(p.random, 0, rest))
	}
	return nil
}

// begin sets the mode of the place, by a command that is typed.
func (p *writer) begin(ctx context.Context) error {
	if p.role.mode == pluginsdk.BusyQueue {
		return nil
	}
	return p.say(ctx, "/busy "+string(p.role.mode), check.Said{})
}

// ask says something that is to be answered. Some of it is changed a moment later.
func (p *writer) ask(ctx context.Context) error {
	p.asked++
	n := p.asked
	said := check.Said{Marker: fmt.Sprintf("m-T%d-%04d", p.number, n), Edited: n == 3 || p.random.IntN(8) == 0}
	text := p.question(said.Marker)
	if err := p.say(ctx, text, said); err != nil || !said.Edited {
		return err
	}
	if err := pause(ctx, between(p.random, 0, 400)); err != nil {
		return err
	}
	return p.world.discord.Ask(ctx, "edit", discord.Object{"id": p.ids[len(p.ids)-1], "text": p.addressed(text + " I mean it.")}, nil)
}

// question is what asks for an answer to a marker: the first one for a long answer, the second
// for one that is shown while it is written. The demo agent repeats no more than the beginning
// of what it is asked, and is asked in few words.
func (p *writer) question(marker string) string {
	if !p.world.agents {
		return marker + "."
	}
	how := ""
	switch r := p.random.IntN(12); {
	case p.asked == 1 || p.asked > 2 && r < 3:
		how = ", " + wordWhole
	case p.asked == 2 || r < 6:
		how = ", " + wordSeen
	case r < 7:
		how = ", " + wordSlow
	}
	if p.asked == 2 || p.random.IntN(4) == 0 {
		how += ", and " + wordGreet
	}
	return "Please answer " + marker + how + "."
}

// addressed is a text as it is written where the bot has to be mentioned.
func (p *writer) addressed(text string) string {
	if p.role.mention {
		return "<@" + p.world.discord.Bot + "> " + text
	}
	return text
}

// say writes a message.
func (p *writer) say(ctx context.Context, text string, said check.Said) (err error) {
	d := p.world.discord
	d.mu.Lock()
	defer d.mu.Unlock() // in the order in which they stand there
	said.Channel, said.At = p.channel, time.Now()
	if said.ID, err = d.Make(ctx, "say", discord.Object{"channel": p.channel, "by": p.by, "text": p.addressed(text)}); err != nil {
		return err
	}
	p.ids = append(p.ids, said.ID)
	d.said = append(d.said, said)
	return nil
}

// command gives one of the commands that Discord offers, if it has been told of them.
func (p *writer) command(ctx context.Context) {
	d := p.world.discord
	id, err := d.Make(ctx, "slash", discord.Object{"channel": p.channel, "by": p.by, "name": "status"})
	if err != nil {
		p.world.note("no command could be given on Discord: %v", err)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.commands = append(d.commands, check.Command{ID: id, Channel: p.channel, At: time.Now()})
}

// hold waits while too much of what the person said is not answered.
func (p *writer) hold(ctx, quiet context.Context) error {
	ended := 0
	for quiet.Err() == nil {
		now, err := p.ended(ctx)
		if now > ended {
			p.world.progress.Add(1)
			ended = now
		}
		if err == nil && len(p.ids)-now < writerAhead {
			return nil
		}
		if p.role.mode != pluginsdk.BusyQueue && err == nil && len(p.ids)-now < 2*writerAhead {
			return nil // what is special about them happens when they are busy
		}
		_ = pause(quiet, writerLook) // its end is seen above
	}
	return ctx.Err()
}

// attest asks something, unless much is not answered yet.
func (p *writer) attest(ctx context.Context) error {
	if n, err := p.ended(ctx); err == nil && len(p.ids)-n >= witnessAhead {
		return nil
	}
	return p.ask(ctx)
}

// ended is how much of what the person said is dealt with.
func (p *writer) ended(ctx context.Context) (n int, err error) {
	over, err := p.world.database.heard(ctx)
	for _, id := range p.ids {
		if over[id] {
			n++
		}
	}
	return n, err
}

// unheard is how much of what was said on Discord there is no run of yet.
func (w *world) unheard(ctx context.Context) (int, error) {
	return w.saidBut(ctx, func(_, heard bool) bool { return heard })
}

// unanswered is how much of it is not dealt with.
func (w *world) unanswered(ctx context.Context) (int, error) {
	return w.saidBut(ctx, func(over, _ bool) bool { return over })
}

// saidBut is how much was said on Discord, but for that whose run is so.
func (w *world) saidBut(ctx context.Context, is func(over, heard bool) bool) (n int, err error) {
	runs, err := w.database.heard(ctx)
	w.discord.mu.Lock()
	defer w.discord.mu.Unlock()
	for _, said := range w.discord.said {
		if over, heard := runs[said.ID]; !is(over, heard) {
			n++
		}
	}
	return n, err
}
