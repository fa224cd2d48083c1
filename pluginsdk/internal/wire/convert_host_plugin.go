package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
)

func publishEventRequestTo(v pluginsdk.PublishEventRequest) *hostv1.PublishEventRequest {
	return &hostv1.PublishEventRequest{
		Type:     string(v.Type),
		ThreadId: v.ThreadID,
		Data:     v.Data,
	}
}

func publishEventRequestFrom(m *hostv1.PublishEventRequest) pluginsdk.PublishEventRequest {
	return pluginsdk.PublishEventRequest{
		Type:     pluginsdk.EventType(m.GetType()),
		ThreadID: m.GetThreadId(),
		Data:     m.GetData(),
	}
}

func listEventsRequestTo(v pluginsdk.ListEventsRequest) *hostv1.ListEventsRequest {
	return &hostv1.ListEventsRequest{
		After: positionTo(v.After),
		Limit: int64(v.Limit),
	}
}

func listEventsRequestFrom(m *hostv1.ListEventsRequest) pluginsdk.ListEventsRequest {
	return pluginsdk.ListEventsRequest{
		After: positionFrom(m.GetAfter()),
		Limit: int(m.GetLimit()),
	}
}

func listEventsResponseTo(v pluginsdk.ListEventsResponse) *hostv1.ListEventsResponse {
	return &hostv1.ListEventsResponse{
		Events: listTo(v.Events, eventTo),
		Resync: v.Resync,
		Next:   positionTo(v.Next),
	}
}

func listEventsResponseFrom(m *hostv1.ListEventsResponse) pluginsdk.ListEventsResponse {
	return pluginsdk.ListEventsResponse{
		Events: listFrom(m.GetEvents(), eventFrom),
		Resync: m.GetResync(),
		Next:   positionFrom(m.GetNext()),
	}
}

func listenEventsRequestTo(v pluginsdk.ListenEventsRequest) *hostv1.ListenEventsRequest {
	return &hostv1.ListenEventsRequest{
		Rules: listTo(v.Rules, eventRuleTo),
	}
}

func listenEventsRequestFrom(m *hostv1.ListenEventsRequest) pluginsdk.ListenEventsRequest {
	return pluginsdk.ListenEventsRequest{
		Rules: listFrom(m.GetRules(), eventRuleFrom),
	}
}

func listenEventsResponseTo(v pluginsdk.ListenEventsResponse) *hostv1.ListenEventsResponse {
	return &hostv1.ListenEventsResponse{
		Position: positionTo(v.Position),
	}
}

func listenEventsResponseFrom(m *hostv1.ListenEventsResponse) pluginsdk.ListenEventsResponse {
	return pluginsdk.ListenEventsResponse{
		Position: positionFrom(m.GetPosition()),
	}
}

func getSettingsResponseTo(v pluginsdk.GetSettingsResponse) *hostv1.GetSettingsResponse {
	return &hostv1.GetSettingsResponse{
		Settings: v.Settings,
	}
}

func getSettingsResponseFrom(m *hostv1.GetSettingsResponse) pluginsdk.GetSettingsResponse {
	return pluginsdk.GetSettingsResponse{
		Settings: m.GetSettings(),
	}
}

func getStateRequestTo(v pluginsdk.GetStateRequest) *hostv1.GetStateRequest {
	return &hostv1.GetStateRequest{
		Key: v.Key,
	}
}

func getStateRequestFrom(m *hostv1.GetStateRequest) pluginsdk.GetStateRequest {
	return pluginsdk.GetStateRequest{
		Key: m.GetKey(),
	}
}

func getStateResponseTo(v pluginsdk.GetStateResponse) *hostv1.GetStateResponse {
	return &hostv1.GetStateResponse{
		Entry: stateEntryTo(v.Entry),
	}
}

func getStateResponseFrom(m *hostv1.GetStateResponse) pluginsdk.GetStateResponse {
	return pluginsdk.GetStateResponse{
		Entry: stateEntryFrom(m.GetEntry()),
	}
}

func putStateRequestTo(v pluginsdk.PutStateRequest) *hostv1.PutStateRequest {
	return &hostv1.PutStateRequest{
		Key:       v.Key,
		Value:     v.Value,
		Condition: pointerTo(v.If, stateConditionTo),
	}
}

