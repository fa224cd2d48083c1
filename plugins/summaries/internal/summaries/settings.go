package summaries

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
	"github.com/seed-706843ae/harness/plugins/internal/settings"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// threadsPattern is what an entry of the setting threads looks like. No schedule's and no task's thread is summarised.
const threadsPattern = `^(primary|general)(/[a-z][a-z0-9-]{0,31})?$`

var threadsEntry = lazy.Regexp(threadsPattern)

var settingsSchema = json.RawMessage(`{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "summaries": {"type": "boolean", "description": "Keep thread-summaries.md current, and summarise long threads. Not set: yes, but not in an installation that had conversations before this plugin came"},
    "names": {"type": "boolean", "default": true, "description": "Give names to threads without one, in the same turn"},
    "memory": {"type": "boolean", "default": true, "description": "Consolidate inbox.md into memory.md when a schedule, the agent or a person asks for it"},
    "every": {"type": "integer", "minimum": 1, "maximum": 1440, "default": 10, "description": "Minutes: there is at most one turn for summaries in this time"},
    "model": {"type": "string", "maxLength": 200, "default": "haiku", "description": "The model of the turns"},
    "dailyUsd": {"type": "number", "minimum": 0, "maximum": 1000, "default": 0.5, "description": "What the turns may cost in a day (UTC), in USD"},
    "longThread": {"type": "integer", "minimum": 26, "maximum": 300, "default": 60, "description": "A thread with more messages than this after its last summary row gets another one"},
    "rotateIdleHours": {"type": "integer", "minimum": 0, "maximum": 720, "default": 0, "description": "Hours without a word after which a conversation's session ends: the next message begins a new one with a summary. 0: none ends"},
    "rotateDays": {"type": "integer", "minimum": 0, "maximum": 90, "default": 0, "description": "Days after which a session ends, once nothing was said for an hour. 0: none ends"},
    "threads": {
      "operator": true,
      "type": "array", "items": {"type": "string", "pattern": "` + threadsPattern + `"},
      "default": ["primary", "general/web", "general/cli", "general/discord-owner"],
      "description": "Threads that summaries and memory learn from: a kind (primary, general), or KIND/SOURCE such as general/discord. Threads apart never are"
    }
  }
}`)

// config is the plugin's settings with their defaults.
type config struct {
	Summaries  *bool   `json:"summaries"` // nil: an installation that had conversations already goes without
	Names      bool    `json:"names"`
	Memory     bool    `json:"memory"`
	Every      int     `json:"every"`
	Model      string  `json:"model"`
	DailyUSD   float64 `json:"dailyUsd"`
	LongThread int     `json:"longThread"`

	RotateIdleHours int `json:"rotateIdleHours"`
	RotateDays      int `json:"rotateDays"`

	Threads []string `json:"threads"`
}

func parseConfig(raw json.RawMessage) (config, error) {
	parsed := config{
		Names: true, Memory: true, Every: 10, Model: "haiku", DailyUSD: 0.5, LongThread: 60,
		Threads: []string{"primary", "general/web", "general/cli", "general/discord-owner"},
	}
	if err := settings.Decode(raw, &parsed); err != nil {
		return config{}, err
	}
	for _, entry := range parsed.Threads {
		if !threadsEntry.MatchString(entry) {
			return config{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: threads has %q; want a kind (primary, general), or KIND/SOURCE such as general/web", entry)
		}
	}
	switch {
	case parsed.Every < 1 || parsed.Every > 1440:
		return config{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: every is %d; it must be from 1 to 1440 minutes", parsed.Every)
	case parsed.LongThread < 26 || parsed.LongThread > 300:
		return config{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: longThread is %d; it must be from 26 to 300 messages", parsed.LongThread)
	case parsed.RotateIdleHours < 0 || parsed.RotateIdleHours > 720:
		return config{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: rotateIdleHours is %d; it must be from 0 (never) to 720", parsed.RotateIdleHours)
	case parsed.RotateDays < 0 || parsed.RotateDays > 90:
		return config{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: rotateDays is %d; it must be from 0 (never) to 90", parsed.RotateDays)
	case !(parsed.DailyUSD >= 0 && parsed.DailyUSD <= 1000):
		return config{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: dailyUsd is %v; it must be from 0 to 1000", parsed.DailyUSD)
	}
	return parsed, nil
}

// every is the time in which there is at most one turn for summaries.
func (c config) every() time.Duration { return time.Duration(c.Every) * time.Minute }

// learnsFrom reports whether summaries and memory learn from what is said in a thread.
func (c config) learnsFrom(thread pluginsdk.Thread) bool {
	if thread.Apart || thread.Source == name {
		return false
	}
	kind := string(thread.Kind)
	return slices.Contains(c.Threads, kind) || slices.Contains(c.Threads, kind+"/"+thread.Source)
}

// mayKnow reports whether people of a thread may see and change the memory.
func (c config) mayKnow(thread pluginsdk.Thread) bool {
	return c.learnsFrom(thread) || thread.Kind == pluginsdk.ThreadPrimary && !thread.Apart
}

// names reports whether a thread is to be given a name. The primary thread is none of a subject.
func (c config) names(thread pluginsdk.Thread) bool {
	return c.Names && thread.Name == "" && thread.Kind != pluginsdk.ThreadPrimary
}
