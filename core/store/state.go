package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"unicode/utf8"

	"entgo.io/ent/dialect"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/stateentry"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// statePage is how many bytes of keys and values one page of a plugin's state has
// at most, but for a page of one entry.
const statePage = 8 << 20

// GetState returns a plugin's key, or CodeNotFound.
func (s *Store) GetState(ctx context.Context, plugin, key string) (pluginsdk.StateEntry, error) {
	row, err := s.read.StateEntry.Query().
		Where(stateentry.Plugin(plugin), stateentry.Key(clean(key))).Only(ctx)
	if ent.IsNotFound(err) {
		return pluginsdk.StateEntry{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "%s has no state under the key %q", plugin, key)
	}
	if err != nil {
		return pluginsdk.StateEntry{}, wrap("read plugin state", err)
	}
	return stateEntryOf(row), nil
}

// WriteState sets or deletes a plugin's key and returns its revision; 0 when it is
// gone. CodeConflict: the key is not as the condition says. CodeExhausted: it would
// make the plugin keep more than MaxStateKeys or MaxStateBytes. To delete an absent
// key is no error.
func (s *Store) WriteState(ctx context.Context, w ledger.StateWrite) (revision int64, err error) {
	id, err := newID()
	if err != nil {
		return 0, err
	}
	if w.Value == nil {
		w.Value = []byte{}
	}
	w.Key = clean(w.Key)
	err = s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) (err error) {
		revision, err = s.writeState(ctx, tx, id, w)
		return err
	})
	return revision, wrap("write plugin state", err)
}

func (s *Store) writeState(ctx context.Context, tx *tx, id string, w ledger.StateWrite) (int64, error) {
	used, err := tx.usageOf(ctx, w.Plugin)
	if err != nil {
		return 0, err
	}
	var size, revision int64
	err = tx.row(ctx, "SELECT LENGTH(value), revision FROM plugin_states WHERE plugin = $1 AND key = $2", []any{w.Plugin, w.Key}, &size, &revision)
	absent := errors.Is(err, sql.ErrNoRows)
	if err != nil && !absent {
		return 0, err
	}
	if w.If != nil && w.If.Revision != revision {
		return 0, pluginsdk.Errorf(pluginsdk.CodeConflict, "the key %q is %s, not %s", w.Key, revisionName(revision), revisionName(w.If.Revision))
	}
	var more usage
	switch {
	case w.Delete && absent:
		return 0, nil
	case w.Delete:
		if _, err := tx.run(ctx, "DELETE FROM plugin_states WHERE plugin = $1 AND key = $2", w.Plugin, w.Key); err != nil {
			return 0, err
		}
		more = usage{keys: -1, bytes: -size - int64(len(w.Key))}
		return 0, tx.setUsage(ctx, w.Plugin, used.plus(more))
	case absent:
		more = usage{keys: 1, bytes: int64(len(w.Key) + len(w.Value))}
	default:
		more = usage{bytes: int64(len(w.Value)) - size}
	}
	if err := used.mayGrow(w.Plugin, more); err != nil {
		return 0, err
	}
	// Of all of the plugin's, so that a key that was deleted does not begin anew.
	used.revision = max(used.revision, revision) + 1
	now := s.now()
	err = tx.StateEntry.Create().SetID(id).SetPlugin(w.Plugin).SetKey(w.Key).SetValue(w.Value).SetRevision(used.revision).SetUpdatedAt(now).
		OnConflictColumns(stateentry.FieldPlugin, stateentry.FieldKey).
		Update(func(u *ent.StateEntryUpsert) { u.SetValue(w.Value).SetRevision(used.revision).SetUpdatedAt(now) }).Exec(ctx)
	if err != nil {
		return 0, err
	}
	return used.revision, tx.setUsage(ctx, w.Plugin, used.plus(more))
}

func revisionName(revision int64) string {
	if revision == 0 {
		return "absent"
	}
	return fmt.Sprintf("of revision %d", revision)
}

