package plugintest

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type budgets struct{ view }

// SetBudgetAccount says how an account of a plugin's stands from now on. The host carries out no
// runs, and sets nothing aside by itself.
func (h *Host) SetBudgetAccount(plugin, name string, account pluginsdk.BudgetAccount) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.budgets[plugin+"/"+name] = account
}

// Recheck only checks that it is called: the host carries out no runs.
func (s budgets) Recheck(ctx context.Context, _ *pluginsdk.RecheckBudgetsRequest) (*pluginsdk.RecheckBudgetsResponse, error) {
	leave, err := s.h.enter(ctx, "Budgets.Recheck")
	if err != nil {
		return nil, err
	}
	defer leave()
	s.h.rechecks[s.manifest.Name]++
	return &pluginsdk.RecheckBudgetsResponse{}, nil
}

// CountSpent raises what is spent from an account.
func (s budgets) CountSpent(ctx context.Context, request *pluginsdk.CountSpentRequest) (*pluginsdk.CountSpentResponse, error) {
	leave, err := s.h.enter(ctx, "Budgets.CountSpent")
	if err != nil {
		return nil, err
	}
	defer leave()
	key := s.manifest.Name + "/" + request.Account
	account := s.h.budgets[key]
	account.SpentUSD = max(account.SpentUSD, request.AtLeast)
	s.h.budgets[key] = account
	return &pluginsdk.CountSpentResponse{Account: account}, nil
}

// Rechecks returns how often a plugin has called Budgets.Recheck.
func (h *Host) Rechecks(plugin string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rechecks[plugin]
}

func (s budgets) Account(ctx context.Context, request *pluginsdk.GetBudgetAccountRequest) (*pluginsdk.GetBudgetAccountResponse, error) {
	leave, err := s.h.enter(ctx, "Budgets.Account")
	if err != nil {
		return nil, err
	}
	defer leave()
	return &pluginsdk.GetBudgetAccountResponse{Account: s.h.budgets[s.manifest.Name+"/"+request.Name]}, nil
}
