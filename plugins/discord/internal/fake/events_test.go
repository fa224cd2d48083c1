package fake_test

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"io"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/seed-706843ae/harness/plugins/discord/internal/fake"
)

func TestContentIsForWhoMayHaveIt(t *testing.T) {
	s := start(t, fake.Config{})
	b := s.connect(everything &^ (1 << 15))
	me := s.Who().Bot
	for _, test := range []struct {
		channel, text string
		seen          bool
	}{
		{s.channel, "for people", false}, {s.channel, "<@" + me + "> for you", true}, {s.DM(s.anna), "direct", true},
	} {
		s.Say(fake.Said{Channel: test.channel, By: s.anna, Text: test.text})
		if d := b.expect(0, "MESSAGE_CREATE"); (d["content"] == test.text) != test.seen {
			t.Errorf("of %q came %v", test.text, d["content"])
		}
	}
	s.post(object{"content": "mine"})
	if d := b.expect(0, "MESSAGE_CREATE"); d["content"] != "mine" {
		t.Errorf("of its own came %v", d["content"])
	}
}

func TestIntentsSayWhichEventsCome(t *testing.T) {
	s := start(t, fake.Config{})
	b := s.connect(1 << 12) // direct messages only
	s.Say(fake.Said{Channel: s.channel, Text: "in the guild"})
	s.Say(fake.Said{Channel: s.DM(s.anna), By: s.anna, Text: "direct"})
	if _, name, d := b.next(); name != "MESSAGE_CREATE" || d["content"] != "direct" {
		t.Errorf("the first was %s %v", name, d)
	}
}

func TestEventsGetLostAndComeTwice(t *testing.T) {
	s := start(t, fake.Config{})
	b := s.connect(everything)
	b.expect(0, "GUILD_CREATE")
	s.BreakEvents(fake.EventFault{Event: "MESSAGE_CREATE", Kind: "drop", Times: 1})
	s.BreakEvents(fake.EventFault{Event: "MESSAGE_CREATE", Kind: "duplicate", Times: 1})
	for _, text := range []string{"lost", "twice", "once"} {
		s.Say(fake.Said{Channel: s.channel, Text: text})
	}
	for _, want := range []string{"twice", "twice", "once"} {
		if d := b.expect(0, "MESSAGE_CREATE"); d["content"] != want {
			t.Errorf("came %v, not %s", d["content"], want)
		}
	}
}

func TestCompression(t *testing.T) {
	read := func(t *testing.T, conn *websocket.Conn) (int, []byte) {
		t.Helper()
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		kind, data, err := conn.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		return kind, data
	}
	t.Run("of payloads", func(t *testing.T) {
		s := start(t, fake.Config{})
		b := s.dial(s.gateway())
		b.send(identify(object{"compress": true}))
		kind, data := read(t, b.Conn)
		r, err := zlib.NewReader(bytes.NewReader(data))
		if err != nil || kind != websocket.BinaryMessage {
			t.Fatalf("READY is not compressed: %d %v", kind, err)
		}
		if plain, err := io.ReadAll(r); err != nil || !json.Valid(plain) {
			t.Errorf("READY is %q: %v", plain, err)
		}
	})
	t.Run("of the transport", func(t *testing.T) {
		s := start(t, fake.Config{})
		conn, _, err := websocket.DefaultDialer.Dial(s.gateway()+"?v=10&encoding=json&compress=zlib-stream", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		var stream bytes.Buffer
		_, hello := read(t, conn)
		stream.Write(hello)
		r, err := zlib.NewReader(&stream)
		if err != nil {
			t.Fatal(err)
		}
		decoder := json.NewDecoder(r)
		var payload struct{ Op int }
		if err := decoder.Decode(&payload); err != nil || payload.Op != 10 || !bytes.HasSuffix(hello, []byte{0, 0, 0xff, 0xff}) {
			t.Fatalf("HELLO is %v %v", payload, err)
		}
	})
}
