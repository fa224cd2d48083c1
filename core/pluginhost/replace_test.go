package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// upgraded puts another version of a plugin into its row.
func upgraded(t *testing.T, r *registry, name, version string) {
	t.Helper()
	dir := filepath.Dir(filepath.Dir(r.row(name).Path))
	path := binary(t, filepath.Join(dir, "version-"+version), name)
	_ = r.edit(name, func(p *ledger.Plugin) { p.Path = path })
}

func is(t *testing.T, i *Instance, run, version string) func() bool {
	t.Helper()
	return func() bool {
		reply, err := sayIn(t, i, run, "version")
		return err == nil && reply == version
	}
}

// A run that began with one version must not be finished by another: what the
// old one prepared is not the new one's.
func TestRunsKeepToTheVersionTheyBeganWith(t *testing.T) {
	h, r := start(t, "first")
	i := serving(t, h, r, "first")
	h.Hold("R1")
	h.Hold("R2")
	if !is(t, i, "R1", "1.0.0")() {
		t.Fatal("the first version does not answer")
	}
	upgraded(t, r, "first", "2.0.0")
	waitFor(t, is(t, i, "", "2.0.0"))
	if !is(t, i, "R2", "2.0.0")() {
		t.Error("a new run does not go to the new version")
	}
	if !is(t, i, "R1", "1.0.0")() {
		t.Error("the run that began with the old version was moved")
	}
	old := i.router.kept["R1"].process
	h.Release("R1")
	<-old.Done()
	if !is(t, i, "R1", "2.0.0")() {
		t.Error("nobody answers once the old version has ended")
	}
	if row := r.row("first"); row.Restarts != 0 || row.Failures != 0 || row.State != pluginsdk.PluginServing {
		t.Errorf("an upgrade counted as a fault: %+v", row)
	}
}

// A run must not ask the old version of a plugin for what only the new one
// has: a closed hook would fail it.
func TestRunsSeeTheVersionTheyBeganWith(t *testing.T) {
	h, r := start(t, "first")
	i := serving(t, h, r, "first")
	h.Hold("R1")
	if answering := h.Answering("R1", pluginsdk.HookCommand); len(answering) != 1 {
		t.Fatalf("%d plugins answer", len(answering))
	}
	upgraded(t, r, "first", "3.0.0")
	waitFor(t, is(t, i, "", "3.0.0"))
	for run, want := range map[string]string{"R1": "1.0.0", "R2": "3.0.0", "": "3.0.0"} {
		info := i.router.seen(run)
		commands := len(info.Manifest.Commands)
		if info.Version != want || info.Manifest.Version != want || commands != map[string]int{"1.0.0": 1, "3.0.0": 2}[want] {
			t.Errorf("the run %q sees %s, with %d commands; want %s", run, info.Version, commands, want)
		}
	}
	if !is(t, i, "R1", "1.0.0")() {
		t.Error("the run is answered by another version than it was told of")
	}
	h.Release("R1")
	if info := i.router.seen("R1"); info.Version != "3.0.0" {
		t.Errorf("a run that is over sees %s", info.Version)
	}
}

// What happens while a version starts, and what the old one was not told of any
// more, the new one is told: in its Start it has read what was before.
func TestEventsGoOnWithTheNextVersion(t *testing.T) {
	events := new(bus)
	events.stands(10, 7)
	h, r := startOn(t, Config{}, events, "listens")
	i := serving(t, h, r, "listens")
	upgrade := func(version string) {
		upgraded(t, r, "listens", version)
		waitFor(t, is(t, i, "", version))
	}
	events.stands(20, 17) // three are still queued for the old one
	upgrade("2.0.0")
	events.stands(30, 35) // it was told of five since the start of the next one
	upgrade("4.0.0")
	var began []uint64
	for _, position := range events.began {
		began = append(began, position.Seq)
	}
	if !slices.Equal(began, []uint64{10, 17, 30}) {
		t.Errorf("the versions were told of what came after %v", began)
	}
}

