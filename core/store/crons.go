package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/cronfire"
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
			u.UpdateSchedule().UpdateFireAt().UpdateTimezone().UpdatePrompt().UpdateThreadID().UpdateTarget().UpdateMissed().
				UpdateLateness().UpdateOverlap().UpdateJitter().UpdateUntil().UpdateExcept().UpdateHours().
				UpdateReport().UpdateSession().UpdateCostCapUsd().UpdateTimeout().UpdateIfRoom().
				UpdateWhenCommand().UpdateModel().UpdatePermissionMode().UpdateTools().UpdateTrigger().UpdateKeep()
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
	if err := spec.CheckName(); err != nil {
		return spec, err
	}
	switch {
	case !spec.OneCause():
		return spec, pluginsdk.Errorf(pluginsdk.CodeInvalid, "schedule, fireAt, trigger: a scheduled job needs exactly one of the three")
	case spec.Missed != pluginsdk.MissedRun && spec.Missed != pluginsdk.MissedSkip:
		return spec, pluginsdk.Errorf(pluginsdk.CodeInvalid, "missed: %q is not one of run, skip", spec.Missed)
	case spec.Lateness < 0 || spec.Jitter < 0:
		return spec, pluginsdk.Errorf(pluginsdk.CodeInvalid, "lateness, jitter: a duration is not negative")
	}
	if spec.Keep < 0 || spec.Keep > 0 && spec.Keep < leastKept {
		return spec, pluginsdk.Errorf(pluginsdk.CodeInvalid, "keep: %s is less than an hour; 0 keeps what all jobs keep", spec.Keep)
	}
	return spec, checkTimes(moment{"fireAt", spec.FireAt}, moment{"until", spec.Until})
}

// SetCronEnabled turns a job on or off, or returns CodeNotFound.
func (s *Store) SetCronEnabled(ctx context.Context, name string, enabled bool) (pluginsdk.CronJob, error) {
	return s.updateCron(ctx, name, func(u *ent.CronJobUpdate) { u.SetEnabled(schema.Switch(enabled)) })
}

// ReportCron stores what became of a job, in place of what was said of it before, and rows
// of its fires, each in place of the one of that time unless that is over; or returns CodeNotFound. A row for several times
// that were skipped (Count) gives way to one for more. Without a name the fires are of jobs that were removed, by their JobID:
// only rows that are open are changed, and there is no status.
func (s *Store) ReportCron(ctx context.Context, name string, status pluginsdk.CronStatus, fires ...pluginsdk.CronFire) (pluginsdk.CronJob, error) {
	if err := checkTimes(moment{"lastRun", status.LastRun}, moment{"nextRun", status.NextRun}); err != nil {
		return pluginsdk.CronJob{}, err
	}
	for _, fire := range fires {
		if fire.Due.IsZero() {
			return pluginsdk.CronJob{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "due: a fire needs the time at which it was due")
		}
		if err := checkTimes(moment{"due", fire.Due}, moment{"until", fire.Until}, moment{"decidedAt", fire.DecidedAt}, moment{"endedAt", fire.EndedAt}); err != nil {
			return pluginsdk.CronJob{}, err
		}
	}
	if name == "" {
		return pluginsdk.CronJob{}, s.closeFires(ctx, fires)
	}
	return s.updateCron(ctx, name, func(u *ent.CronJobUpdate) {
		u.SetLastResult(clean(status.LastResult)).SetFailures(status.Failures).SetMark(clean(status.Mark))
		if status.LastRun.IsZero() {
			u.ClearLastRun()
		} else {
			u.SetLastRun(status.LastRun)
		}
		if status.NextRun.IsZero() {
			u.ClearNextRun()
		} else {
			u.SetNextRun(status.NextRun)
		}
	}, fires...)
}

