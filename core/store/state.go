package store

import (
	"context"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/pluginstate"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// GetState returns the value of a plugin's key, or CodeNotFound.
func (s *Store) GetState(ctx context.Context, plugin, key string) ([]byte, error) {
	row, err := s.read.PluginState.Query().
		Where(pluginstate.Plugin(plugin), pluginstate.Key(clean(key))).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "%s has no state under the key %q", plugin, key)
	}
	if err != nil {
		return nil, wrap("read plugin state", err)
	}
	return row.Value, nil
}

// What a plugin may keep: keys, and bytes of keys and values together.
const (
	MaxStateKeys  = 10_000
	MaxStateBytes = 64 << 20
)

// PutState sets the value of a plugin's key. CodeExhausted: the plugin would
// keep more than MaxStateKeys or MaxStateBytes.
func (s *Store) PutState(ctx context.Context, plugin, key string, value []byte) error {
	id, err := newID()
	if err != nil {
		return err
	}
	if value == nil {
		value = []byte{}
	}
	now := s.now()
	err = s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) error {
		if err := tx.stateRoom(ctx, plugin, clean(key), len(value)); err != nil {
			return err
		}
		return tx.PluginState.Create().SetID(id).SetPlugin(plugin).SetKey(clean(key)).SetValue(value).SetUpdatedAt(now).
			OnConflictColumns(pluginstate.FieldPlugin, pluginstate.FieldKey).
			Update(func(u *ent.PluginStateUpsert) { u.SetValue(value).SetUpdatedAt(now) }).Exec(ctx)
	})
	return wrap("write plugin state", err)
}

// stateRoom refuses a value that is more than the plugin may keep.
func (t *tx) stateRoom(ctx context.Context, plugin, key string, size int) error {
	var keys, bytes int
	err := t.row(ctx, "SELECT COUNT(*), COALESCE(SUM(LENGTH(key) + LENGTH(value)), 0) FROM plugin_states WHERE plugin = $1 AND key <> $2",
		[]any{plugin, key}, &keys, &bytes)
	if err != nil {
		return err
	}
	if bytes += len(key) + size; keys >= MaxStateKeys || bytes > MaxStateBytes {
		return pluginsdk.Errorf(pluginsdk.CodeExhausted, "%s would keep %d keys and %d bytes; at most %d keys and %d bytes are allowed: delete some",
			plugin, keys+1, bytes, MaxStateKeys, MaxStateBytes)
	}
	return nil
}

// DeleteState removes a plugin's key; an absent one is no error.
func (s *Store) DeleteState(ctx context.Context, plugin, key string) error {
	err := s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) error {
		_, err := tx.PluginState.Delete().Where(pluginstate.Plugin(plugin), pluginstate.Key(clean(key))).Exec(ctx)
		return err
	})
	return wrap("delete plugin state", err)
}

// StateKeys returns a plugin's keys that begin with prefix, sorted bytewise.
func (s *Store) StateKeys(ctx context.Context, plugin, prefix string) ([]string, error) {
	rows, err := s.read.PluginState.Query().Where(pluginstate.Plugin(plugin)).
		Select(pluginstate.FieldKey).Strings(ctx)
	if err != nil {
		return nil, wrap("list plugin state", err)
	}
	return sortedWithPrefix(rows, clean(prefix)), nil
}

// sortedWithPrefix selects here, because the databases' collations and LIKE
// differ about case.
func sortedWithPrefix(keys []string, prefix string) []string {
	out := []string{}
	for _, key := range keys {
		if strings.HasPrefix(key, prefix) {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}
