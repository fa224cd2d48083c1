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

// insertMessage stores one message, which counts for no plugin, and returns it with its id.
func (t *tx) insertMessage(ctx context.Context, m pluginsdk.Message) (pluginsdk.Message, error) {
	stored, err := t.insertMessages(ctx, []pluginsdk.Message{m}, make(storedBytes))
	if err != nil {
		return m, err
	}
	return stored[0], nil
}

// insertMessages stores messages in their order, returns them with their ids, and
// notes in sizes what they count for.
func (t *tx) insertMessages(ctx context.Context, messages []pluginsdk.Message, sizes storedBytes) ([]pluginsdk.Message, error) {
	out := slices.Clone(messages)
	for chunk := range slices.Chunk(out, insertChunk) {
		var args []any
		for _, m := range chunk {
			values, err := messageValues(m)
			if err != nil {
				return nil, err
			}
			args = append(args, append(values, apartValue(m))...)
			if m.Plugin != "" && (m.Role != pluginsdk.RoleUser || m.Kind != pluginsdk.MessageText) { // as in messageSize
				sizes.add(m.Plugin, ledger.RowBytes+wordBytes(values))
			}
		}
		rows, err := t.exec.QueryContext(ctx, insertMessagesStatement(len(chunk))+" RETURNING id, apart", args...)
		if err != nil {
			return nil, err
		}
		if err := scanIDs(rows, chunk); err != nil {
			return nil, err
		}
	}
	return out, t.attach(ctx, out)
}

// insertEffects stores rows of effects in their order, but for those whose keys are
// taken, notes in sizes what they count for, and returns how many it left out.
func (t *tx) insertEffects(ctx context.Context, messages []pluginsdk.Message, sizes storedBytes) (leftOut int64, err error) {
	for chunk := range slices.Chunk(messages, insertChunk) {
		var args []any
		for _, m := range chunk {
			values, err := messageValues(m)
			if err != nil {
				return 0, err
			}
			args = append(args, append(values, apartValue(m))...)
		}
		rows, err := t.exec.QueryContext(ctx, insertMessagesStatement(len(chunk))+
			" ON CONFLICT (thread_id, key) DO NOTHING RETURNING plugin, "+messageSize, args...)
		if err != nil {
			return 0, err
		}
		stored, err := sizes.note(rows, 1)
		if err != nil {
			return 0, err
		}
		leftOut += int64(len(chunk)) - stored
	}
	return leftOut, t.attach(ctx, messages)
}

// apartValue says whether the thread of an agent is apart that has caused a message elsewhere;
// nil: the thread says it that the message is stored in.
func apartValue(m pluginsdk.Message) any {
	if m.Origin.ThreadID != "" || m.Origin.Apart {
		return m.Origin.Apart
	}
	return nil
}

// insertMessagesStatement stores so many messages, with the values of messageColumns and the
// apartValue of each. Whether a message was said apart is read here, from its thread, so that
// nobody who stores one has to know, and the message keeps it.
func insertMessagesStatement(rows int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "INSERT INTO messages (%s, apart) VALUES ", messageColumns)
	width := strings.Count(messageColumns, ",") + 1
	for i := range rows {
		first := i*(width+1) + 1
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "(%s, COALESCE(CAST($%d AS boolean), (SELECT apart FROM threads WHERE threads.id = CAST($%d AS character varying)), false))",
			parameters(first, width), first+width, first)
	}
	return b.String()
}

// insertStatement stores so many rows with these columns.
func insertStatement(table, columns string, rows int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "INSERT INTO %s (%s) VALUES ", table, columns)
	width := strings.Count(columns, ",") + 1
	for i := range rows * width {
		switch {
		case i == 0:
			b.WriteString("(")
		case i%width == 0:
			b.WriteString("), (")
		default:
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "$%d", i+1)
	}
	b.WriteString(")")
	return b.String()
}

// scanIDs gives messages the ids of the rows they became, and whether they were said apart. Both databases
// number the rows of one statement in their order; the ids are sorted because
// neither promises to return them so.
func scanIDs(rows *sql.Rows, messages []pluginsdk.Message) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	ids, apart := make([]int64, 0, len(messages)), make(map[int64]bool)
	for rows.Next() {
		var id int64
		var is bool
		if err := rows.Scan(&id, &is); err != nil {
			return err
		}
		ids, apart[id] = append(ids, id), is
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if len(ids) != len(messages) {
		return fmt.Errorf("%d messages became %d rows", len(messages), len(ids))
	}
	slices.Sort(ids)
	for i, id := range ids {
		messages[i].ID, messages[i].Origin.Apart = id, apart[id]
	}
	return nil
}

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
