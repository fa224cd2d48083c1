package cron

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// After the clock was set back, a file that changes has its schedule fire, and one that cannot be read is named, as soon as
// before.
func TestAFileAfterTheClockWasSetBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	w := newWorld(t, hour(), nil)
	w.onFile("after", path)
	w.look()
	w.wait(2 * time.Minute)
	w.wait(-3 * time.Hour)
	write("two")
	w.wait(readEvery)
	if fires := w.fires("after"); len(fires) != 1 {
		t.Fatalf("it has fired %+v", fires)
	}
	w.finish()
	for range 3 {
		w.wait(2 * time.Minute)
	}
	slow := &hangs{hang: func(string) bool { return true }, let: make(chan struct{}), begun: make(chan struct{}, 100)}
	t.Cleanup(func() { close(slow.let) })
	w.plugin.fingerprint = slow.fingerprint
	w.step(2 * time.Minute)
	<-slow.begun
	w.step(-3 * time.Hour)
	w.step(readLimit)
	if unread := noteOf(w.job("after")).Unread; !strings.Contains(unread, "has not come to an end") {
		t.Errorf("of a file that hangs it says %q", unread)
	}
}

// Fires that are made up for apart from each other wait no longer when the clock is set back.
func TestFiresThatAreSpreadAfterTheClockWasSetBack(t *testing.T) {
	w := newWorld(t, hour(), nil)
	for _, name := range []string{"job", "other"} {
		w.save(pluginsdk.CronSpec{Name: name, Schedule: "0 * * * *", Timezone: "UTC", Prompt: "x", Missed: pluginsdk.MissedRun})
		w.fresh(name)
	}
	w.wait(time.Hour + 10*time.Minute)
	if n := len(w.host.Submissions()); n != 1 {
		t.Fatalf("%d are made at once", n)
	}
	w.wait(-3 * time.Hour)
	if n := len(w.host.Submissions()); n != 2 {
		t.Errorf("%d are made after the clock was set back", n)
	}
}
