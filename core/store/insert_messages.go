package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// insertChunk bounds how many messages one statement stores.
const insertChunk = 50

// insertMessage stores one message and returns its id.
func (t *tx) insertMessage(ctx context.Context, m pluginsdk.Message) (int64, error) {
	stored, err := t.insertMessages(ctx, []pluginsdk.Message{m})
	if err != nil {
		return 0, err
	}
	return stored[0].ID, nil
}

// insertMessages stores messages in their order and returns them with their
// ids.
func (t *tx) insertMessages(ctx context.Context, messages []pluginsdk.Message) ([]pluginsdk.Message, error) {
	out := slices.Clone(messages)
	for chunk := range slices.Chunk(out, insertChunk) {
		var args []any
		for _, m := range chunk {
			values, err := messageValues(m)
			if err != nil {
				return nil, err
			}
			args = append(args, values...)
		}
		rows, err := t.exec.QueryContext(ctx, insertStatement(len(chunk), len(args)/len(chunk)), args...)
		if err != nil {
			return nil, err
		}
		if err := scanIDs(rows, chunk); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// insertStatement stores so many rows of so many columns.
func insertStatement(rows, columns int) string {
	var b strings.Builder
	b.WriteString("INSERT INTO messages (" + messageColumns + ") VALUES ")
	for i := range rows * columns {
		switch {
		case i == 0:
			b.WriteString("(")
		case i%columns == 0:
			b.WriteString("), (")
		default:
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "$%d", i+1)
	}
	b.WriteString(") RETURNING id")
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

// insertMissing stores the messages whose keys are not in the thread yet. Ids
// are of all of them in their order, fresh of those that were stored now.
func (t *tx) insertMissing(ctx context.Context, messages []pluginsdk.Message) (ids, fresh []int64, err error) {
	ids = make([]int64, len(messages))
	var missing []pluginsdk.Message
	for i, m := range messages {
		if ids[i], err = t.messageByKey(ctx, m.ThreadID, m.Key); err != nil {
			return nil, nil, err
		}
		if ids[i] == 0 {
			missing = append(missing, m)
		}
	}
	stored, err := t.insertMessages(ctx, missing)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range stored {
		fresh = append(fresh, m.ID)
	}
	for i, next := 0, 0; i < len(ids); i++ {
		if ids[i] == 0 {
			ids[i], next = fresh[next], next+1
		}
	}
	return ids, fresh, nil
}

// messageByKey returns the id of the message with a key, 0 when there is none.
func (t *tx) messageByKey(ctx context.Context, threadID, key string) (id int64, err error) {
	if key == "" {
		return 0, nil
	}
	err = t.row(ctx, "SELECT id FROM messages WHERE thread_id = $1 AND key = $2", []any{threadID, key}, &id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return id, err
}
