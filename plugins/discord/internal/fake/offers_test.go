package fake_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/seed-706843ae/harness/plugins/discord/internal/fake"
)

func (s *setup) commandsPath() string { return "/applications/" + s.Who().App + "/commands" }

func TestCommandsThatAreRefused(t *testing.T) {
	option := func(name string, more object) object {
		o := object{"type": 3, "name": name, "description": "d"}
		for key, value := range more {
			o[key] = value
		}
		return o
	}
	command := func(options ...object) object { return object{"name": "task", "description": "d", "options": options} }
	many := make([]object, 26)
	for i := range many {
		many[i] = option(fmt.Sprint("o", i), nil)
	}
	big := make([]object, 25)
	for i := range big {
		choices := make([]object, 4)
		for j := range choices {
			choices[j] = object{"name": fmt.Sprint(j), "value": strings.Repeat("v", 80)}
		}
		big[i] = option(fmt.Sprint("o", i), object{"choices": choices})
	}
	for name, test := range map[string]struct {
		command object
		rule    string // "" is taken
	}{
		"one":                       {command(option("a", object{"required": true}), option("b", nil)), ""},
		"the optional first":        {command(option("a", nil), option("b", object{"required": true})), fake.RuleCommandOption},
		"a name with a capital":     {object{"name": "Task", "description": "d"}, fake.RuleCommandName},
		"a name with a space":       {object{"name": "a b", "description": "d"}, fake.RuleCommandName},
		"no description":            {object{"name": "task"}, fake.RuleCommand},
		"a long description":        {object{"name": "task", "description": strings.Repeat("d", 101)}, fake.RuleCommand},
		"26 options":                {command(many...), fake.RuleCommandOption},
		"one option twice":          {command(option("a", nil), option("a", nil)), fake.RuleCommandOption},
		"choices and autocomplete":  {command(option("a", object{"autocomplete": true, "choices": []object{{"name": "x", "value": "x"}}})), fake.RuleCommandOption},
		"9000 characters":           {command(big...), fake.RuleCommandSize},
		"in the menu of a message":  {object{"type": 3, "name": "Ask this"}, ""},
		"there with a description":  {object{"type": 3, "name": "Ask this", "description": "d"}, fake.RuleCommand},
		"subcommands":               {command(object{"type": 1, "name": "list", "description": "d", "options": []object{option("a", nil)}}), ""},
		"subcommands and an option": {command(object{"type": 1, "name": "list", "description": "d"}, option("a", nil)), fake.RuleCommandOption},
		"a context that is none":    {object{"name": "task", "description": "d", "contexts": []int{3}}, fake.RuleCommandContext},
	} {
		s := start(t, fake.Config{})
		a := s.do("PUT", s.commandsPath(), []object{test.command})
		if rules := s.rules(); (a.status == 200) != (test.rule == "") || test.rule == "" && rules != nil || test.rule != "" && !slices.Contains(rules, test.rule) {
			t.Errorf("%s: %v %v", name, a, s.Breaches())
		}
	}
}

// offer makes a command, "ask" with an option, a subcommand and a menu.
func (s *setup) offer() {
	s.t.Helper()
	a := s.do("PUT", s.commandsPath(), []object{
		{"name": "ask", "description": "d", "options": []object{{"type": 3, "name": "what", "description": "d", "required": true, "autocomplete": true}}},
		{"name": "task", "description": "d", "options": []object{{"type": 1, "name": "list", "description": "d"}}},
		{"type": 3, "name": "Ask this"},
	})
	if a.status != 200 {
		s.t.Fatalf("the commands were refused: %v", a)
	}
}

// told is the next interaction of a bot, with the address to answer it at.
func (b *bot) told() (interaction object, callback string) {
	b.t.Helper()
	i := b.expect(0, "INTERACTION_CREATE")
	return i, fmt.Sprintf("/interactions/%v/%v/callback", i["id"], i["token"])
}

