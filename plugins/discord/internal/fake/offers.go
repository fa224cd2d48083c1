package fake

import (
	"encoding/json"
	"slices"
	"strings"
)

// Slash is a command that somebody gives.
type Slash struct {
	Channel string         `json:"channel"`
	By      string         `json:"by"`
	Name    string         `json:"name"`    // with subcommands: "task list"
	Options map[string]any `json:"options"` // by name: texts, numbers, booleans
	Typing  string         `json:"typing"`  // the option that is being typed: autocomplete
}

// Slash gives a command, or types in one, and returns the id of the interaction.
func (s *Server) Slash(in Slash) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := find(s.channels, in.Channel, "channel")
	name, subs, _ := strings.Cut(in.Name, " ")
	command := s.offered(c, name, commandChat)
	i := &interaction{kind: interactionCommand, user: s.by(in.By), channel: c.id}
	if in.Typing != "" {
		i.kind = interactionAutocomplete
	}
	level := listOf(command["options"])
	data := object{"id": command["id"], "name": name, "type": commandChat}
	if guild, ok := command["guild_id"]; ok {
		data["guild_id"] = guild
	}
	at := data
	for sub := range strings.FieldsSeq(subs) {
		o := optionOf(level, sub)
		inner := object{"name": sub, "type": numberOf(o["type"])}
		at["options"] = []object{inner}
		at, level = inner, listOf(o["options"])
	}
	filled := []object{}
	for _, value := range level {
		o := value.(object)
		name := o["name"].(string)
		given, ok := in.Options[name]
		if !ok && name == in.Typing {
			given, ok = "", true
		}
		if !ok {
			if o["required"] == true && in.Typing == "" {
				misuse("the command %q needs the option %q", in.Name, name)
			}
			continue
		}
		one := object{"name": name, "type": numberOf(o["type"]), "value": given}
		if name == in.Typing {
			if o["autocomplete"] != true {
				misuse("the option %q of the command %q has no autocomplete", name, in.Name)
			}
			one["focused"], i.optionKind = true, numberOf(o["type"])
		}
		filled = append(filled, one)
	}
	for name := range in.Options {
		optionOf(level, name)
	}
	if len(filled) > 0 {
		at["options"] = filled
	}
	return s.interact(i, data)
}

// offered is a command that people see in a channel.
func (s *Server) offered(c *channel, name string, kind int) object {
	wanted := 0
	if c.direct() {
		wanted = 1
	}
	for _, scope := range []string{c.guild, ""} {
		for _, o := range s.commands[scope] {
			if o["name"] != name || numberOf(o["type"]) != kind || scope == "" && c.direct() && o["dm_permission"] == false {
				continue
			}
			contexts, limited := o["contexts"].([]any)
			if !limited || slices.ContainsFunc(contexts, func(v any) bool { return numberOf(v) == wanted }) {
				return o
			}
		}
	}
	misuse("there is no command %q in the channel %q", name, c.id)
	return nil
}

func optionOf(level []any, name string) object {
	for _, value := range level {
		if o := value.(object); o["name"] == name {
			return o
		}
	}
	misuse("there is no option %q", name)
	return nil
}

func listOf(value any) []any {
	list, _ := value.([]any)
	return list
}

// Menu chooses a command in the menu of a message and returns the id of the interaction.
func (s *Server) Menu(message, by, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := find(s.messages, message, "message")
	command := s.offered(s.channels[m.channel], name, commandMessage)
	data := object{"id": command["id"], "name": name, "type": commandMessage, "target_id": m.id,
		"resolved": object{"messages": object{m.id: s.messageObject(m, true)}}}
	return s.interact(&interaction{kind: interactionCommand, user: s.by(by), channel: m.channel, target: m}, data)
}

// Press presses the button of a message that has the custom id or the label, and returns
// the id of the interaction.
func (s *Server) Press(message, by, button string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := find(s.messages, message, "message")
	o := m.component(button, componentButton, s.by(by))
	if o["disabled"] == true {
		misuse("the button %q of the message %q is disabled", button, message)
	}
	return s.interact(&interaction{kind: interactionComponent, user: s.by(by), channel: m.channel, source: m},
		object{"custom_id": o["custom_id"], "component_type": componentButton})
}