// The rules by which a process is told events are its own: another one, also while both are
// there, begins with those of its manifest.
func TestRulesOfEventsEndWithTheProcess(t *testing.T) {
	events := new(bus)
	h, r := startOn(t, Config{}, events, "listens")
	_ = r.edit("listens", func(p *ledger.Plugin) { p.Granted = []pluginsdk.Capability{pluginsdk.CapEventsRead} })
	i := serving(t, h, r, "listens")
	tells := func(want ...string) {
		t.Helper()
		var got []string
		for _, tells := range events.told() {
			got = append(got, tells.Rules[0].Threads[0])
		}
		if !slices.Equal(got, want) {
			t.Errorf("the processes are told of the threads %v, want %v", got, want)
		}
	}
	tells("of the manifest")
	if err := events.send(t, "x:listen"); err != nil {
		t.Fatal(err)
	}
	tells("of 1.0.0")
	h.Hold("R1") // the old version stays
	if !is(t, i, "R1", "1.0.0")() {
		t.Fatal("the first version does not answer")
	}
	old := events.deliver
	upgraded(t, r, "listens", "2.0.0")
	waitFor(t, is(t, i, "", "2.0.0"))
	tells("of 1.0.0", "of the manifest")
	_ = old(t.Context(), []pluginsdk.Event{{Type: "x:listen", Boot: "b", Seq: 2}}) // to the version that answers now
	if err := events.send(t, "x:listen"); err != nil {
		t.Fatal(err)
	}
	tells("of 1.0.0", "of 2.0.0")
	h.Release("R1")
	upgraded(t, r, "listens", "5.0.0")
	waitFor(t, is(t, i, "", "5.0.0"))
	tells("of 1.0.0", "of 2.0.0", "of Start")
}

// The row says which version answers: who upgrades must not take one that could
// not take over for the new one.
func TestTheRowSaysWhichVersionServes(t *testing.T) {
	h, r := start(t, "first")
	serving(t, h, r, "first")
	old := r.row("first")
	if old.SHA256 == "" || old.Serving != old.SHA256 || old.Rejected != "" {
		t.Fatalf("serving %q, rejected %q; the pin is %q", old.Serving, old.Rejected, old.SHA256)
	}
	says := func(serving, rejected string) func() bool {
		return func() bool {
			row := r.row("first")
			return row.Serving == serving && row.Rejected == rejected
		}
	}
	pin := func(path, pin string) {
		_ = r.edit("first", func(p *ledger.Plugin) { p.Path, p.SHA256 = path, pin })
	}
	dir := filepath.Dir(filepath.Dir(old.Path))
	pin(binary(t, filepath.Join(dir, "version-broken"), "first"), "broken")
	r.until(t, "the refusal of the broken version", says(old.SHA256, "broken"))
	if words := r.row("first").LastError; !strings.Contains(words, "no port to be had") {
		t.Errorf("the operator reads %q", words)
	}
	pin(old.Path, old.SHA256)
	r.until(t, "that the refusal is over", says(old.SHA256, ""))
	if words := r.row("first").LastError; words != "" {
		t.Errorf("the operator still reads %q", words)
	}
	pin(binary(t, filepath.Join(dir, "version-2.0.0"), "first"), "second")
	r.until(t, "the second version", says("second", ""))
	_ = r.edit("first", enable(false))
	r.until(t, "that nothing serves", says("", ""))
}

// What was refused is tried again as soon as an operator says so, whatever else
// is the same, and the row says when that is decided: who waits for it must not
// take the first outcome for the second.
func TestWhatAnOperatorDecidesIsTriedAtOnceAndSettled(t *testing.T) {
	var mended atomic.Bool
	verify := func(_ context.Context, row ledger.Plugin) error {
		if row.SHA256 == "damaged" && !mended.Load() {
			return errors.New("its file has changed")
		}
		return nil
	}
	h, r := startOn(t, Config{Verify: verify}, &bus{}, "first")
	decide := func(change func(*ledger.Plugin)) func(serving, rejected string) {
		_ = r.edit("first", func(p *ledger.Plugin) {
			p.Generation++
			change(p)
		})
		generation := r.row("first").Generation
		return func(serving, rejected string) {
			t.Helper()
			var row ledger.Plugin
			r.until(t, "that it is settled", func() bool {
				row = r.row("first")
				return row.Settled == generation
			})
			if row.Serving != serving || row.Rejected != rejected ||
				rejected != "" && !strings.Contains(row.LastError, "its file has changed") {
				t.Errorf("serving %q, rejected %q: %s; want %q, %q", row.Serving, row.Rejected, row.LastError, serving, rejected)
			}
		}
	}
	pin := func(pin string) func(*ledger.Plugin) {
		return func(p *ledger.Plugin) { p.SHA256 = pin }
	}
	decide(func(p *ledger.Plugin) { p.Enabled, p.SHA256 = true, "damaged" })("", "damaged")
	decide(pin("damaged"))("", "damaged")
	mended.Store(true)
	decide(pin("damaged"))("damaged", "")
	waitFor(t, func() bool { return len(h.Answering("", pluginsdk.HookCommand)) == 1 })

	decide(pin("other"))("other", "")
	mended.Store(false)
	decide(pin("damaged"))("other", "damaged")
	decide(pin("other"))("other", "")
	mended.Store(true)
	decide(pin("damaged"))("damaged", "")
	decide(func(p *ledger.Plugin) { p.Position = 7 })("damaged", "")
}