func TestACommandIsAnsweredOnceAndInTime(t *testing.T) {
	s := start(t, fake.Config{NoLimits: true})
	s.offer()
	b := s.connect(everything)
	id := s.Slash(fake.Slash{Channel: s.channel, By: s.anna, Name: "ask", Options: object{"what": "time"}})
	i, callback := b.told()
	if got := fmt.Sprint(i["data"]); !strings.Contains(got, "name:what type:3 value:time") {
		t.Errorf("the data are %s", got)
	}
	if a := s.do("POST", callback, object{"type": 7, "data": object{"content": "x"}}); a.status != 400 {
		t.Errorf("a command was answered as a component is: %v", a)
	}
	s.ClearBreaches()
	if a := s.do("POST", callback, object{"type": 5, "data": object{"flags": 64}}); a.status != 204 {
		t.Fatalf("deferring: %v", a)
	}
	if a := s.do("POST", callback, object{"type": 4, "data": object{"content": "x"}}); a.at("code") != 40060.0 || !slices.Equal(s.rules(), []string{fake.RuleInteractionTwice}) {
		t.Errorf("a second answer: %v %v", a, s.rules())
	}
	answers := fmt.Sprintf("/webhooks/%s/%v", s.Who().App, i["token"])
	if a := s.do("PATCH", answers+"/messages/@original", object{"content": "noon"}); a.status != 200 {
		t.Fatalf("editing the answer: %v", a)
	}
	if a := s.do("POST", answers, object{"content": "or later"}); a.status != 200 {
		t.Fatalf("following up: %v", a)
	}
	got := s.Interaction(id)
	if got.Original == nil || got.Original.Text != "noon" || got.Original.Only != s.anna || got.Original.Loading || len(got.Sent) != 1 {
		t.Errorf("it became %+v", got)
	}
	if a := s.do("GET", "/channels/"+s.channel+"/messages/"+got.Original.ID, nil); a.at("code") != 10008.0 {
		t.Errorf("what one person sees is in the channel: %v", a)
	}
	s.ClearBreaches()
	s.Advance(15*time.Minute + time.Second)
	if a := s.do("POST", answers, object{"content": "x"}); a.status != 401 || a.at("code") != 50027.0 {
		t.Errorf("after 15 minutes: %v", a)
	}

	s.ClearBreaches()
	s.Slash(fake.Slash{Channel: s.channel, Name: "task list"})
	_, callback = b.told()
	s.Advance(4 * time.Second)
	if a := s.do("POST", callback, object{"type": 4, "data": object{"content": "x"}}); a.at("code") != 10062.0 || !slices.Equal(s.rules(), []string{fake.RuleInteractionLate}) {
		t.Errorf("after 3 seconds: %v %v", a, s.rules())
	}
}

func TestAnAnswerThatWasLostMayBeGivenAgain(t *testing.T) {
	s := start(t, fake.Config{NoLimits: true})
	s.offer()
	b := s.connect(everything)
	s.Slash(fake.Slash{Channel: s.channel, Name: "task list"})
	_, callback := b.told()
	s.Break(fake.Fault{Route: "POST /interactions/**", Kind: fake.FaultLost, Times: 1})
	answer := object{"type": 4, "data": object{"content": "x"}}
	if a, err := s.try("POST", callback, answer); err == nil {
		t.Fatalf("an answer came: %v", a)
	}
	if a := s.do("POST", callback, answer); a.at("code") != 40060.0 || s.rules() != nil {
		t.Errorf("again: %v %v", a, s.rules())
	}
}

func TestAButtonOpensAForm(t *testing.T) {
	s := start(t, fake.Config{NoLimits: true})
	b := s.connect(everything)
	row := object{"type": 1, "components": []object{{"type": 2, "style": 1, "label": "Change", "custom_id": "c:1"}}}
	id := s.post(object{"content": "x", "components": []object{row}}).at("id").(string)
	pressed := s.Press(id, s.anna, "Change")
	i, callback := b.told()
	if i["message"].(object)["id"] != id || i["data"].(object)["custom_id"] != "c:1" {
		t.Errorf("the bot was told %v", i)
	}
	field := object{"type": 18, "label": "What", "component": object{"type": 4, "custom_id": "what", "style": 1}}
	modal := object{"type": 9, "data": object{"custom_id": "m:1", "title": strings.Repeat("t", 46), "components": []object{field}}}
	if a := s.do("POST", callback, modal); a.status != 400 || !slices.Equal(s.rules(), []string{fake.RuleModal}) {
		t.Errorf("a title of 46: %v %v", a, s.rules())
	}
	s.ClearBreaches()
	modal["data"].(object)["title"] = "t"
	if a := s.do("POST", callback, modal); a.status != 204 {
		t.Fatalf("the form: %v", a)
	}
	s.Submit(pressed, map[string]string{"what": "tea"})
	i, callback = b.told()
	if got := fmt.Sprint(i["data"]); i["type"] != 5.0 || !strings.Contains(got, "value:tea") {
		t.Errorf("the bot was told %v", got)
	}
	if a := s.do("POST", callback, modal); a.status != 400 {
		t.Errorf("a form was answered with a form")
	}
	s.ClearBreaches()
	if a := s.do("POST", callback, object{"type": 7, "data": object{"content": "tea", "components": []object{}}}); a.status != 204 {
		t.Fatalf("changing the message: %v", a)
	}
	if said := s.Messages(s.channel); said[0].Text != "tea" || said[0].Past[0] != "x" || said[0].Buttons != nil || s.rules() != nil {
		t.Errorf("people see %+v, and the breaches are %v", said, s.Breaches())
	}
}