// Choose picks values of the select menu of a message and returns the id of the interaction.
func (s *Server) Choose(message, by, menu string, values []string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := find(s.messages, message, "message")
	o := m.component(menu, componentSelect, s.by(by))
	return s.interact(&interaction{kind: interactionComponent, user: s.by(by), channel: m.channel, source: m},
		object{"custom_id": o["custom_id"], "component_type": componentSelect, "values": values})
}

// component is the component of a message that somebody sees there.
func (m *message) component(name string, kind int, by string) object {
	var found object
	if !m.deleted && (m.only == "" || m.only == by) {
		walk(m.components, func(o object) {
			if kindOf(o) == kind && o["custom_id"] != nil && (o["custom_id"] == name || o["label"] == name) {
				found = o
			}
		})
	}
	if found == nil {
		misuse("the message %q has no component %q that %q sees", m.id, name, by)
	}
	return found
}

// picked are the values of a menu that somebody picks, a line each.
func picked(menu object, lines string) []string {
	values := strings.Fields(lines)
	most := max(numberOf(menu["max_values"]), 1)
	if len(values) > most {
		misuse("the menu %q takes at most %d values", menu["custom_id"], most)
	}
	for _, value := range values {
		if !slices.ContainsFunc(listOf(menu["options"]), func(option any) bool { return option.(object)["value"] == value }) {
			misuse("the menu %q has no option %q", menu["custom_id"], value)
		}
	}
	return append([]string{}, values...)
}

// Submit hands in the modal that an interaction was answered with, with the values of its
// fields by their custom ids (of a menu those that are picked, a line each), and returns the
// id of the new interaction.
func (s *Server) Submit(modal string, fields map[string]string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := find(s.interactions, modal, "interaction")
	if from.modal == nil {
		misuse("the interaction %q was not answered with a modal", modal)
	}
	rest := make(map[string]bool)
	for name := range fields {
		rest[name] = true
	}
	var fill func(value any) object
	fill = func(value any) object {
		o, _ := value.(object)
		out := object{"type": kindOf(o), "id": 1}
		if id, ok := o["custom_id"].(string); ok {
			text, given := fields[id]
			if prefilled, ok := o["value"].(string); ok && !given {
				text = prefilled
			}
			if text == "" && o["required"] != false {
				misuse("the modal needs the field %q", id)
			}
			if most := numberOf(o["max_length"]); most > 0 && units(text) > most {
				misuse("the field %q takes at most %d characters", id, most)
			}
			delete(rest, id)
			out["custom_id"] = id
			if kindOf(o) == componentSelect {
				out["values"] = picked(o, text)
			} else {
				out["value"] = text
			}
		}
		if below := listOf(o["components"]); below != nil {
			var list []object
			for _, value := range below {
				list = append(list, fill(value))
			}
			out["components"] = list
		}
		if inside, ok := o["component"].(object); ok {
			out["component"] = fill(inside)
		}
		return out
	}
	filled := []object{}
	for _, value := range listOf(from.modal["components"]) {
		filled = append(filled, fill(value))
	}
	for name := range rest {
		misuse("the modal has no field %q", name)
	}
	return s.interact(&interaction{kind: interactionModal, user: from.user, channel: from.channel, source: from.source},
		object{"custom_id": from.modal["custom_id"], "components": filled})
}

// Interaction is what became of something that somebody did.
type Interaction struct {
	ID       string          `json:"id"`
	Answer   int             `json:"answer"`   // the type of the first answer; 0 without one
	Original *Message        `json:"original"` // the first answer; nil without, or when deleted
	Sent     []Message       `json:"sent"`     // what followed
	Modal    json.RawMessage `json:"modal,omitempty"`
	Choices  []Choice        `json:"choices,omitempty"` // of autocomplete
}

// Choice is what autocomplete offers.
type Choice struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
}

// Interaction says what became of an interaction.
func (s *Server) Interaction(id string) Interaction {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := find(s.interactions, id, "interaction")
	out := Interaction{ID: id, Answer: i.answer, Sent: []Message{}}
	if i.original != nil && !i.original.deleted {
		m := s.seen(i.original)
		out.Original = &m
	}
	for _, m := range i.sent {
		if !m.deleted {
			out.Sent = append(out.Sent, s.seen(m))
		}
	}
	if i.modal != nil {
		data, err := json.Marshal(i.modal)
		if err != nil {
			panic(err) // it came as JSON
		}
		out.Modal = data
	}
	for _, value := range i.choices {
		o := value.(object)
		out.Choices = append(out.Choices, Choice{Name: o["name"].(string), Value: o["value"]})
	}
	return out
}
