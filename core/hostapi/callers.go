package hostapi

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// callers are the tokens of who calls from outside.
type callers struct{ *caller }

// Check counts in no quota: strangers, who have no token, decide how often it is asked.
func (s callers) Check(ctx context.Context, request *pluginsdk.CheckTokenRequest) (*pluginsdk.CheckTokenResponse, error) {
	return counted(s.caller, "Tokens.Check", func() (*pluginsdk.CheckTokenResponse, error) {
		token, err := s.Callers.Check(ctx, request.Secret)
		if err == nil {
			s.shown.note(s.plugin, token)
		}
		return &pluginsdk.CheckTokenResponse{Token: token}, err
	})
}

// Exchange counts in none either, for the same reason.
func (s callers) Exchange(ctx context.Context, request *pluginsdk.ExchangeTokenRequest) (*pluginsdk.ExchangeTokenResponse, error) {
	return counted(s.caller, "Tokens.Exchange", func() (*pluginsdk.ExchangeTokenResponse, error) {
		if err := s.outsideOfHooks(ctx, personal["Tokens.Exchange"]); err != nil {
			return nil, err
		}
		session, secret, err := s.Callers.Exchange(ctx, AuditName(ctx, s.plugin), *request)
		return &pluginsdk.ExchangeTokenResponse{Token: session, Secret: secret}, err
	})
}

func (s callers) Create(ctx context.Context, request *pluginsdk.CreateTokenRequest) (*pluginsdk.CreateTokenResponse, error) {
	return servePerson(ctx, s.caller, "Tokens.Create", func() (*pluginsdk.CreateTokenResponse, error) {
		var response pluginsdk.CreateTokenResponse
		err := s.write(ctx, 1, int64(len(request.Name)), func() (err error) {
			response.Token, response.Secret, err = s.Callers.Create(ctx, AuditName(ctx, s.plugin), *request)
			return err
		})
		return &response, err
	})
}

func (s callers) List(ctx context.Context, request *pluginsdk.ListTokensRequest) (*pluginsdk.ListTokensResponse, error) {
	return serve(s.caller, "Tokens.List", func() (*pluginsdk.ListTokensResponse, error) {
		tokens, err := s.Callers.List(ctx, *request)
		return &pluginsdk.ListTokensResponse{Tokens: tokens}, err
	})
}

// Revoke ends the session of a secret, or, with the capability for it, any token.
func (s callers) Revoke(ctx context.Context, request *pluginsdk.RevokeTokenRequest) (*pluginsdk.RevokeTokenResponse, error) {
	return servePerson(ctx, s.caller, "Tokens.Revoke", func() (*pluginsdk.RevokeTokenResponse, error) {
		var end func() error
		switch {
		case (request.ID == "") == (request.Secret == ""):
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "id, secret: give the id of a token, or the secret of a session that logs out")
		case request.Secret != "":
			end = func() error { return s.Callers.LogOut(ctx, AuditName(ctx, s.plugin), request.Secret) }
		case !s.Grants.Granted(s.plugin, pluginsdk.CapTokensAdmin):
			return nil, lacks(s.plugin, pluginsdk.CapTokensAdmin)
		default:
			end = func() error { return s.Callers.Revoke(ctx, AuditName(ctx, s.plugin), request.ID) }
		}
		return &pluginsdk.RevokeTokenResponse{}, s.write(ctx, 1, 0, end)
	})
}
