package discord

import (
	"log/slog"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// The mark of all overtakes no channel in which something is at work, and none that is not
// stored: else a process that dies would have lost what was written there.
func TestTheMarkOfAllOvertakesNothing(t *testing.T) {
	host := plugintest.NewHost()
	sdk := host.As(new(Plugin).Manifest())
	read := func() *seen {
		s, err := readSeen(t.Context(), sdk.State, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	at := func(s *seen, channel string) string {
		id, _ := s.after(channel)
		return id
	}
	s := read()
	t.Cleanup(func() { s.close() })
	first := s.alive
	if again := read(); again.alive != first {
		t.Errorf("the first start is forgotten: %s, %s", again.alive, first)
	}
	now := time.Now()
	early, later := wire.IDAt(now.Add(time.Minute)), wire.IDAt(now.Add(3*time.Minute))
	s.begin("busy", early)
	s.mark("idle", early)
	s.mark("late", later)
	s.mark("late", early) // not backwards
	until := now.Add(2 * time.Minute)

	host.Fail("State.Put", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the database is away"))
	s.live(t.Context(), until, func(string) bool { return false })
	if got := at(s, "never read"); got != first {
		t.Errorf("the mark of all is %s, and those of channels are not stored", got)
	}
	host.Fail("State.Put", nil)
	s.live(t.Context(), until, func(channel string) bool { return channel == "busy" })
	for _, s := range []*seen{s, read()} {
		for channel, want := range map[string]string{"busy": early, "idle": wire.IDAt(until), "late": later, "never read": wire.IDAt(until)} {
			if got := at(s, channel); got != want {
				t.Errorf("%s is read behind %s, want %s", channel, got, want)
			}
		}
		if len(s.ids) != 2 {
			t.Errorf("kept are %v", s.ids)
		}
	}
	s.live(t.Context(), now, func(string) bool { return true })
	if got := at(s, "never read"); got != wire.IDAt(until) {
		t.Errorf("the mark of all went back to %s", got)
	}
}
