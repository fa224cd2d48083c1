package settings

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// held are accepted settings that can hold again.
type held struct {
	kept    *ledger.AcceptedSettings // as they are stored
	values  json.RawMessage
	secrets []string
	at      time.Time
	err     error // there are none: why
}

// refused returns what holds while the plugin refuses the settings of its row: those that
// it accepted last, or nothing.
func (s *Settings) refused(m *memory, schema *Schema, info ledger.Plugin, secrets []string) (Held, error) {
	words := "settings: it refused them: " + info.Refused.Words
	was := s.accepted(m, schema, info)
	if was.err == nil {
		problem := fmt.Sprintf("%s. In force are those of %s: set others, or go back to these: harness plugin settings revert %s",
			words, was.at.UTC().Format(time.DateTime+" MST"), info.Name)
		return Held{Values: was.values, Secrets: was.secrets, Problem: oneLine(problem)}, nil
	}
	err := pluginsdk.Errorf(pluginsdk.CodeOf(was.err), "%s. Those that it accepted cannot hold: %w: set them again: harness plugin settings set %s", words, was.err, info.Name)
	return Held{Secrets: m.remember(secrets), Problem: oneLine(err.Error())}, err
}

// accepted returns the newest settings that the plugin has accepted, and not refused
// since, that fit its schema.
func (s *Settings) accepted(m *memory, schema *Schema, info ledger.Plugin) held {
	none := held{err: pluginsdk.Errorf(pluginsdk.CodeInvalid, "none are kept")}
	for _, one := range info.AcceptedSettings() {
		values, err := object(one.Plain)
		if err != nil {
			return held{err: err}
		}
		takeSecrets(schema, values) // it has become one since: then it has to be set
		opened, err := s.openAll(info.Name, schema, one.Secrets)
		secrets := m.remember(texts(opened))
		if err == nil {
			var merged json.RawMessage
			if merged, err = together(schema, values, opened); err == nil {
				return held{values: merged, secrets: secrets, at: one.At, kept: one}
			}
		}
		none.err = err
	}
	return none
}

// Revert makes the newest settings that a plugin has accepted, and not refused since, and that
// fit its schema, those of its row again, secrets too. who is for the audit log.
func (s *Settings) Revert(ctx context.Context, who, plugin string) error {
	info, err := s.store.Plugin(ctx, plugin)
	if err != nil {
		return err
	}
	if !info.RefusesSettings() {
		return pluginsdk.Errorf(pluginsdk.CodeConflict, "%[1]s has not refused its settings, so that there is nothing to go back from; "+
			"change them: harness plugin settings set %[1]s KEY=VALUE", plugin)
	}
	if len(info.AcceptedSettings()) == 0 {
		return pluginsdk.Errorf(pluginsdk.CodeNotFound, "no settings are kept that %[1]s has accepted; change them: harness plugin settings set %[1]s KEY=VALUE", plugin)
	}
	schema, err := s.memory(info).compile()
	if err != nil {
		return err
	}
	last := s.accepted(s.memory(info), schema, info).kept
	if last == nil {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "what %[1]s has accepted does not fit its schema any more; change its settings: harness plugin settings set %[1]s KEY=VALUE", plugin)
	}
	detail := "back to those that it accepted at " + last.At.UTC().Format(time.RFC3339)
	return s.store.EditPluginSettings(ctx, plugin, who, func(_ json.RawMessage, sealed map[string][]byte) (json.RawMessage, map[string][]byte, string, error) {
		maps.DeleteFunc(sealed, func(name string, _ []byte) bool { return schema.secrets[name] })
		maps.Copy(sealed, last.Secrets)
		return last.Plain, sealed, detail, nil
	})
}
