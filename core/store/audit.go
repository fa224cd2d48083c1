package store

import (
	"context"
	"slices"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/ent/auditentry"
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
