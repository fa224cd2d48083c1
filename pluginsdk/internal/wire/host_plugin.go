package wire

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
)

// What a plugin keeps, tells and asks of others.

// eventClient is the host's Events as a plugin sees it.
type eventClient struct {
	client hostv1.EventServiceClient
}

func (s hostServer) PublishEvent(ctx context.Context, m *hostv1.PublishEventRequest) (*hostv1.PublishEventResponse, error) {
	return answer(ctx, m, publishEventRequestFrom, s.host.Events.Publish, emptyTo[hostv1.PublishEventResponse])
}

func (c eventClient) Publish(ctx context.Context, request *pluginsdk.PublishEventRequest) (*pluginsdk.PublishEventResponse, error) {
	return ask(ctx, request, publishEventRequestTo, c.client.PublishEvent, emptyFrom[pluginsdk.PublishEventResponse])
}

func (s hostServer) ListEvents(ctx context.Context, m *hostv1.ListEventsRequest) (*hostv1.ListEventsResponse, error) {
	return answer(ctx, m, listEventsRequestFrom, s.host.Events.List, listEventsResponseTo)
}

func (c eventClient) List(ctx context.Context, request *pluginsdk.ListEventsRequest) (*pluginsdk.ListEventsResponse, error) {
	return ask(ctx, request, listEventsRequestTo, c.client.ListEvents, listEventsResponseFrom)
}

func (s hostServer) ListenEvents(ctx context.Context, m *hostv1.ListenEventsRequest) (*hostv1.ListenEventsResponse, error) {
	return answer(ctx, m, listenEventsRequestFrom, s.host.Events.Listen, listenEventsResponseTo)
}

func (c eventClient) Listen(ctx context.Context, request *pluginsdk.ListenEventsRequest) (*pluginsdk.ListenEventsResponse, error) {
	return ask(ctx, request, listenEventsRequestTo, c.client.ListenEvents, listenEventsResponseFrom)
}

// settingsClient is the host's Settings as a plugin sees it.
type settingsClient struct {
	client hostv1.SettingsServiceClient
}

func (s hostServer) GetSettings(ctx context.Context, m *hostv1.GetSettingsRequest) (*hostv1.GetSettingsResponse, error) {
	return answer(ctx, m, emptyFrom[pluginsdk.GetSettingsRequest], s.host.Settings.Get, getSettingsResponseTo)
}

func (c settingsClient) Get(ctx context.Context, request *pluginsdk.GetSettingsRequest) (*pluginsdk.GetSettingsResponse, error) {
	return ask(ctx, request, emptyTo[hostv1.GetSettingsRequest], c.client.GetSettings, getSettingsResponseFrom)
}

// stateClient is the host's State as a plugin sees it.
type stateClient struct {
	client hostv1.StateServiceClient
}

func (s hostServer) GetState(ctx context.Context, m *hostv1.GetStateRequest) (*hostv1.GetStateResponse, error) {
	return answer(ctx, m, getStateRequestFrom, s.host.State.Get, getStateResponseTo)
}

func (c stateClient) Get(ctx context.Context, request *pluginsdk.GetStateRequest) (*pluginsdk.GetStateResponse, error) {
	return ask(ctx, request, getStateRequestTo, c.client.GetState, getStateResponseFrom)
}

func (s hostServer) PutState(ctx context.Context, m *hostv1.PutStateRequest) (*hostv1.PutStateResponse, error) {
	return answer(ctx, m, putStateRequestFrom, s.host.State.Put, putStateResponseTo)
}

func (c stateClient) Put(ctx context.Context, request *pluginsdk.PutStateRequest) (*pluginsdk.PutStateResponse, error) {
	return ask(ctx, request, putStateRequestTo, c.client.PutState, putStateResponseFrom)
}

func (s hostServer) DeleteState(ctx context.Context, m *hostv1.DeleteStateRequest) (*hostv1.DeleteStateResponse, error) {
	return answer(ctx, m, deleteStateRequestFrom, s.host.State.Delete, emptyTo[hostv1.DeleteStateResponse])
}

func (c stateClient) Delete(ctx context.Context, request *pluginsdk.DeleteStateRequest) (*pluginsdk.DeleteStateResponse, error) {
	return ask(ctx, request, deleteStateRequestTo, c.client.DeleteState, emptyFrom[pluginsdk.DeleteStateResponse])
}

func (s hostServer) ListState(ctx context.Context, m *hostv1.ListStateRequest) (*hostv1.ListStateResponse, error) {
	return answer(ctx, m, listStateRequestFrom, s.host.State.List, listStateResponseTo)
}

