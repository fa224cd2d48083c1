package store

import (
	"context"
	"fmt"
	"slices"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/file"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Rows of files are names for bytes, which package files keeps on disk. Nothing of them
// is deleted here.

// fileSize is what a row of files counts for, with its bytes, as SQL.
var fileSize = fmt.Sprintf("CASE WHEN plugin = '' THEN 0 ELSE %d + size END", ledger.RowBytes)

// KeepFile stores a file, on disk. With a key that is known it stores nothing and
// returns the first one. CodeNotFound: the file is for a thread that is not there.
func (s *Store) KeepFile(ctx context.Context, f ledger.KeptFile) (kept ledger.KeptFile, err error) {
	if f.ID == "" {
		if f.ID, err = newID(); err != nil {
			return kept, err
		}
	}
	f.CreatedAt = s.now()
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		if f.ThreadID != "" {
			if _, err := tx.epoch(ctx, f.ThreadID); err != nil {
				return err
			}
		}
		if err := insertFile(tx.File, f).Exec(ctx); err != nil {
			return err
		}
		if f.Plugin == "" {
			return nil
		}
		return tx.countStored(ctx, storedBytes{f.Plugin: ledger.RowBytes + f.Size})
	})
	if duplicate(err) && f.Key != "" {
		kept, found, err := s.FileOf(ctx, f.Key)
		if err == nil && !found { // the first one was rolled back after this one met it
			err = pluginsdk.Errorf(pluginsdk.CodeUnavailable, "keep a file: another one with the same key failed; try again")
		}
		return kept, err
	}
	if err != nil {
		return ledger.KeptFile{}, wrap("keep a file", err)
	}
	return f, nil
}

// FileOf returns the file that was made with a key; found is false when there is none.
func (s *Store) FileOf(ctx context.Context, key string) (kept ledger.KeptFile, found bool, err error) {
	row, err := s.read.File.Query().Where(file.Key(clean(key))).Only(ctx)
	if ent.IsNotFound(err) {
		return kept, false, nil
	}
	if err != nil {
		return kept, false, wrap("look for a file", err)
	}
	return fileOf(row), true, nil
}

// File returns a file, or CodeNotFound.
func (s *Store) File(ctx context.Context, id string) (pluginsdk.File, error) {
	row, err := s.read.File.Get(ctx, id)
	if ent.IsNotFound(err) {
		return pluginsdk.File{}, notFound("file", id)
	}
	if err != nil {
		return pluginsdk.File{}, wrap("read a file", err)
	}
	return toldFileOf(row), nil
}

// Files returns the selected files, oldest first unless q.Newest is set.
func (s *Store) Files(ctx context.Context, q pluginsdk.FileQuery) ([]pluginsdk.File, error) {
	query := s.read.File.Query().Where(notGoingIn(q.ThreadID)).Limit(page(q.Limit))
	if q.Newest {
		query.Order(file.ByID(entsql.OrderDesc()))
	} else {
		query.Order(file.ByID())
	}
	if q.ThreadID != "" {
		query.Where(file.ThreadID(q.ThreadID))
	}
	if q.SHA256 != "" {
		query.Where(file.Sha256(q.SHA256))
	}
	switch {
	case q.After != "" && q.Newest:
		query.Where(file.IDLT(q.After))
	case q.After != "":
		query.Where(file.IDGT(q.After))
	}
	rows, err := query.All(ctx)
	if err != nil {
		return nil, wrap("list files", err)
	}
	return all(rows, toldFileOf), nil
}

// DeleteFile deletes the row of a file, and returns what it was; found is false when
// there is none.
func (s *Store) DeleteFile(ctx context.Context, id string) (was pluginsdk.File, found bool, err error) {
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		row, err := tx.File.Get(ctx, id)
		if found = !ent.IsNotFound(err); !found {
			return nil
		}
		if err != nil {
			return err
		}
		was = toldFileOf(row)
		n, err := tx.File.Delete().Where(file.ID(id)).Exec(ctx)
		if err != nil || n == 0 || was.Plugin == "" {
			return err
		}
		return tx.countStored(ctx, storedBytes{was.Plugin: -ledger.RowBytes - was.Size})
	})
	return was, found, wrap("delete a file", err)
}

// ReferredBytes returns which of these hashes a file refers to.
func (s *Store) ReferredBytes(ctx context.Context, sums []string) (referred []string, err error) {
	err = s.read.File.Query().Where(file.Sha256In(sums...)).Unique(true).Select(file.FieldSha256).Scan(ctx, &referred)
	return referred, wrap("look for the files of bytes", err)
}

// FileBytes returns the bytes that files refer to, by their hashes, those after one at
// most limit.
func (s *Store) FileBytes(ctx context.Context, after string, limit int) (list []ledger.FileBytes, err error) {
	rows, err := s.query.QueryContext(ctx,
		"SELECT sha256, MAX(size) FROM files WHERE sha256 > $1 GROUP BY sha256 ORDER BY sha256 LIMIT $2", after, limit)
	if err != nil {
		return nil, wrap("list the bytes of files", err)
	}
	defer rows.Close() // Err is asked below
	for rows.Next() {
		var one ledger.FileBytes
		if err := rows.Scan(&one.SHA256, &one.Size); err != nil {
			return nil, wrap("list the bytes of files", err)
		}
		list = append(list, one)
	}
	return list, wrap("list the bytes of files", rows.Err())
}

// asKept returns attachments with what is known of the files that they refer to: nobody
// is believed about those. What refers to no file stays as it is.
func (s *Store) asKept(ctx context.Context, attachments []pluginsdk.Attachment) ([]pluginsdk.Attachment, error) {
	ids := fileIDs(attachments)
	if len(ids) == 0 {
		return attachments, nil
	}
	rows, err := s.read.File.Query().Where(file.IDIn(ids...)).All(ctx)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(attachments)
	for i, one := range out {
		id, _ := one.FileID()
		if at := slices.IndexFunc(rows, func(row *ent.File) bool { return row.ID == id }); at >= 0 {
			out[i] = toldFileOf(rows[at]).Attachment()
		}
	}
	return out, nil
}

func fileIDs(attachments []pluginsdk.Attachment) (ids []string) {
	for _, one := range attachments {
		if id, ok := one.FileID(); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// attach marks the files that messages refer to, so that no pruning takes them.
func (t *tx) attach(ctx context.Context, messages []pluginsdk.Message) error {
	var ids []string
	for _, m := range messages {
		ids = append(ids, fileIDs(m.Attachments)...)
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	for chunk := range slices.Chunk(slices.Compact(ids), insertChunk) {
		args := make([]any, len(chunk))
		for i, id := range chunk {
			args[i] = id
		}
		if _, err := t.run(ctx, "UPDATE files SET attached = true WHERE id IN ("+parameters(1, len(args))+") AND NOT attached", args...); err != nil {
			return err
		}
	}
	return nil
}
