package settings

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// memory is what is remembered of one plugin, as long as its schema is the same
// and its row is. (Another package that was installed under the name of one that
// was removed must not get what was that one's.) Only the values of secrets, which
// it gives to nobody, stay until the plugin is forgotten.
type memory struct {
	raw     string // the schema
	compile func() (*Schema, error)

	mu    sync.Mutex
	good  json.RawMessage // the last plain settings that were good
	seen  []string        // values of secrets, the newest last
	known *finding
}

// finding is what is wrong with a row, of which these are the settings.
type finding struct {
	settings json.RawMessage
	revision int64
	row      string // its problem
	refused  ledger.RefusedSettings
	problem  string
}

// memory returns what is remembered of a plugin, whose row info is.
func (s *Settings) memory(info ledger.Plugin) *memory {
	s.mu.Lock()
	defer s.mu.Unlock()
	raw := string(info.Manifest.SettingsSchema)
	old := s.plugins[info.Name]
	if old != nil && old.raw == raw && !old.before(info) {
		return old
	}
	m := &memory{raw: raw, compile: sync.OnceValues(func() (*Schema, error) { return Compile(json.RawMessage(raw)) })}
	if old != nil {
		// The process of the old version may still write logs.
		old.mu.Lock()
		m.seen = old.seen
		old.mu.Unlock()
	}
	s.plugins[info.Name] = m
	return m
}

// Forget forgets what is remembered of a plugin, its secrets too. It is to be
// called when the plugin's row is gone.
func (s *Settings) Forget(plugin string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.plugins, plugin)
}

// before reports whether m is of a row that was there before info's, which
// another took the place of: revisions only grow.
func (m *memory) before(info ledger.Plugin) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known != nil && info.SettingsRevision < m.known.revision
}

// found notes what is wrong with the settings of a row, unless err is of
// something that can go away by itself: the database that does not answer, the
// key that is put back.
func (m *memory) found(info ledger.Plugin, problem string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil && pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
		m.known = nil
		return
	}
	m.known = &finding{slices.Clone(info.Settings), info.SettingsRevision, info.Problem, info.Refused, problem}
}

// problemOf returns what is wrong with the settings of a row, if it is known.
func (m *memory) problemOf(info ledger.Plugin) (problem string, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || m.known.revision != info.SettingsRevision || m.known.row != info.Problem || m.known.refused != info.Refused ||
		!bytes.Equal(m.known.settings, info.Settings) {
		return "", false
	}
	return m.known.problem, true
}

// maxSeen is how many values of a plugin's secrets are remembered.
const maxSeen = 64

// remember adds values of a plugin's secrets and returns all that are known.
func (m *memory) remember(values []string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := slices.DeleteFunc(slices.Clone(m.seen), func(old string) bool { return slices.Contains(values, old) })
	seen = append(seen, values...)
	m.seen = seen[max(0, len(seen)-max(maxSeen, len(values))):]
	return slices.Clone(m.seen)
}

// hold merges what is stored and remembers it when it is good.
func (m *memory) hold(schema *Schema, stored column, opened map[string]json.RawMessage) (json.RawMessage, error) {
	if stored.err != nil {
		return nil, stored.err
	}
	merged, err := together(schema, stored.values, opened)
	if err == nil {
		m.mu.Lock()
		m.good = encode(stored.values)
		m.mu.Unlock()
	}
	return merged, err
}

func (m *memory) lastGood(schema *Schema, opened map[string]json.RawMessage) (json.RawMessage, bool) {
	m.mu.Lock()
	last := m.good
	m.mu.Unlock()
	if last == nil {
		return nil, false
	}
	values, err := object(last)
	if err != nil {
		return nil, false
	}
	merged, err := together(schema, values, opened)
	return merged, err == nil
}
