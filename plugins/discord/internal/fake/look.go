package fake

import (
	"encoding/json"
	"strings"
	"time"
)

// Message is a message as people see it now.
type Message struct {
	ID         string              `json:"id"`
	Channel    string              `json:"channel"`
	Author     string              `json:"author"` // id
	Bot        bool                `json:"bot"`    // it is the bot's
	Text       string              `json:"text"`
	Past       []string            `json:"past"` // what it said before it was edited, oldest first
	ReplyTo    string              `json:"reply_to,omitempty"`
	Kind       int                 `json:"kind"`
	Flags      int                 `json:"flags"`
	Nonce      any                 `json:"nonce,omitempty"`
	Only       string              `json:"only,omitempty"`    // of ephemeral ones: who sees it
	Loading    bool                `json:"loading,omitempty"` // "is thinking"
	Thread     string              `json:"thread,omitempty"`  // that starts from it
	Embeds     json.RawMessage     `json:"embeds,omitempty"`
	Components json.RawMessage     `json:"components,omitempty"`
	Buttons    []Button            `json:"buttons,omitempty"`
	Files      []SaidFile          `json:"files,omitempty"`
	Reactions  map[string][]string `json:"reactions,omitempty"` // user ids by emoji
	Pinged     Pinged              `json:"pinged"`
	At         time.Time           `json:"at"`
}

// Button is a button of a message.
type Button struct {
	Label    string `json:"label"`
	CustomID string `json:"custom_id"`
	Style    int    `json:"style"`
	Disabled bool   `json:"disabled"`
	URL      string `json:"url,omitempty"`
}

// Messages are the messages of a channel as people see them now, the oldest first, those
// for one person only among them.
func (s *Server) Messages(channel string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []Message{}
	for _, m := range find(s.channels, channel, "channel").messages {
		list = append(list, s.seen(m))
	}
	return list
}

func (s *Server) seen(m *message) Message {
	out := Message{ID: m.id, Channel: m.channel, Author: m.author, Bot: m.author == s.bot.id, Text: m.content, Past: append([]string{}, m.past...),
		Kind: m.kind, Flags: m.flags, Nonce: m.nonce, Only: m.only, Loading: m.flags&flagLoading != 0, Thread: m.thread,
		Pinged: m.pinged, At: m.at}
	if m.kind == typeReply {
		out.ReplyTo = m.referenced
	}
	for _, part := range []struct {
		to   *json.RawMessage
		from []any
	}{{&out.Embeds, m.embeds}, {&out.Components, m.components}} {
		if len(part.from) > 0 {
			data, err := json.Marshal(part.from)
			if err != nil {
				panic(err) // it came as JSON
			}
			*part.to = data
		}
	}
	walk(m.components, func(o object) {
		if kindOf(o) != componentButton {
			return
		}
		b := Button{Style: numberOf(o["style"]), Disabled: o["disabled"] == true}
		b.Label, _ = o["label"].(string)
		b.CustomID, _ = o["custom_id"].(string)
		b.URL, _ = o["url"].(string)
		out.Buttons = append(out.Buttons, b)
	})
	for _, f := range m.files {
		out.Files = append(out.Files, SaidFile{Name: f.name, Kind: f.kind, Data: f.data})
	}
	for _, r := range m.reactions {
		if out.Reactions == nil {
			out.Reactions = make(map[string][]string)
		}
		out.Reactions[r.emoji] = append([]string{}, r.users...)
	}
	return out
}

// Channel is a channel as people see it now.
type Channel struct {
	ID       string `json:"id"`
	Guild    string `json:"guild"`
	Parent   string `json:"parent"`
	Name     string `json:"name"`
	Kind     int    `json:"kind"`
	Archived bool   `json:"archived"`
	Locked   bool   `json:"locked"`
}

// Channels are a guild's channels and threads, the oldest first; of "", those of direct
// messages.
func (s *Server) Channels(guild string) []Channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []Channel{}
	for _, c := range s.channelsOf(guild) {
		list = append(list, Channel{c.id, c.guild, c.parent, c.name, c.kind, c.archived, c.locked})
	}
	return list
}

// Commands are the commands that the bot offers in a guild; of "", everywhere.
func (s *Server) Commands(guild string) []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []json.RawMessage{}
	for _, o := range s.commands[guild] {
		data, err := json.Marshal(o)
		if err != nil {
			panic(err) // it came as JSON
		}
		list = append(list, data)
	}
	return list
}

// Who says who the bot, the owner of the application and the application are.
type Who struct {
	Bot   string `json:"bot"`
	Owner string `json:"owner"`
	App   string `json:"app"`
	Base  string `json:"base"`
}

// Who says who is there from the beginning.
func (s *Server) Who() Who {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Who{Bot: s.bot.id, Owner: s.owner.id, App: s.app, Base: s.base}
}

// State is what the server counts.
type State struct {
	Version     int `json:"version"`     // counts every change
	Connections int `json:"connections"` // that were not ended
	Sessions    int `json:"sessions"`
	Ready       int `json:"ready"` // sessions with a connection
	Most        int `json:"most"`  // of those, at once
	Identifies  int `json:"identifies"`
	Invalid     int `json:"invalid"` // requests answered 401, 403 and 429
	Requests    int `json:"requests"`
	Breaches    int `json:"breaches"`
}

// State counts connections, sessions and requests.
func (s *Server) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := State{Version: s.version, Ready: s.connected(), Most: s.mostConns, Sessions: len(s.sessions), Identifies: len(s.identifies),
		Invalid: len(s.invalid), Requests: len(s.requests), Breaches: len(s.breaches)}
	for c := range s.conns {
		if !c.ended {
			st.Connections++
		}
	}
	return st
}

// Count counts the requests so far to a route of faults.go, "POST /channels/*/messages".
func (s *Server) Count(pattern string) int {
	n := 0
	for _, r := range s.Requests() {
		path, _, _ := strings.Cut(r.Path, "?")
		if matches(pattern, r.Method, path) {
			n++
		}
	}
	return n
}
