package discord

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

func TestSettingsThatAreWrongSayHow(t *testing.T) {
	for settings, want := range map[string]string{
		`{"token": "a b"}`:                   "token has spaces",
		`{"apiURL": "discord"}`:              `apiURL is "discord"`,
		`{"dashboard": "ftp://example.org"}`: "dashboard is",
		`{"places": [{"channel": "123456789012345678"}, {"channel": "123456789012345678"}]}`: "the channel 123456789012345678 twice",
	} {
		_, err := parse(json.RawMessage(settings))
		if pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", settings, err)
		}
	}
}

func TestATokenAsPeopleCopyIt(t *testing.T) {
	t.Setenv(tokenVariable, " Bot of.the.environment\n")
	for settings, want := range map[string]string{
		`{}`:                       "of.the.environment",
		`{"token": "Bot a.b.c\n"}`: "a.b.c",
		`{"token": "\ta.b.c "}`:    "a.b.c",
	} {
		c, err := parse(json.RawMessage(settings))
		if err != nil || c.Token != want {
			t.Errorf("%s is %+v, %v", settings, c, err)
		}
	}
	t.Setenv(channelVariable, "#general")
	if _, err := parse(json.RawMessage(`{}`)); err == nil || !strings.Contains(err.Error(), channelVariable) {
		t.Errorf("a channel that is no id is taken: %v", err)
	}
}

func TestAChannelsOwnRules(t *testing.T) {
	c, err := parse(json.RawMessage(`{"starts": "mention", "newThreads": true, "places": [
		{"channel": "20", "starts": "everything"}, {"channel": "21", "newThreads": false}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		at      spot
		starts  string
		threads bool
	}{
		"a channel without":      {spot{Channel: "22"}, startsMention, true},
		"a channel":              {spot{Channel: "20"}, startsEverything, true},
		"its thread":             {spot{Channel: "30", Parent: "20"}, startsEverything, true},
		"a channel of the other": {spot{Channel: "21"}, startsMention, false},
	} {
		if starts, threads := c.starts(test.at), c.newThreads(test.at); starts != test.starts || threads != test.threads {
			t.Errorf("%s: %s, %v", name, starts, threads)
		}
	}
}