// The old version fails once too often while the operator puts another in its
// place: that one has failed in nothing, and is tried.
func TestAFailureIsNotChargedToWhatWasDecidedMeanwhile(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	verify := func(_ context.Context, row ledger.Plugin) error {
		if strings.Contains(row.Path, "broken") {
			close(entered)
			<-release
		}
		return nil
	}
	h, r := startOn(t, Config{Verify: verify, Failures: 1, StartTimeout: time.Minute}, &bus{}, "first")
	dir := filepath.Dir(filepath.Dir(r.row("first").Path))
	decide := func(version string) {
		path := binary(t, filepath.Join(dir, "version-"+version), "first")
		_ = r.edit("first", func(p *ledger.Plugin) { p.Enabled, p.Path, p.Generation = true, path, p.Generation+1 })
	}
	decide("broken")
	<-entered
	decide("2.0.0")
	waitFor(t, func() bool {
		i, ok := h.current.Load("first")
		return ok && i.(*Instance).row.Load().Generation == 2
	})
	close(release)
	r.until(t, "the second version", func() bool { return r.row("first").Settled == 2 })
	if row := r.row("first"); row.Manifest.Version != "2.0.0" || row.State != pluginsdk.PluginServing || row.Quarantine != "" {
		t.Errorf("%s is %s, in quarantine for %q", row.Manifest.Version, row.State, row.Quarantine)
	}
}

// Without events.read a plugin is told of its own events only, and of having
// missed some.
func TestAResyncIsForEverybody(t *testing.T) {
	h, r := start(t, "listens")
	i := serving(t, h, r, "listens")
	var told []string
	for _, event := range i.visible([]pluginsdk.Event{{Type: pluginsdk.EventResync}, {Type: "pipeline:start"}, {Type: "listens:own"}}) {
		told = append(told, string(event.Type))
	}
	if !slices.Equal(told, []string{string(pluginsdk.EventResync), "listens:own"}) {
		t.Errorf("it is told of %v", told)
	}
}

// An upgrade is for the operator to start and nobody to notice.
func TestNoCallIsLostInAnUpgrade(t *testing.T) {
	h, r := start(t, "first")
	i := serving(t, h, r, "first")
	stop := make(chan struct{})
	var callers sync.WaitGroup
	for caller := range 4 {
		callers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				run := fmt.Sprintf("R-%d-%d", caller, n)
				h.Hold(run)
				if _, err := sayIn(t, i, run, "version"); err != nil {
					t.Errorf("a call in mid-upgrade: %s", err)
				}
				h.Release(run)
			}
		})
	}
	for _, version := range []string{"2.0.0", "3.0.0", "4.0.0"} {
		upgraded(t, r, "first", version)
		waitFor(t, is(t, i, "", version))
	}
	close(stop)
	callers.Wait()
}

// A new version that cannot work must not cost the old one.
func TestAVersionThatFailsNeverGetsACall(t *testing.T) {
	for _, name := range []string{"first", "alone"} {
		t.Run(name, func(t *testing.T) {
			h, r := start(t, name)
			i := serving(t, h, r, name)
			upgraded(t, r, name, "broken")
			r.until(t, "the failure", func() bool { return strings.Contains(r.row(name).LastError, "no port to be had") })
			if !is(t, i, "", "1.0.0")() {
				t.Error("the old version does not go on")
			}
			if row := r.row(name); row.State != pluginsdk.PluginServing || row.Restarts != 0 {
				t.Errorf("%+v", row)
			}
			upgraded(t, r, name, "2.0.0")
			waitFor(t, is(t, i, "", "2.0.0"))
		})
	}
}

// Two versions of a bot must not both be connected: the directory that only one
// can make stands for the connection.
func TestExclusivePluginsAreActiveOneAfterTheOther(t *testing.T) {
	h, r := start(t, "alone")
	i := serving(t, h, r, "alone")
	for _, version := range []string{"2.0.0", "3.0.0"} {
		upgraded(t, r, "alone", version)
		waitFor(t, is(t, i, "", version))
	}
	if row := r.row("alone"); row.Restarts != 0 || row.LastError != "" {
		t.Errorf("%+v", row)
	}
}
