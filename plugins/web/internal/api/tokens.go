package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/plugins/web/internal/access"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Me is who makes the request, as the API knows them.
type Me struct {
	Name    string               `json:"name,omitempty" doc:"The token's; absent without one"`
	Kind    pluginsdk.TokenKind  `json:"kind,omitempty" enum:"access,session" doc:"access: a program's token; session: a browser's"`
	Scope   pluginsdk.TokenScope `json:"scope" enum:"read,chat,approve,work,admin" doc:"admin where no token is demanded"`
	Until   time.Time            `json:"until,omitzero" doc:"When the token is over; absent: when it is revoked"`
	TokenID string               `json:"tokenId,omitempty"`
}

type meOutput struct{ Body Me }

type tokensInput struct {
	After string `query:"after" maxLength:"100" doc:"Id of the last token of the page before"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"The most of a page. The end is an empty page"`
}

type tokensOutput struct {
	Body struct {
		Tokens []pluginsdk.Token `json:"tokens" nullable:"false"`
	}
}

// TokenRequest is what a token is made from.
type TokenRequest struct {
	Name      string               `json:"name" minLength:"1" maxLength:"100" doc:"Whose it is: the author of what they write, a name in the audit log; at most 100 bytes"`
	Kind      pluginsdk.TokenKind  `json:"kind,omitempty" enum:"access,login" doc:"access: for a program, or to log in with; login: for one login, within an hour; access when absent"`
	Scope     pluginsdk.TokenScope `json:"scope" pattern:"^(read|chat|approve|work|admin|cron:.+)$" patternDescription:"read, chat, approve, work, admin or cron:NAME" doc:"What its holder may; each has those before it. cron:NAME: have the scheduled job of that name fire, and nothing else"`
	ExpiresAt time.Time            `json:"expiresAt,omitzero" doc:"When it is over; absent: when it is revoked"`
}

type tokenInput struct{ Body TokenRequest }

type madeTokenOutput struct {
	Body struct {
		Token  pluginsdk.Token `json:"token"`
		Secret string          `json:"secret" doc:"Is not kept: it is shown this once"`
	}
}

func (h *handlers) registerTokens(api huma.API) {
	huma.Register(api, needs(pluginsdk.ScopeRead, get("get-me", "/api/me", "Who makes this request, and what they may")), h.me)
	huma.Register(api, needs(pluginsdk.ScopeAdmin, get("list-tokens", "/api/tokens", "The tokens that are good, oldest first, and the sessions made of them")), h.listTokens)
	huma.Register(api, needs(pluginsdk.ScopeAdmin, post("create-token", "/api/tokens", "Make a token", http.StatusCreated)), h.createToken)
	huma.Register(api, needs(pluginsdk.ScopeAdmin, post("revoke-token", "/api/tokens/{id}/revoke", "End a token, and the sessions made of it; one that is gone is no error", http.StatusNoContent)), h.revokeToken)
}

func (h *handlers) me(ctx context.Context, _ *struct{}) (*meOutput, error) {
	caller := access.From(ctx)
	if !caller.Known() {
		return &meOutput{Body: Me{Scope: pluginsdk.ScopeAdmin}}, nil
	}
	token := caller.Token
	return &meOutput{Body: Me{Name: token.Name, Kind: token.Kind, Scope: token.Scope, Until: token.ExpiresAt, TokenID: token.ID}}, nil
}

func (h *handlers) listTokens(ctx context.Context, input *tokensInput) (*tokensOutput, error) {
	answer, err := h.host.Tokens.List(ctx, &pluginsdk.ListTokensRequest{After: input.After, Limit: input.Limit})
	if err != nil {
		return nil, h.fail("list-tokens", err)
	}
	output := &tokensOutput{}
	output.Body.Tokens = list(answer.Tokens)
	return output, nil
}

func (h *handlers) createToken(ctx context.Context, input *tokenInput) (*madeTokenOutput, error) {
	request := input.Body
	answer, err := h.host.Tokens.Create(ctx, &pluginsdk.CreateTokenRequest{
		Name: request.Name, Kind: request.Kind, Scope: request.Scope, ExpiresAt: request.ExpiresAt,
	})
	if err != nil {
		return nil, h.fail("create-token", err)
	}
	output := &madeTokenOutput{}
	output.Body.Token, output.Body.Secret = answer.Token, answer.Secret
	return output, nil
}

func (h *handlers) revokeToken(ctx context.Context, input *idInput) (*struct{}, error) {
	_, err := h.host.Tokens.Revoke(ctx, &pluginsdk.RevokeTokenRequest{ID: input.ID})
	if err != nil {
		return nil, h.fail("revoke-token", err)
	}
	return &struct{}{}, nil
}
