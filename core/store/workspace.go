package store

import (
	"context"
	"fmt"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/workspacechange"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The history of the workspace: what was changed, and each text once, by its SHA-256.

// changesKept is how many changes of a file are kept, whatever the retention.
const changesKept = 1000

// headOf is, as SQL, whether a change is the newest of its file that was not refused: it says
// of which version the file was last, and is never removed.
const headOf = `(kind <> 'conflict' AND id = (SELECT MAX(n.id) FROM workspace_changes n
	WHERE n.path = workspace_changes.path AND n.kind <> 'conflict'))`

// WorkspaceHeads returns of which version each context file was when it was last looked at,
// by path. One that was deleted is not among them.
func (s *Store) WorkspaceHeads(ctx context.Context) (map[string]string, error) {
	heads := make(map[string]string)
	err := s.each(ctx, `SELECT path, version FROM workspace_changes WHERE version <> ''
		AND id IN (SELECT MAX(id) FROM workspace_changes WHERE kind <> 'conflict' GROUP BY path)`, func(scan scan) error {
		var path, version string
		err := scan(&path, &version)
		heads[path] = version
		return err
	})
	return heads, wrap("read what is known of the workspace", err)
}

// RecordChanges stores changes of context files with their texts, all or none. Of each file
// the oldest changes go once there are more than a thousand.
func (s *Store) RecordChanges(ctx context.Context, changes []ledger.ContextChange) error {
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		for _, change := range changes {
			if change.Text != nil {
				_, err := tx.run(ctx, "INSERT INTO workspace_texts (id, text) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING", change.Version, change.Text)
				if err != nil {
					return err
				}
			}
			if err := insertWorkspaceChange(tx.WorkspaceChange, change.WorkspaceChange).Exec(ctx); err != nil {
				return err
			}
			if err := tx.trimChanges(ctx, change.Path); err != nil {
				return err
			}
		}
		return nil
	})
	return wrap("store what was changed in the workspace", err)
}

// trimChanges deletes the oldest changes of a file that has too many, with their texts.
func (t *tx) trimChanges(ctx context.Context, path string) error {
	rows, err := t.exec.QueryContext(ctx, `DELETE FROM workspace_changes WHERE path = $1 AND NOT `+headOf+fmt.Sprintf(` AND id <
		(SELECT MIN(k.id) FROM (SELECT id FROM workspace_changes WHERE path = $1 ORDER BY id DESC LIMIT %d) AS k) RETURNING version`, changesKept), path)
	if err != nil {
		return err
	}
	versions, err := scanAny(rows)
	if err != nil {
		return err
	}
	for _, version := range versions {
		_, err := t.run(ctx, `DELETE FROM workspace_texts WHERE id = $1
			AND NOT EXISTS (SELECT 1 FROM workspace_changes WHERE version = $1)`, version)
		if err != nil {
			return err
		}
	}
	return nil
}

// WorkspaceHistory returns the selected changes, newest first.
func (s *Store) WorkspaceHistory(ctx context.Context, q pluginsdk.WorkspaceHistoryRequest) ([]pluginsdk.WorkspaceChange, error) {
	query := s.read.WorkspaceChange.Query().Order(workspacechange.ByID(entsql.OrderDesc())).Limit(page(q.Limit))
	if q.Path != "" {
		query.Where(workspacechange.Path(q.Path))
	}
	if q.Before > 0 {
		query.Where(workspacechange.IDLT(q.Before))
	}
	rows, err := query.All(ctx)
	if err != nil {
		return nil, wrap("read the history of the workspace", err)
	}
	return all(rows, workspaceChangeOf), nil
}

// WorkspaceText returns a text that a file has had, or that was refused for it, with the
// newest change that made it; CodeNotFound: none of that version is kept.
func (s *Store) WorkspaceText(ctx context.Context, path, version string) (pluginsdk.WorkspaceChange, string, error) {
	row, err := s.read.WorkspaceChange.Query().Where(workspacechange.Path(path), workspacechange.Version(version)).
		Order(workspacechange.ByID(entsql.OrderDesc())).First(ctx)
	if err == nil {
		var text *ent.WorkspaceText
		if text, err = s.read.WorkspaceText.Get(ctx, version); err == nil {
			return workspaceChangeOf(row), string(text.Text), nil
		}
	}
	if ent.IsNotFound(err) {
		return pluginsdk.WorkspaceChange{}, "", pluginsdk.Errorf(pluginsdk.CodeNotFound, "the history of %s has no text of the version %.80q", path, version)
	}
	return pluginsdk.WorkspaceChange{}, "", wrap("read the history of the workspace", err)
}

// pruneTexts deletes the texts that no change has made which is still kept.
func (s *Store) pruneTexts(ctx context.Context) error {
	for {
		var n int64
		err := s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) (err error) {
			n, err = tx.run(ctx, fmt.Sprintf(`DELETE FROM workspace_texts WHERE id IN (SELECT t.id FROM workspace_texts t
				WHERE NOT EXISTS (SELECT 1 FROM workspace_changes c WHERE c.version = t.id) LIMIT %d)`, textsPruned))
			return err
		})
		if err != nil || n == 0 {
			return err
		}
	}
}

// textsPruned is how many texts one transaction deletes.
const textsPruned = 100
