package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

func accountTo(v pluginsdk.Account) *typesv1.Account {
	return &typesv1.Account{
		Name:          v.Name,
		Kind:          string(v.Kind),
		Default:       v.Default,
		Plan:          v.Plan,
		Usable:        v.Usable,
		Reason:        v.Reason,
		Overage:       v.Overage,
		Fallback:      v.Fallback,
		DailyLimitUsd: v.DailyLimitUSD,
		SpentTodayUsd: v.SpentTodayUSD,
		Home:          v.Home,
		CreatedAt:     timeTo(v.CreatedAt),
		Windows:       listTo(v.Windows, planWindowTo),
	}
}

func accountFrom(m *typesv1.Account) pluginsdk.Account {
	return pluginsdk.Account{
		Name:          m.GetName(),
		Kind:          pluginsdk.AccountKind(m.GetKind()),
		Default:       m.GetDefault(),
		Plan:          m.GetPlan(),
		Usable:        m.GetUsable(),
		Reason:        m.GetReason(),
		Overage:       m.GetOverage(),
		Fallback:      m.GetFallback(),
		DailyLimitUSD: m.GetDailyLimitUsd(),
		SpentTodayUSD: m.GetSpentTodayUsd(),
		Home:          m.GetHome(),
		CreatedAt:     timeFrom(m.GetCreatedAt()),
		Windows:       listFrom(m.GetWindows(), planWindowFrom),
	}
}

func planWindowTo(v pluginsdk.PlanWindow) *typesv1.PlanWindow {
	return &typesv1.PlanWindow{
		Account:  v.Account,
		Name:     v.Name,
		Model:    v.Model,
		Used:     v.Used,
		Status:   string(v.Status),
		ResetsAt: timeTo(v.ResetsAt),
		Overage:  v.Overage,
		SeenAt:   timeTo(v.SeenAt),
		FullAt:   timeTo(v.FullAt),
	}
}

func planWindowFrom(m *typesv1.PlanWindow) pluginsdk.PlanWindow {
	return pluginsdk.PlanWindow{
		Account:  m.GetAccount(),
		Name:     m.GetName(),
		Model:    m.GetModel(),
		Used:     m.GetUsed(),
		Status:   pluginsdk.PlanStatus(m.GetStatus()),
		ResetsAt: timeFrom(m.GetResetsAt()),
		Overage:  m.GetOverage(),
		SeenAt:   timeFrom(m.GetSeenAt()),
		FullAt:   timeFrom(m.GetFullAt()),
	}
}

func accountPatchTo(v pluginsdk.AccountPatch) *typesv1.AccountPatch {
	return &typesv1.AccountPatch{
		Default:       v.Default,
		Overage:       v.Overage,
		Fallback:      v.Fallback,
		DailyLimitUsd: v.DailyLimitUSD,
		Key:           v.Key,
	}
}

func accountPatchFrom(m *typesv1.AccountPatch) pluginsdk.AccountPatch {
	if m == nil { // its optional fields have no nil-safe getters
		return pluginsdk.AccountPatch{}
	}
	return pluginsdk.AccountPatch{
		Default:       m.Default,
		Overage:       m.Overage,
		Fallback:      m.Fallback,
		DailyLimitUSD: m.DailyLimitUsd,
		Key:           m.Key,
	}
}

func agentRuleTo(v pluginsdk.AgentRule) *typesv1.AgentRule {
	return &typesv1.AgentRule{
		Behavior: string(v.Behavior),
		Rule:     v.Rule,
		Source:   v.Source,
	}
}

func agentRuleFrom(m *typesv1.AgentRule) pluginsdk.AgentRule {
	return pluginsdk.AgentRule{
		Behavior: pluginsdk.RuleBehavior(m.GetBehavior()),
		Rule:     m.GetRule(),
		Source:   m.GetSource(),
	}
}

func agentHookTo(v pluginsdk.AgentHook) *typesv1.AgentHook {
	return &typesv1.AgentHook{
		Event:   v.Event,
		Command: v.Command,
		Source:  v.Source,
	}
}

func agentHookFrom(m *typesv1.AgentHook) pluginsdk.AgentHook {
	return pluginsdk.AgentHook{
		Event:   m.GetEvent(),
		Command: m.GetCommand(),
		Source:  m.GetSource(),
	}
}

func agentRightsTo(v pluginsdk.AgentRights) *typesv1.AgentRights {
	return &typesv1.AgentRights{
		Version:     v.Version,
		Meant:       listTo(v.Meant, agentRuleTo),
		Said:        listTo(v.Said, agentRuleTo),
		Hooks:       listTo(v.Hooks, agentHookTo),
		Differences: v.Differences,
		Known:       v.Known,
	}
}

