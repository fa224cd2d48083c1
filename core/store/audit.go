package store

import (
	"context"
	"slices"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/auditentry"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// AuditEntry is one thing that somebody did to the installation.
type AuditEntry struct {
	ID        string    `json:"id"`
	Who       string    `json:"who"`    // a person, a plugin, or the command line's user
	Action    string    `json:"action"` // plugin.enable, plugin.grant, settings.change, ...
	Target    string    `json:"target,omitempty"`
	Detail    string    `json:"detail,omitempty"` // never a secret
	CreatedAt time.Time `json:"createdAt"`
}

// Audit notes, on disk, who did what.
func (s *Store) Audit(ctx context.Context, who, action, target, detail string) error {
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		return s.note(ctx, tx, who, action, target, detail)
	})
	return wrap("write the audit log", err)
}

// note is Audit within a transaction.
func (s *Store) note(ctx context.Context, tx *tx, who, action, target, detail string) error {
	id, err := newID()
	if err != nil {
		return err
	}
	return tx.AuditEntry.Create().SetID(id).SetWho(clean(who)).SetAction(clean(action)).
		SetTarget(clean(target)).SetDetail(clean(detail)).SetCreatedAt(s.now()).Exec(ctx)
}

// AuditPage returns the selected entries, newest first.
func (s *Store) AuditPage(ctx context.Context, q pluginsdk.AuditQuery) ([]pluginsdk.AuditEntry, error) {
	query := s.read.AuditEntry.Query().Order(auditentry.ByID(entsql.OrderDesc())).Limit(page(q.Limit))
	if q.Who != "" {
		query = query.Where(auditentry.Who(q.Who))
	}
	if q.Action != "" {
		query = query.Where(auditentry.Or(auditentry.Action(q.Action), auditentry.ActionHasPrefix(q.Action+".")))
	}
	if q.Target != "" {
		query = query.Where(auditentry.Target(q.Target))
	}
	if !q.Since.IsZero() {
		query = query.Where(auditentry.CreatedAtGTE(instant(q.Since)))
	}
	if q.Before != "" {
		query = query.Where(auditentry.IDLT(q.Before))
	}
	rows, err := query.All(ctx)
	if err != nil {
		return nil, wrap("read the audit log", err)
	}
	return all(rows, func(row *ent.AuditEntry) pluginsdk.AuditEntry {
		return pluginsdk.AuditEntry{
			ID: row.ID, Who: row.Who, Action: row.Action, Target: row.Target, Detail: row.Detail, At: row.CreatedAt.UTC(),
		}
	}), nil
}

// AuditEntries returns the newest entries about a target (empty: about
// anything), oldest first.
func (s *Store) AuditEntries(ctx context.Context, target string, limit int) ([]AuditEntry, error) {
	query := s.read.AuditEntry.Query().Order(auditentry.ByID(entsql.OrderDesc())).Limit(page(limit))
	if target != "" {
		query = query.Where(auditentry.Target(target))
	}
	rows, err := query.All(ctx)
	if err != nil {
		return nil, wrap("read the audit log", err)
	}
	slices.Reverse(rows)
	return all(rows, auditOf), nil
}
