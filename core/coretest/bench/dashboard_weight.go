package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/browser"
)

// entries are the pages that every page leads to.
var entries = []string{"/", "/chat", "/threads", "/tasks", "/runs", "/search?q=4711", "/memory", "/crons", "/usage", "/plugins", "/system"}

// watchers is how many pages are open while memory and idle load are measured.
const watchers = 10

// servers are the two processes that a page comes from: the daemon and the plugin.
func (f *filled) servers() (two []process, err error) {
	processes, err := f.processes()
	for _, p := range processes {
		if p.name == "daemon" || strings.HasSuffix(p.name, " web") {
			two = append(two, p)
		}
	}
	if err == nil && len(two) != 2 {
		err = errors.New("the plugin web does not run")
	}
	return two, err
}

// fresh is what they hold before anybody has seen a page.
func (b *bench) fresh(f *filled) error {
	two, err := f.servers()
	if err != nil {
		return err
	}
	for i, size := range resident(two) {
		b.row(f.database.name+": "+two[i].name+", no page seen yet", "RSS %.1f MB", size)
	}
	return nil
}

// held is what the plugin holds with pages open, and what they cost while nothing happens.
func (b *bench) held(_ testing.TB, f *filled) error {
	kept, err := f.servers()
	if err != nil {
		return err
	}
	const watched = 10 * time.Second
	idle := func() (used [2]float64) {
		before := [2]time.Duration{kept[0].spent().cpu, kept[1].spent().cpu}
		<-time.After(watched)
		for i, p := range kept {
			used[i] = 100 * float64(p.spent().cpu-before[i]) / float64(watched)
		}
		return used
	}
	before, alone := resident(kept), idle()
	var open []float64
	var beside [2]float64
	err = browse(func(t testing.TB) error {
		started := browser.Start(t)
		for n := range watchers {
			p := started.Page(t, browser.Options{})
			p.Open(f.URL + "/chat/" + f.landmarks.ordinary[n])
			p.Wait("#say")
		}
		open, beside = resident(kept), idle()
		return nil
	})
	if err != nil {
		return err
	}
	after := resident(kept)
	for i, p := range kept {
		b.row(p.name+", 10 pages open", "RSS %.1f MB before, %.1f with them, %.1f after; idle %.2f %% of a core before, %.2f with them, %s",
			before[i], open[i], after[i], alone[i], beside[i], load())
	}
	return nil
}

// firstSight is how each page of the navigation shows itself to a browser that has nothing of
// it, and what it loads, then and the next time.
func (b *bench) firstSight(t testing.TB, f *filled) error {
	started := browser.Start(t)
	slowest, heaviest := time.Duration(0), 0.0
	for _, path := range entries {
		var cold, warm []time.Duration
		var bytes [2]int64
		for range max(1, b.opens/4) {
			p := started.Page(t, browser.Options{})
			p.Open(f.URL + path)
			cold = append(cold, p.Paint())
			bytes[0] = settledBytes(p)
			p.Open(f.URL + path)
			warm = append(warm, p.Paint())
			bytes[1] = settledBytes(p)
		}
		first := float64(bytes[0]) / 1000
		b.row(path, "painted p50 %v cold, %v warm (aim %v); %.1f KB, then %.1f (aim %d), %s",
			fine(quantile(cold, 0.5)), fine(quantile(warm, 0.5)), openAim, first, float64(bytes[1])/1000, weightAim, load())
		slowest, heaviest = max(slowest, quantile(cold, 0.5)), max(heaviest, first)
	}
	b.note(figureSlowest, ms(slowest), "ms")
	b.note(figureHeaviest, heaviest, "KB")
	return nil
}

// settledBytes is what a page has loaded once it asks for nothing more for a while.
func settledBytes(p *browser.Page) int64 {
	for last := int64(-1); ; {
		loaded := p.Transferred().Bytes()
		if loaded == last {
			return loaded
		}
		last = loaded
		<-time.After(500 * time.Millisecond)
	}
}
