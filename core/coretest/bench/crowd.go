package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/seed-706843ae/harness/core/coretest/owner"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	onlookers = 100                   // clients of the event socket in the section crowd
	beat      = 50 * time.Millisecond // from one event to the next: 20 a second
	seenAim   = 200 * time.Millisecond
)

// onlooker is one client of the event socket, which notes what it sees and when.
type onlooker struct {
	socket *websocket.Conn
	late   []time.Duration
	last   uint64
	gaps   int
}

// crowd has 100 clients look at 20 events a second, and one more that reads nothing.
func (b *bench) crowd() (err error) {
	d, err := b.start(nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	speaker, err := d.connect()
	if err != nil {
		return err
	}
	defer speaker.socket.Close()
	thread, err := speaker.thread()
	if err != nil {
		return err
	}
	processes, err := d.processes()
	if err != nil {
		return err
	}
	mute, err := d.connectSocket()
	if err != nil {
		return err
	}
	defer mute.Close()
	crowd := make([]*onlooker, onlookers)
	for n := range crowd {
		socket, err := d.connectSocket()
		if err != nil {
			return err
		}
		defer socket.Close()
		crowd[n] = &onlooker{socket: socket}
	}
	events := int(b.load/beat) * 5
	before, err := watched(speaker, thread, crowd, events)
	if err != nil {
		return err
	}
	held := resident(processes)
	after, err := watched(speaker, thread, crowd, events)
	if err != nil {
		return err
	}
	again := resident(processes)
	var late []time.Duration
	gaps := 0
	for _, o := range crowd {
		late, gaps = append(late, o.late...), gaps+o.gaps
	}
	slices.Sort(late)
	p99 := quantile(late, 0.99)
	b.row("from an event to a client", "p50 %v, p99 %v (aim %v), most %v, n=%d", fine(quantile(late, 0.5)), fine(p99), seenAim, fine(late[len(late)-1]), len(late))
	b.row("missing or out of order", "%d (aim 0); each of %d clients has seen all %d", gaps, onlookers, before+after)
	b.note(figureSeen, ms(p99), "ms")
	for i, p := range processes {
		b.row(p.name, "RSS %.1f MB, %.1f after as many events again (aim: it levels off)", held[i], again[i])
	}
	return nil
}

func (d *installation) connectSocket() (*websocket.Conn, error) {
	socket, answer, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(d.URL, "http")+"/ws", owner.Header(d.URL))
	if err != nil {
		return nil, err
	}
	return socket, answer.Body.Close()
}

// watched makes so many events, one each beat, and waits until everybody has seen the
// last. It returns how many there were.
func watched(speaker *client, thread string, crowd []*onlooker, events int) (int, error) {
	last := fmt.Sprintf("the last of %d at %d", events, time.Now().UnixNano())
	failed := make(chan error, len(crowd))
	var group sync.WaitGroup
	for _, o := range crowd {
		group.Go(func() {
			if err := o.watch(last); err != nil {
				failed <- err
			}
		})
	}
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for n := range events {
		name := fmt.Sprintf("event %d", n)
		if n == events-1 {
			name = last
		}
		if err := speaker.rename(thread, name); err != nil {
			return 0, err
		}
		<-ticker.C
	}
	group.Wait()
	select {
	case err := <-failed:
		return 0, err
	default:
		return events, nil
	}
}

// watch reads until the event that names the thread so.
func (o *onlooker) watch(last string) error {
	for {
		_, frame, err := o.socket.ReadMessage()
		if err != nil {
			return fmt.Errorf("a client was sent away: %w", err)
		}
		now := time.Now()
		var event pluginsdk.Event
		if err := json.Unmarshal(frame, &event); err != nil {
			return err
		}
		if o.last > 0 && event.Seq != o.last+1 {
			o.gaps++
		}
		o.last = event.Seq
		if event.Type != pluginsdk.EventThreadUpdated {
			continue
		}
		o.late = append(o.late, now.Sub(event.Timestamp))
		if bytes.Contains(frame, []byte(last)) {
			return nil
		}
	}
}

// rename gives a thread a name, which is an event.
func (c *client) rename(thread, name string) error {
	body, err := json.Marshal(map[string]string{"name": name})
	if err != nil {
		return err
	}
	request, err := http.NewRequest(http.MethodPatch, c.URL+"/api/threads/"+thread, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("PATCH /api/threads: %s", answer.Status)
	}
	return nil
}