func putStateRequestFrom(m *hostv1.PutStateRequest) pluginsdk.PutStateRequest {
	return pluginsdk.PutStateRequest{
		Key:   m.GetKey(),
		Value: m.GetValue(),
		If:    pointerFrom(m.GetCondition(), stateConditionFrom),
	}
}

func putStateResponseTo(v pluginsdk.PutStateResponse) *hostv1.PutStateResponse {
	return &hostv1.PutStateResponse{
		Revision: v.Revision,
	}
}

func putStateResponseFrom(m *hostv1.PutStateResponse) pluginsdk.PutStateResponse {
	return pluginsdk.PutStateResponse{
		Revision: m.GetRevision(),
	}
}

func deleteStateRequestTo(v pluginsdk.DeleteStateRequest) *hostv1.DeleteStateRequest {
	return &hostv1.DeleteStateRequest{
		Key:       v.Key,
		Condition: pointerTo(v.If, stateConditionTo),
	}
}

func deleteStateRequestFrom(m *hostv1.DeleteStateRequest) pluginsdk.DeleteStateRequest {
	return pluginsdk.DeleteStateRequest{
		Key: m.GetKey(),
		If:  pointerFrom(m.GetCondition(), stateConditionFrom),
	}
}

func listStateRequestTo(v pluginsdk.ListStateRequest) *hostv1.ListStateRequest {
	return &hostv1.ListStateRequest{
		Prefix:   v.Prefix,
		After:    v.After,
		Limit:    int64(v.Limit),
		KeysOnly: v.KeysOnly,
	}
}

func listStateRequestFrom(m *hostv1.ListStateRequest) pluginsdk.ListStateRequest {
	return pluginsdk.ListStateRequest{
		Prefix:   m.GetPrefix(),
		After:    m.GetAfter(),
		Limit:    int(m.GetLimit()),
		KeysOnly: m.GetKeysOnly(),
	}
}

func listStateResponseTo(v pluginsdk.ListStateResponse) *hostv1.ListStateResponse {
	return &hostv1.ListStateResponse{
		Entries: listTo(v.Entries, stateEntryTo),
		More:    v.More,
	}
}

func listStateResponseFrom(m *hostv1.ListStateResponse) pluginsdk.ListStateResponse {
	return pluginsdk.ListStateResponse{
		Entries: listFrom(m.GetEntries(), stateEntryFrom),
		More:    m.GetMore(),
	}
}

func recordMetricsRequestTo(v pluginsdk.RecordMetricsRequest) *hostv1.RecordMetricsRequest {
	return &hostv1.RecordMetricsRequest{
		Metrics: listTo(v.Metrics, newMetricTo),
	}
}

func recordMetricsRequestFrom(m *hostv1.RecordMetricsRequest) pluginsdk.RecordMetricsRequest {
	return pluginsdk.RecordMetricsRequest{
		Metrics: listFrom(m.GetMetrics(), newMetricFrom),
	}
}

func queryMetricsRequestTo(v pluginsdk.QueryMetricsRequest) *hostv1.QueryMetricsRequest {
	return &hostv1.QueryMetricsRequest{
		Query: metricQueryTo(v.Query),
	}
}

func queryMetricsRequestFrom(m *hostv1.QueryMetricsRequest) pluginsdk.QueryMetricsRequest {
	return pluginsdk.QueryMetricsRequest{
		Query: metricQueryFrom(m.GetQuery()),
	}
}

func queryMetricsResponseTo(v pluginsdk.QueryMetricsResponse) *hostv1.QueryMetricsResponse {
	return &hostv1.QueryMetricsResponse{
		Metrics: listTo(v.Metrics, metricTo),
	}
}

func queryMetricsResponseFrom(m *hostv1.QueryMetricsResponse) pluginsdk.QueryMetricsResponse {
	return pluginsdk.QueryMetricsResponse{
		Metrics: listFrom(m.GetMetrics(), metricFrom),
	}
}

func listFiguresResponseTo(v pluginsdk.ListFiguresResponse) *hostv1.ListFiguresResponse {
	return &hostv1.ListFiguresResponse{
		Figures: listTo(v.Figures, figureTo),
	}
}

