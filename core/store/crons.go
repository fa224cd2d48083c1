package store

import (
	"context"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/cronjob"
	"github.com/seed-706843ae/harness/ent/predicate"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// SaveCron creates or replaces the job of that name and returns it. A job that
// exists keeps its id and its CreatedAt. Times outside of the years 1970 to 9999
// are CodeInvalid.
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
		rows, err := readCrons(ctx, tx.Client, tx.exec, cronjob.Name(clean(job.Name)))
		if err == nil {
			job = cronOf(rows[0])
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
	err = checkTimes(moment{"fireAt", job.FireAt}, moment{"nextRun", job.NextRun}, moment{"lastRun", job.LastRun},
		moment{"createdAt", job.CreatedAt})
	if err != nil {
		return job, err
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

// Crons returns all jobs by name. A time that makes no sense is left out.
func (s *Store) Crons(ctx context.Context) ([]pluginsdk.CronJob, error) {
	rows, err := readCrons(ctx, s.read, s.query)
	if err != nil {
		return nil, wrap("list scheduled jobs", err)
	}
	return all(rows, cronOf), nil
}

// readCrons reads jobs through both ways into one database, the second for times
// that the first cannot read.
func readCrons(ctx context.Context, client *ent.Client, past entsql.ExecQuerier, which ...predicate.CronJob) ([]*ent.CronJob, error) {
	query := client.CronJob.Query().Where(which...).Order(cronjob.ByName())
	rows, err := query.Clone().All(ctx)
	if !misread(err) {
		return rows, err
	}
	columns := []string{cronjob.FieldFireAt, cronjob.FieldLastRun, cronjob.FieldNextRun, cronjob.FieldCreatedAt}
	times, again := readTimes[string](ctx, past, cronjob.Table, columns, "true")
	if again != nil {
		return nil, err
	}
	if rows, again = query.Select(without(cronjob.Columns, columns...)...).All(ctx); again != nil {
		return nil, err
	}
	for _, row := range rows {
		if at := times[row.ID]; at != nil {
			row.FireAt, row.LastRun, row.NextRun, row.CreatedAt = at[0], at[1], at[2], orZero(at[3])
		}
	}
	return rows, nil
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
