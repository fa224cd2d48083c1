package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

func pluginInfoTo(v pluginsdk.PluginInfo) *typesv1.PluginInfo {
	return &typesv1.PluginInfo{
		Name:             v.Name,
		Path:             v.Path,
		Origin:           string(v.Origin),
		Sha256:           v.SHA256,
		Version:          v.Version,
		Publisher:        v.Publisher,
		Manifest:         manifestTo(v.Manifest),
		Previous:         listTo(v.Previous, pluginVersionTo),
		Enabled:          v.Enabled,
		Position:         int64(v.Position),
		Settings:         v.Settings,
		Granted:          namesTo(v.Granted),
		OnFailure:        namesMapTo(v.OnFailure),
		GrantedEnv:       v.GrantedEnv,
		Limits:           pluginLimitsTo(v.Limits),
		State:            string(v.State),
		Generation:       v.Generation,
		Settled:          v.Settled,
		Serving:          v.Serving,
		Rejected:         v.Rejected,
		LastError:        v.LastError,
		Restarts:         int64(v.Restarts),
		Failures:         v.Failures,
		Quarantine:       v.Quarantine,
		Ledger:           pluginLedgerTo(v.Ledger),
		Attach:           v.Attach,
		SettingsRevision: v.SettingsRevision,
		Problem:          v.Problem,
		UpdatedAt:        timeTo(v.UpdatedAt),
	}
}

func pluginInfoFrom(m *typesv1.PluginInfo) pluginsdk.PluginInfo {
	return pluginsdk.PluginInfo{
		Name:             m.GetName(),
		Path:             m.GetPath(),
		Origin:           pluginsdk.PluginOrigin(m.GetOrigin()),
		SHA256:           m.GetSha256(),
		Version:          m.GetVersion(),
		Publisher:        m.GetPublisher(),
		Manifest:         manifestFrom(m.GetManifest()),
		Previous:         listFrom(m.GetPrevious(), pluginVersionFrom),
		Enabled:          m.GetEnabled(),
		Position:         int(m.GetPosition()),
		Settings:         m.GetSettings(),
		Granted:          namesFrom[pluginsdk.Capability](m.GetGranted()),
		OnFailure:        namesMapFrom[pluginsdk.Hook, pluginsdk.OnFailure](m.GetOnFailure()),
		GrantedEnv:       m.GetGrantedEnv(),
		Limits:           pluginLimitsFrom(m.GetLimits()),
		State:            pluginsdk.PluginState(m.GetState()),
		Generation:       m.GetGeneration(),
		Settled:          m.GetSettled(),
		Serving:          m.GetServing(),
		Rejected:         m.GetRejected(),
		LastError:        m.GetLastError(),
		Restarts:         int(m.GetRestarts()),
		Failures:         m.GetFailures(),
		Quarantine:       m.GetQuarantine(),
		Ledger:           pluginLedgerFrom(m.GetLedger()),
		Attach:           m.GetAttach(),
		SettingsRevision: m.GetSettingsRevision(),
		Problem:          m.GetProblem(),
		UpdatedAt:        timeFrom(m.GetUpdatedAt()),
	}
}

func pluginVersionTo(v pluginsdk.PluginVersion) *typesv1.PluginVersion {
	return &typesv1.PluginVersion{
		Version:     v.Version,
		Path:        v.Path,
		Sha256:      v.SHA256,
		Publisher:   v.Publisher,
		Manifest:    manifestTo(v.Manifest),
		InstalledAt: timeTo(v.InstalledAt),
	}
}

func pluginVersionFrom(m *typesv1.PluginVersion) pluginsdk.PluginVersion {
	return pluginsdk.PluginVersion{
		Version:     m.GetVersion(),
		Path:        m.GetPath(),
		SHA256:      m.GetSha256(),
		Publisher:   m.GetPublisher(),
		Manifest:    manifestFrom(m.GetManifest()),
		InstalledAt: timeFrom(m.GetInstalledAt()),
	}
}

func pluginLimitsTo(v pluginsdk.PluginLimits) *typesv1.PluginLimits {
	return &typesv1.PluginLimits{
		MemoryBytes: v.MemoryBytes,
		CpuPercent:  int64(v.CPUPercent),
		Processes:   int64(v.Processes),
		OpenFiles:   int64(v.OpenFiles),
	}
}

func pluginLimitsFrom(m *typesv1.PluginLimits) pluginsdk.PluginLimits {
	return pluginsdk.PluginLimits{
		MemoryBytes: m.GetMemoryBytes(),
		CPUPercent:  int(m.GetCpuPercent()),
		Processes:   int(m.GetProcesses()),
		OpenFiles:   int(m.GetOpenFiles()),
	}
}

func pluginLedgerTo(v pluginsdk.PluginLedger) *typesv1.PluginLedger {
	m := &typesv1.PluginLedger{
		Calls:      v.Calls,
		Errors:     v.Errors,
		Timeouts:   v.Timeouts,
		RssBytes:   v.RSSBytes,
		CpuSeconds: v.CPUSeconds,
		Processes:  int64(v.Processes),
		Restarts:   int64(v.Restarts),
		Since:      timeTo(v.Since),
		At:         timeTo(v.At),
	}
	if v.Hooks != nil {
		m.Hooks = make(map[string]*typesv1.HookFigures, len(v.Hooks))
	}
	for hook, figures := range v.Hooks {
		m.Hooks[string(hook)] = hookFiguresTo(figures)
	}
	return m
}

func pluginLedgerFrom(m *typesv1.PluginLedger) pluginsdk.PluginLedger {
	v := pluginsdk.PluginLedger{
		Calls:      m.GetCalls(),
		Errors:     m.GetErrors(),
		Timeouts:   m.GetTimeouts(),
		RSSBytes:   m.GetRssBytes(),
		CPUSeconds: m.GetCpuSeconds(),
		Processes:  int(m.GetProcesses()),
		Restarts:   int(m.GetRestarts()),
		Since:      timeFrom(m.GetSince()),
		At:         timeFrom(m.GetAt()),
	}
	if m.GetHooks() != nil {
		v.Hooks = make(map[pluginsdk.Hook]pluginsdk.HookFigures, len(m.GetHooks()))
	}
	for hook, figures := range m.GetHooks() {
		v.Hooks[pluginsdk.Hook(hook)] = hookFiguresFrom(figures)
	}
	return v
}

func hookFiguresTo(v pluginsdk.HookFigures) *typesv1.HookFigures {
	return &typesv1.HookFigures{
		Calls:    v.Calls,
		Errors:   v.Errors,
		Timeouts: v.Timeouts,
		P50:      durationTo(v.P50),
		P99:      durationTo(v.P99),
	}
}

func hookFiguresFrom(m *typesv1.HookFigures) pluginsdk.HookFigures {
	return pluginsdk.HookFigures{
		Calls:    m.GetCalls(),
		Errors:   m.GetErrors(),
		Timeouts: m.GetTimeouts(),
		P50:      durationFrom(m.GetP50()),
		P99:      durationFrom(m.GetP99()),
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