func listFiguresResponseFrom(m *hostv1.ListFiguresResponse) pluginsdk.ListFiguresResponse {
	return pluginsdk.ListFiguresResponse{
		Figures: listFrom(m.GetFigures(), figureFrom),
	}
}

func countSpentRequestTo(v pluginsdk.CountSpentRequest) *hostv1.CountSpentRequest {
	return &hostv1.CountSpentRequest{
		Account: v.Account,
		Unit:    string(v.Unit),
		AtLeast: v.AtLeast,
	}
}

func countSpentRequestFrom(m *hostv1.CountSpentRequest) pluginsdk.CountSpentRequest {
	return pluginsdk.CountSpentRequest{
		Account: m.GetAccount(),
		Unit:    pluginsdk.Unit(m.GetUnit()),
		AtLeast: m.GetAtLeast(),
	}
}

func countSpentResponseTo(v pluginsdk.CountSpentResponse) *hostv1.CountSpentResponse {
	return &hostv1.CountSpentResponse{
		Account: budgetAccountTo(v.Account),
	}
}

func countSpentResponseFrom(m *hostv1.CountSpentResponse) pluginsdk.CountSpentResponse {
	return pluginsdk.CountSpentResponse{
		Account: budgetAccountFrom(m.GetAccount()),
	}
}

func getBudgetAccountRequestTo(v pluginsdk.GetBudgetAccountRequest) *hostv1.GetBudgetAccountRequest {
	return &hostv1.GetBudgetAccountRequest{
		Name: v.Name,
	}
}

func getBudgetAccountRequestFrom(m *hostv1.GetBudgetAccountRequest) pluginsdk.GetBudgetAccountRequest {
	return pluginsdk.GetBudgetAccountRequest{
		Name: m.GetName(),
	}
}

func getBudgetAccountResponseTo(v pluginsdk.GetBudgetAccountResponse) *hostv1.GetBudgetAccountResponse {
	return &hostv1.GetBudgetAccountResponse{
		Account: budgetAccountTo(v.Account),
	}
}

func getBudgetAccountResponseFrom(m *hostv1.GetBudgetAccountResponse) pluginsdk.GetBudgetAccountResponse {
	return pluginsdk.GetBudgetAccountResponse{
		Account: budgetAccountFrom(m.GetAccount()),
	}
}

func listToolsRequestTo(v pluginsdk.ListToolsRequest) *hostv1.ListToolsRequest {
	return &hostv1.ListToolsRequest{
		After: v.After,
		Limit: int64(v.Limit),
	}
}

func listToolsRequestFrom(m *hostv1.ListToolsRequest) pluginsdk.ListToolsRequest {
	return pluginsdk.ListToolsRequest{
		After: m.GetAfter(),
		Limit: int(m.GetLimit()),
	}
}

func listToolsResponseTo(v pluginsdk.ListToolsResponse) *hostv1.ListToolsResponse {
	return &hostv1.ListToolsResponse{
		Tools: listTo(v.Tools, toolSpecTo),
		More:  v.More,
	}
}

func listToolsResponseFrom(m *hostv1.ListToolsResponse) pluginsdk.ListToolsResponse {
	return pluginsdk.ListToolsResponse{
		Tools: listFrom(m.GetTools(), toolSpecFrom),
		More:  m.GetMore(),
	}
}

func invokeToolRequestTo(v pluginsdk.InvokeToolRequest) *hostv1.InvokeToolRequest {
	return &hostv1.InvokeToolRequest{
		Name:  v.Name,
		Input: v.Input,
	}
}

func invokeToolRequestFrom(m *hostv1.InvokeToolRequest) pluginsdk.InvokeToolRequest {
	return pluginsdk.InvokeToolRequest{
		Name:  m.GetName(),
		Input: m.GetInput(),
	}
}

func invokeToolResponseTo(v pluginsdk.InvokeToolResponse) *hostv1.InvokeToolResponse {
	return &hostv1.InvokeToolResponse{
		Result: toolResultTo(v.Result),
	}
}

func invokeToolResponseFrom(m *hostv1.InvokeToolResponse) pluginsdk.InvokeToolResponse {
	return pluginsdk.InvokeToolResponse{
		Result: toolResultFrom(m.GetResult()),
	}
}

