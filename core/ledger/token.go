package ledger

import (
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Token is a token with what only the core knows of it.
type Token struct {
	pluginsdk.Token
	Hash      string    // SHA-256 of the secret, in hex
	RevokedAt time.Time // zero: it is not
}

// Good reports whether a token may be used at this moment. A login token may once.
func (t Token) Good(now time.Time) bool {
	used := t.Kind == pluginsdk.TokenLogin && !t.LastUsedAt.IsZero()
	return t.RevokedAt.IsZero() && !used && (t.ExpiresAt.IsZero() || now.Before(t.ExpiresAt))
}

// TokenSession asks for a session of the token whose secret has this hash.
type TokenSession struct {
	Of      string // hash of an access or login token
	Session Token  // its id, hash, and when it is over at the latest; the rest is the token's
	Who     string // for the audit log
	// Most is how many sessions a token has: those that began first are ended by more.
	Most int
}
