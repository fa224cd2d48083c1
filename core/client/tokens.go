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

// Me is who the client is to the daemon: the name and scope of its token; without a name where
// no token is demanded.
func (c *Client) Me(ctx context.Context) (me pluginsdk.Token, err error) {
	err = c.get(ctx, "/api/me", nil, &me)
	return me, err
}

// OpenLink is the page that a login token's secret opens without a form. The secret is in the
// fragment, which browsers send to nobody. next is the path that it leads to.
func (c *Client) OpenLink(secret, next string) string {
	link := c.base.String() + "/login"
	if next != "" {
		link += "?" + url.Values{"next": {next}}.Encode()
	}
	return link + "#" + secret
}

// LoginLink is the page on which a login token's secret is used.
func (c *Client) LoginLink(secret string) string {
	return c.address("/login", url.Values{"token": {secret}})
}
