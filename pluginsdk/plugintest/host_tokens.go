package plugintest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type tokens struct{ view }

// heldToken is a token with its secret, which the real host does not keep.
type heldToken struct {
	pluginsdk.Token
	secret string
	used   bool
}

// MakeToken makes a token, as an operator does, and returns it with its secret.
func (h *Host) MakeToken(request pluginsdk.CreateTokenRequest) (pluginsdk.Token, string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	made := h.addToken(pluginsdk.Token{
		Name: request.Name, Kind: cmp.Or(request.Kind, pluginsdk.TokenAccess), Scope: request.Scope,
		CreatedBy: "operator", ExpiresAt: request.ExpiresAt,
	})
	return made.Token, made.secret
}

// RevokeToken ends a token and its sessions, as an operator does. It tells the plugin
// nothing: a test broadcasts EventTokenRevoked where that matters.
func (h *Host) RevokeToken(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tokens = slices.DeleteFunc(h.tokens, func(t heldToken) bool { return t.ID == id || t.ParentID == id })
}

func (h *Host) addToken(token pluginsdk.Token) heldToken {
	token.ID, token.CreatedAt = h.nextID("token"), now()
	made := heldToken{Token: token, secret: "harness_" + string(token.Kind) + "_" + token.ID}
	h.tokens = append(h.tokens, made)
	return made
}

func (h *Host) goodToken(secret string) *heldToken {
	for n := range h.tokens {
		t := &h.tokens[n]
		if t.secret == secret && !t.used && (t.ExpiresAt.IsZero() || time.Now().Before(t.ExpiresAt)) {
			return t
		}
	}
	return nil
}

func noToken() error {
	return pluginsdk.Errorf(pluginsdk.CodeDenied, "the token is unknown, revoked, used up or over")
}

func (s tokens) Check(ctx context.Context, request *pluginsdk.CheckTokenRequest) (*pluginsdk.CheckTokenResponse, error) {
	leave, err := s.h.enter(ctx, "Tokens.Check")
	if err != nil {
		return nil, err
	}
	defer leave()
	found := s.h.goodToken(request.Secret)
	if found == nil || found.Kind == pluginsdk.TokenLogin {
		return nil, noToken()
	}
	return &pluginsdk.CheckTokenResponse{Token: found.Token}, nil
}

func (s tokens) Exchange(ctx context.Context, request *pluginsdk.ExchangeTokenRequest) (*pluginsdk.ExchangeTokenResponse, error) {
	leave, err := s.h.enter(ctx, "Tokens.Exchange")
	if err != nil {
		return nil, err
	}
	defer leave()
	parent := s.h.goodToken(request.Secret)
	if parent == nil || parent.Kind == pluginsdk.TokenSession || parent.Scope.Cron() != "" {
		return nil, noToken()
	}
	parent.used = parent.Kind == pluginsdk.TokenLogin
	over := now().Add(cmp.Or(request.Life, 30*24*time.Hour))
	if parent.Kind == pluginsdk.TokenAccess && !parent.ExpiresAt.IsZero() && parent.ExpiresAt.Before(over) {
		over = parent.ExpiresAt
	}
	made := s.h.addToken(pluginsdk.Token{Name: parent.Name, Kind: pluginsdk.TokenSession, Scope: parent.Scope, ParentID: parent.ID, ExpiresAt: over})
	return &pluginsdk.ExchangeTokenResponse{Token: made.Token, Secret: made.secret}, nil
}

func (s tokens) Create(ctx context.Context, request *pluginsdk.CreateTokenRequest) (*pluginsdk.CreateTokenResponse, error) {
	leave, err := s.h.enter(ctx, "Tokens.Create")
	if err != nil {
		return nil, err
	}
	defer leave()
	if request.Name == "" || !request.Scope.Has(request.Scope) && request.Scope.Cron() == "" || request.Kind == pluginsdk.TokenSession {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "name, scope, kind: a token needs a name and a scope, and is no session")
	}
	made := s.h.addToken(pluginsdk.Token{
		Name: request.Name, Kind: cmp.Or(request.Kind, pluginsdk.TokenAccess), Scope: request.Scope, ExpiresAt: request.ExpiresAt,
		CreatedBy: "plugin:" + s.manifest.Name,
	})
	return &pluginsdk.CreateTokenResponse{Token: made.Token, Secret: made.secret}, nil
}

func (s tokens) List(ctx context.Context, request *pluginsdk.ListTokensRequest) (*pluginsdk.ListTokensResponse, error) {
	leave, err := s.h.enter(ctx, "Tokens.List")
	if err != nil {
		return nil, err
	}
	defer leave()
	var good []pluginsdk.Token
	for _, token := range s.h.tokens {
		if !token.used {
			good = append(good, token.Token)
		}
	}
	page, _ := pageAfter(good, func(t pluginsdk.Token) string { return t.ID }, request.After, request.Limit)
	return &pluginsdk.ListTokensResponse{Tokens: page}, nil
}

func (s tokens) Revoke(ctx context.Context, request *pluginsdk.RevokeTokenRequest) (*pluginsdk.RevokeTokenResponse, error) {
	leave, err := s.h.enter(ctx, "Tokens.Revoke")
	if err != nil {
		return nil, err
	}
	defer leave()
	if (request.ID == "") == (request.Secret == "") {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "id, secret: give the id of a token, or the secret of a session that logs out")
	}
	if request.ID != "" && !s.has(pluginsdk.CapTokensAdmin) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeDenied, "the plugin %s lacks the capability %s", s.manifest.Name, pluginsdk.CapTokensAdmin)
	}
	id := request.ID
	if found := s.h.goodToken(request.Secret); request.Secret != "" {
		switch {
		case found == nil:
			return &pluginsdk.RevokeTokenResponse{}, nil
		case found.Kind != pluginsdk.TokenSession:
			return nil, pluginsdk.Errorf(pluginsdk.CodeDenied, "this is no session's secret")
		}
		id = found.ID
	}
	s.h.tokens = slices.DeleteFunc(s.h.tokens, func(t heldToken) bool { return t.ID == id || t.ParentID == id })
	return &pluginsdk.RevokeTokenResponse{}, nil
}