func agentRightsFrom(m *typesv1.AgentRights) pluginsdk.AgentRights {
	return pluginsdk.AgentRights{
		Version:     m.GetVersion(),
		Meant:       listFrom(m.GetMeant(), agentRuleFrom),
		Said:        listFrom(m.GetSaid(), agentRuleFrom),
		Hooks:       listFrom(m.GetHooks(), agentHookFrom),
		Differences: m.GetDifferences(),
		Known:       m.GetKnown(),
	}
}

func listAccountsResponseTo(v pluginsdk.ListAccountsResponse) *hostv1.ListAccountsResponse {
	return &hostv1.ListAccountsResponse{
		Accounts: listTo(v.Accounts, accountTo),
	}
}

func listAccountsResponseFrom(m *hostv1.ListAccountsResponse) pluginsdk.ListAccountsResponse {
	return pluginsdk.ListAccountsResponse{
		Accounts: listFrom(m.GetAccounts(), accountFrom),
	}
}

func addAccountRequestTo(v pluginsdk.AddAccountRequest) *hostv1.AddAccountRequest {
	return &hostv1.AddAccountRequest{
		Name:   v.Name,
		Kind:   string(v.Kind),
		Key:    v.Key,
		Author: v.Author,
	}
}

func addAccountRequestFrom(m *hostv1.AddAccountRequest) pluginsdk.AddAccountRequest {
	return pluginsdk.AddAccountRequest{
		Name:   m.GetName(),
		Kind:   pluginsdk.AccountKind(m.GetKind()),
		Key:    m.GetKey(),
		Author: m.GetAuthor(),
	}
}

func addAccountResponseTo(v pluginsdk.AddAccountResponse) *hostv1.AddAccountResponse {
	return &hostv1.AddAccountResponse{
		Account: accountTo(v.Account),
	}
}

func addAccountResponseFrom(m *hostv1.AddAccountResponse) pluginsdk.AddAccountResponse {
	return pluginsdk.AddAccountResponse{
		Account: accountFrom(m.GetAccount()),
	}
}

func updateAccountRequestTo(v pluginsdk.UpdateAccountRequest) *hostv1.UpdateAccountRequest {
	return &hostv1.UpdateAccountRequest{
		Name:   v.Name,
		Patch:  accountPatchTo(v.Patch),
		Author: v.Author,
	}
}

func updateAccountRequestFrom(m *hostv1.UpdateAccountRequest) pluginsdk.UpdateAccountRequest {
	return pluginsdk.UpdateAccountRequest{
		Name:   m.GetName(),
		Patch:  accountPatchFrom(m.GetPatch()),
		Author: m.GetAuthor(),
	}
}

func updateAccountResponseTo(v pluginsdk.UpdateAccountResponse) *hostv1.UpdateAccountResponse {
	return &hostv1.UpdateAccountResponse{
		Account: accountTo(v.Account),
	}
}

func updateAccountResponseFrom(m *hostv1.UpdateAccountResponse) pluginsdk.UpdateAccountResponse {
	return pluginsdk.UpdateAccountResponse{
		Account: accountFrom(m.GetAccount()),
	}
}

func removeAccountRequestTo(v pluginsdk.RemoveAccountRequest) *hostv1.RemoveAccountRequest {
	return &hostv1.RemoveAccountRequest{
		Name:   v.Name,
		Author: v.Author,
	}
}

func removeAccountRequestFrom(m *hostv1.RemoveAccountRequest) pluginsdk.RemoveAccountRequest {
	return pluginsdk.RemoveAccountRequest{
		Name:   m.GetName(),
		Author: m.GetAuthor(),
	}
}

func rightsRequestTo(v pluginsdk.RightsRequest) *hostv1.AgentRightsRequest {
	return &hostv1.AgentRightsRequest{
		ThreadId: v.ThreadID,
	}
}

func rightsRequestFrom(m *hostv1.AgentRightsRequest) pluginsdk.RightsRequest {
	return pluginsdk.RightsRequest{
		ThreadID: m.GetThreadId(),
	}
}

func rightsResponseTo(v pluginsdk.RightsResponse) *hostv1.AgentRightsResponse {
	return &hostv1.AgentRightsResponse{
		Rights: agentRightsTo(v.Rights),
	}
}

func rightsResponseFrom(m *hostv1.AgentRightsResponse) pluginsdk.RightsResponse {
	return pluginsdk.RightsResponse{
		Rights: agentRightsFrom(m.GetRights()),
	}
}
