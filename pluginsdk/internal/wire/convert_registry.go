package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

func pluginInfoTo(v pluginsdk.PluginInfo) *typesv1.PluginInfo {
	return &typesv1.PluginInfo{
		Name:        v.Name,
		Origin:      string(v.Origin),
		Sha256:      v.SHA256,
		Version:     v.Version,
		Publisher:   v.Publisher,
		Manifest:    manifestTo(v.Manifest),
		Enabled:     v.Enabled,
		Position:    int64(v.Position),
		Granted:     namesTo(v.Granted),
		Unconfirmed: namesTo(v.Unconfirmed),
		OnFailure:   namesMapTo(v.OnFailure),
		GrantedEnv:  v.GrantedEnv,
		Limits:      pluginLimitsTo(v.Limits),
		State:       string(v.State),
		LastError:   v.LastError,
		LastErrorAt: timeTo(v.LastErrorAt),
		Restarts:    int64(v.Restarts),
		Failures:    v.Failures,
		Quarantine:  v.Quarantine,
		Figures:     pluginFiguresTo(v.Figures),
		Checks:      listTo(v.Checks, checkTo),
		CheckedAt:   timeTo(v.CheckedAt),
		Problem:     v.Problem,
		UpdatedAt:   timeTo(v.UpdatedAt),
	}
}

func pluginInfoFrom(m *typesv1.PluginInfo) pluginsdk.PluginInfo {
	return pluginsdk.PluginInfo{
		Name:        m.GetName(),
		Origin:      pluginsdk.PluginOrigin(m.GetOrigin()),
		SHA256:      m.GetSha256(),
		Version:     m.GetVersion(),
		Publisher:   m.GetPublisher(),
		Manifest:    manifestFrom(m.GetManifest()),
		Enabled:     m.GetEnabled(),
		Position:    int(m.GetPosition()),
		Granted:     namesFrom[pluginsdk.Capability](m.GetGranted()),
		Unconfirmed: namesFrom[pluginsdk.Capability](m.GetUnconfirmed()),
		OnFailure:   namesMapFrom[pluginsdk.Hook, pluginsdk.OnFailure](m.GetOnFailure()),
		GrantedEnv:  m.GetGrantedEnv(),
		Limits:      pluginLimitsFrom(m.GetLimits()),
		State:       pluginsdk.PluginState(m.GetState()),
		LastError:   m.GetLastError(),
		LastErrorAt: timeFrom(m.GetLastErrorAt()),
		Restarts:    int(m.GetRestarts()),
		Failures:    m.GetFailures(),
		Quarantine:  m.GetQuarantine(),
		Figures:     pluginFiguresFrom(m.GetFigures()),
		Checks:      listFrom(m.GetChecks(), checkFrom),
		CheckedAt:   timeFrom(m.GetCheckedAt()),
		Problem:     m.GetProblem(),
		UpdatedAt:   timeFrom(m.GetUpdatedAt()),
	}
}

func pluginLimitsTo(v pluginsdk.PluginLimits) *typesv1.PluginLimits {
	return &typesv1.PluginLimits{
		MemoryBytes:    v.MemoryBytes,
		CpuPercent:     int64(v.CPUPercent),
		Processes:      int64(v.Processes),
		OpenFiles:      int64(v.OpenFiles),
		CallsPerMinute: int64(v.CallsPerMinute),
		RowsPerMinute:  int64(v.RowsPerMinute),
		BytesPerMinute: v.BytesPerMinute,
		StoredBytes:    v.StoredBytes,
	}
}

func pluginLimitsFrom(m *typesv1.PluginLimits) pluginsdk.PluginLimits {
	return pluginsdk.PluginLimits{
		MemoryBytes:    m.GetMemoryBytes(),
		CPUPercent:     int(m.GetCpuPercent()),
		Processes:      int(m.GetProcesses()),
		OpenFiles:      int(m.GetOpenFiles()),
		CallsPerMinute: int(m.GetCallsPerMinute()),
		RowsPerMinute:  int(m.GetRowsPerMinute()),
		BytesPerMinute: m.GetBytesPerMinute(),
		StoredBytes:    m.GetStoredBytes(),
	}
}

