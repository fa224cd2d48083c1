package hostapi

import (
	"context"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type tasks struct{ *caller }

func (s tasks) Create(ctx context.Context, key string, task pluginsdk.NewTask) (pluginsdk.Task, error) {
	made, created, err := s.store.CreateTask(ctx, key, task)
	if err == nil && created {
		s.events.Publish(pluginsdk.EventTaskCreated, made.ThreadID, pluginsdk.TaskPayload{
			TaskID: made.ID, ThreadID: made.ThreadID, Status: made.Status,
		})
	}
	return made, err
}

func (s tasks) Get(ctx context.Context, id string) (pluginsdk.Task, error) {
	return s.store.Task(ctx, id)
}

func (s tasks) List(ctx context.Context, query pluginsdk.TaskQuery) ([]pluginsdk.Task, error) {
	return s.store.Tasks(ctx, query)
}

func (s tasks) Update(ctx context.Context, id string, patch pluginsdk.TaskPatch) (pluginsdk.Task, error) {
	return s.store.UpdateTask(ctx, id, patch)
}

type crons struct{ *caller }

func (s crons) Save(ctx context.Context, job pluginsdk.CronJob) (pluginsdk.CronJob, error) {
	switch {
	case job.Name == "":
		return pluginsdk.CronJob{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "name: a job needs one")
	case (job.Schedule == "") == job.FireAt.IsZero():
		return pluginsdk.CronJob{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "schedule, fireAt: a job has one of the two")
	}
	if _, err := time.LoadLocation(job.Timezone); err != nil {
		return pluginsdk.CronJob{}, pluginsdk.Errorf(pluginsdk.CodeInvalid,
			"timezone: %q is not a name of the IANA database, such as America/Phoenix", job.Timezone)
	}
	return s.store.SaveCron(ctx, job)
}

func (s crons) List(ctx context.Context) ([]pluginsdk.CronJob, error) {
	return s.store.Crons(ctx)
}

func (s crons) Delete(ctx context.Context, name string) error {
	return s.store.DeleteCron(ctx, name)
}

type metrics struct{ *caller }

func (s metrics) Record(ctx context.Context, values []pluginsdk.Metric) error {
	return s.store.RecordMetrics(ctx, values)
}

func (s metrics) Query(ctx context.Context, query pluginsdk.MetricQuery) ([]pluginsdk.Metric, error) {
	return s.store.QueryMetrics(ctx, query)
}
