package hostapi

import (
	"context"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Accounts are the logins and keys of the agent's. who is what the audit log calls who
// decides.
type Accounts interface {
	List(ctx context.Context) ([]pluginsdk.Account, error)
	Add(ctx context.Context, who string, request pluginsdk.AddAccountRequest) (pluginsdk.Account, error)
	Update(ctx context.Context, who string, request pluginsdk.UpdateAccountRequest) (pluginsdk.Account, error)
	// Remove forgets an account; an absent one is no error.
	Remove(ctx context.Context, who, name string) error
	// Rights compares what the agent may do in a thread with what it was told.
	Rights(ctx context.Context, threadID string) (pluginsdk.AgentRights, error)
}

// maxAccountKey is how long the key of an account may be, in bytes.
const maxAccountKey = 8 << 10

type accounts struct{ *caller }

func (s accounts) List(ctx context.Context, _ *pluginsdk.ListAccountsRequest) (*pluginsdk.ListAccountsResponse, error) {
	return serve(s.caller, "Accounts.List", func() (*pluginsdk.ListAccountsResponse, error) {
		accounts, err := s.Accounts.List(ctx)
		return &pluginsdk.ListAccountsResponse{Accounts: accounts}, err
	})
}

// checkAccount refuses (CodeInvalid) the name of an account that there is not; the empty one is
// the default.
func (c *caller) checkAccount(ctx context.Context, name string) error {
	if name == "" || name == pluginsdk.EnvironmentAccount {
		return nil
	}
	all, err := c.Accounts.List(ctx)
	if err != nil {
		return err
	}
	names := make([]string, len(all))
	for i, account := range all {
		names[i] = account.Name
	}
	if !slices.Contains(names, name) {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "account: there is no account %.100q; there are: %s", name, strings.Join(names, ", "))
	}
	return nil
}

// decide makes a decision in the plugin's name, or through it in a person's, if its quotas
// allow it.
func (s accounts) decide(ctx context.Context, author string, do func(who string) error, words ...length) error {
	if err := checkLengths(append(words, length{"author", len(author), maxWord})...); err != nil {
		return err
	}
	by, err := s.label(ctx, author)
	if err != nil {
		return err
	}
	return s.write(ctx, 1, 0, func() error { return do(by.AuditName()) })
}

func (s accounts) Add(ctx context.Context, request *pluginsdk.AddAccountRequest) (*pluginsdk.AddAccountResponse, error) {
	return servePerson(ctx, s.caller, "Accounts.Add", func() (*pluginsdk.AddAccountResponse, error) {
		var response pluginsdk.AddAccountResponse
		err := s.decide(ctx, request.Author, func(who string) (err error) {
			response.Account, err = s.Accounts.Add(ctx, who, *request)
			return err
		}, length{"name", len(request.Name), maxWord}, length{"key", len(request.Key), maxAccountKey})
		return &response, err
	})
}

func (s accounts) Update(ctx context.Context, request *pluginsdk.UpdateAccountRequest) (*pluginsdk.UpdateAccountResponse, error) {
	return servePerson(ctx, s.caller, "Accounts.Update", func() (*pluginsdk.UpdateAccountResponse, error) {
		var response pluginsdk.UpdateAccountResponse
		err := s.decide(ctx, request.Author, func(who string) (err error) {
			response.Account, err = s.Accounts.Update(ctx, who, *request)
			return err
		}, length{"name", len(request.Name), maxWord}, length{"key", len(value(request.Patch.Key)), maxAccountKey},
			length{"fallback", len(value(request.Patch.Fallback)), maxWord})
		return &response, err
	})
}

func (s accounts) Remove(ctx context.Context, request *pluginsdk.RemoveAccountRequest) (*pluginsdk.RemoveAccountResponse, error) {
	return servePerson(ctx, s.caller, "Accounts.Remove", func() (*pluginsdk.RemoveAccountResponse, error) {
		err := s.decide(ctx, request.Author, func(who string) error { return s.Accounts.Remove(ctx, who, request.Name) },
			length{"name", len(request.Name), maxWord})
		return &pluginsdk.RemoveAccountResponse{}, err
	})
}

func (s accounts) Rights(ctx context.Context, request *pluginsdk.RightsRequest) (*pluginsdk.RightsResponse, error) {
	return serve(s.caller, "Accounts.Rights", func() (*pluginsdk.RightsResponse, error) {
		rights, err := s.Accounts.Rights(ctx, request.ThreadID)
		return &pluginsdk.RightsResponse{Rights: rights}, err
	})
}
