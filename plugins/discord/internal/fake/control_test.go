package fake_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/seed-706843ae/harness/plugins/discord/internal/fake"
)

// ask uses an operation of the control over HTTP.
func (s *setup) ask(name string, argument any, result any) int {
	s.t.Helper()
	data, err := json.Marshal(argument)
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := http.Post(s.base+"/control/"+name, "application/json", bytes.NewReader(data))
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(result); err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode
}

func TestTheControlIsReachedOverHTTP(t *testing.T) {
	s := start(t, fake.Config{})
	var made struct{ ID string }
	s.ask("channel", fake.NewChannel{Guild: s.guild, Name: "made"}, &made)
	channel := made.ID
	s.ask("say", fake.Said{Channel: channel, Text: "hello", Files: []fake.SaidFile{{Name: "a.txt", Data: []byte("x")}}}, &made)
	s.ask("edit", object{"id": made.ID, "text": "bye"}, &made)
	var said []fake.Message
	s.ask("messages", object{"id": channel}, &said)
	if len(said) != 1 || said[0].Text != "bye" || said[0].Past[0] != "hello" || string(said[0].Files[0].Data) != "x" {
		t.Errorf("people see %+v", said)
	}
	var problem struct{ Error string }
	if status := s.ask("say", fake.Said{Channel: "17"}, &problem); status != 400 || problem.Error != `there is no channel "17"` {
		t.Errorf("a channel there is not: %d %q", status, problem.Error)
	}
	if status := s.ask("edit", object{"message": "17"}, &problem); status != 422 || problem.Error == "" {
		t.Errorf("a field there is not: %d %q", status, problem.Error)
	}
	if status := s.ask("shout", nil, &problem); status != 404 {
		t.Errorf("an operation there is not: %d", status)
	}
	var names []string
	if s.ask("", nil, &names); len(names) < 40 {
		t.Errorf("the operations are %v", names)
	}
	before := s.State().Version
	go s.Say(fake.Said{Channel: channel, Text: "wake"})
	var version int
	if s.ask("wait", object{"number": before}, &version); version <= before {
		t.Errorf("waiting for more than %d gave %d", before, version)
	}
}
