package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

func targetTo(v pluginsdk.Target) *typesv1.Target {
	return &typesv1.Target{
		Plugin:   v.Plugin,
		Place:    v.Place,
		ThreadId: v.ThreadID,
	}
}

func targetFrom(m *typesv1.Target) pluginsdk.Target {
	return pluginsdk.Target{
		Plugin:   m.GetPlugin(),
		Place:    m.GetPlace(),
		ThreadID: m.GetThreadId(),
	}
}

func threadTo(v pluginsdk.Thread) *typesv1.Thread {
	return &typesv1.Thread{
		Id:                v.ID,
		Source:            v.Source,
		SourceId:          v.SourceID,
		ReportTo:          targetTo(v.ReportTo),
		Name:              v.Name,
		Kind:              string(v.Kind),
		ParentThreadId:    v.ParentThreadID,
		Status:            string(v.Status),
		SessionId:         v.SessionID,
		Model:             v.Model,
		Effort:            v.Effort,
		PermissionMode:    v.PermissionMode,
		Cwd:               v.Cwd,
		Instructions:      v.Instructions,
		BusyMode:          string(v.BusyMode),
		LastActivity:      timeTo(v.LastActivity),
		LastReadMessageId: v.LastReadMessageID,
		Unread:            int64(v.Unread),
		CreatedAt:         timeTo(v.CreatedAt),
		AskTools:          v.AskTools,
		Account:           v.Account,
		Apart:             v.Apart,
	}
}

func threadFrom(m *typesv1.Thread) pluginsdk.Thread {
	return pluginsdk.Thread{
		ID:                m.GetId(),
		Source:            m.GetSource(),
		SourceID:          m.GetSourceId(),
		ReportTo:          targetFrom(m.GetReportTo()),
		Name:              m.GetName(),
		Kind:              pluginsdk.ThreadKind(m.GetKind()),
		ParentThreadID:    m.GetParentThreadId(),
		Status:            pluginsdk.ThreadStatus(m.GetStatus()),
		SessionID:         m.GetSessionId(),
		Model:             m.GetModel(),
		Effort:            m.GetEffort(),
		PermissionMode:    m.GetPermissionMode(),
		Cwd:               m.GetCwd(),
		Instructions:      m.GetInstructions(),
		BusyMode:          pluginsdk.BusyMode(m.GetBusyMode()),
		LastActivity:      timeFrom(m.GetLastActivity()),
		LastReadMessageID: m.GetLastReadMessageId(),
		Unread:            int(m.GetUnread()),
		CreatedAt:         timeFrom(m.GetCreatedAt()),
		AskTools:          m.GetAskTools(),
		Account:           m.GetAccount(),
		Apart:             m.GetApart(),
	}
}

func newThreadTo(v pluginsdk.NewThread) *typesv1.NewThread {
	return &typesv1.NewThread{
		Source:         v.Source,
		SourceId:       v.SourceID,
		ReportTo:       targetTo(v.ReportTo),
		Name:           v.Name,
		Kind:           string(v.Kind),
		ParentThreadId: v.ParentThreadID,
		Model:          v.Model,
		Effort:         v.Effort,
		PermissionMode: v.PermissionMode,
		Cwd:            v.Cwd,
		Instructions:   v.Instructions,
		BusyMode:       string(v.BusyMode),
		AskTools:       v.AskTools,
		OwnDirectory:   v.OwnDirectory,
		Account:        v.Account,
	}
}

func newThreadFrom(m *typesv1.NewThread) pluginsdk.NewThread {
	return pluginsdk.NewThread{
		Source:         m.GetSource(),
		SourceID:       m.GetSourceId(),
		ReportTo:       targetFrom(m.GetReportTo()),
		Name:           m.GetName(),
		Kind:           pluginsdk.ThreadKind(m.GetKind()),
		ParentThreadID: m.GetParentThreadId(),
		Model:          m.GetModel(),
		Effort:         m.GetEffort(),
		PermissionMode: m.GetPermissionMode(),
		Cwd:            m.GetCwd(),
		Instructions:   m.GetInstructions(),
		BusyMode:       pluginsdk.BusyMode(m.GetBusyMode()),
		AskTools:       m.GetAskTools(),
		OwnDirectory:   m.GetOwnDirectory(),
		Account:        m.GetAccount(),
	}
}

