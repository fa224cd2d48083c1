package store

import (
	"context"
	"fmt"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/predicate"
	"github.com/seed-706843ae/harness/ent/token"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// AddToken stores a new token, on disk, with an entry in the audit log.
func (s *Store) AddToken(ctx context.Context, t ledger.Token, who string) error {
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		if err := insertToken(tx.Token, t).Exec(ctx); err != nil {
			return err
		}
		return s.note(ctx, tx, who, "token.create", t.ID, tokenSaid(t.Token))
	})
	return wrap("store a token", err)
}

// tokenSaid is what the audit log says of a token.
func tokenSaid(t pluginsdk.Token) string {
	said := fmt.Sprintf("%s (%s, %s)", t.Name, t.Kind, t.Scope)
	if !t.ExpiresAt.IsZero() {
		said += " until " + t.ExpiresAt.UTC().Format(time.RFC3339)
	}
	return said
}

// TokenOf returns the token whose secret has this hash, good or not, or CodeNotFound.
func (s *Store) TokenOf(ctx context.Context, hash string) (ledger.Token, error) {
	row, err := s.read.Token.Query().Where(token.Hash(hash)).Only(ctx)
	if ent.IsNotFound(err) {
		return ledger.Token{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no such token")
	}
	if err != nil {
		return ledger.Token{}, wrap("look a token up", err)
	}
	return tokenOf(row), nil
}

// StartSession makes a session of a token, which uses a login token up: of two that come
// with the same one, one gets a session. CodeDenied: there is no such token, or it is not
// good, or none that sessions are made of. It returns the session, and the ids of those
// that were ended for it.
func (s *Store) StartSession(ctx context.Context, want ledger.TokenSession) (session ledger.Token, ended []string, err error) {
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		now := s.now()
		// Whoever revokes the token waits for this row, and finds the session then.
		claimed, err := tx.Token.Update().Where(token.Hash(want.Of), token.KindNEQ(string(pluginsdk.TokenSession)), good(now)).
			SetLastUsedAt(now).Save(ctx)
		if err != nil {
			return err
		}
		if claimed == 0 {
			return pluginsdk.Errorf(pluginsdk.CodeDenied, "the token is unknown, revoked, used up or over")
		}
		row, err := tx.Token.Query().Where(token.Hash(want.Of)).Only(ctx)
		if err != nil {
			return err
		}
		parent := tokenOf(row)
		session = want.Session
		session.Name, session.Scope, session.Kind = parent.Name, parent.Scope, pluginsdk.TokenSession
		session.ParentID, session.CreatedBy, session.CreatedAt = parent.ID, want.Who, now
		if over := parent.ExpiresAt; parent.Kind == pluginsdk.TokenAccess && !over.IsZero() && over.Before(session.ExpiresAt) {
			session.ExpiresAt = over
		}
		if err := insertToken(tx.Token, session).Exec(ctx); err != nil {
			return err
		}
		older, err := tx.Token.Query().Where(token.ParentID(parent.ID), good(now)).Order(token.ByID(entsql.OrderDesc())).Offset(want.Most).Limit(pruneBatch).IDs(ctx)
		if err != nil {
			return err
		}
		if ended = older; len(ended) > 0 {
			if err := tx.Token.Update().Where(token.IDIn(ended...)).SetRevokedAt(now).Exec(ctx); err != nil {
				return err
			}
		}
		return s.note(ctx, tx, want.Who, "token.login", parent.ID, tokenSaid(session.Token))
	})
	return session, ended, wrap("start a session", err)
}

// good holds for tokens that are, as in ledger.Token.Good.
func good(now time.Time) predicate.Token {
	return token.And(
		token.RevokedAtIsNil(),
		token.Or(token.ExpiresAtIsNil(), token.ExpiresAtGT(now)),
		token.Or(token.KindNEQ(string(pluginsdk.TokenLogin)), token.LastUsedAtIsNil()),
	)
}

// Tokens returns a page of the tokens that are good, oldest first.
func (s *Store) Tokens(ctx context.Context, after string, limit int) ([]pluginsdk.Token, error) {
	query := s.read.Token.Query().Where(good(s.now())).Order(token.ByID()).Limit(page(limit))
	if after != "" {
		query = query.Where(token.IDGT(after))
	}
	rows, err := query.All(ctx)
	if err != nil {
		return nil, wrap("list tokens", err)
	}
	return all(rows, func(row *ent.Token) pluginsdk.Token { return tokenOf(row).Token }), nil
}

// RevokeToken ends a token and the sessions made of it, on disk, with an entry in the
// audit log, and returns the ids of all that were ended; none when it was over already.
func (s *Store) RevokeToken(ctx context.Context, id, who string) (ended []string, err error) {
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		now := s.now()
		ended = nil
		// The token before its sessions: who is making one holds the token, and has it
		// stored when this goes on.
		for _, which := range []predicate.Token{token.ID(id), token.ParentID(id)} {
			ids, err := tx.revokeTokens(ctx, now, which)
			if err != nil {
				return err
			}
			ended = append(ended, ids...)
		}
		if len(ended) == 0 {
			return nil
		}
		row, err := tx.Token.Get(ctx, id)
		if err != nil {
			return err
		}
		return s.note(ctx, tx, who, "token.revoke", id, tokenSaid(tokenOf(row).Token))
	})
	return ended, wrap("revoke a token", err)
}

func (t *tx) revokeTokens(ctx context.Context, now time.Time, which predicate.Token) ([]string, error) {
	if err := t.Token.Update().Where(which, token.RevokedAtIsNil()).SetRevokedAt(now).Exec(ctx); err != nil {
		return nil, err
	}
	return t.Token.Query().Where(which, token.RevokedAt(now)).IDs(ctx)
}

// RevokedTokens returns the ids of tokens that were revoked since an instant.
func (s *Store) RevokedTokens(ctx context.Context, since time.Time) ([]string, error) {
	since = instant(since)
	from := since.Truncate(time.Hour) // so that one answer is good for an hour
	none, err := s.unrevoked.of(ctx, s.back, from, func() (bool, error) {
		some, err := s.read.Token.Query().Where(token.RevokedAtGTE(from)).Exist(ctx)
		return !some, err
	})
	if none || err != nil {
		return nil, wrap("look for revoked tokens", err)
	}
	ids, err := s.read.Token.Query().Where(token.RevokedAtGTE(since)).Order(token.ByID()).IDs(ctx)
	return ids, wrap("look for revoked tokens", err)
}

// TouchTokens stores when tokens were used last, by id.
func (s *Store) TouchTokens(ctx context.Context, used map[string]time.Time) error {
	err := s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) error {
		for id, at := range used {
			// One that was deleted meanwhile is no error, and none of login's comes here.
			if err := tx.Token.Update().Where(token.ID(id)).SetLastUsedAt(instant(at)).Exec(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	return wrap("store when tokens were used", err)
}

// ForgetTokens deletes tokens that have been over since before an instant: revoked,
// used up or expired. A token with sessions stays as long as those do.
func (s *Store) ForgetTokens(ctx context.Context, before time.Time) error {
	before = instant(before)
	err := s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) error {
		_, err := tx.run(ctx, `DELETE FROM tokens WHERE id IN (SELECT id FROM tokens t
			WHERE (t.revoked_at < $1 OR t.expires_at < $1) AND NOT EXISTS (SELECT 1 FROM tokens s WHERE s.parent_id = t.id) LIMIT 1000)`, before)
		return err
	})
	return wrap("delete tokens that are over", err)
}
