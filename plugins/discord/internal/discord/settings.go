package discord

import (
	"encoding/json"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
	"github.com/seed-706843ae/harness/plugins/internal/settings"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The variables of the environment that hold for what no setting says.
const (
	tokenVariable   = "DISCORD_TOKEN"
	channelVariable = "DISCORD_CHANNEL_ID"
)

// What starts a turn in a channel.
const (
	startsMention    = "mention"
	startsEverything = "everything"
	startsNothing    = "nothing"
)

// What those get who may not talk to the bot, and how a very long reply is sent.
const (
	strangersSilence = "silence"
	strangersLine    = "line"
	longAsMessages   = "messages"
	longAsFile       = "file"
)

var settingsSchema = json.RawMessage(`{
  "type": "object",
  "additionalProperties": false,
  "$defs": {
    "ids": {"type": "array", "items": {"type": "string", "pattern": "^[0-9]{15,20}$"}, "default": []}
  },
  "properties": {
    "token": {"operator": true, "type": "string", "secret": true, "title": "Token", "description": "The bot's token; not set: ` + tokenVariable + ` of the environment"},
    "channel": {"operator": true, "type": "string", "pattern": "^([0-9]{15,20})?$", "title": "Channel for reports", "description": "Id of the channel for what has no place of its own; not set: ` + channelVariable + ` of the environment"},
    "owner": {"operator": true, "type": "string", "pattern": "^([0-9]{15,20})?$", "title": "Owner", "description": "Id of the user whose assistant it is; not set: the owner of the application"},
    "users": {"operator": true, "$ref": "#/$defs/ids", "title": "Users", "description": "Ids of users who may talk to the assistant"},
    "roles": {"operator": true, "$ref": "#/$defs/ids", "title": "Roles", "description": "Ids of roles whose members may talk to it"},
    "guilds": {"operator": true, "$ref": "#/$defs/ids", "title": "Servers", "description": "Ids of servers (guilds) in which it may be talked to"},
    "channels": {"operator": true, "$ref": "#/$defs/ids", "title": "Channels", "description": "Ids of channels, with their threads, in which it may be talked to"},
    "ownerChannels": {"operator": true, "$ref": "#/$defs/ids", "title": "The owner's channels", "description": "Ids of channels that nobody but the owner reads: they have the owner's memory, and only the owner may talk there"},
    "approvers": {"operator": true, "$ref": "#/$defs/ids", "title": "Approvers", "description": "Ids of users and roles who may answer what the agent asks, and decide about tasks; none: the owner alone"},
    "workers": {"operator": true, "$ref": "#/$defs/ids", "title": "Workers", "description": "Ids of users and roles who may also have work done that runs code, as with /delegate, if they may talk to the assistant; none: the owner alone"},
    "strangers": {"enum": ["silence", "line"], "default": "silence", "title": "Strangers get", "description": "What those get who may not talk to it: nothing, or one line"},
    "starts": {"enum": ["mention", "everything", "nothing"], "default": "mention", "title": "What is answered", "description": "In channels: what mentions it or answers it, every message, or commands alone"},
    "newThreads": {"type": "boolean", "default": false, "title": "A thread for each question", "description": "Whether a question in a channel is answered in a Discord thread of its own"},
    "places": {
      "type": "array", "default": [], "title": "Channels with rules of their own",
      "items": {
        "type": "object", "additionalProperties": false, "required": ["channel"],
        "properties": {
          "channel": {"type": "string", "pattern": "^[0-9]{15,20}$", "description": "Id of the channel"},
          "starts": {"enum": ["mention", "everything", "nothing"], "description": "As above, for this one"},
          "newThreads": {"type": "boolean", "description": "As above, for this one"}
        }
      }
    },
    "live": {"type": "boolean", "default": true, "title": "Show answers while they are written"},
    "reactions": {"type": "boolean", "default": true, "title": "Reactions", "description": "Whether a message shows by reactions that it waits, is worked on, was answered, or failed"},
    "longReplies": {"enum": ["messages", "file"], "default": "messages", "title": "Very long replies", "description": "As many messages, or as a file with the first paragraph"},
    "longerThan": {"type": "integer", "minimum": 1, "maximum": 50, "default": 5, "title": "Very long", "description": "From how many messages on, with the choice file, a reply is very long"},
    "catchUpHours": {"type": "integer", "minimum": 0, "maximum": 720, "default": 24, "title": "Catch up, hours", "description": "How old a message may be that was written while the bot was away, to be answered"},
    "catchUpMessages": {"type": "integer", "minimum": 0, "maximum": 1000, "default": 100, "title": "Catch up, messages", "description": "How many of these are answered in a channel, the newest"},
    "maxFileMB": {"type": "integer", "minimum": 1, "maximum": 500, "default": 25, "title": "Largest file, MB", "description": "Files of people that are larger are left out, and the agent is told"},
    "dashboard": {"operator": true, "type": "string", "format": "uri", "title": "Dashboard", "description": "Address of the dashboard, for links to threads; not set: no links"},
    "apiURL": {"operator": true, "type": "string", "format": "uri", "title": "Address of the API", "description": "Not set: Discord's own, ` + rest.Base + `"}
  }
}`)

// config is the settings with their defaults.
type config struct {
	Token           string   `json:"token"`
	Channel         string   `json:"channel"`
	Owner           string   `json:"owner"`
	Users           []string `json:"users"`
	Roles           []string `json:"roles"`
	Guilds          []string `json:"guilds"`
	Channels        []string `json:"channels"`
	OwnerChannels   []string `json:"ownerChannels"`
	Approvers       []string `json:"approvers"`
	Workers         []string `json:"workers"`
	Strangers       string   `json:"strangers"`
	Starts          string   `json:"starts"`
	NewThreads      bool     `json:"newThreads"`
	Places          []rules  `json:"places"`
	Live            bool     `json:"live"`
	Reactions       bool     `json:"reactions"`
	LongReplies     string   `json:"longReplies"`
	LongerThan      int      `json:"longerThan"`
	CatchUpHours    int      `json:"catchUpHours"`
	CatchUpMessages int      `json:"catchUpMessages"`
	MaxFileMB       int      `json:"maxFileMB"`
	Dashboard       string   `json:"dashboard"`
	APIURL          string   `json:"apiURL"`
}

// rules are what one channel has of its own.
type rules struct {
	Channel    string `json:"channel"`
	Starts     string `json:"starts"`
	NewThreads *bool  `json:"newThreads"`
}

// parse reads the settings. What is wrong with them is a CodeInvalid error that names it.
func parse(raw json.RawMessage) (*config, error) {
	c := config{
		Strangers: strangersSilence, Starts: startsMention, Live: true, Reactions: true, LongReplies: longAsMessages, LongerThan: 5,
		CatchUpHours: 24, CatchUpMessages: 100, MaxFileMB: 25,
	}
	if err := settings.Decode(raw, &c); err != nil {
		return nil, err
	}
	if c.Token == "" {
		c.Token = os.Getenv(tokenVariable)
	}
	// People copy "Bot TOKEN" out of examples, and a line's end with the token.
	c.Token = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(c.Token), "Bot "))
	if strings.ContainsAny(c.Token, " \t\r\n") {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: token has spaces in it; copy it anew from the page Bot of the application")
	}
	if c.Channel == "" {
		c.Channel = strings.TrimSpace(os.Getenv(channelVariable))
		if c.Channel != "" && !wire.Snowflake(c.Channel) {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s is %q; want the id of a channel, a number", channelVariable, c.Channel)
		}
	}
	for i, place := range c.Places {
		if slices.ContainsFunc(c.Places[:i], func(before rules) bool { return before.Channel == place.Channel }) {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: places names the channel %s twice", place.Channel)
		}
	}
	if c.APIURL == "" {
		c.APIURL = rest.Base
	}
	for name, address := range map[string]string{"apiURL": c.APIURL, "dashboard": c.Dashboard} {
		if address == "" {
			continue
		}
		if parsed, err := url.Parse(address); err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: %s is %q; want an address that begins with https://", name, address)
		}
	}
	c.APIURL, c.Dashboard = strings.TrimSuffix(c.APIURL, "/"), strings.TrimSuffix(c.Dashboard, "/")
	return &c, nil
}

// starts is what starts a turn in a channel, and newThreads whether that is answered in a
// thread of its own. A thread has the rules of its channel.
func (c *config) starts(at spot) string {
	if place, ok := c.place(at); ok && place.Starts != "" {
		return place.Starts
	}
	return c.Starts
}

func (c *config) newThreads(at spot) bool {
	if place, ok := c.place(at); ok && place.NewThreads != nil {
		return *place.NewThreads
	}
	return c.NewThreads
}

func (c *config) place(at spot) (rules, bool) {
	for _, id := range []string{at.Channel, at.Parent} {
		i := slices.IndexFunc(c.Places, func(place rules) bool { return place.Channel == id })
		if id != "" && i >= 0 {
			return c.Places[i], true
		}
	}
	return rules{}, false
}
