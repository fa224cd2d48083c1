package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// insertChunk bounds how many messages one statement stores.
const insertChunk = 50

// insertMessage stores one message, which counts for no plugin, and returns its id.
func (t *tx) insertMessage(ctx context.Context, m pluginsdk.Message) (int64, error) {
	stored, err := t.insertMessages(ctx, []pluginsdk.Message{m}, make(storedBytes))
	if err != nil {
		return 0, err
	}
	return stored[0].ID, nil
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
			args = append(args, values...)
			if m.Plugin != "" && (m.Role != pluginsdk.RoleUser || m.Kind != pluginsdk.MessageText) { // as in messageSize
				sizes.add(m.Plugin, ledger.RowBytes+wordBytes(values))
			}
		}
		rows, err := t.exec.QueryContext(ctx, insertStatement("messages", messageColumns, len(chunk))+" RETURNING id", args...)
		if err != nil {
			return nil, err
		}
		if err := scanIDs(rows, chunk); err != nil {
			return nil, err
		}
	}
	return out, nil
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
			args = append(args, values...)
		}
		rows, err := t.exec.QueryContext(ctx, insertStatement("messages", messageColumns, len(chunk))+
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
	return leftOut, nil
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

// scanIDs gives messages the ids of the rows they became. Both databases
// number the rows of one statement in their order; the ids are sorted because
// neither promises to return them so.
func scanIDs(rows *sql.Rows, messages []pluginsdk.Message) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	ids := make([]int64, 0, len(messages))
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if len(ids) != len(messages) {
		return fmt.Errorf("%d messages became %d rows", len(messages), len(ids))
	}
	slices.Sort(ids)
	for i, id := range ids {
		messages[i].ID = id
	}
	return nil
}