// closeFires stores what became of fires whose jobs were removed.
func (s *Store) closeFires(ctx context.Context, fires []pluginsdk.CronFire) error {
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		for _, fire := range fires {
			there, err := tx.CronJob.Query().Where(cronjob.ID(fire.JobID)).Exist(ctx)
			if err != nil {
				return err
			}
			if there || fire.JobID == "" {
				return pluginsdk.Errorf(pluginsdk.CodeInvalid, "name: the job %q is there; what became of its fires is reported with its name", fire.JobID)
			}
			err = tx.CronFire.Update().Where(cronfire.JobID(fire.JobID), cronfire.Due(instant(fire.Due)), cronfire.StateIn(pluginsdk.FirePending, pluginsdk.FireRunning)).
				SetState(fire.State).SetReason(clean(fire.Reason)).SetRunID(clean(fire.RunID)).SetCostUsd(fire.CostUSD).SetNillableEndedAt(nullable(fire.EndedAt)).Exec(ctx)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return wrap("report fires of removed jobs", err)
}

// CronFires returns what became of the times at which jobs were due, newest first; more says
// that there are older ones.
func (s *Store) CronFires(ctx context.Context, query pluginsdk.CronFiresRequest) (fires []pluginsdk.CronFire, more bool, err error) {
	rows := s.read.CronFire.Query().Order(cronfire.ByDue(entsql.OrderDesc()), cronfire.ByID(entsql.OrderDesc()))
	if query.Name != "" {
		rows.Where(cronfire.Job(clean(query.Name)))
	}
	if query.Open {
		rows.Where(cronfire.StateIn(pluginsdk.FirePending, pluginsdk.FireRunning))
	}
	if !query.Before.IsZero() {
		rows.Where(cronfire.DueLT(instant(query.Before)))
	}
	limit := min(cmp.Or(max(query.Limit, 0), 100), 1000)
	found, err := rows.Limit(limit + 1).All(ctx)
	if err != nil {
		return nil, false, wrap("list fires of scheduled jobs", err)
	}
	if more = len(found) > limit; more {
		found = found[:limit]
	}
	return all(found, cronFireOf), more, nil
}

// openFires is how many fires of a job may be open for another one to be asked for.
const openFires = 20

// calledOnce is how long a job is not fired again by who gives it data.
const calledOnce = time.Minute

// FireCron stores that somebody asks for a fire of a job, and returns its row; CodeNotFound: there is no
// such job. With data it is CodeConflict when the job is off, and CodeExhausted when it was asked for with data less than
// a minute ago. What is refused does not wait for the one writer.
func (s *Store) FireCron(ctx context.Context, name, data string) (fire pluginsdk.CronFire, err error) {
	now := s.now()
	fire = pluginsdk.CronFire{Due: now, Cause: pluginsdk.FireAsked, State: pluginsdk.FirePending, Data: clean(data), DecidedAt: now}
	if data != "" {
		fire.Cause = pluginsdk.FireCalled
	}
	if _, err = mayFire(ctx, s.read, s.query, name, fire); err == nil {
		err = s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
			if err := tx.holdCron(ctx, name); err != nil {
				return err
			}
			fire.Due = s.now() // after that of a fire that was stored meanwhile
			fire.DecidedAt = fire.Due
			job, err := mayFire(ctx, tx.Client, tx.exec, name, fire)
			if err != nil {
				return err
			}
			fire.JobID, fire.Job = job.ID, job.Spec.Name
			return s.saveFires(ctx, tx, job, []pluginsdk.CronFire{fire})
		})
	}
	if err != nil {
		return pluginsdk.CronFire{}, wrap("fire scheduled job", err)
	}
	return fire, nil
}

// holdCron has others that ask for a fire of a job wait for the end of the transaction: what they see then has this fire.
func (t *tx) holdCron(ctx context.Context, name string) error {
	if !t.postgres { // SQLite has one writer
		return nil
	}
	_, err := t.run(ctx, "SELECT id FROM cron_jobs WHERE name = $1 FOR UPDATE", clean(name))
	return err
}