func threadPatchTo(v pluginsdk.ThreadPatch) *typesv1.ThreadPatch {
	return &typesv1.ThreadPatch{
		Name:              v.Name,
		ReportTo:          pointerTo(v.ReportTo, targetTo),
		Status:            nameTo(v.Status),
		Model:             v.Model,
		Effort:            v.Effort,
		PermissionMode:    v.PermissionMode,
		Cwd:               v.Cwd,
		Instructions:      v.Instructions,
		BusyMode:          nameTo(v.BusyMode),
		LastReadMessageId: v.LastReadMessageID,
		AskTools:          v.AskTools,
		Account:           v.Account,
		EndSession:        v.EndSession,
	}
}

func threadPatchFrom(m *typesv1.ThreadPatch) pluginsdk.ThreadPatch {
	if m == nil { // its optional fields have no nil-safe getters
		return pluginsdk.ThreadPatch{}
	}
	return pluginsdk.ThreadPatch{
		Name:              m.Name,
		ReportTo:          pointerFrom(m.GetReportTo(), targetFrom),
		Status:            nameFrom[pluginsdk.ThreadStatus](m.Status),
		Model:             m.Model,
		Effort:            m.Effort,
		PermissionMode:    m.PermissionMode,
		Cwd:               m.Cwd,
		Instructions:      m.Instructions,
		BusyMode:          nameFrom[pluginsdk.BusyMode](m.BusyMode),
		LastReadMessageID: m.LastReadMessageId,
		AskTools:          m.AskTools,
		Account:           m.Account,
		EndSession:        m.EndSession,
	}
}

func threadQueryTo(v pluginsdk.ThreadQuery) *typesv1.ThreadQuery {
	return &typesv1.ThreadQuery{
		Source:         v.Source,
		SourceId:       v.SourceID,
		Kind:           string(v.Kind),
		Status:         string(v.Status),
		ParentThreadId: v.ParentThreadID,
		Order:          string(v.Order),
		Unread:         v.Unread,
		After:          v.After,
		Limit:          int64(v.Limit),
		Kinds:          namesTo(v.Kinds),
		Statuses:       namesTo(v.Statuses),
		Text:           v.Text,
	}
}

func threadQueryFrom(m *typesv1.ThreadQuery) pluginsdk.ThreadQuery {
	return pluginsdk.ThreadQuery{
		Source:         m.GetSource(),
		SourceID:       m.GetSourceId(),
		Kind:           pluginsdk.ThreadKind(m.GetKind()),
		Status:         pluginsdk.ThreadStatus(m.GetStatus()),
		ParentThreadID: m.GetParentThreadId(),
		Order:          pluginsdk.ThreadOrder(m.GetOrder()),
		Unread:         m.GetUnread(),
		After:          m.GetAfter(),
		Limit:          int(m.GetLimit()),
		Kinds:          namesFrom[pluginsdk.ThreadKind](m.GetKinds()),
		Statuses:       namesFrom[pluginsdk.ThreadStatus](m.GetStatuses()),
		Text:           m.GetText(),
	}
}

func cronSpecTo(v pluginsdk.CronSpec) *typesv1.CronSpec {
	return &typesv1.CronSpec{
		Name:     v.Name,
		Schedule: v.Schedule,
		FireAt:   timeTo(v.FireAt),
		Timezone: v.Timezone,
		Prompt:   v.Prompt,
		ThreadId: v.ThreadID,
		ReportTo: targetTo(v.ReportTo),
		Missed:   string(v.Missed),
		Lateness: durationTo(v.Lateness),
		Overlap:  string(v.Overlap),
		Jitter:   durationTo(v.Jitter),
		Until:    timeTo(v.Until),
		Except:   v.Except,
		Hours:    v.Hours,

		Report:         string(v.Report),
		Session:        string(v.Session),
		CostCapUsd:     v.CostCapUSD,
		Timeout:        durationTo(v.Timeout),
		IfRoom:         v.IfRoom,
		When:           v.When,
		Model:          v.Model,
		PermissionMode: v.PermissionMode,
		Tools:          v.Tools,
		Trigger:        v.Trigger,
		Keep:           durationTo(v.Keep),
	}
}

