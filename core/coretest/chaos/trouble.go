package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/chaos/check"
)

// trouble is one thing that goes wrong with Discord. It lasts for its length, and one with the
// connection until the bot is connected again.
type trouble struct {
	kind   check.Kind
	what   string
	begin  []step
	length time.Duration
}

// step is one operation of the fake Discord.
type step struct {
	name string
	with map[string]any
}

type with = map[string]any

// troubles are those that there are. The first is a kill.
var troubles = []trouble{
	{kind: check.TroubleKill, what: "the plugin is killed"},
	{kind: check.TroubleGateway, what: "the connection is cut", begin: []step{{"cut", nil}}},
	{kind: check.TroubleGateway, what: "the session is over", begin: []step{{"close", with{"number": 4009}}}},
	{kind: check.TroubleGateway, what: "the connection is closed for an unknown error", begin: []step{{"close", with{"number": 4000}}}},
	{kind: check.TroubleGateway, what: "the bot is asked to connect anew", begin: []step{{"ask-reconnect", nil}}},
	{kind: check.TroubleGateway, what: "the session is invalid, and can be resumed", begin: []step{{"invalid-session", with{"yes": true}}}},
	{kind: check.TroubleGateway, what: "the session is invalid", begin: []step{{"invalid-session", nil}}},
	{kind: check.TroubleGateway, what: "the connection hangs", begin: []step{{"hang", nil}}, length: 2 * heartbeatEvery},
	{kind: check.TroubleGateway, what: "connections are refused", begin: []step{{"refuse", with{"for": 1500 * time.Millisecond}}, {"cut", nil}}, length: time.Second},
	{kind: check.TroubleGateway, what: "the session is forgotten", begin: []step{{"lose-sessions", nil}, {"cut", nil}}},
	{kind: check.TroubleGateway, what: "events come twice", begin: []step{{"break-events", with{"kind": "duplicate", "chance": 0.5}}}, length: 3 * time.Second},
	{kind: check.TroubleGateway, what: "events come late", begin: []step{{"break-events", with{"event": "MESSAGE_CREATE", "kind": "delay", "delay": 300 * time.Millisecond, "chance": 0.5}}}, length: 3 * time.Second},
	request("posts are limited", with{"route": "POST /channels/*/messages", "kind": "limit", "retry_after": 700 * time.Millisecond, "times": 2}),
	request("everything is limited", with{"kind": "limit", "scope": "global", "retry_after": 500 * time.Millisecond, "times": 1}),
	request("it fails with 500", with{"kind": "status", "status": 500, "chance": 0.5}),
	request("it fails with 502", with{"kind": "status", "status": 502, "chance": 0.5}),
	request("it is unavailable", with{"kind": "status", "status": 503}),
	request("requests are cut", with{"kind": "cut", "chance": 0.4}),
	request("answers to posts are lost", with{"route": "POST /channels/*/messages", "kind": "lost", "times": 2}),
	request("answers are lost", with{"kind": "lost", "chance": 0.4}),
	request("edits are slow", with{"route": "PATCH /channels/*/messages/*", "kind": "slow", "delay": 1500 * time.Millisecond}),
}

// request is a trouble with requests.
func request(what string, fault map[string]any) trouble {
	return trouble{kind: check.TroubleRequest, what: what, begin: []step{{"break", fault}}, length: 2 * time.Second}
}

// distress is the order in which troubles come, drawn from the seed: all of them again and
// again, and at first one of each kind.
func distress(random *rand.Rand) []trouble {
	deck := slices.Clone(troubles)
	random.Shuffle(len(deck), func(i, k int) { deck[i], deck[k] = deck[k], deck[i] })
	for n, kind := range check.TroubleKinds() {
		i := n + slices.IndexFunc(deck[n:], func(t trouble) bool { return t.kind == kind })
		deck[n], deck[i] = deck[i], deck[n]
	}
	return deck
}

// lasting is how long a connection is mostly let alone: whose connections all break soon waits
// longer and longer before the next.
const lasting = 11 * time.Second

// fewOpen is how much of what was said on Discord may be left to be answered for things to
// stop going wrong with it: most answers come when everybody has fallen silent.
const fewOpen = 3

// trouble has things go wrong with Discord until quiet ends and most is answered, and one of
// each kind at least. The witness writes each time. It returns when nothing is wrong any more.
func (k *killer) trouble(ctx, quiet context.Context, witness *writer) error {
	random := seeded(k.world.seed, 0xd15c)
	if err := witness.begin(ctx); err != nil {
		return err
	}
	var broken time.Time // when the connection last was
	for n := 0; ; {
		for _, t := range distress(random) {
			if t.kind == check.TroubleGateway && time.Since(broken) < lasting && random.IntN(4) > 0 {
				continue
			}
			if n >= len(check.TroubleKinds()) && quiet.Err() != nil {
				if open, err := k.world.unanswered(ctx); err == nil && open <= fewOpen {
					return nil
				}
			}
			limit := victimPatience
			if n++; n <= len(check.TroubleKinds()) {
				limit = bootPatience // it has to happen
			}
			if err := pause(ctx, between(random, 100, 1200)); err != nil {
				return err
			}
			if err := k.bring(ctx, t, limit, witness); err != nil {
				return fmt.Errorf("have something go wrong with Discord (%s): %w", t.what, err)
			}
			if t.kind == check.TroubleGateway {
				broken = time.Now()
			}
		}
	}
}

// bring carries one out. A kill waits for its victim, at most for limit.
func (k *killer) bring(ctx context.Context, t trouble, limit time.Duration, witness *writer) error {
	d := k.world.discord
	if t.kind == check.TroubleKill && !k.killPlugin(ctx, limit) {
		k.world.note("the plugin of Discord could not be killed")
		return nil
	}
	record := check.Trouble{Kind: t.kind, What: t.what, From: time.Now()}
	for _, step := range t.begin {
		if err := d.Ask(ctx, step.name, step.with, nil); err != nil {
			return err
		}
	}
	if err := witness.attest(ctx); err != nil {
		return err
	}
	if err := pause(ctx, t.length); err != nil {
		return err
	}
	if err := d.Ask(ctx, "mend", nil, nil); err != nil {
		return err
	}
	if t.kind != check.TroubleRequest {
		if _, err := d.connected(ctx, connectPatience); err != nil {
			return err
		}
	}
	record.To = time.Now()
	k.world.note("with Discord, for %v: %s", record.To.Sub(record.From).Round(time.Millisecond), t.what)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.troubles = append(d.troubles, record)
	return nil
}

// killPlugin kills the plugin of Discord, if there is one that has not been struck too often.
func (k *killer) killPlugin(ctx context.Context, limit time.Duration) (hit bool) {
	_, err := until(ctx, limit, func() bool {
		pid, _ := k.world.daemon.now()
		for _, p := range k.world.processes() {
			if stat, ok := readStat(p.pid); p.name != discordPlugin || !p.marked || !ok || stat.parent != pid || !k.mayBeStruck(p.name, pid) {
				continue
			}
			if hit = syscall.Kill(p.pid, syscall.SIGKILL) == nil; hit {
				k.countStrike(p.name, pid)
			}
			return hit
		}
		return false
	})
	return err == nil && hit
}
