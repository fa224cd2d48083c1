package plugintest

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type accounts struct{ view }

// SetAccount puts an account into the host, with the windows of its plan, or in the place of
// the one of its name. There is always one named environment.
func (h *Host) SetAccount(account pluginsdk.Account) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.setAccount(account)
}

func (h *Host) setAccount(account pluginsdk.Account) {
	if account.Default {
		for i := range h.accounts {
			h.accounts[i].Default = false
		}
	}
	if i := slices.IndexFunc(h.accounts, func(a pluginsdk.Account) bool { return a.Name == account.Name }); i >= 0 {
		h.accounts[i] = account
		return
	}
	h.accounts = append(h.accounts, account)
	slices.SortFunc(h.accounts[1:], func(a, b pluginsdk.Account) int { return strings.Compare(a.Name, b.Name) })
}

// SetRights says what Accounts.Rights answers for a thread.
func (h *Host) SetRights(threadID string, rights pluginsdk.AgentRights) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rights[threadID] = rights
}

// fallbackOf returns the fallback of an account that has a daily limit; empty: there is none.
func (h *Host) fallbackOf(name string) string {
	for _, of := range h.accounts {
		for _, key := range h.accounts {
			if of.Name == name && of.Fallback == key.Name && key.DailyLimitUSD > 0 {
				return key.Name
			}
		}
	}
	return ""
}

func accountName(a pluginsdk.Account) string { return a.Name }

func (s accounts) List(ctx context.Context, _ *pluginsdk.ListAccountsRequest) (*pluginsdk.ListAccountsResponse, error) {
	leave, err := s.h.enter(ctx, "Accounts.List")
	if err != nil {
		return nil, err
	}
	defer leave()
	return &pluginsdk.ListAccountsResponse{Accounts: slices.Clone(s.h.accounts)}, nil
}

// noted puts what was done to an account into the audit log.
func (s accounts) noted(ctx context.Context, action, name, author string) {
	who := s.who(ctx)
	if author != "" {
		who = "plugin:" + s.manifest.Name + " (" + author + ")"
	}
	s.h.addAudit(pluginsdk.AuditEntry{Who: who, Action: "account." + action, Target: name, At: now()})
}

func (s accounts) Add(ctx context.Context, request *pluginsdk.AddAccountRequest) (*pluginsdk.AddAccountResponse, error) {
	leave, err := s.h.enter(ctx, "Accounts.Add")
	if err != nil {
		return nil, err
	}
	defer leave()
	switch _, err := find(s.h.accounts, "account", request.Name, accountName); {
	case err == nil:
		return nil, pluginsdk.Errorf(pluginsdk.CodeConflict, "there is an account %s already", request.Name)
	case request.Kind != pluginsdk.AccountLogin && request.Kind != pluginsdk.AccountKey:
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "kind: %q is neither login nor key", request.Kind)
	case request.Kind == pluginsdk.AccountKey && request.Key == "":
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "key: an account of the kind key needs one")
	}
	made := pluginsdk.Account{Name: request.Name, Kind: request.Kind, Usable: request.Kind == pluginsdk.AccountKey, CreatedAt: now()}
	if made.Kind == pluginsdk.AccountLogin {
		made.Home, made.Reason = "/data/accounts/"+made.Name, "nobody has logged in yet"
	}
	s.h.setAccount(made)
	s.noted(ctx, "add", made.Name, request.Author)
	return &pluginsdk.AddAccountResponse{Account: made}, nil
}

func (s accounts) Update(ctx context.Context, request *pluginsdk.UpdateAccountRequest) (*pluginsdk.UpdateAccountResponse, error) {
	leave, err := s.h.enter(ctx, "Accounts.Update")
	if err != nil {
		return nil, err
	}
	defer leave()
	i, err := find(s.h.accounts, "account", request.Name, accountName)
	if err != nil {
		return nil, err
	}
	changed, patch := s.h.accounts[i], request.Patch
	if fallback := patch.Fallback; fallback != nil && *fallback != "" {
		if key, err := find(s.h.accounts, "account", *fallback, accountName); err != nil || s.h.accounts[key].Kind != pluginsdk.AccountKey {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "fallback: %q is no account of the kind key", *fallback)
		} else if s.h.accounts[key].DailyLimitUSD <= 0 {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "fallback: the key %s has no daily limit; set one first", *fallback)
		}
	}
	set(&changed.Default, patch.Default)
	set(&changed.Overage, patch.Overage)
	set(&changed.Fallback, patch.Fallback)
	set(&changed.DailyLimitUSD, patch.DailyLimitUSD)
	s.h.setAccount(changed)
	s.noted(ctx, "update", changed.Name, request.Author)
	return &pluginsdk.UpdateAccountResponse{Account: changed}, nil
}

func (s accounts) Remove(ctx context.Context, request *pluginsdk.RemoveAccountRequest) (*pluginsdk.RemoveAccountResponse, error) {
	leave, err := s.h.enter(ctx, "Accounts.Remove")
	if err != nil {
		return nil, err
	}
	defer leave()
	named := slices.ContainsFunc(s.h.threads, func(t pluginsdk.Thread) bool { return t.Account == request.Name }) ||
		slices.ContainsFunc(s.h.accounts, func(a pluginsdk.Account) bool { return a.Fallback == request.Name })
	if request.Name == pluginsdk.EnvironmentAccount || named {
		return nil, pluginsdk.Errorf(pluginsdk.CodeStale, "the account %s is always there, or a thread or another account names it", request.Name)
	}
	kept := filter(s.h.accounts, func(a pluginsdk.Account) bool { return a.Name != request.Name })
	if len(kept) < len(s.h.accounts) {
		s.noted(ctx, "remove", request.Name, request.Author)
	}
	if s.h.accounts = kept; !slices.ContainsFunc(kept, func(a pluginsdk.Account) bool { return a.Default }) {
		s.h.accounts[0].Default = true
	}
	return &pluginsdk.RemoveAccountResponse{}, nil
}

func (s accounts) Rights(ctx context.Context, request *pluginsdk.RightsRequest) (*pluginsdk.RightsResponse, error) {
	leave, err := s.h.enter(ctx, "Accounts.Rights")
	if err != nil {
		return nil, err
	}
	defer leave()
	if _, err := find(s.h.threads, "thread", request.ThreadID, threadID); err != nil {
		return nil, err
	}
	rights := s.h.rights[request.ThreadID]
	rights.Version = cmp.Or(rights.Version, "0.0.0")
	return &pluginsdk.RightsResponse{Rights: rights}, nil
}
