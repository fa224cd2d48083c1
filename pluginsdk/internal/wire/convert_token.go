package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

func tokenTo(v pluginsdk.Token) *typesv1.Token {
	return &typesv1.Token{
		Id:         v.ID,
		Name:       v.Name,
		Kind:       string(v.Kind),
		Scope:      string(v.Scope),
		ParentId:   v.ParentID,
		CreatedBy:  v.CreatedBy,
		CreatedAt:  timeTo(v.CreatedAt),
		ExpiresAt:  timeTo(v.ExpiresAt),
		LastUsedAt: timeTo(v.LastUsedAt),
	}
}

func tokenFrom(m *typesv1.Token) pluginsdk.Token {
	return pluginsdk.Token{
		ID:         m.GetId(),
		Name:       m.GetName(),
		Kind:       pluginsdk.TokenKind(m.GetKind()),
		Scope:      pluginsdk.TokenScope(m.GetScope()),
		ParentID:   m.GetParentId(),
		CreatedBy:  m.GetCreatedBy(),
		CreatedAt:  timeFrom(m.GetCreatedAt()),
		ExpiresAt:  timeFrom(m.GetExpiresAt()),
		LastUsedAt: timeFrom(m.GetLastUsedAt()),
	}
}

func checkTokenRequestTo(v pluginsdk.CheckTokenRequest) *hostv1.CheckTokenRequest {
	return &hostv1.CheckTokenRequest{
		Secret: v.Secret,
	}
}

func checkTokenRequestFrom(m *hostv1.CheckTokenRequest) pluginsdk.CheckTokenRequest {
	return pluginsdk.CheckTokenRequest{
		Secret: m.GetSecret(),
	}
}

func checkTokenResponseTo(v pluginsdk.CheckTokenResponse) *hostv1.CheckTokenResponse {
	return &hostv1.CheckTokenResponse{
		Token: tokenTo(v.Token),
	}
}

func checkTokenResponseFrom(m *hostv1.CheckTokenResponse) pluginsdk.CheckTokenResponse {
	return pluginsdk.CheckTokenResponse{
		Token: tokenFrom(m.GetToken()),
	}
}

func exchangeTokenRequestTo(v pluginsdk.ExchangeTokenRequest) *hostv1.ExchangeTokenRequest {
	return &hostv1.ExchangeTokenRequest{
		Secret: v.Secret,
		Life:   durationTo(v.Life),
	}
}

func exchangeTokenRequestFrom(m *hostv1.ExchangeTokenRequest) pluginsdk.ExchangeTokenRequest {
	return pluginsdk.ExchangeTokenRequest{
		Secret: m.GetSecret(),
		Life:   durationFrom(m.GetLife()),
	}
}

func exchangeTokenResponseTo(v pluginsdk.ExchangeTokenResponse) *hostv1.ExchangeTokenResponse {
	return &hostv1.ExchangeTokenResponse{
		Token:  tokenTo(v.Token),
		Secret: v.Secret,
	}
}

func exchangeTokenResponseFrom(m *hostv1.ExchangeTokenResponse) pluginsdk.ExchangeTokenResponse {
	return pluginsdk.ExchangeTokenResponse{
		Token:  tokenFrom(m.GetToken()),
		Secret: m.GetSecret(),
	}
}

func createTokenRequestTo(v pluginsdk.CreateTokenRequest) *hostv1.CreateTokenRequest {
	return &hostv1.CreateTokenRequest{
		Name:      v.Name,
		Kind:      string(v.Kind),
		Scope:     string(v.Scope),
		ExpiresAt: timeTo(v.ExpiresAt),
	}
}

func createTokenRequestFrom(m *hostv1.CreateTokenRequest) pluginsdk.CreateTokenRequest {
	return pluginsdk.CreateTokenRequest{
		Name:      m.GetName(),
		Kind:      pluginsdk.TokenKind(m.GetKind()),
		Scope:     pluginsdk.TokenScope(m.GetScope()),
		ExpiresAt: timeFrom(m.GetExpiresAt()),
	}
}

func createTokenResponseTo(v pluginsdk.CreateTokenResponse) *hostv1.CreateTokenResponse {
	return &hostv1.CreateTokenResponse{
		Token:  tokenTo(v.Token),
		Secret: v.Secret,
	}
}

func createTokenResponseFrom(m *hostv1.CreateTokenResponse) pluginsdk.CreateTokenResponse {
	return pluginsdk.CreateTokenResponse{
		Token:  tokenFrom(m.GetToken()),
		Secret: m.GetSecret(),
	}
}

func listTokensRequestTo(v pluginsdk.ListTokensRequest) *hostv1.ListTokensRequest {
	return &hostv1.ListTokensRequest{
		After: v.After,
		Limit: int64(v.Limit),
	}
}

func listTokensRequestFrom(m *hostv1.ListTokensRequest) pluginsdk.ListTokensRequest {
	return pluginsdk.ListTokensRequest{
		After: m.GetAfter(),
		Limit: int(m.GetLimit()),
	}
}

func listTokensResponseTo(v pluginsdk.ListTokensResponse) *hostv1.ListTokensResponse {
	return &hostv1.ListTokensResponse{
		Tokens: listTo(v.Tokens, tokenTo),
	}
}

func listTokensResponseFrom(m *hostv1.ListTokensResponse) pluginsdk.ListTokensResponse {
	return pluginsdk.ListTokensResponse{
		Tokens: listFrom(m.GetTokens(), tokenFrom),
	}
}

func revokeTokenRequestTo(v pluginsdk.RevokeTokenRequest) *hostv1.RevokeTokenRequest {
	return &hostv1.RevokeTokenRequest{
		Id:     v.ID,
		Secret: v.Secret,
	}
}

func revokeTokenRequestFrom(m *hostv1.RevokeTokenRequest) pluginsdk.RevokeTokenRequest {
	return pluginsdk.RevokeTokenRequest{
		ID:     m.GetId(),
		Secret: m.GetSecret(),
	}
}
