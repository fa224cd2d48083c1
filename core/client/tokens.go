package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// CreateToken makes a token. Its secret is told this once.
func (c *Client) CreateToken(ctx context.Context, request pluginsdk.CreateTokenRequest) (made pluginsdk.Token, secret string, err error) {
	body := map[string]any{"name": request.Name, "scope": request.Scope}
	if request.Kind != "" {
		body["kind"] = request.Kind
	}
	if !request.ExpiresAt.IsZero() {
		body["expiresAt"] = request.ExpiresAt
	}
	var answer struct {
		Token  pluginsdk.Token `json:"token"`
		Secret string          `json:"secret"`
	}
	err = c.post(ctx, "/api/tokens", body, &answer)
	return answer.Token, answer.Secret, err
}

// TokenPage returns a page of the tokens that are good, oldest first; an empty one is the end.
func (c *Client) TokenPage(ctx context.Context, request pluginsdk.ListTokensRequest) ([]pluginsdk.Token, error) {
	query := url.Values{"limit": {strconv.Itoa(request.Limit)}}
	if request.After != "" {
		query.Set("after", request.After)
	}
	var page struct {
		Tokens []pluginsdk.Token `json:"tokens"`
	}
	err := c.get(ctx, "/api/tokens", query, &page)
	return page.Tokens, err
}

// RevokeToken ends a token, and the sessions made of it; one that is gone is no error.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodPost, "/api/tokens/"+url.PathEscape(id)+"/revoke", nil, []byte("{}"), nil)
}

// LoginLink is the page on which a login token's secret is used.
func (c *Client) LoginLink(secret string) string {
	return c.address("/login", url.Values{"token": {secret}})
}
