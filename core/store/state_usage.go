package store

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
)

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