// mayFire returns the job that a fire is asked for, or why it is not to fire.
func mayFire(ctx context.Context, client *ent.Client, past entsql.ExecQuerier, name string, fire pluginsdk.CronFire) (job pluginsdk.CronJob, err error) {
	rows, err := readCrons(ctx, client, past, cronjob.Name(clean(name)))
	if err == nil && len(rows) == 0 {
		err = noCron(name)
	}
	if err != nil {
		return job, err
	}
	job = cronOf(rows[0])
	if fire.Cause == pluginsdk.FireCalled {
		if !job.Enabled {
			return job, pluginsdk.Errorf(pluginsdk.CodeConflict, "the schedule %q is off: what is sent to it is refused until it is turned on", name)
		}
		lately, err := client.CronFire.Query().Where(cronfire.JobID(job.ID), cronfire.CauseEQ(pluginsdk.FireCalled),
			cronfire.DueGT(fire.Due.Add(-calledOnce)), cronfire.DueLTE(fire.Due)).Exist(ctx) // one in the future is of a clock that was wrong
		if err == nil && lately {
			err = pluginsdk.Errorf(pluginsdk.CodeExhausted, "the schedule %q was called less than a minute ago, and may be called once a minute; try again later", name)
		}
		if err != nil {
			return job, err
		}
	}
	open, err := client.CronFire.Query().Where(cronfire.JobID(job.ID), cronfire.StateIn(pluginsdk.FirePending, pluginsdk.FireRunning)).Count(ctx)
	if err == nil && open >= openFires {
		err = pluginsdk.Errorf(pluginsdk.CodeExhausted, "%d fires of the schedule %q are not over yet; ask again when some are", open, name)
	}
	return job, err
}

func (s *Store) updateCron(ctx context.Context, name string, set func(*ent.CronJobUpdate), fires ...pluginsdk.CronFire) (job pluginsdk.CronJob, err error) {
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
		if err == nil && len(fires) > 0 {
			err = s.saveFires(ctx, tx, job, fires)
		}
		return err
	})
	return job, wrap("change scheduled job", err)
}

// Of the fires of a job that does not say for how long (Keep), the newest keptFires are kept, and all of the last firesKept.
// Those of the last leastKept are kept whatever a row says that was written by SQL.
const (
	leastKept = time.Hour
	keptFires = 2000
	firesKept = 90 * 24 * time.Hour
)

func (s *Store) saveFires(ctx context.Context, t *tx, job pluginsdk.CronJob, fires []pluginsdk.CronFire) error {
	if err := t.putFires(ctx, job, fires); err != nil {
		return err
	}
	begins := func(fire pluginsdk.CronFire) bool {
		return fire.State == pluginsdk.FirePending || fire.State == pluginsdk.FireSkipped && fire.EndedAt.Equal(fire.DecidedAt)
	}
	if !slices.ContainsFunc(fires, begins) {
		return nil // once a fire is enough
	}
	if job.Spec.Keep > 0 {
		_, err := t.CronFire.Delete().Where(cronfire.JobID(job.ID), cronfire.DueLT(instant(s.now().Add(-max(job.Spec.Keep, leastKept)))),
			cronfire.StateNotIn(pluginsdk.FirePending, pluginsdk.FireRunning)).Exec(ctx)
		return err
	}
	old, err := t.CronFire.Query().Where(cronfire.JobID(job.ID)).Order(cronfire.ByDue(entsql.OrderDesc())).Offset(keptFires).Limit(1).All(ctx)
	if err != nil || len(old) == 0 {
		return err
	}
	_, err = t.CronFire.Delete().Where(cronfire.JobID(job.ID), cronfire.DueLTE(old[0].Due), cronfire.DueLT(instant(s.now().Add(-firesKept))),
		cronfire.StateNotIn(pluginsdk.FirePending, pluginsdk.FireRunning)).Exec(ctx)
	return err
}

