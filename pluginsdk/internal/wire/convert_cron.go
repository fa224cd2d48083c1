package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

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
	}
}

func cronStatusTo(v pluginsdk.CronStatus) *typesv1.CronStatus {
	return &typesv1.CronStatus{
		LastRun:    timeTo(v.LastRun),
		NextRun:    timeTo(v.NextRun),
		LastResult: v.LastResult,
	}
}

func cronStatusFrom(m *typesv1.CronStatus) pluginsdk.CronStatus {
	return pluginsdk.CronStatus{
		LastRun:    timeFrom(m.GetLastRun()),
		NextRun:    timeFrom(m.GetNextRun()),
		LastResult: m.GetLastResult(),
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
