package store

import (
	"cmp"
	"context"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/cronjob"
	"github.com/seed-706843ae/harness/ent/predicate"
	"github.com/seed-706843ae/harness/ent/schema"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// SaveCron creates the job of that name, enabled or not, or replaces the
// specification of the one that there is: whether that one is on, and what became
// of it, stay. A time outside of the years 1970 to 9999 is CodeInvalid.
func (s *Store) SaveCron(ctx context.Context, spec pluginsdk.CronSpec, enabled bool) (job pluginsdk.CronJob, existed bool, err error) {
	if spec, err = checkCron(spec); err != nil {
		return pluginsdk.CronJob{}, false, err
	}
	id, err := newID()
	if err != nil {
		return pluginsdk.CronJob{}, false, err
	}
	fresh := pluginsdk.CronJob{ID: id, Spec: spec, Enabled: enabled, CreatedAt: s.now()}
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		err := insertCron(tx.CronJob, fresh).OnConflictColumns(cronjob.FieldName).Update(func(u *ent.CronJobUpsert) {
			u.UpdateSchedule().UpdateFireAt().UpdateTimezone().UpdatePrompt().UpdateThreadID().UpdateTarget().UpdateMissed()
		}).Exec(ctx)
		if err != nil {
			return err
		}
		job, err = tx.cron(ctx, spec.Name)
		existed = job.ID != id
		return err
	})
	if err != nil {
		return pluginsdk.CronJob{}, false, wrap("save scheduled job", err)
	}
	return job, existed, nil
}

// checkCron checks a specification and fills in what it may leave out.
func checkCron(spec pluginsdk.CronSpec) (pluginsdk.CronSpec, error) {
	spec.Missed = cmp.Or(spec.Missed, pluginsdk.MissedSkip)
	spec.Timezone = cmp.Or(spec.Timezone, "America/Phoenix")
	switch {
	case spec.Name == "":
		return spec, pluginsdk.Errorf(pluginsdk.CodeInvalid, "name: a scheduled job needs one")
	case (spec.Schedule == "") == spec.FireAt.IsZero():
		return spec, pluginsdk.Errorf(pluginsdk.CodeInvalid, "schedule, fireAt: a scheduled job needs exactly one of the two")
	case spec.Missed != pluginsdk.MissedRun && spec.Missed != pluginsdk.MissedSkip:
		return spec, pluginsdk.Errorf(pluginsdk.CodeInvalid, "missed: %q is not one of run, skip", spec.Missed)
	}
	return spec, checkTimes(moment{"fireAt", spec.FireAt})
}

// SetCronEnabled turns a job on or off, or returns CodeNotFound.
func (s *Store) SetCronEnabled(ctx context.Context, name string, enabled bool) (pluginsdk.CronJob, error) {
	return s.updateCron(ctx, name, func(u *ent.CronJobUpdate) { u.SetEnabled(schema.Switch(enabled)) })
}

// ReportCron stores what became of a job, in place of what was said of it before, or
// returns CodeNotFound.
func (s *Store) ReportCron(ctx context.Context, name string, status pluginsdk.CronStatus) (pluginsdk.CronJob, error) {
	if err := checkTimes(moment{"lastRun", status.LastRun}, moment{"nextRun", status.NextRun}); err != nil {
		return pluginsdk.CronJob{}, err
	}
	return s.updateCron(ctx, name, func(u *ent.CronJobUpdate) {
		if u.SetLastResult(clean(status.LastResult)); status.LastRun.IsZero() {
			u.ClearLastRun()
		} else {
			u.SetLastRun(status.LastRun)
		}
		if status.NextRun.IsZero() {
			u.ClearNextRun()
		} else {
			u.SetNextRun(status.NextRun)
		}
	})
}

func (s *Store) updateCron(ctx context.Context, name string, set func(*ent.CronJobUpdate)) (job pluginsdk.CronJob, err error) {
	err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		update := tx.CronJob.Update().Where(cronjob.Name(clean(name))).SetName(clean(name)) // an update of nothing finds nothing
		set(update)
		n, err := update.Save(ctx)
		if err == nil && n == 0 {
			return noCron(name)
		}
		if err == nil {
			job, err = tx.cron(ctx, name)
		}
		return err
	})
	return job, wrap("change scheduled job", err)
}

func (t *tx) cron(ctx context.Context, name string) (pluginsdk.CronJob, error) {
	rows, err := readCrons(ctx, t.Client, t.exec, cronjob.Name(clean(name)))
	if err != nil {
		return pluginsdk.CronJob{}, err
	}
	return cronOf(rows[0]), nil
}

func noCron(name string) error {
	return pluginsdk.Errorf(pluginsdk.CodeNotFound, "no scheduled job has the name %q", name)
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
		n, err := tx.CronJob.Delete().Where(cronjob.Name(clean(name))).Exec(ctx)
		if err == nil && n == 0 {
			return noCron(name)
		}
		return err
	})
	return wrap("delete scheduled job", err)
}