func (t *tx) putFires(ctx context.Context, job pluginsdk.CronJob, fires []pluginsdk.CronFire) error {
	return t.CronFire.MapCreateBulk(fires, func(create *ent.CronFireCreate, i int) {
		fire := fires[i]
		fire.JobID, fire.Job = job.ID, job.Spec.Name
		insertCronFire(create, fire)
	}).OnConflict(entsql.ConflictColumns(cronfire.FieldJobID, cronfire.FieldDue), entsql.ResolveWithNewValues(), entsql.UpdateWhere(entsql.P(func(b *entsql.Builder) {
		// What is over stays as it is, whatever clock says that its time is to come yet. A row for several times that were
		// skipped takes in more of them.
		b.WriteString("cron_fires.state IN ('pending', 'running') OR cron_fires.state = 'skipped' AND excluded.state = 'skipped' AND cron_fires.count > 0 AND excluded.count > cron_fires.count")
	}))).Exec(ctx)
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

// CronsMark is another one once a scheduled job was made, changed, turned on or off, or removed. On
// Postgres it may also be another one after what became of a job was reported: there it is made
// of which transaction has written each row, so that no prompts are read.
func (s *Store) CronsMark(ctx context.Context) (mark string, err error) {
	if s.Dialect() == dialect.Postgres {
		err = row(ctx, s.query, "SELECT COALESCE(md5(string_agg(id || xmin::text, ',' ORDER BY id)), '') FROM cron_jobs", nil, &mark)
		return mark, wrap("look at scheduled jobs", err)
	}
	jobs, err := s.Crons(ctx)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, job := range jobs {
		job.Status = pluginsdk.CronStatus{}
		encoded, err := json.Marshal(job)
		if err != nil {
			return "", wrap("look at scheduled jobs", err)
		}
		_, _ = sum.Write(encoded)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// readCrons reads jobs through both ways into one database, the second for times
// that the first cannot read.
func readCrons(ctx context.Context, client *ent.Client, past entsql.ExecQuerier, which ...predicate.CronJob) ([]*ent.CronJob, error) {
	query := client.CronJob.Query().Where(which...).Order(cronjob.ByName())
	rows, err := query.Clone().All(ctx)
	if !misread(err) {
		return rows, err
	}
	columns := []string{cronjob.FieldFireAt, cronjob.FieldLastRun, cronjob.FieldNextRun, cronjob.FieldCreatedAt, cronjob.FieldUntil}
	times, again := readTimes[string](ctx, past, cronjob.Table, columns, "true")
	if again != nil {
		return nil, err
	}
	if rows, again = query.Select(without(cronjob.Columns, columns...)...).All(ctx); again != nil {
		return nil, err
	}
	for _, row := range rows {
		if at := times[row.ID]; at != nil {
			row.FireAt, row.LastRun, row.NextRun, row.CreatedAt, row.Until = at[0], at[1], at[2], orZero(at[3]), at[4]
		}
	}
	return rows, nil
}

// DeleteCron removes the job of that name, or returns CodeNotFound. Nothing becomes any more of its fires that are
// pending. Those whose message is submitted stay open until what became of them is reported.
func (s *Store) DeleteCron(ctx context.Context, name string) error {
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		rows, err := readCrons(ctx, tx.Client, tx.exec, cronjob.Name(clean(name)))
		if err == nil && len(rows) == 0 {
			return noCron(name)
		}
		if err == nil {
			_, err = tx.CronJob.Delete().Where(cronjob.ID(rows[0].ID)).Exec(ctx)
		}
		if err == nil {
			_, err = tx.CronFire.Update().Where(cronfire.JobID(rows[0].ID), cronfire.StateEQ(pluginsdk.FirePending)).
				SetState(pluginsdk.FireCancelled).SetReason("the schedule was removed").SetEndedAt(s.now()).Save(ctx)
		}
		return err
	})
	return wrap("delete scheduled job", err)
}