func (c stateClient) List(ctx context.Context, request *pluginsdk.ListStateRequest) (*pluginsdk.ListStateResponse, error) {
	return ask(ctx, request, listStateRequestTo, c.client.ListState, listStateResponseFrom)
}

// metricClient is the host's Metrics as a plugin sees it.
type metricClient struct {
	client hostv1.MetricServiceClient
}

func (s hostServer) RecordMetrics(ctx context.Context, m *hostv1.RecordMetricsRequest) (*hostv1.RecordMetricsResponse, error) {
	return answer(ctx, m, recordMetricsRequestFrom, s.host.Metrics.Record, emptyTo[hostv1.RecordMetricsResponse])
}

func (c metricClient) Record(ctx context.Context, request *pluginsdk.RecordMetricsRequest) (*pluginsdk.RecordMetricsResponse, error) {
	return ask(ctx, request, recordMetricsRequestTo, c.client.RecordMetrics, emptyFrom[pluginsdk.RecordMetricsResponse])
}

func (s hostServer) QueryMetrics(ctx context.Context, m *hostv1.QueryMetricsRequest) (*hostv1.QueryMetricsResponse, error) {
	return answer(ctx, m, queryMetricsRequestFrom, s.host.Metrics.Query, queryMetricsResponseTo)
}

func (c metricClient) Query(ctx context.Context, request *pluginsdk.QueryMetricsRequest) (*pluginsdk.QueryMetricsResponse, error) {
	return ask(ctx, request, queryMetricsRequestTo, c.client.QueryMetrics, queryMetricsResponseFrom)
}

func (s hostServer) ListFigures(ctx context.Context, m *hostv1.ListFiguresRequest) (*hostv1.ListFiguresResponse, error) {
	return answer(ctx, m, emptyFrom[pluginsdk.ListFiguresRequest], s.host.Metrics.Figures, listFiguresResponseTo)
}

func (c metricClient) Figures(ctx context.Context, request *pluginsdk.ListFiguresRequest) (*pluginsdk.ListFiguresResponse, error) {
	return ask(ctx, request, emptyTo[hostv1.ListFiguresRequest], c.client.ListFigures, listFiguresResponseFrom)
}

// budgetClient is the host's Budgets as a plugin sees it.
type budgetClient struct {
	client hostv1.BudgetServiceClient
}

func (s hostServer) GetBudgetAccount(ctx context.Context, m *hostv1.GetBudgetAccountRequest) (*hostv1.GetBudgetAccountResponse, error) {
	return answer(ctx, m, getBudgetAccountRequestFrom, s.host.Budgets.Account, getBudgetAccountResponseTo)
}

func (c budgetClient) Account(ctx context.Context, request *pluginsdk.GetBudgetAccountRequest) (*pluginsdk.GetBudgetAccountResponse, error) {
	return ask(ctx, request, getBudgetAccountRequestTo, c.client.GetBudgetAccount, getBudgetAccountResponseFrom)
}

func (s hostServer) RecheckBudgets(ctx context.Context, m *hostv1.RecheckBudgetsRequest) (*hostv1.RecheckBudgetsResponse, error) {
	return answer(ctx, m, emptyFrom[pluginsdk.RecheckBudgetsRequest], s.host.Budgets.Recheck, emptyTo[hostv1.RecheckBudgetsResponse])
}

func (c budgetClient) Recheck(ctx context.Context, request *pluginsdk.RecheckBudgetsRequest) (*pluginsdk.RecheckBudgetsResponse, error) {
	return ask(ctx, request, emptyTo[hostv1.RecheckBudgetsRequest], c.client.RecheckBudgets, emptyFrom[pluginsdk.RecheckBudgetsResponse])
}

func (s hostServer) CountSpent(ctx context.Context, m *hostv1.CountSpentRequest) (*hostv1.CountSpentResponse, error) {
	return answer(ctx, m, countSpentRequestFrom, s.host.Budgets.CountSpent, countSpentResponseTo)
}

func (c budgetClient) CountSpent(ctx context.Context, request *pluginsdk.CountSpentRequest) (*pluginsdk.CountSpentResponse, error) {
	return ask(ctx, request, countSpentRequestTo, c.client.CountSpent, countSpentResponseFrom)
}

// toolClient is the host's Tools as a plugin sees it.
type toolClient struct {
	client hostv1.ToolServiceClient
}

func (s hostServer) ListTools(ctx context.Context, m *hostv1.ListToolsRequest) (*hostv1.ListToolsResponse, error) {
	return answer(ctx, m, listToolsRequestFrom, s.host.Tools.List, listToolsResponseTo)
}

