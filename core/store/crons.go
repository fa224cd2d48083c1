package store

import (
	"context"

	"github.com/seed-706843ae/harness/ent/cronjob"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// SaveCron creates or replaces the job of that name and returns it. A job that
// exists keeps its id and its CreatedAt.
func (s *Store) SaveCron(ctx context.Context, job pluginsdk.CronJob) (pluginsdk.CronJob, error) {
	job, err := s.newCron(job)
	if err != nil {
		return pluginsdk.CronJob{}, err
	}
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		err := insertCron(tx.CronJob, job).OnConflictColumns(cronjob.FieldName).
			UpdateNewValues().Exec(ctx)
		if err != nil {
			return err
		}
		row, err := tx.CronJob.Query().Where(cronjob.Name(clean(job.Name))).Only(ctx)
		if err == nil {
			job = cronOf(row)
		}
		return err
	})
	return job, wrap("save scheduled job", err)
}

// newCron fills in what a job may leave out.
func (s *Store) newCron(job pluginsdk.CronJob) (_ pluginsdk.CronJob, err error) {
	if job.Missed == "" {
		job.Missed = pluginsdk.MissedSkip
	}
	switch {
	case job.Name == "":
		return job, pluginsdk.Errorf(pluginsdk.CodeInvalid, "name: a scheduled job needs one")
	case (job.Schedule == "") == job.FireAt.IsZero():
		return job, pluginsdk.Errorf(pluginsdk.CodeInvalid, "schedule, fireAt: a scheduled job needs exactly one of the two")
	case job.Missed != pluginsdk.MissedRun && job.Missed != pluginsdk.MissedSkip:
		return job, pluginsdk.Errorf(pluginsdk.CodeInvalid, "missed: %q is not one of run, skip", job.Missed)
	}
	if job.Timezone == "" {
		job.Timezone = "America/Phoenix"
	}
	if job.CreatedAt.IsZero() {
		job.CreatedAt = s.now()
	}
	if job.ID == "" {
		job.ID, err = newID()
	}
	return job, err
}

// Crons returns all jobs by name.
func (s *Store) Crons(ctx context.Context) ([]pluginsdk.CronJob, error) {
	rows, err := s.read.CronJob.Query().Order(cronjob.ByName()).All(ctx)
	if err != nil {
		return nil, wrap("list scheduled jobs", err)
	}
	return all(rows, cronOf), nil
}

// DeleteCron removes the job of that name, or returns CodeNotFound.
func (s *Store) DeleteCron(ctx context.Context, name string) error {
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		n, err := tx.CronJob.Delete().Where(cronjob.Name(name)).Exec(ctx)
		if err == nil && n == 0 {
			return pluginsdk.Errorf(pluginsdk.CodeNotFound, "no scheduled job has the name %q", name)
		}
		return err
	})
	return wrap("delete scheduled job", err)
}
