package pluginsdk

import "strings"

// Target is where something for people goes: to a plugin that carries it, with
// the plugin's own name for the place (a channel, a chat), or to where a thread's
// people are. The zero value names nothing.
type Target struct {
	Plugin   string // carries it; empty when ThreadID is set
	Place    string // the plugin gives it its meaning; may be empty
	ThreadID string
}

const threadTarget = "thread:"

// ParseTarget reads PLUGIN:PLACE, PLUGIN, or thread:ID; CodeInvalid when text is
// none of them. The empty text is the zero Target.
func ParseTarget(text string) (Target, error) {
	if id, ok := strings.CutPrefix(text, threadTarget); ok && id != "" {
		return Target{ThreadID: id}, nil
	}
	plugin, place, _ := strings.Cut(text, ":")
	if text != "" && !pluginName.MatchString(plugin) || plugin == "thread" {
		return Target{}, Errorf(CodeInvalid, "target %q: want PLUGIN:PLACE, as in discord:CHANNEL, or thread:ID", text)
	}
	return Target{Plugin: plugin, Place: place}, nil
}

// String returns the target as ParseTarget reads it.
func (t Target) String() string {
	switch {
	case t.ThreadID != "":
		return threadTarget + t.ThreadID
	case t.Place != "":
		return t.Plugin + ":" + t.Place
	}
	return t.Plugin
}

// MarshalText is String, for JSON.
func (t Target) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText is ParseTarget, for JSON.
func (t *Target) UnmarshalText(text []byte) (err error) {
	*t, err = ParseTarget(string(text))
	return err
}
