package store

import (
	"context"
	"database/sql"
	"errors"
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

// PutState sets the value of a plugin's key. CodeExhausted: it would
// make the plugin keep more than MaxStateKeys or MaxStateBytes.
func (s *Store) PutState(ctx context.Context, plugin, key string, value []byte) error {
	id, err := newID()
	if err != nil {
		return err
	}
	if value == nil {
		value = []byte{}
	}
	key = clean(key)
	now := s.now()
	err = s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) error {
		used, err := tx.usageOf(ctx, plugin)
		if err != nil {
			return err
		}
		var old int64
		err = tx.row(ctx, "SELECT LENGTH(value) FROM plugin_states WHERE plugin = $1 AND key = $2", []any{plugin, key}, &old)
		more := usage{bytes: int64(len(value)) - old}
		if errors.Is(err, sql.ErrNoRows) {
			more, err = usage{keys: 1, bytes: int64(len(key) + len(value))}, nil
		}
		if err == nil {
			err = used.mayGrow(plugin, more)
		}
		if err == nil {
			err = tx.PluginState.Create().SetID(id).SetPlugin(plugin).SetKey(key).SetValue(value).SetUpdatedAt(now).
				OnConflictColumns(pluginstate.FieldPlugin, pluginstate.FieldKey).
				Update(func(u *ent.PluginStateUpsert) { u.SetValue(value).SetUpdatedAt(now) }).Exec(ctx)
		}
		if err != nil {
			return err
		}
		return tx.setUsage(ctx, plugin, used.plus(more))
	})
	return wrap("write plugin state", err)
}

// DeleteState removes a plugin's key; an absent one is no error.
func (s *Store) DeleteState(ctx context.Context, plugin, key string) error {
	key = clean(key)
	err := s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) error {
		used, err := tx.usageOf(ctx, plugin)
		if err != nil {
			return err
		}
		var size int64
		err = tx.row(ctx, "DELETE FROM plugin_states WHERE plugin = $1 AND key = $2 RETURNING LENGTH(value)", []any{plugin, key}, &size)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		return tx.setUsage(ctx, plugin, used.plus(usage{keys: -1, bytes: -size - int64(len(key))}))
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