func cronSpecFrom(m *typesv1.CronSpec) pluginsdk.CronSpec {
	return pluginsdk.CronSpec{
		Name:     m.GetName(),
		Schedule: m.GetSchedule(),
		FireAt:   timeFrom(m.GetFireAt()),
		Timezone: m.GetTimezone(),
		Prompt:   m.GetPrompt(),
		ThreadID: m.GetThreadId(),
		ReportTo: targetFrom(m.GetReportTo()),
		Missed:   pluginsdk.MissedPolicy(m.GetMissed()),
		Lateness: durationFrom(m.GetLateness()),
		Overlap:  pluginsdk.OverlapPolicy(m.GetOverlap()),
		Jitter:   durationFrom(m.GetJitter()),
		Until:    timeFrom(m.GetUntil()),
		Except:   m.GetExcept(),
		Hours:    m.GetHours(),

		Report:         pluginsdk.CronReport(m.GetReport()),
		Session:        pluginsdk.TurnSession(m.GetSession()),
		CostCapUSD:     m.GetCostCapUsd(),
		Timeout:        durationFrom(m.GetTimeout()),
		IfRoom:         m.GetIfRoom(),
		When:           m.GetWhen(),
		Model:          m.GetModel(),
		PermissionMode: m.GetPermissionMode(),
		Tools:          m.GetTools(),
		Trigger:        m.GetTrigger(),
		Keep:           durationFrom(m.GetKeep()),
	}
}

func cronStatusTo(v pluginsdk.CronStatus) *typesv1.CronStatus {
	return &typesv1.CronStatus{
		LastRun:    timeTo(v.LastRun),
		NextRun:    timeTo(v.NextRun),
		LastResult: v.LastResult,
		Failures:   int64(v.Failures),
		Mark:       v.Mark,
	}
}

func cronStatusFrom(m *typesv1.CronStatus) pluginsdk.CronStatus {
	return pluginsdk.CronStatus{
		LastRun:    timeFrom(m.GetLastRun()),
		NextRun:    timeFrom(m.GetNextRun()),
		LastResult: m.GetLastResult(),
		Failures:   int(m.GetFailures()),
		Mark:       m.GetMark(),
	}
}

func cronJobTo(v pluginsdk.CronJob) *typesv1.CronJob {
	return &typesv1.CronJob{
		Id:        v.ID,
		Spec:      cronSpecTo(v.Spec),
		Enabled:   v.Enabled,
		Status:    cronStatusTo(v.Status),
		CreatedAt: timeTo(v.CreatedAt),
	}
}

func cronJobFrom(m *typesv1.CronJob) pluginsdk.CronJob {
	return pluginsdk.CronJob{
		ID:        m.GetId(),
		Spec:      cronSpecFrom(m.GetSpec()),
		Enabled:   m.GetEnabled(),
		Status:    cronStatusFrom(m.GetStatus()),
		CreatedAt: timeFrom(m.GetCreatedAt()),
	}
}

func cronFireTo(v pluginsdk.CronFire) *typesv1.CronFire {
	return &typesv1.CronFire{
		JobId:     v.JobID,
		Job:       v.Job,
		Due:       timeTo(v.Due),
		Until:     timeTo(v.Until),
		Count:     int64(v.Count),
		Cause:     string(v.Cause),
		State:     string(v.State),
		Reason:    v.Reason,
		Data:      v.Data,
		RunId:     v.RunID,
		CostUsd:   v.CostUSD,
		DecidedAt: timeTo(v.DecidedAt),
		EndedAt:   timeTo(v.EndedAt),
	}
}

func cronFireFrom(m *typesv1.CronFire) pluginsdk.CronFire {
	return pluginsdk.CronFire{
		JobID:     m.GetJobId(),
		Job:       m.GetJob(),
		Due:       timeFrom(m.GetDue()),
		Until:     timeFrom(m.GetUntil()),
		Count:     int(m.GetCount()),
		Cause:     pluginsdk.FireCause(m.GetCause()),
		State:     pluginsdk.CronFireState(m.GetState()),
		Reason:    m.GetReason(),
		Data:      m.GetData(),
		RunID:     m.GetRunId(),
		CostUSD:   m.GetCostUsd(),
		DecidedAt: timeFrom(m.GetDecidedAt()),
		EndedAt:   timeFrom(m.GetEndedAt()),
	}
}

func cronQuestionTo(v pluginsdk.CronQuestion) *typesv1.CronQuestion {
	return &typesv1.CronQuestion{
		JobId:       v.JobID,
		Job:         v.Job,
		Due:         timeTo(v.Due),
		LastSuccess: timeTo(v.LastSuccess),
		Data:        v.Data,
	}
}

func cronQuestionFrom(m *typesv1.CronQuestion) pluginsdk.CronQuestion {
	return pluginsdk.CronQuestion{
		JobID:       m.GetJobId(),
		Job:         m.GetJob(),
		Due:         timeFrom(m.GetDue()),
		LastSuccess: timeFrom(m.GetLastSuccess()),
		Data:        m.GetData(),
	}
}
