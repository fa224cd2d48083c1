package fake_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/seed-706843ae/harness/plugins/discord/internal/fake"
)

func (s *setup) gateway() string { return strings.Replace(s.base, "http", "ws", 1) + "/gateway/" }

func (s *setup) until(what string, condition func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	if err := s.Wait(ctx, condition); err != nil {
		s.t.Fatalf("%s: %v", what, err)
	}
}

func (b *bot) resumeAt(seq int) object {
	return object{"op": 6, "d": object{"token": "token", "session_id": b.session, "seq": seq}}
}

func TestResumingReplaysWhatWasMissedInOrder(t *testing.T) {
	s := start(t, fake.Config{})
	b := s.connect(everything)
	b.expect(0, "GUILD_CREATE")
	s.Say(fake.Said{Channel: s.channel, Text: "0"})
	b.expect(0, "MESSAGE_CREATE")
	s.Cut()
	s.until("the connection ends", func() bool { return s.State().Connections == 0 })
	for _, text := range []string{"1", "2", "3"} {
		s.Say(fake.Said{Channel: s.channel, Text: text})
	}
	if most := s.State().Most; most != 1 {
		t.Errorf("%d sessions were connected at once", most)
	}
	next := s.dial(b.resume)
	next.send(b.resumeAt(b.seq))
	got := ""
	for {
		op, name, d := next.next()
		if op != 0 {
			t.Fatalf("the opcode %d in a replay", op)
		}
		if name == "RESUMED" {
			break
		}
		got += d["content"].(string)
	}
	if got != "123" || s.rules() != nil {
		t.Errorf("replayed was %q, and the breaches are %v", got, s.Breaches())
	}
	s.Say(fake.Said{Channel: s.channel, Text: "4"})
	if d := next.expect(0, "MESSAGE_CREATE"); d["content"] != "4" || s.State().Most != 1 {
		t.Errorf("after the replay came %v", d)
	}
}

func TestSessionsThatCannotBeResumed(t *testing.T) {
	t.Run("at a sequence that was not reached", func(t *testing.T) {
		s := start(t, fake.Config{})
		b := s.connect(everything)
		s.Cut()
		next := s.dial(b.resume)
		next.send(b.resumeAt(99))
		if code := next.closed(); code != 4007 || !slices.Equal(s.rules(), []string{fake.RuleResume}) {
			t.Errorf("closed with %d, breaches %v", code, s.rules())
		}
	})
	t.Run("closed with 1000", func(t *testing.T) {
		s := start(t, fake.Config{})
		b := s.connect(everything)
		_ = b.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(1000, ""))
		s.until("the session ends", func() bool { return s.State().Sessions == 0 })
		next := s.dial(b.resume)
		next.send(b.resumeAt(b.seq))
		next.expect(9, "")
		next.send(b.resumeAt(b.seq))
		if code := next.closed(); code != 4003 || !slices.Equal(s.rules(), []string{fake.RuleAfterInvalid}) {
			t.Errorf("the same connection was used on: %d %v", code, s.rules())
		}
	})
	t.Run("closed with another code it can", func(t *testing.T) {
		s := start(t, fake.Config{})
		b := s.connect(everything)
		_ = b.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(4000, ""))
		s.until("the connection ends", func() bool { return s.State().Connections == 0 })
		next := s.dial(b.resume)
		next.send(b.resumeAt(b.seq))
		next.expect(0, "RESUMED")
	})
	t.Run("left for too long", func(t *testing.T) {
		s := start(t, fake.Config{})
		b := s.connect(everything)
		s.Cut()
		s.Advance(5 * time.Minute)
		next := s.dial(b.resume)
		next.send(b.resumeAt(b.seq))
		next.expect(9, "")
	})
	t.Run("at the wrong address", func(t *testing.T) {
		s := start(t, fake.Config{})
		b := s.connect(everything)
		s.Cut()
		next := s.dial(s.gateway())
		next.send(b.resumeAt(b.seq))
		next.expect(0, "RESUMED")
		if !slices.Equal(s.rules(), []string{fake.RuleResumeURL}) {
			t.Errorf("the breaches are %v", s.Breaches())
		}
	})
}

func identify(more object) object {
	d := object{"token": "token", "intents": 1, "properties": object{"os": "linux", "browser": "t", "device": "t"}}
	for key, value := range more {
		d[key] = value
	}
	return object{"op": 2, "d": d}
}

