package press

import (
	"math"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const uuid = "0197c1f0-7d5e-7cc3-98c4-dc0c0c07398f"

func approval(ids ...string) pluginsdk.Approval {
	of := pluginsdk.Approval{ID: uuid}
	for _, id := range ids {
		of.Choices = append(of.Choices, pluginsdk.ApprovalChoice{ID: id, Label: "label of " + id})
	}
	return of
}

// What people press comes back as what was shown, and always fits.
func TestThereAndBack(t *testing.T) {
	long := strings.Repeat("x", 64)
	for _, id := range []ID{
		{Action: Stop, Of: uuid},
		{Action: Retry, Of: uuid},
		{Action: Go, Of: uuid},
		{Action: Continue, Of: "a:b:c"},
		Choice(approval("allow", "rule:"+strings.Repeat("directory", 40)), 1),
		{Action: Approve, Of: long, N: math.MaxInt32, Check: "01234567"},
		{Action: Deny, Of: uuid},
		{Action: Words, Of: uuid},
		{Action: Answer, Of: uuid},
		{Action: Answers, Of: uuid},
		{Action: Accept, Of: uuid, N: 1},
		{Action: Reject, Of: uuid, N: 12},
		{Action: Feedback, Of: long, N: math.MaxInt32},
		{Action: Type, Of: uuid + "/9223372036854775807", N: 4, Check: "01234567"},
	} {
		custom := id.String()
		if len(custom) > 100 {
			t.Errorf("%s has %d characters, Discord takes 100", custom, len(custom))
		}
		if got, ok := Decode(custom); !ok || got != id {
			t.Errorf("%s came back as %+v, %t", custom, got, ok)
		}
	}
}

// What a message of months ago says keeps its meaning.
func TestWrittenForm(t *testing.T) {
	for custom, want := range map[string]ID{
		"h1s:0::" + uuid:         {Action: Stop, Of: uuid},
		"h1y:3::" + uuid:         {Action: Accept, Of: uuid, N: 3},
		"h1a:1:3026a0ca:" + uuid: Choice(approval("allow", "deny"), 1),
		"h1t:0:01234567:T/12":    {Action: Type, Of: "T/12", Check: "01234567"},
	} {
		if got, ok := Decode(custom); !ok || got != want {
			t.Errorf("%s is %+v, %t; want %s", custom, got, ok, want)
		}
	}
}

func TestForeignIDsAreRefused(t *testing.T) {
	for name, custom := range map[string]string{
		"nothing":                    "",
		"another bot's":              "click_me",
		"another version's":          "h2s:0::" + uuid,
		"an unknown action":          "h1x:0::" + uuid,
		"two letters":                "h1st:0::" + uuid,
		"no action":                  "h1:0::" + uuid,
		"of nothing":                 "h1s:0::",
		"of what is too long":        "h1s:0::" + strings.Repeat("x", 65),
		"a part too few":             "h1s:0:" + uuid,
		"a number that is none":      "h1y:one::" + uuid,
		"a number written otherwise": "h1y:01::" + uuid,
		"a signed number":            "h1y:+1::" + uuid,
		"a huge number":              "h1y:99999999999999999999::" + uuid,
		"a run with a number":        "h1s:1::" + uuid,
		"a run with a check":         "h1s:0:01234567:" + uuid,
		"no iteration":               "h1y:0::" + uuid,
		"a choice before the first":  "h1a:-1:01234567:" + uuid,
		"a choice without a check":   "h1a:0::" + uuid,
		"a check too short":          "h1a:0:0123:" + uuid,
	} {
		t.Run(name, func(t *testing.T) {
			if id, ok := Decode(custom); ok {
				t.Errorf("%q is taken for %+v", custom, id)
			}
		})
	}
}

// A button that was shown for one choice never takes another.
func TestChosen(t *testing.T) {
	pressed := Choice(approval("allow", "rule:a", "deny"), 1)
	for _, test := range []struct {
		name string
		now  pluginsdk.Approval
		want string
	}{
		{"as it was", approval("allow", "rule:a", "deny"), "rule:a"},
		{"another stands in its place", approval("allow", "rule:b", "deny"), ""},
		{"they moved", approval("rule:a", "allow", "deny"), ""},
		{"there are fewer", approval("allow"), ""},
		{"there are none", approval(), ""},
		{"another approval", pluginsdk.Approval{ID: "other", Choices: approval("allow", "rule:a").Choices}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			id, ok := Decode(pressed.String())
			if !ok {
				t.Fatal("the button says nothing")
			}
			if choice, ok := id.Chosen(test.now); choice.ID != test.want || ok != (test.want != "") {
				t.Errorf("%q is taken, %t; want %q", choice.ID, ok, test.want)
			}
		})
	}
	if choice, ok := (ID{Action: Deny, Of: uuid, N: 0, Check: Choice(approval("allow"), 0).Check}).Chosen(approval("allow")); ok {
		t.Errorf("who denies takes %q", choice.ID)
	}
}

