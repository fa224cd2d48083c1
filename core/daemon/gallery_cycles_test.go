package daemon_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/pluginhost"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// galleryCycles is how often in all the plugins of the gallery are turned on,
// misbehave and are turned off.
var galleryCycles = flag.Int("gallery.cycles", 20, "times that hostile plugins are turned on and off")

// harmless are those that do their worst to victims alone, of whom there are none here: each
// comes and goes as any plugin does. TestGallery looks at what they leave behind.
var harmless = []string{"windbag", "climber", "forger", "ventriloquist", "dawdler", "burrower", "usurper"}

// A daemon runs for months, and plugins come, misbehave and go: it has the same
// descriptors, goroutines, processes and sockets afterwards as before. One that is left by
// one cycle is one too many.
func TestGalleryComesAndGoesAndLeavesNothing(t *testing.T) {
	if !apart(t) {
		return
	}
	var names []string
	all := slices.DeleteFunc(slices.Clone(gallery), func(e exhibit) bool { return slices.Contains(harmless, e.name) })
	for _, e := range all {
		names = append(names, e.name)
	}
	h := openHall(t, func(c *pluginhost.Config) {
		c.StartTimeout, c.StopTimeout, c.Watch = 4*time.Second, 200*time.Millisecond, 20*time.Millisecond
		c.Failures = 2
	}, names...)
	hurry(&h.config)
	h.config.HookGrace, h.config.PluginBackoff = 100*time.Millisecond, 10*time.Millisecond
	h.open()
	for _, e := range all { // what is made once is made now
		if e.name == "greedy" || e.name == "crasher" {
			h.cycle(e)
		}
	}
	h.turns(audience)
	before := h.rest()
	done := 0
	for done < *galleryCycles {
		for _, e := range all {
			h.cycle(e)
			done++
		}
	}
	h.settle(before)
	h.turns(audience)
	t.Logf("gallery: %d cycles; before %s; after %s", done, before, h.count())
}

// cycle turns a plugin on, lets it misbehave, and turns it off.
func (h *hall) cycle(e exhibit) {
	h.t.Helper()
	h.restore(e.name)
	before := h.row(e.name)
	if e.limits.RowsPerMinute > 0 { // what it may store is looked at elsewhere, and would be in the way of all that come after it
		e.limits.RowsPerMinute, e.limits.BytesPerMinute = hoardRows/20, hoardBytes/20
	}
	h.adopt(e)
	if e.name != "mute" && e.name != "impostor" {
		h.await(e.name, pluginsdk.PluginServing, pluginsdk.PluginBackoff, pluginsdk.PluginQuarantined)
		h.turns(audience)
	}
	h.until("the misbehaviour of "+e.name, func() bool {
		now := h.row(e.name)
		switch {
		case e.state != nil && e.state[0] == pluginsdk.PluginFailed:
			return now.State == pluginsdk.PluginFailed
		case e.ends:
			return now.Restarts > before.Restarts
		case len(e.lastError) > 0:
			return now.Failures > before.Failures
		}
		return true // it had its chance
	})
	h.disable(e.name)
}

// restore puts a plugin's executable in its place again, and takes away what it
// has left beside it.
func (h *hall) restore(name string) {
	h.t.Helper()
	for _, mark := range []string{"sulker.known", "greedy.txt", "hole"} {
		_ = os.Remove(filepath.Join(h.config.Plugins, mark)) // it may not be there
	}
	path := filepath.Join(h.config.Plugins, name)
	if _, err := os.Readlink(path); err != nil {
		h.must(os.Remove(path))
		h.link(filepath.Join(pluginDir, "gallery"), name)
	}
}
