package main

import (
	"slices"
	"testing"

	"github.com/seed-706843ae/harness/core/coretest/chaos/check"
)

// A violation is only worth its seed when the seed brings it back.
func TestTheScheduleIsTheSeeds(t *testing.T) {
	if !slices.Equal(schedule(7, 100), schedule(7, 100)) {
		t.Error("the same seed gives two schedules")
	}
	if slices.Equal(schedule(7, 100), schedule(8, 100)) {
		t.Error("two seeds give the same schedule")
	}
}

// Orphans show only while the system is let alone for a moment.
func TestEveryScheduleOfMoreThanOneStrikeHasACalm(t *testing.T) {
	for _, kills := range []int{2, 6, defaultKills, 60} {
		if !slices.ContainsFunc(schedule(defaultSeed, kills), func(s strike) bool { return s.calm }) {
			t.Errorf("%d strikes: none of them waits", kills)
		}
	}
}

// The short campaign of CI, too, must hit everything there is.
func TestTheShortScheduleHitsEveryKind(t *testing.T) {
	seen := map[check.Kind]int{}
	for _, s := range schedule(defaultSeed, defaultKills) {
		seen[s.kind]++
	}
	for _, kind := range check.Kinds() {
		if seen[kind] < 2 {
			t.Errorf("%s: %d strikes", kind, seen[kind])
		}
	}
}

// What goes wrong with Discord is the seed's too, and a short campaign has all kinds of it.
func TestDistressIsTheSeedsAndBeginsWithEachKind(t *testing.T) {
	whats := func(seed uint64) (whats []string) {
		for _, each := range distress(seeded(seed, 1)) {
			whats = append(whats, each.what)
		}
		return whats
	}
	if !slices.Equal(whats(7), whats(7)) || slices.Equal(whats(7), whats(8)) {
		t.Error("the order is not the seed's")
	}
	for seed := range uint64(20) {
		deck := distress(seeded(seed, 1))
		for n, kind := range check.TroubleKinds() {
			if deck[n].kind != kind {
				t.Errorf("seed %d: number %d is of the kind %s, want %s", seed, n+1, deck[n].kind, kind)
			}
		}
		if len(deck) != len(troubles) {
			t.Errorf("seed %d: %d troubles of %d", seed, len(deck), len(troubles))
		}
	}
}