func TestFieldsDiffer(t *testing.T) {
	seen := map[string]bool{Said: true}
	for n := range 5 {
		for _, words := range []bool{false, true} {
			if field := Field(n, words); seen[field] {
				t.Errorf("%s is there twice in a form", field)
			} else {
				seen[field] = true
			}
		}
	}
}

// Whatever is sent, nothing is read from it that would not be written so.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"", "h1s:0::" + uuid, "h1a:2:3026a0ca:" + uuid, "h1b:7::a:b", "h1y:-1::x", "h1\xff:0::x", ":::"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, custom string) {
		id, ok := Decode(custom)
		if !ok {
			return
		}
		if id.String() != custom || len(custom) > 100 {
			t.Errorf("%q is read as %+v, which is written %q", custom, id, id)
		}
		if choice, ok := id.Chosen(approval("allow", "deny")); ok && Choice(approval("allow", "deny"), id.N) != id {
			t.Errorf("%q takes %q", custom, choice.ID)
		}
	})
}

// A button types what it was shown with, and nothing that came to stand in its place.
func TestTyping(t *testing.T) {
	row := func(plugin, metadata string) pluginsdk.Message {
		return pluginsdk.Message{ID: 12, ThreadID: "T", Plugin: plugin, Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Metadata: []byte(metadata)}
	}
	const two = `{"actions":[{"label":"Off","command":"/p off x"},{"label":"On","command":"/p on x"}]}`
	shown := row("p", two)
	id, ok := Typing(shown, 1)
	if got, stands := id.Typed(shown); !ok || !stands || got.Command != "/p on x" {
		t.Fatalf("%+v stands for %+v", id, got)
	}
	for name, other := range map[string]pluginsdk.Message{
		"another command":    row("p", `{"actions":[{"label":"Off","command":"/p off x"},{"label":"On","command":"/p on y"}]}`),
		"another label":      row("p", `{"actions":[{"label":"Off","command":"/p off x"},{"label":"Off","command":"/p on x"}]}`),
		"another plugin":     row("q", two),
		"one action":         row("p", `{"actions":[{"label":"Off","command":"/p off x"}]}`),
		"none":               row("p", ``),
		"another message":    {ID: 13, ThreadID: "T", Plugin: "p", Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Metadata: []byte(two)},
		"another thread":     {ID: 12, ThreadID: "U", Plugin: "p", Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Metadata: []byte(two)},
		"a person's message": {ID: 12, ThreadID: "T", Plugin: "p", Role: pluginsdk.RoleUser, Kind: pluginsdk.MessageText, Metadata: []byte(two)},
	} {
		if got, stands := id.Typed(other); stands {
			t.Errorf("%s: it types %+v", name, got)
		}
	}
	long := shown
	long.ThreadID = strings.Repeat("x", 64)
	if _, ok := Typing(long, 0); ok {
		t.Error("an id that is too long is shown")
	}
	for _, of := range []string{"T", "/12", "T/", "T/x", "T/-1", "T/0"} {
		if _, _, ok := (ID{Action: Type, Of: of}).Row(); ok {
			t.Errorf("%q is of a row", of)
		}
	}
}
