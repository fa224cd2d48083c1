package slash

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func filled(t *testing.T, options string) (data wire.InteractionData) {
	t.Helper()
	if err := json.Unmarshal([]byte(`{"type": 1, "name": "do", "options": [`+options+`]}`), &data); err != nil {
		t.Fatal(err)
	}
	return data
}

func TestText(t *testing.T) {
	text := func(name string, named bool) pluginsdk.CommandOption {
		return pluginsdk.CommandOption{Name: name, Type: pluginsdk.OptionText, Named: named}
	}
	delegate := command("do", "d", "", text("task", false), text("dir", true),
		pluginsdk.CommandOption{Name: "cost", Type: pluginsdk.OptionNumber, Named: true},
		pluginsdk.CommandOption{Name: "now", Type: pluginsdk.OptionFlag, Named: true})
	tasks := command("do", "d", "", text("words", false), pluginsdk.CommandOption{Name: "id", Type: pluginsdk.OptionTask, Required: true},
		pluginsdk.CommandOption{Name: "all", Type: pluginsdk.OptionFlag})
	for _, test := range []struct {
		name    string
		of      pluginsdk.Command
		options string
		want    string
	}{
		{"nothing", delegate, ``, "/do"},
		{"named ones first, each as it is written", delegate, `{"name": "task", "type": 3, "value": "mend the roof"}, {"name": "now", "type": 5, "value": true},
			{"name": "cost", "type": 10, "value": 0.5}, {"name": "dir", "type": 3, "value": "/a b"}`, `/do dir="/a b" cost=0.5 now mend the roof`},
		{"a flag that is not set", delegate, `{"name": "now", "type": 5, "value": false}`, "/do"},
		{"large and small numbers", delegate, `{"name": "cost", "type": 10, "value": 9007199254740992.0}`, "/do cost=9007199254740992"},
		{"double quotes", delegate, `{"name": "dir", "type": 3, "value": "the \"b\" one"}`, `/do dir='the "b" one'`},
		{"both quotes", delegate, `{"name": "dir", "type": 3, "value": "it's \"b\""}`, `/do dir="it's 'b'"`},
		{"a quote in front", delegate, `{"name": "dir", "type": 3, "value": "\"b\""}`, `/do dir='"b"'`},
		{"a quote within a word", delegate, `{"name": "dir", "type": 3, "value": "it's"}`, `/do dir=it's`},
		{"in the order of the specification", tasks, `{"name": "id", "type": 3, "value": "0197"}, {"name": "words", "type": 3, "value": "reject"},
			{"name": "all", "type": 5, "value": true}`, "/do reject 0197 all"},
		{"without one in front", tasks, `{"name": "id", "type": 3, "value": "0197"}`, "/do 0197"},
		{"only spaces", tasks, `{"name": "id", "type": 3, "value": "  "}`, "/do"},
		{"the one text", command("do", "d", "CITY"), `{"name": "text", "type": 3, "value": " Rome\ntoday "}`, "/do Rome\ntoday"},
		{"the one text of options that Discord does not take", command("do", "d", "", text("text", true), text("Text", true)),
			`{"name": "text", "type": 3, "value": "Text=a b"}`, "/do Text=a b"},
		{"an option that was taken out since", tasks, `{"name": "colour", "type": 3, "value": "red"}, {"name": "id", "type": 3, "value": "0197"}`, "/do 0197 red"},
		{"a value that is none", tasks, `{"name": "id", "type": 3}, {"name": "words", "type": 3, "value": {"a": 1}}`, "/do"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Text(test.of, filled(t, test.options)); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// Whatever a plugin declares, Discord takes it, and what people fill in arrives as they
// meant it, by the rules for what is typed.
func TestAnyCommandIsTakenAndComesBack(t *testing.T) {
	for seed := range uint64(1000) {
		random := rand.New(rand.NewPCG(seed, 15))
		of := anyCommand(random)
		set := Build([]pluginsdk.Command{of})
		if err := check(set.Guild); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := check(set.Global); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		data, given := fillIn(random, of, set)
		line := Text(of, data)
		name, got := typedBack(of, line)
		if name != of.Name || !maps.Equal(got, given) {
			t.Fatalf("seed %d: %s\ncame back as %s %q\ngiven %q", seed, line, name, got, given)
		}
	}
}

func pick[T any](random *rand.Rand, of ...T) T { return of[random.IntN(len(of))] }

// strangers are words as nobody should write them.
func strangers(random *rand.Rand) string {
	var words string
	for range random.IntN(80) {
		words += pick(random, "a", "word", " ", "\n", "\t", "\x00", "\x1b[2J", "é", "😀", "\u202e", "\u2066", "\u200d", "\u3164", "\xff", "`", "@everyone", "\u2028")
	}
	return words
}

func anyName(random *rand.Rand, taken map[string]bool) string {
	for {
		name := pick(random, "a", "b", "text", "z")
		for range random.IntN(31) {
			name += pick(random, "a", "9", "_", "-")
		}
		if name = name[:min(len(name), 32)]; !taken[name] {
			taken[name] = true
			return name
		}
	}
}

// anyCommand is a command that the contract takes.
func anyCommand(random *rand.Rand) pluginsdk.Command {
	of := command(anyName(random, map[string]bool{}), strangers(random), strangers(random))
	of.Plugin = pick(random, "", "stranger")
	taken := map[string]bool{}
	for range pick(random, 0, 1, 3, 3, 10, 25, 30) {
		option := pluginsdk.CommandOption{
			Name: anyName(random, taken), Description: strangers(random), Required: random.IntN(3) == 0, Named: random.IntN(2) == 0,
			Type: pick(random, pluginsdk.OptionText, pluginsdk.OptionNumber, pluginsdk.OptionFlag, pluginsdk.OptionChoice, pluginsdk.OptionThread, pluginsdk.OptionModel, "unheard"),
		}
		if option.Type == pluginsdk.OptionChoice {
			for i := range 1 + random.IntN(30) {
				option.Choices = append(option.Choices, pick(random, fmt.Sprint("c", i), fmt.Sprint("c", i), strings.Repeat("w", random.IntN(99))+"c", strangers(random)+"c"))
			}
		}
		of.Options = append(of.Options, option)
	}
	return of
}

// fillIn is what a person fills in, in any order, and what they mean by it. Of the options
// without a name they leave out none in front of another: what is typed cannot say that.
func fillIn(random *rand.Rand, of pluginsdk.Command, set Set) (data wire.InteractionData, given map[string]string) {
	given = make(map[string]string)
	places := 0
	for _, option := range of.Options {
		if !option.Named {
			places++
		}
	}
	add := func(name string, kind int, value any, means string) {
		raw, _ := json.Marshal(value)
		data.Options = append(data.Options, wire.Option{Name: name, Type: kind, Value: raw})
		given[name] = means
	}
	if len(of.Options) > 25 {
		add("text", 3, "all of it", "all of it")
		return data, given
	}
	place, last := 0, random.IntN(places+1)
	for _, option := range of.Options {
		shown := slices.IndexFunc(set.Guild[0].Options, func(o *discordgo.ApplicationCommandOption) bool { return o.Name == option.Name })
		kind := int(set.Guild[0].Options[shown].Type)
		if option.Named && random.IntN(2) == 0 || !option.Named && place >= last {
			continue
		}
		if !option.Named {
			place++
		}
		switch {
		case kind == 5:
			add(option.Name, kind, true, option.Name)
		case kind == 10:
			add(option.Name, kind, 12.5, "12.5")
		case option.Named:
			value := pick(random, "plain", "two words", `a "quoted" one`, "it's", `"`, "line\nline", "a=b", `"x" `+option.Name+`=y`)
			add(option.Name, kind, value, value)
		case place == places:
			add(option.Name, kind, "The rest, as it is: x=1 \"and\" more", "The rest, as it is: x=1 \"and\" more")
		default:
			add(option.Name, kind, "W"+fmt.Sprint(place), "W"+fmt.Sprint(place))
		}
	}
	random.Shuffle(len(data.Options), func(i, j int) { data.Options[i], data.Options[j] = data.Options[j], data.Options[i] })
	return data, given
}

// leading is a named option as the plugins that come with Harness read it.
var leading = regexp.MustCompile(`^([a-z][a-z0-9_-]*)=(?:"([^"]*)"|'([^']*)'|(\S*))(?:\s+|$)`)

// typedBack reads a line by the rules for what is typed: docs/writing-a-plugin.md.
func typedBack(of pluginsdk.Command, line string) (name string, given map[string]string) {
	name, body, _ := pluginsdk.ParseCommand(line)
	given = make(map[string]string)
	named := make(map[string]bool)
	var places []string
	for _, option := range of.Options {
		if named[option.Name] = option.Named; !option.Named {
			places = append(places, option.Name)
		}
	}
	if len(of.Options) > 25 {
		return name, map[string]string{"text": body}
	}
	for body != "" {
		word, after, _ := strings.Cut(body, " ")
		if match := leading.FindStringSubmatch(body); match != nil && named[match[1]] {
			given[match[1]], body = match[2]+match[3]+match[4], body[len(match[0]):]
		} else if named[word] {
			given[word], body = word, after
		} else {
			break
		}
	}
	for i, place := range places {
		if body == "" {
			break
		}
		word, after, _ := strings.Cut(body, " ")
		if i == len(places)-1 {
			word, after = body, ""
		}
		given[place], body = word, after
	}
	return name, given
}

// People are offered what fits, and never a value that is not the one that was meant.
func TestSuggest(t *testing.T) {
	many := make([]Candidate, 40)
	for i := range many {
		many[i] = Candidate{Value: fmt.Sprint("v", i)}
	}
	for _, test := range []struct {
		name  string
		of    []Candidate
		typed string
		want  string
	}{
		{"nothing there", nil, "x", ""},
		{"nothing typed", []Candidate{{Value: "b"}, {Value: "a"}}, "", "b=b a=a"},
		{"what begins so comes first", []Candidate{{Value: "claude-opus"}, {Value: "opus"}, {Value: "haiku"}}, " OPUS", "opus=opus claude-opus=claude-opus"},
		{"by its name", []Candidate{{Value: "0197", Name: "The\nroof"}, {Value: "0198", Name: "A door"}}, "roof", "The roof=0197"},
		{"a value twice", []Candidate{{Value: "a"}, {Value: "a"}}, "", "a=a"},
		{"no value", []Candidate{{Name: "a"}}, "", ""},
		{"a value that is cut", []Candidate{{Value: strings.Repeat("x", 101)}, {Value: "x  y"}}, "x", ""},
		{"a name that is cut", []Candidate{{Value: "a", Name: strings.Repeat("x", 101)}}, "x", strings.Repeat("x", 99) + "…=a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			found := Suggest(test.of, test.typed)
			var got []string
			for _, choice := range found {
				got = append(got, fmt.Sprintf("%s=%s", choice.Name, choice.Value))
			}
			if found == nil || strings.Join(got, " ") != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if n := len(Suggest(many, "v")); n != 25 {
		t.Errorf("%d are suggested, Discord takes 25", n)
	}
}

func TestFocused(t *testing.T) {
	of := command("do", "d", "", pluginsdk.CommandOption{Name: "model", Type: pluginsdk.OptionModel}, pluginsdk.CommandOption{Name: "id", Type: pluginsdk.OptionTask})
	option, typed, ok := Focused(of, filled(t, `{"name": "model", "type": 3, "value": "opus"}, {"name": "id", "type": 3, "value": "01", "focused": true}`))
	if !ok || option.Name != "id" || typed != "01" {
		t.Errorf("%+v %q %t", option, typed, ok)
	}
	if _, _, ok := Focused(of, filled(t, `{"name": "gone", "type": 3, "value": "01", "focused": true}`)); ok {
		t.Error("an option is filled in that the command does not have")
	}
}