func listPluginsRequestTo(v pluginsdk.ListPluginsRequest) *hostv1.ListPluginsRequest {
	return &hostv1.ListPluginsRequest{
		After: v.After,
		Limit: int64(v.Limit),
	}
}

func listPluginsRequestFrom(m *hostv1.ListPluginsRequest) pluginsdk.ListPluginsRequest {
	return pluginsdk.ListPluginsRequest{
		After: m.GetAfter(),
		Limit: int(m.GetLimit()),
	}
}

func listPluginsResponseTo(v pluginsdk.ListPluginsResponse) *hostv1.ListPluginsResponse {
	return &hostv1.ListPluginsResponse{
		Plugins: listTo(v.Plugins, pluginInfoTo),
		More:    v.More,
	}
}

func listPluginsResponseFrom(m *hostv1.ListPluginsResponse) pluginsdk.ListPluginsResponse {
	return pluginsdk.ListPluginsResponse{
		Plugins: listFrom(m.GetPlugins(), pluginInfoFrom),
		More:    m.GetMore(),
	}
}

func readPluginLogRequestTo(v pluginsdk.ReadPluginLogRequest) *hostv1.ReadPluginLogRequest {
	return &hostv1.ReadPluginLogRequest{
		Name:  v.Name,
		Limit: int64(v.Limit),
	}
}

func readPluginLogRequestFrom(m *hostv1.ReadPluginLogRequest) pluginsdk.ReadPluginLogRequest {
	return pluginsdk.ReadPluginLogRequest{
		Name:  m.GetName(),
		Limit: int(m.GetLimit()),
	}
}

func readPluginLogResponseTo(v pluginsdk.ReadPluginLogResponse) *hostv1.ReadPluginLogResponse {
	return &hostv1.ReadPluginLogResponse{
		Lines: listTo(v.Lines, logLineTo),
	}
}

func readPluginLogResponseFrom(m *hostv1.ReadPluginLogResponse) pluginsdk.ReadPluginLogResponse {
	return pluginsdk.ReadPluginLogResponse{
		Lines: listFrom(m.GetLines(), logLineFrom),
	}
}

func setPluginEnabledRequestTo(v pluginsdk.SetPluginEnabledRequest) *hostv1.SetPluginEnabledRequest {
	return &hostv1.SetPluginEnabledRequest{
		Name:    v.Name,
		Enabled: v.Enabled,
	}
}

func setPluginEnabledRequestFrom(m *hostv1.SetPluginEnabledRequest) pluginsdk.SetPluginEnabledRequest {
	return pluginsdk.SetPluginEnabledRequest{
		Name:    m.GetName(),
		Enabled: m.GetEnabled(),
	}
}

func getPluginSettingsRequestTo(v pluginsdk.GetPluginSettingsRequest) *hostv1.GetPluginSettingsRequest {
	return &hostv1.GetPluginSettingsRequest{
		Name: v.Name,
	}
}

func getPluginSettingsRequestFrom(m *hostv1.GetPluginSettingsRequest) pluginsdk.GetPluginSettingsRequest {
	return pluginsdk.GetPluginSettingsRequest{
		Name: m.GetName(),
	}
}

func getPluginSettingsResponseTo(v pluginsdk.GetPluginSettingsResponse) *hostv1.GetPluginSettingsResponse {
	return &hostv1.GetPluginSettingsResponse{
		Settings: settingsViewTo(v.Settings),
	}
}

func getPluginSettingsResponseFrom(m *hostv1.GetPluginSettingsResponse) pluginsdk.GetPluginSettingsResponse {
	return pluginsdk.GetPluginSettingsResponse{
		Settings: settingsViewFrom(m.GetSettings()),
	}
}

func changePluginSettingsRequestTo(v pluginsdk.ChangePluginSettingsRequest) *hostv1.ChangePluginSettingsRequest {
	return &hostv1.ChangePluginSettingsRequest{
		Name:  v.Name,
		Patch: v.Patch,
	}
}

func changePluginSettingsRequestFrom(m *hostv1.ChangePluginSettingsRequest) pluginsdk.ChangePluginSettingsRequest {
	return pluginsdk.ChangePluginSettingsRequest{
		Name:  m.GetName(),
		Patch: m.GetPatch(),
	}
}
