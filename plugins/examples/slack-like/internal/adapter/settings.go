package adapter

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// schema is the JSON Schema of the settings. A secret is kept encrypted, never
// shown again, and taken out of what the plugin logs.
var schema = json.RawMessage(`{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "url": {
      "type": "string",
      "description": "Where the chat service's API is, such as https://chat.example.org/api"
    },
    "token": {
      "type": "string",
      "description": "The bot's access token",
      "secret": true
    },
    "channel": {
      "type": "string",
      "description": "Channel for what comes from threads that have none of their own, such as notifications"
    }
  }
}`)

type settings struct {
	URL     string `json:"url"`
	Token   string `json:"token"`
	Channel string `json:"channel"`
}

// parse reads settings. What is not set yet is no error: the plugin is
// installed first and given its token then.
func parse(raw json.RawMessage) (*settings, error) {
	var parsed settings
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields() // a misspelt setting would be without effect
	if err := decoder.Decode(&parsed); err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: %w", err)
	}
	parsed.URL = strings.TrimRight(parsed.URL, "/")
	if parsed.URL == "" {
		return &parsed, nil
	}
	if at, err := url.Parse(parsed.URL); err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: url %q: want one such as https://chat.example.org/api", parsed.URL)
	}
	return &parsed, nil
}
