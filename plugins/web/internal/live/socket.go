package live

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/gorilla/websocket"

	"github.com/seed-706843ae/harness/plugins/web/internal/access"
	"github.com/seed-706843ae/harness/plugins/web/internal/problem"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// upgrader leaves the origin to the guard in front of it.
var upgrader = websocket.Upgrader{
	CheckOrigin: func(*http.Request) bool { return true },
	Error: func(w http.ResponseWriter, _ *http.Request, status int, reason error) {
		problem.Write(w, status, reason.Error())
	},
}

// ServeHTTP upgrades the request to a WebSocket and streams events to it until
// either side ends it, or the caller's right ends. The query may say which events (filter) and
// after which position, boot and seq.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	resume, wrong := position(query)
	if wrong != "" {
		problem.Write(w, http.StatusUnprocessableEntity, wrong)
		return
	}
	wants, wrong := filterOf(query)
	if wrong != "" {
		problem.Write(w, http.StatusUnprocessableEntity, wrong)
		return
	}
	c := newClient(wants, h.limits)
	defer c.cancel()
	joined, err := h.enter(c)
	if err != nil {
		w.Header().Set("Retry-After", "1")
		problem.Write(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	defer h.remove(c)
	until, release := access.Until(r.Context())
	defer release()
	stop := context.AfterFunc(until, func() { c.putOut(until) })
	defer stop()
	through := &hijacker{ResponseWriter: w}
	conn, err := upgrader.Upgrade(through, r, nil)
	if err != nil {
		return // the upgrader has answered
	}
	c.attach(conn, through.conn)
	c.run(func() error { return h.begin(c, joined, resume) })
}

// position reads boot and seq, which come together or not at all. wrong says
// what is wrong with them.
func position(query url.Values) (resume *pluginsdk.Position, wrong string) {
	boot, seq := query.Get("boot"), query.Get("seq")
	if boot == "" && seq == "" {
		return nil, ""
	}
	n, err := strconv.ParseUint(seq, 10, 64)
	if boot == "" || err != nil {
		return nil, "boot and seq must be given together, as the frames have them; seq is a number"
	}
	return &pluginsdk.Position{Boot: boot, Seq: n}, ""
}
