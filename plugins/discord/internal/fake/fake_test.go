package fake_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/seed-706843ae/harness/plugins/discord/internal/fake"
)

// setup is a server with a guild, a channel and somebody in it.
type setup struct {
	*fake.Server
	t                    *testing.T
	base                 string
	guild, channel, anna string
}

func start(t *testing.T, config fake.Config) *setup {
	t.Helper()
	s := &setup{Server: fake.New(config), t: t}
	base, err := s.Listen("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.base = base
	s.guild = s.AddGuild(fake.NewGuild{Name: "Home"})
	s.channel = s.AddChannel(fake.NewChannel{Guild: s.guild, Name: "general"})
	s.anna = s.AddUser(fake.NewUser{Name: "anna", Guilds: []string{s.guild}})
	return s
}

// object is a JSON object.
type object = map[string]any

// answer is what came back of a request.
type answer struct {
	status int
	header http.Header
	body   any
}

func (a answer) at(path string) any {
	value := a.body
	for step := range strings.SplitSeq(path, ".") {
		o, _ := value.(object)
		value = o[step]
	}
	return value
}

// do asks the API as a bot that keeps to the rules.
func (s *setup) do(method, path string, body any) answer {
	s.t.Helper()
	a, err := s.try(method, path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

func (s *setup) try(method, path string, body any) (answer, error) {
	var reader io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return answer{}, err
		}
		reader = bytes.NewReader(data)
	}
	r, err := http.NewRequest(method, s.base+"/api/v10"+path, reader)
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("User-Agent", "DiscordBot (https://example.org, 1.0)")
	r.Header.Set("Authorization", "Bot token")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode, header: response.Header}
	if response.StatusCode != http.StatusNoContent {
		if err := json.NewDecoder(response.Body).Decode(&a.body); err != nil {
			return a, err
		}
	}
	return a, nil
}

// rules are the names of the breaches so far.
func (s *setup) rules() []string {
	var names []string
	for _, b := range s.Breaches() {
		names = append(names, b.Rule)
	}
	return names
}

// bot is a connection to the gateway.
type bot struct {
	*websocket.Conn
	t       *testing.T
	seq     int
	session string
	resume  string
}

func (s *setup) dial(address string) *bot {
	s.t.Helper()
	conn, _, err := websocket.DefaultDialer.Dial(address+"?v=10&encoding=json", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	b := &bot{Conn: conn, t: s.t}
	b.expect(10, "")
	return b
}

// connect identifies with the intents and reads READY.
func (s *setup) connect(intents int) *bot {
	s.t.Helper()
	b := s.dial(strings.Replace(s.base, "http", "ws", 1) + "/gateway/")
	b.send(object{"op": 2, "d": object{"token": "token", "intents": intents, "properties": object{"os": "linux", "browser": "t", "device": "t"}}})
	ready := b.expect(0, "READY")
	b.session, _ = ready["session_id"].(string)
	b.resume, _ = ready["resume_gateway_url"].(string)
	return b
}

func (b *bot) send(payload any) {
	b.t.Helper()
	if err := b.WriteJSON(payload); err != nil {
		b.t.Fatal(err)
	}
}

// next reads a payload.
func (b *bot) next() (op int, name string, d object) {
	b.t.Helper()
	var payload struct {
		Op int
		T  string
		S  int
		D  any
	}
	_ = b.SetReadDeadline(time.Now().Add(10 * time.Second))
	if err := b.ReadJSON(&payload); err != nil {
		b.t.Fatal(err)
	}
	if payload.S > 0 {
		b.seq = payload.S
	}
	d, _ = payload.D.(object)
	return payload.Op, payload.T, d
}

// expect reads until a payload of the opcode and name comes.
func (b *bot) expect(op int, name string) object {
	b.t.Helper()
	for {
		if gotOp, gotName, d := b.next(); gotOp == op && gotName == name {
			return d
		}
	}
}

// closed reads until the end and returns its code.
func (b *bot) closed() int {
	b.t.Helper()
	_ = b.SetReadDeadline(time.Now().Add(10 * time.Second))
	for {
		if _, _, err := b.ReadMessage(); err != nil {
			var closed *websocket.CloseError
			if !errors.As(err, &closed) {
				b.t.Fatal(err)
			}
			return closed.Code
		}
	}
}

// everything are all intents that need no permission, and the content of messages.
const everything = 1<<0 | 1<<9 | 1<<10 | 1<<12 | 1<<13 | 1<<15

func TestAConversation(t *testing.T) {
	s := start(t, fake.Config{})
	b := s.connect(everything)
	b.expect(0, "GUILD_CREATE")
	id := s.Say(fake.Said{Channel: s.channel, By: s.anna, Text: "hello"})
	if got := b.expect(0, "MESSAGE_CREATE"); got["content"] != "hello" || got["id"] != id || got["guild_id"] != s.guild {
		t.Fatalf("the bot was told %v", got)
	}
	a := s.do("POST", "/channels/"+s.channel+"/messages", object{"content": "<@" + s.anna + "> @everyone", "nonce": "n1", "enforce_nonce": true,
		"allowed_mentions": object{"parse": []string{}}, "message_reference": object{"message_id": id}})
	if a.status != 200 {
		t.Fatalf("the answer was refused: %v", a)
	}
	if got := b.expect(0, "MESSAGE_CREATE"); got["nonce"] != "n1" || got["type"] != 19.0 {
		t.Fatalf("the bot's own message came back as %v", got)
	}
	said := s.Messages(s.channel)
	if len(said) != 2 || !said[1].Bot || said[1].ReplyTo != id || !said[1].Pinged.Nobody() {
		t.Fatalf("people see %+v", said)
	}
	if rules := s.rules(); rules != nil {
		t.Fatalf("breaches: %v", s.Breaches())
	}
}
