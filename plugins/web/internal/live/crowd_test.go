package live

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// A hundred people look on: each sees every event, in its order, while one among them who
// does not read is sent away, and nobody notices.
func TestAHundredClientsSeeEverythingAndOneThatDoesNotReadIsDropped(t *testing.T) {
	const clients, events = 100, 400
	f := open(t, Limits{QueueFrames: 50, QueueBytes: 64 << 10})
	stuck := f.dial("")
	if err := stuck.conn.NetConn().(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	step := make(chan struct{}, clients) // gets an element for each event that a client has read
	for n := range clients {
		p, _ := f.join("?thread=T")
		group.Go(func() {
			for want := uint64(2); want <= 2*events; want += 2 {
				var event pluginsdk.Event
				if err := p.conn.ReadJSON(&event); err != nil {
					t.Errorf("client %d at event %d: %v", n, want, err)
					step <- struct{}{}
					return
				}
				if event.Seq != want {
					t.Errorf("client %d: event %d; want %d", n, event.Seq, want)
				}
				step <- struct{}{}
			}
		})
	}
	// As fast as those who read can: no event before all have the one before. Who does not
	// read is also told of a thread that says much.
	much := fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", 64<<10))
	for range events {
		f.hub.Broadcast([]pluginsdk.Event{f.stream.add(pluginsdk.EventThreadMessage, "much", much)})
		f.hub.Broadcast([]pluginsdk.Event{f.stream.add(pluginsdk.EventThreadMessage, "T", `{"text":"x"}`)})
		for range clients {
			<-step
		}
		if t.Failed() {
			return
		}
	}
	group.Wait()
	// It may have been cut off in the middle of what it did not read.
	for n := 0; ; n++ {
		if _, _, err := stuck.conn.ReadMessage(); err != nil {
			if n >= 2*events || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("who did not read was not dropped: %d events, %v", n, err)
			}
			return
		}
	}
}