func (c toolClient) List(ctx context.Context, request *pluginsdk.ListToolsRequest) (*pluginsdk.ListToolsResponse, error) {
	return ask(ctx, request, listToolsRequestTo, c.client.ListTools, listToolsResponseFrom)
}

func (s hostServer) InvokeTool(ctx context.Context, m *hostv1.InvokeToolRequest) (*hostv1.InvokeToolResponse, error) {
	return answer(ctx, m, invokeToolRequestFrom, s.host.Tools.Call, invokeToolResponseTo)
}

func (c toolClient) Call(ctx context.Context, request *pluginsdk.InvokeToolRequest) (*pluginsdk.InvokeToolResponse, error) {
	return ask(ctx, request, invokeToolRequestTo, c.client.InvokeTool, invokeToolResponseFrom)
}

// pluginClient is the host's Plugins as a plugin sees it.
type pluginClient struct {
	client hostv1.PluginServiceClient
}

func (s hostServer) ListPlugins(ctx context.Context, m *hostv1.ListPluginsRequest) (*hostv1.ListPluginsResponse, error) {
	return answer(ctx, m, listPluginsRequestFrom, s.host.Plugins.List, listPluginsResponseTo)
}

func (c pluginClient) List(ctx context.Context, request *pluginsdk.ListPluginsRequest) (*pluginsdk.ListPluginsResponse, error) {
	return ask(ctx, request, listPluginsRequestTo, c.client.ListPlugins, listPluginsResponseFrom)
}

func (s hostServer) ReadPluginLog(ctx context.Context, m *hostv1.ReadPluginLogRequest) (*hostv1.ReadPluginLogResponse, error) {
	return answer(ctx, m, readPluginLogRequestFrom, s.host.Plugins.Logs, readPluginLogResponseTo)
}

func (c pluginClient) Logs(ctx context.Context, request *pluginsdk.ReadPluginLogRequest) (*pluginsdk.ReadPluginLogResponse, error) {
	return ask(ctx, request, readPluginLogRequestTo, c.client.ReadPluginLog, readPluginLogResponseFrom)
}

func (s hostServer) SetPluginEnabled(ctx context.Context, m *hostv1.SetPluginEnabledRequest) (*hostv1.SetPluginEnabledResponse, error) {
	return answer(ctx, m, setPluginEnabledRequestFrom, s.host.Plugins.SetEnabled, emptyTo[hostv1.SetPluginEnabledResponse])
}

func (c pluginClient) SetEnabled(ctx context.Context, request *pluginsdk.SetPluginEnabledRequest) (*pluginsdk.SetPluginEnabledResponse, error) {
	return ask(ctx, request, setPluginEnabledRequestTo, c.client.SetPluginEnabled, emptyFrom[pluginsdk.SetPluginEnabledResponse])
}

func (s hostServer) GetPluginSettings(ctx context.Context, m *hostv1.GetPluginSettingsRequest) (*hostv1.GetPluginSettingsResponse, error) {
	return answer(ctx, m, getPluginSettingsRequestFrom, s.host.Plugins.Settings, getPluginSettingsResponseTo)
}

func (c pluginClient) Settings(ctx context.Context, request *pluginsdk.GetPluginSettingsRequest) (*pluginsdk.GetPluginSettingsResponse, error) {
	return ask(ctx, request, getPluginSettingsRequestTo, c.client.GetPluginSettings, getPluginSettingsResponseFrom)
}

func (s hostServer) ChangePluginSettings(ctx context.Context, m *hostv1.ChangePluginSettingsRequest) (*hostv1.ChangePluginSettingsResponse, error) {
	return answer(ctx, m, changePluginSettingsRequestFrom, s.host.Plugins.ChangeSettings, emptyTo[hostv1.ChangePluginSettingsResponse])
}

func (c pluginClient) ChangeSettings(ctx context.Context, request *pluginsdk.ChangePluginSettingsRequest) (*pluginsdk.ChangePluginSettingsResponse, error) {
	return ask(ctx, request, changePluginSettingsRequestTo, c.client.ChangePluginSettings, emptyFrom[pluginsdk.ChangePluginSettingsResponse])
}

func (s hostServer) InstallPlugin(ctx context.Context, m *hostv1.InstallPluginRequest) (*hostv1.InstallPluginResponse, error) {
	return answer(ctx, m, installPluginRequestFrom, s.host.Plugins.Install, installPluginResponseTo)
}

func (c pluginClient) Install(ctx context.Context, request *pluginsdk.InstallPluginRequest) (*pluginsdk.InstallPluginResponse, error) {
	return ask(ctx, request, installPluginRequestTo, c.client.InstallPlugin, installPluginResponseFrom)
}