func pluginFiguresTo(v pluginsdk.PluginFigures) *typesv1.PluginFigures {
	return &typesv1.PluginFigures{
		Calls:       v.Calls,
		Errors:      v.Errors,
		Timeouts:    v.Timeouts,
		Slow:        v.Slow,
		Hooks:       mapTo(v.Hooks, callFiguresTo),
		Host:        mapTo(v.Host, callFiguresTo),
		HeldBack:    v.HeldBack,
		RowsDropped: v.RowsDropped,
		RssBytes:    v.RSSBytes,
		CpuSeconds:  v.CPUSeconds,
		Processes:   int64(v.Processes),
		Restarts:    int64(v.Restarts),
		Since:       timeTo(v.Since),
		At:          timeTo(v.At),
	}
}

func pluginFiguresFrom(m *typesv1.PluginFigures) pluginsdk.PluginFigures {
	return pluginsdk.PluginFigures{
		Calls:       m.GetCalls(),
		Errors:      m.GetErrors(),
		Timeouts:    m.GetTimeouts(),
		Slow:        m.GetSlow(),
		Hooks:       mapFrom[pluginsdk.Hook](m.GetHooks(), callFiguresFrom),
		Host:        mapFrom[string](m.GetHost(), callFiguresFrom),
		HeldBack:    m.GetHeldBack(),
		RowsDropped: m.GetRowsDropped(),
		RSSBytes:    m.GetRssBytes(),
		CPUSeconds:  m.GetCpuSeconds(),
		Processes:   int(m.GetProcesses()),
		Restarts:    int(m.GetRestarts()),
		Since:       timeFrom(m.GetSince()),
		At:          timeFrom(m.GetAt()),
	}
}

func callFiguresTo(v pluginsdk.CallFigures) *typesv1.CallFigures {
	return &typesv1.CallFigures{
		Calls:    v.Calls,
		Errors:   v.Errors,
		Timeouts: v.Timeouts,
		P50:      durationTo(v.P50),
		P99:      durationTo(v.P99),
	}
}

func callFiguresFrom(m *typesv1.CallFigures) pluginsdk.CallFigures {
	return pluginsdk.CallFigures{
		Calls:    m.GetCalls(),
		Errors:   m.GetErrors(),
		Timeouts: m.GetTimeouts(),
		P50:      durationFrom(m.GetP50()),
		P99:      durationFrom(m.GetP99()),
	}
}

func checkTo(v pluginsdk.Check) *typesv1.Check {
	return &typesv1.Check{
		Name:   v.Name,
		State:  string(v.State),
		Detail: v.Detail,
		Remedy: v.Remedy,
	}
}

func checkFrom(m *typesv1.Check) pluginsdk.Check {
	return pluginsdk.Check{
		Name:   m.GetName(),
		State:  pluginsdk.CheckState(m.GetState()),
		Detail: m.GetDetail(),
		Remedy: m.GetRemedy(),
	}
}

func settingsViewTo(v pluginsdk.SettingsView) *typesv1.SettingsView {
	return &typesv1.SettingsView{
		Schema:     v.Schema,
		Values:     v.Values,
		SecretsSet: v.SecretsSet,
	}
}

func settingsViewFrom(m *typesv1.SettingsView) pluginsdk.SettingsView {
	return pluginsdk.SettingsView{
		Schema:     m.GetSchema(),
		Values:     m.GetValues(),
		SecretsSet: m.GetSecretsSet(),
	}
}

func logLineTo(v pluginsdk.LogLine) *typesv1.LogLine {
	return &typesv1.LogLine{
		Time:  timeTo(v.Time),
		Level: v.Level,
		Text:  v.Text,
	}
}

func logLineFrom(m *typesv1.LogLine) pluginsdk.LogLine {
	return pluginsdk.LogLine{
		Time:  timeFrom(m.GetTime()),
		Level: m.GetLevel(),
		Text:  m.GetText(),
	}
}
