package fake

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"time"

	"github.com/gorilla/websocket"
)

// send queues a payload. A connection that hangs sends nothing.
func (c *conn) send(payload object) {
	data, err := json.Marshal(payload)
	if err != nil {
		panic(err) // payloads are made above
	}
	c.push(frame{data: data})
}

func (c *conn) sendEvent(e event) {
	if c.hung || c.ended {
		return
	}
	c.events[e.seq] = time.Now()
	c.push(frame{data: e.data})
}

func (c *conn) push(f frame) {
	if c.hung || c.ended {
		return
	}
	c.out = append(c.out, f)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// close ends the connection with a code, after what is queued.
func (c *conn) close(code int, text string) {
	c.server.leave(c, code == 4007 || code == 4009 || code == 4004)
	c.push(frame{code: code, text: text})
	c.ended = true
	if code == 4004 || code >= 4010 && code <= 4014 {
		c.server.final = c.as
	}
	c.server.touch()
}

// cut ends the connection at once, without a word.
func (c *conn) cut() {
	c.server.leave(c, false)
	c.ended = true
	cutOff(c.ws.UnderlyingConn())
	c.server.touch()
}

// invalidate says that the session is invalid.
// Source: events/gateway-events#invalid-session.
func (c *conn) invalidate(resumable bool) {
	s := c.server
	s.leave(c, !resumable)
	c.invalid = true
	s.lastInvalid = s.now()
	c.send(object{"op": opInvalid, "d": resumable, "s": nil, "t": nil})
	s.touch()
}

// writeLoop sends what is queued until the connection ends.
func (c *conn) writeLoop() {
	var stream bytes.Buffer
	transport := zlib.NewWriter(&stream)
	for range c.wake {
		c.server.mu.Lock()
		frames, over, compress := c.out, c.ended, c.compress
		c.out = nil
		c.server.mu.Unlock()
		for _, f := range frames {
			if f.code != 0 {
				// The bot answers the close, which ends readLoop; if it does not, time does.
				deadline := time.Now().Add(time.Second)
				_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(f.code, f.text), deadline)
				_ = c.ws.SetReadDeadline(deadline)
				return
			}
			kind, data := websocket.TextMessage, f.data
			switch {
			case compress == "zlib-stream":
				// Source: events/gateway#zlib-stream: each ends with Z_SYNC_FLUSH.
				_, _ = transport.Write(data) // a buffer takes everything
				_ = transport.Flush()
				kind, data = websocket.BinaryMessage, bytes.Clone(stream.Bytes())
				stream.Reset()
			case compress == "payload" && len(data) >= c.server.config.CompressFrom:
				kind, data = websocket.BinaryMessage, deflate(data)
			}
			_ = c.ws.SetWriteDeadline(time.Now().Add(10 * time.Second))
			if err := c.ws.WriteMessage(kind, data); err != nil {
				return // readLoop sees the same end
			}
		}
		if over {
			return
		}
	}
}

// Source: events/gateway#payload-compression.
func deflate(data []byte) []byte {
	var buffer bytes.Buffer
	w := zlib.NewWriter(&buffer)
	_, _ = w.Write(data) // a buffer takes everything
	_ = w.Close()
	return buffer.Bytes()
}
