package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

func cronJobTo(v pluginsdk.CronJob) *typesv1.CronJob {
	return &typesv1.CronJob{
		Id:         v.ID,
		Name:       v.Name,
		Schedule:   v.Schedule,
		FireAt:     timeTo(v.FireAt),
		Timezone:   v.Timezone,
		Prompt:     v.Prompt,
		ThreadId:   v.ThreadID,
		Target:     v.Target,
		Enabled:    v.Enabled,
		Missed:     string(v.Missed),
		LastRun:    timeTo(v.LastRun),
		NextRun:    timeTo(v.NextRun),
		LastResult: v.LastResult,
		CreatedAt:  timeTo(v.CreatedAt),
	}
}

func cronJobFrom(m *typesv1.CronJob) pluginsdk.CronJob {
	return pluginsdk.CronJob{
		ID:         m.GetId(),
		Name:       m.GetName(),
		Schedule:   m.GetSchedule(),
		FireAt:     timeFrom(m.GetFireAt()),
		Timezone:   m.GetTimezone(),
		Prompt:     m.GetPrompt(),
		ThreadID:   m.GetThreadId(),
		Target:     m.GetTarget(),
		Enabled:    m.GetEnabled(),
		Missed:     pluginsdk.MissedPolicy(m.GetMissed()),
		LastRun:    timeFrom(m.GetLastRun()),
		NextRun:    timeFrom(m.GetNextRun()),
		LastResult: m.GetLastResult(),
		CreatedAt:  timeFrom(m.GetCreatedAt()),
	}
}
