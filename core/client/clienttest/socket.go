package clienttest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/gorilla/websocket"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Publish broadcasts an event of a thread.
func (d *Daemon) Publish(kind pluginsdk.EventType, threadID string, payload any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.publish(kind, threadID, payload)
}

// publish keeps the event for who reconnects, and sends it. The filter by
// thread is left out: clients of these tests ask for one thread each.
func (d *Daemon) publish(kind pluginsdk.EventType, threadID string, payload any) {
	data, err := json.Marshal(payload)
	if err != nil {
		d.t.Errorf("encode the payload of %s: %v", kind, err)
		return
	}
	event := d.mark(kind)
	event.ThreadID, event.Data, event.Seq, event.Timestamp = threadID, data, event.Seq+1, time.Now()
	d.events = append(d.events, event)
	for conn := range d.sockets {
		_ = conn.WriteJSON(event)
	}
}

// mark is an event without payload at the position of the newest event.
func (d *Daemon) mark(kind pluginsdk.EventType) pluginsdk.Event {
	return pluginsdk.Event{Type: kind, Boot: "boot-" + strconv.Itoa(d.boot), Seq: uint64(len(d.events))}
}

func (d *Daemon) socket(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.deaf {
		refuse(w, http.StatusServiceUnavailable, "the server is stopping")
		return
	}
	conn, err := new(websocket.Upgrader).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	_ = conn.WriteJSON(d.mark("hello"))
	query := r.URL.Query()
	after, _ := strconv.Atoi(query.Get("seq"))
	switch boot := query.Get("boot"); {
	case boot == "":
	case boot != d.mark("").Boot:
		_ = conn.WriteJSON(d.mark(pluginsdk.EventResync))
	default:
		for _, event := range d.events[after:] {
			_ = conn.WriteJSON(event)
		}
	}
	d.sockets[conn] = struct{}{}
	d.work.Go(func() { d.drain(conn) })
}

// drain reads until the client leaves.
func (d *Daemon) drain(conn *websocket.Conn) {
	for {
		if _, _, err := conn.NextReader(); err != nil {
			break
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.sockets, conn)
	_ = conn.Close()
}
