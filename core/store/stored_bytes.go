package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// storedBytes is what plugins have stored in a transaction, less what of theirs was
// deleted in it, by plugin.
type storedBytes map[string]int64

// What a row of messages and one of metrics counts for, as SQL. What people submit
// through a plugin is nobody's: the queues bound it, and the quotas for a minute what
// the core answers at once.
var (
	messageSize = sizeSQL(messageColumns, "plugin = '' OR role = 'user' AND kind = 'text'")
	metricSize  = sizeSQL(metricColumns, "plugin = ''")
)

func sizeSQL(columns, free string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CASE WHEN %s THEN 0 ELSE %d", free, ledger.RowBytes)
	for column := range strings.SplitSeq(columns, ", ") {
		if column != "created_at" && column != "value" {
			fmt.Fprintf(&b, " + COALESCE(OCTET_LENGTH(CAST(%s AS text)), 0)", column)
		}
	}
	b.WriteString(" END")
	return b.String()
}

// wordBytes is how long the words among the values of a row are together.
func wordBytes(values []any) (n int64) {
	for _, value := range values {
		switch word := value.(type) {
		case string:
			n += int64(len(word))
		case *string:
			if word != nil {
				n += int64(len(*word))
			}
		}
	}
	return n
}

// note adds the sizes of rows that are a plugin and a size each, times sign, and
// returns how many they are. It closes them.
func (s storedBytes) note(rows *sql.Rows, sign int64) (n int64, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for ; rows.Next(); n++ {
		var plugin string
		var size int64
		if err := rows.Scan(&plugin, &size); err != nil {
			return n, err
		}
		s.add(plugin, sign*size)
	}
	return n, rows.Err()
}

func (s storedBytes) add(plugin string, size int64) {
	if size != 0 {
		s[plugin] += size
	}
}

// shares is in how many rows what a plugin has stored is counted on Postgres: a
// transaction that adds to one makes others wait that add to the same.
const shares = 16

// countStored adds to what plugins have stored. A transaction does so once, in the
// order of the names, so that no two wait for each other.
func (t *tx) countStored(ctx context.Context, sizes storedBytes) error {
	if len(sizes) == 0 {
		return nil
	}
	share := 0
	if t.postgres {
		share = rand.IntN(shares) // spreads them, is no secret
	}
	var args []any
	for _, plugin := range slices.Sorted(maps.Keys(sizes)) {
		args = append(args, fmt.Sprintf("%s/%d", plugin, share), plugin, sizes[plugin])
	}
	_, err := t.run(ctx, insertStatement("plugin_bytes", "id, plugin, bytes", len(sizes))+
		" ON CONFLICT (id) DO UPDATE SET bytes = plugin_bytes.bytes + excluded.bytes", args...)
	return err
}

// StoredBytes returns how many bytes of rows, metrics and state a plugin has
// stored in all. What was deleted since does not count.
func (s *Store) StoredBytes(ctx context.Context, plugin string) (n int64, err error) {
	if plugin == "" {
		return 0, pluginsdk.Errorf(pluginsdk.CodeInvalid, "stored bytes: of which plugin?")
	}
	err = row(ctx, s.query, `SELECT CAST(COALESCE((SELECT SUM(bytes) FROM plugin_bytes WHERE plugin = $1), 0)
		+ COALESCE((SELECT state_bytes FROM plugin_usages WHERE plugin = $1), 0) AS bigint)`, []any{plugin}, &n)
	return max(n, 0), wrap("count what a plugin has stored", err)
}