// ListState returns a page of a plugin's entries by key, sorted bytewise: at most
// 8 MiB of them, or one.
func (s *Store) ListState(ctx context.Context, plugin string, q pluginsdk.ListStateRequest) (pluginsdk.ListStateResponse, error) {
	out, err := s.stateKeys(ctx, plugin, q)
	if err != nil || q.KeysOnly || len(out.Entries) == 0 {
		return out, wrap("list plugin state", err)
	}
	keys := make([]string, len(out.Entries))
	for i, entry := range out.Entries {
		keys[i] = entry.Key
	}
	rows, err := s.read.StateEntry.Query().Where(stateentry.Plugin(plugin), stateentry.KeyIn(keys...)).All(ctx)
	if err != nil {
		return pluginsdk.ListStateResponse{}, wrap("list plugin state", err)
	}
	byKey := make(map[string]*ent.StateEntry, len(rows))
	for _, row := range rows {
		byKey[row.Key] = row
	}
	out.Entries = out.Entries[:0]
	for _, key := range keys {
		if row := byKey[key]; row != nil { // it may have been deleted meanwhile
			out.Entries = append(out.Entries, stateEntryOf(row))
		}
	}
	return out, nil
}

// stateKeys is ListState without the values. The databases' own order of text, and
// their LIKE, differ.
func (s *Store) stateKeys(ctx context.Context, plugin string, q pluginsdk.ListStateRequest) (out pluginsdk.ListStateResponse, err error) {
	key := "key"
	if s.Dialect() == dialect.Postgres {
		key = `key COLLATE "C"`
	}
	limit := page(q.Limit)
	rows, err := s.query.QueryContext(ctx, fmt.Sprintf(`SELECT key, revision, LENGTH(value) FROM plugin_states
		WHERE plugin = $1 AND %[1]s > $2 AND SUBSTR(key, 1, $3) = $4 ORDER BY %[1]s LIMIT $5`, key),
		plugin, clean(q.After), utf8.RuneCountInString(clean(q.Prefix)), clean(q.Prefix), limit+1)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for size := 0; rows.Next(); {
		var entry pluginsdk.StateEntry
		var length int
		if err := rows.Scan(&entry.Key, &entry.Revision, &length); err != nil {
			return out, err
		}
		if !q.KeysOnly {
			size += len(entry.Key) + length
		}
		if n := len(out.Entries); n == limit || n > 0 && size > statePage {
			out.More = true
			break
		}
		out.Entries = append(out.Entries, entry)
	}
	return out, rows.Err()
}

// What a plugin may keep: keys, and bytes of keys and values together.
const (
	MaxStateKeys  = 10_000
	MaxStateBytes = 64 << 20
)

// usage is how much state a plugin keeps, and the newest revision of any of it. It
// is counted as it changes: to sum all of it up at each write would make every
// other writer wait.
type usage struct{ keys, bytes, revision int64 }

func (u usage) plus(more usage) usage {
	// SQL can take rows away uncounted.
	return usage{max(0, u.keys+more.keys), max(0, u.bytes+more.bytes), u.revision}
}

// mayGrow refuses more than a plugin may keep; to keep less is never refused.
func (u usage) mayGrow(plugin string, more usage) error {
	then := u.plus(more)
	if more.keys > 0 && then.keys > MaxStateKeys || more.bytes > 0 && then.bytes > MaxStateBytes {
		return pluginsdk.Errorf(pluginsdk.CodeExhausted, "%s would keep %d keys and %d bytes; at most %d keys and %d bytes are allowed: delete some",
			plugin, then.keys, then.bytes, MaxStateKeys, MaxStateBytes)
	}
	return nil
}

// usageOf returns what a plugin keeps. On Postgres it makes others who change
// that wait for the end of the transaction.
func (t *tx) usageOf(ctx context.Context, plugin string) (u usage, err error) {
	err = t.row(ctx, `INSERT INTO plugin_usages (plugin, state_keys, state_bytes, state_revision) VALUES ($1, 0, 0, 0)
		ON CONFLICT (plugin) DO UPDATE SET state_keys = plugin_usages.state_keys
		RETURNING state_keys, state_bytes, state_revision`, []any{plugin}, &u.keys, &u.bytes, &u.revision)
	return u, err
}

func (t *tx) setUsage(ctx context.Context, plugin string, u usage) error {
	_, err := t.run(ctx, "UPDATE plugin_usages SET state_keys = $1, state_bytes = $2, state_revision = $3 WHERE plugin = $4",
		u.keys, u.bytes, u.revision, plugin)
	return err
}