func TestWhatEndsAConnection(t *testing.T) {
	for name, test := range map[string]struct {
		sent []any
		code int
		rule string
	}{
		"another token":            {[]any{identify(object{"token": "x"})}, 4004, ""},
		"an intent that is none":   {[]any{identify(object{"intents": 1 << 30})}, 4013, fake.RuleIntents},
		"an intent not allowed":    {[]any{identify(object{"intents": 1 << 1})}, 4014, ""},
		"another shard":            {[]any{identify(object{"shard": []int{1, 2}})}, 4010, fake.RuleIdentify},
		"properties that are text": {[]any{identify(object{"properties": "linux"})}, 4002, fake.RuleIdentify},
		"identifying twice":        {[]any{identify(nil), identify(nil)}, 4005, fake.RuleIdentifyTwice},
		"a presence before":        {[]any{object{"op": 3, "d": object{}}}, 4003, fake.RuleNotIdentified},
		"an opcode there is not":   {[]any{identify(nil), object{"op": 99, "d": nil}}, 4001, fake.RulePayload},
		"no JSON object":           {[]any{"x"}, 4002, fake.RulePayload},
		"more than 4096 bytes":     {[]any{identify(object{"token": strings.Repeat("x", 5000)})}, 4002, fake.RulePayload},
		"a field there is not":     {[]any{identify(object{"guild_subscriptions": true}), identify(nil)}, 4005, fake.RuleUnknownField},
		"121 payloads in a while":  {slices.Repeat([]any{object{"op": 1, "d": nil}}, 121), 4008, fake.RuleGatewayRate},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, fake.Config{})
			b := s.dial(s.gateway())
			for _, payload := range test.sent {
				b.send(payload)
			}
			if code := b.closed(); code != test.code {
				t.Errorf("closed with %d", code)
			}
			if rules := s.rules(); test.rule == "" && rules != nil || test.rule != "" && !slices.Contains(rules, test.rule) {
				t.Errorf("the breaches are %v", s.Breaches())
			}
		})
	}
}

func TestComingAgainAfterAFinalClose(t *testing.T) {
	s := start(t, fake.Config{})
	b := s.dial(s.gateway())
	b.send(identify(object{"token": "x"}))
	b.closed()
	b = s.dial(s.gateway())
	b.send(identify(object{"token": "y"}))
	b.closed()
	if s.rules() != nil {
		t.Errorf("with another token: %v", s.Breaches())
	}
	b = s.dial(s.gateway())
	b.send(identify(object{"token": "y"}))
	b.closed()
	if !slices.Equal(s.rules(), []string{fake.RuleReconnect}) {
		t.Errorf("with the same again: %v", s.Breaches())
	}
}

func TestHeartbeats(t *testing.T) {
	s := start(t, fake.Config{})
	b := s.connect(everything)
	b.expect(0, "GUILD_CREATE")
	b.send(object{"op": 1, "d": b.seq})
	b.expect(11, "")
	if s.rules() != nil {
		t.Errorf("the breaches are %v", s.Breaches())
	}
	b.send(object{"op": 1, "d": b.seq - 1})
	b.expect(11, "")
	b.send(object{"op": 1, "d": b.seq + 1})
	b.expect(11, "")
	if !slices.Equal(s.rules(), []string{fake.RuleHeartbeatSeq, fake.RuleHeartbeatSeq}) {
		t.Errorf("the breaches are %v", s.Breaches())
	}
	slow := start(t, fake.Config{Lag: time.Nanosecond})
	b = slow.connect(everything)
	b.expect(0, "GUILD_CREATE")
	slow.AskHeartbeat()
	b.expect(1, "")
	b.send(object{"op": 1, "d": b.seq - 1})
	b.expect(11, "")
	if !slices.Equal(slow.rules(), []string{fake.RuleHeartbeatSeq, fake.RuleHeartbeatAsked}) {
		t.Errorf("late, and of an old sequence: %v", slow.Breaches())
	}
	late := start(t, fake.Config{HeartbeatInterval: 10 * time.Millisecond, HeartbeatGrace: 10 * time.Millisecond})
	if code := late.dial(late.gateway()).closed(); code != 4000 || !slices.Equal(late.rules(), []string{fake.RuleHeartbeatLate}) {
		t.Errorf("without a heartbeat: %d %v", code, late.rules())
	}
}

func TestIdentifyingTooSoon(t *testing.T) {
	s := start(t, fake.Config{SessionStarts: 2, AfterInvalid: time.Second})
	s.connect(1)
	var b *bot
	for i := range 6 {
		if i == 5 {
			s.ClearBreaches()
		}
		b = s.dial(s.gateway())
		b.send(identify(nil))
		b.expect(9, "")
		if i == 0 && s.rules() != nil {
			t.Errorf("once too soon, as after a start: %v", s.Breaches())
		}
	}
	if !slices.Contains(s.rules(), fake.RuleIdentifyRate) {
		t.Errorf("too soon for the sixth time: %v", s.Breaches())
	}
	s.ClearBreaches()
	s.Advance(5 * time.Second)
	s.connect(1)
	s.InvalidSession(false)
	s.Advance(500 * time.Millisecond)
	b = s.dial(s.gateway())
	b.send(identify(nil))
	b.expect(9, "")
	if !slices.Equal(s.rules(), []string{fake.RuleAfterInvalid}) {
		t.Errorf("half a second after an invalid session: %v", s.Breaches())
	}
	s.Advance(5 * time.Second)
	b = s.dial(s.gateway())
	b.send(identify(nil))
	if code := b.closed(); code != 4004 {
		t.Errorf("the third of two sessions a day: %d", code)
	}
}

func TestAZombieSaysNothing(t *testing.T) {
	s := start(t, fake.Config{})
	b := s.connect(everything)
	b.expect(0, "GUILD_CREATE")
	s.Hang()
	b.send(object{"op": 1, "d": b.seq})
	s.Say(fake.Said{Channel: s.channel, Text: "missed"})
	_ = b.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(4000, ""))
	_ = b.Close()
	next := s.dial(b.resume)
	next.send(b.resumeAt(b.seq))
	if d := next.expect(0, "MESSAGE_CREATE"); d["content"] != "missed" {
		t.Errorf("the replay has %v", d)
	}
}