func TestTypingIsOfferedChoices(t *testing.T) {
	s := start(t, fake.Config{NoLimits: true})
	s.offer()
	b := s.connect(everything)
	id := s.Slash(fake.Slash{Channel: s.channel, Name: "ask", Typing: "what", Options: object{"what": "ti"}})
	_, callback := b.told()
	choices := make([]object, 26)
	for i := range choices {
		choices[i] = object{"name": fmt.Sprint(i), "value": "v"}
	}
	if a := s.do("POST", callback, object{"type": 8, "data": object{"choices": choices}}); a.status != 400 || !slices.Equal(s.rules(), []string{fake.RuleChoices}) {
		t.Errorf("26 choices: %v %v", a, s.rules())
	}
	if a := s.do("POST", callback, object{"type": 8, "data": object{"choices": choices[:2]}}); a.status != 204 || len(s.Interaction(id).Choices) != 2 {
		t.Errorf("two choices: %v %v", a, s.Interaction(id))
	}
}

// The plugin sends what the types of discordgo encode.
func TestWhatTheLibraryEncodesIsTaken(t *testing.T) {
	s := start(t, fake.Config{NoLimits: true})
	least := 1
	commands := []*discordgo.ApplicationCommand{
		{Name: "ask", Description: "d", Contexts: &[]discordgo.InteractionContextType{0, 1}, IntegrationTypes: &[]discordgo.ApplicationIntegrationType{0},
			Options: []*discordgo.ApplicationCommandOption{
				{Type: 3, Name: "what", Description: "d", Required: true, Autocomplete: true, MinLength: &least, MaxLength: 6000},
				{Type: 4, Name: "n", Description: "d", Choices: []*discordgo.ApplicationCommandOptionChoice{{Name: "one", Value: 1}}}}},
		{Type: 3, Name: "Ask this"},
	}
	if a := s.do("PUT", s.commandsPath(), commands); a.status != 200 {
		t.Fatalf("the commands: %v", a)
	}
	row := discordgo.ActionsRow{Components: []discordgo.MessageComponent{discordgo.Button{Label: "Go", Style: 1, CustomID: "go"}}}
	a := s.do("POST", "/channels/"+s.channel+"/messages", &discordgo.MessageSend{Content: "x", Components: []discordgo.MessageComponent{row},
		Embeds: []*discordgo.MessageEmbed{{Title: "t", Fields: []*discordgo.MessageEmbedField{{Name: "n", Value: "v"}}}}, AllowedMentions: &discordgo.MessageAllowedMentions{}})
	if a.status != 200 {
		t.Fatalf("the message: %v", a)
	}
	id := a.at("id").(string)
	b := s.connect(everything)
	respond := func(response discordgo.InteractionResponse) {
		t.Helper()
		_, callback := b.told()
		if a := s.do("POST", callback, response); a.status != 204 {
			t.Errorf("an answer of the type %d: %v", response.Type, a)
		}
	}
	s.Slash(fake.Slash{Channel: s.channel, Name: "ask", Typing: "what"})
	respond(discordgo.InteractionResponse{Type: 8, Data: &discordgo.InteractionResponseData{Choices: []*discordgo.ApplicationCommandOptionChoice{{Name: "a", Value: "b"}}}})
	s.Slash(fake.Slash{Channel: s.channel, Name: "ask", Options: object{"what": "w"}})
	respond(discordgo.InteractionResponse{Type: 5, Data: &discordgo.InteractionResponseData{Flags: 64}})
	s.Menu(id, "", "Ask this")
	respond(discordgo.InteractionResponse{Type: 4, Data: &discordgo.InteractionResponseData{Content: "x"}})
	pressed := s.Press(id, "", "go")
	input := discordgo.TextInput{CustomID: "f", Label: "l", Style: discordgo.TextInputShort, Required: true, MaxLength: 100}
	respond(discordgo.InteractionResponse{Type: 9, Data: &discordgo.InteractionResponseData{CustomID: "m", Title: "t",
		Components: []discordgo.MessageComponent{discordgo.ActionsRow{Components: []discordgo.MessageComponent{input}}}}})
	s.Submit(pressed, map[string]string{"f": "v"})
	respond(discordgo.InteractionResponse{Type: 6})
	if got := s.Breaches(); len(got) > 0 {
		t.Errorf("the breaches are %v", got)
	}
}