func (s hostServer) UpgradePlugin(ctx context.Context, m *hostv1.UpgradePluginRequest) (*hostv1.UpgradePluginResponse, error) {
	return answer(ctx, m, upgradePluginRequestFrom, s.host.Plugins.Upgrade, upgradePluginResponseTo)
}

func (c pluginClient) Upgrade(ctx context.Context, request *pluginsdk.UpgradePluginRequest) (*pluginsdk.UpgradePluginResponse, error) {
	return ask(ctx, request, upgradePluginRequestTo, c.client.UpgradePlugin, upgradePluginResponseFrom)
}

func (s hostServer) RollbackPlugin(ctx context.Context, m *hostv1.RollbackPluginRequest) (*hostv1.RollbackPluginResponse, error) {
	return answer(ctx, m, rollbackPluginRequestFrom, s.host.Plugins.Rollback, rollbackPluginResponseTo)
}

func (c pluginClient) Rollback(ctx context.Context, request *pluginsdk.RollbackPluginRequest) (*pluginsdk.RollbackPluginResponse, error) {
	return ask(ctx, request, rollbackPluginRequestTo, c.client.RollbackPlugin, rollbackPluginResponseFrom)
}

func (s hostServer) RemovePlugin(ctx context.Context, m *hostv1.RemovePluginRequest) (*hostv1.RemovePluginResponse, error) {
	return answer(ctx, m, removePluginRequestFrom, s.host.Plugins.Remove, removePluginResponseTo)
}

func (c pluginClient) Remove(ctx context.Context, request *pluginsdk.RemovePluginRequest) (*pluginsdk.RemovePluginResponse, error) {
	return ask(ctx, request, removePluginRequestTo, c.client.RemovePlugin, removePluginResponseFrom)
}

func (s hostServer) GrantPlugin(ctx context.Context, m *hostv1.GrantPluginRequest) (*hostv1.GrantPluginResponse, error) {
	return answer(ctx, m, grantPluginRequestFrom, s.host.Plugins.Grant, grantPluginResponseTo)
}

func (c pluginClient) Grant(ctx context.Context, request *pluginsdk.GrantPluginRequest) (*pluginsdk.GrantPluginResponse, error) {
	return ask(ctx, request, grantPluginRequestTo, c.client.GrantPlugin, grantPluginResponseFrom)
}

func (s hostServer) RevokePlugin(ctx context.Context, m *hostv1.RevokePluginRequest) (*hostv1.RevokePluginResponse, error) {
	return answer(ctx, m, revokePluginRequestFrom, s.host.Plugins.Revoke, revokePluginResponseTo)
}

func (c pluginClient) Revoke(ctx context.Context, request *pluginsdk.RevokePluginRequest) (*pluginsdk.RevokePluginResponse, error) {
	return ask(ctx, request, revokePluginRequestTo, c.client.RevokePlugin, revokePluginResponseFrom)
}

func (s hostServer) SetPluginLimits(ctx context.Context, m *hostv1.SetPluginLimitsRequest) (*hostv1.SetPluginLimitsResponse, error) {
	return answer(ctx, m, setPluginLimitsRequestFrom, s.host.Plugins.SetLimits, setPluginLimitsResponseTo)
}

func (c pluginClient) SetLimits(ctx context.Context, request *pluginsdk.SetPluginLimitsRequest) (*pluginsdk.SetPluginLimitsResponse, error) {
	return ask(ctx, request, setPluginLimitsRequestTo, c.client.SetPluginLimits, setPluginLimitsResponseFrom)
}

func (s hostServer) OrderPlugins(ctx context.Context, m *hostv1.OrderPluginsRequest) (*hostv1.OrderPluginsResponse, error) {
	return answer(ctx, m, orderPluginsRequestFrom, s.host.Plugins.Order, orderPluginsResponseTo)
}

func (c pluginClient) Order(ctx context.Context, request *pluginsdk.OrderPluginsRequest) (*pluginsdk.OrderPluginsResponse, error) {
	return ask(ctx, request, orderPluginsRequestTo, c.client.OrderPlugins, orderPluginsResponseFrom)
}

func (s hostServer) FollowPlugin(ctx context.Context, m *hostv1.FollowPluginRequest) (*hostv1.FollowPluginResponse, error) {
	return answer(ctx, m, followPluginRequestFrom, s.host.Plugins.Follow, followPluginResponseTo)
}

func (c pluginClient) Follow(ctx context.Context, request *pluginsdk.FollowPluginRequest) (*pluginsdk.FollowPluginResponse, error) {
	return ask(ctx, request, followPluginRequestTo, c.client.FollowPlugin, followPluginResponseFrom)
}
