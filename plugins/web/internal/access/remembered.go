package access

import (
	"context"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// rememberGood is how long a token that the core has found good is let in without another
	// question. It is shorter than the core remembers that a plugin has shown a token, and
	// than the minute to which it tells when a token was used.
	rememberGood = 30 * time.Second
	// maxGood bounds how many tokens are remembered: beyond it all are asked about again.
	maxGood = 1000
)

// remembered are the host's Tokens. It asks about a secret that was good a moment ago only when
// a token has been revoked since. What a request then asks of the core names its token, and the
// core refuses a revoked one itself.
type remembered struct {
	pluginsdk.Tokens
	now func() time.Time

	mu   sync.Mutex
	good map[string]goodToken // by secret
}

type goodToken struct {
	pluginsdk.Token
	at time.Time // when it was asked about
}

func remember(tokens pluginsdk.Tokens, now func() time.Time) *remembered {
	if now == nil {
		now = time.Now
	}
	return &remembered{Tokens: tokens, now: now, good: make(map[string]goodToken)}
}

func (m *remembered) Check(ctx context.Context, request *pluginsdk.CheckTokenRequest) (*pluginsdk.CheckTokenResponse, error) {
	at := m.now()
	m.mu.Lock()
	good := m.good // forget replaces it: an answer that is older than a revocation is put where nobody looks
	found, ok := good[request.Secret]
	m.mu.Unlock()
	if over := found.ExpiresAt; ok && at.Sub(found.at) < rememberGood && (over.IsZero() || at.Before(over)) {
		return &pluginsdk.CheckTokenResponse{Token: found.Token}, nil
	}
	answer, err := m.Tokens.Check(ctx, request)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(good) >= maxGood {
		clear(good)
	}
	good[request.Secret] = goodToken{answer.Token, at}
	return answer, nil
}

// Revoke ends a token. Its secret, and those of sessions made of it, are refused from the moment
// that it returns.
func (m *remembered) Revoke(ctx context.Context, request *pluginsdk.RevokeTokenRequest) (*pluginsdk.RevokeTokenResponse, error) {
	defer m.forget()
	return m.Tokens.Revoke(ctx, request)
}

// forget makes every secret be asked about again.
func (m *remembered) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.good = make(map[string]goodToken)
}
