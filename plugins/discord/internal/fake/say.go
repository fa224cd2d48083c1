package fake

import (
	"mime"
	"path/filepath"
)

// Said is what somebody writes.
type Said struct {
	Channel string     `json:"channel"`
	By      string     `json:"by"` // default the owner of the application
	Text    string     `json:"text"`
	ReplyTo string     `json:"reply_to"` // a message of the channel
	Quiet   bool       `json:"quiet"`    // a reply that does not notify
	Forward string     `json:"forward"`  // a message of anywhere, in place of a text
	Files   []SaidFile `json:"files"`
	Sticker string     `json:"sticker"` // its name
	Kind    int        `json:"kind"`    // the type of the message; 0 for what people write
	Webhook bool       `json:"webhook"` // through a webhook
}

// SaidFile is a file that somebody sends.
type SaidFile struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // a media type; default by the name
	Data []byte `json:"data"`
}

// Say writes a message and returns its id.
func (s *Server) Say(in Said) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := find(s.channels, in.Channel, "channel")
	m := &message{channel: c.id, author: s.by(in.By), content: in.Text, kind: in.Kind}
	for _, f := range in.Files {
		kind := f.Kind
		if kind == "" {
			kind = mime.TypeByExtension(filepath.Ext(f.Name))
		}
		m.files = append(m.files, &file{id: s.id(), channel: c.id, name: f.Name, kind: kind, data: f.Data})
	}
	if in.Webhook {
		m.webhook = s.id()
	}
	if in.Sticker != "" {
		m.stickers = []object{{"id": s.id(), "name": in.Sticker, "format_type": 1}}
	}
	var replies *message
	if in.ReplyTo != "" {
		replies = find(s.messages, in.ReplyTo, "message")
		m.reply(replies, c.guild)
	}
	if in.Forward != "" {
		s.forward(m, find(s.messages, in.Forward, "message"))
	}
	s.mention(m, &allowed{parse: []string{"users", "roles", "everyone"}, replied: !in.Quiet}, replies)
	s.store(m)
	return m.id
}

// Edit changes the text of what somebody wrote.
func (s *Server) Edit(id, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := find(s.messages, id, "message")
	next := *m
	next.content = text
	s.mention(&next, &allowed{parse: []string{"users", "roles", "everyone"}}, nil)
	s.edit(m, next)
}

// Unfurl adds the picture of a link to a message, some time after it was written: an
// update that is no edit.
func (s *Server) Unfurl(id, title string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := find(s.messages, id, "message")
	m.embeds = append(m.embeds, object{"type": "link", "title": title, "url": "https://example.org/"})
	s.dispatchMessage("MESSAGE_UPDATE", m)
}

// Delete takes a message away.
func (s *Server) Delete(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(find(s.messages, id, "message"))
}

// React adds somebody's reaction to a message.
func (s *Server) React(id, by, emoji string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.react(find(s.messages, id, "message"), s.by(by), emoji, true)
}

// StartTyping shows that somebody is writing.
func (s *Server) StartTyping(channel, by string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.typing(find(s.channels, channel, "channel"), s.by(by))
}
