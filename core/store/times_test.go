package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A time that a plugin has miscalculated is refused with words that help its
// author; stored, it could not be read back, and one such row would hide all the
// others.
func TestTimesFromOutside(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		check(t, third(s.SaveCron(ctx, pluginsdk.CronSpec{Name: "reported", Schedule: "* * * * *"}, true)))
		doors := map[string]func(time.Time) error{
			"fireAt": func(at time.Time) error {
				return third(s.SaveCron(ctx, pluginsdk.CronSpec{Name: "x", FireAt: at}, true))
			},
			"nextRun": func(at time.Time) error {
				return second(s.ReportCron(ctx, "reported", pluginsdk.CronStatus{NextRun: at}))
			},
			"lastRun": func(at time.Time) error {
				return second(s.ReportCron(ctx, "reported", pluginsdk.CronStatus{LastRun: at}))
			},
			"metrics[1].at": func(at time.Time) error {
				return s.RecordMetrics(ctx, "meter", []pluginsdk.NewMetric{{Name: "a"}, {Name: "b", At: at}})
			},
			"since": func(at time.Time) error { return second(s.QueryMetrics(ctx, pluginsdk.MetricQuery{Since: at})) },
			"until": func(at time.Time) error { return second(s.QueryMetrics(ctx, pluginsdk.MetricQuery{Until: at})) },
		}
		west := time.FixedZone("west", -10*3600)
		for field, door := range doors {
			for _, wrong := range []time.Time{
				time.UnixMilli(1<<63 - 1), time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1969, 12, 31, 23, 59, 59, 0, time.UTC),
				time.Date(9999, 12, 31, 20, 0, 0, 0, west),
			} {
				err := door(wrong)
				if words := fmt.Sprint(err); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.HasPrefix(words, field+":") ||
					!strings.Contains(words, wrong.UTC().Format(time.RFC3339)) || !strings.Contains(words, "1970 to 9999") {
					t.Errorf("%s: %s: got %v", field, wrong, err)
				}
			}
			for _, right := range []time.Time{time.Unix(0, 0), time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)} {
				if err := door(right); err != nil {
					t.Errorf("%s: %s: %v", field, right, err)
				}
			}
		}
	})
}

// Times that no clock shows, or that are none at all, and are there already, hide
// nothing: rows come without them.
func TestRowsWithImpossibleTimesAreListed(t *testing.T) {
	far := map[string][]string{
		"sqlite3":  {"292277-01-09 04:00:54+00:00", "-0005-01-01 00:00:00+00:00", "next week"},
		"postgres": {"292277-01-09 04:00:54+00:00", "0006-01-01 00:00:00+00:00 BC", "infinity"},
	}
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		at := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
		for i, wrong := range far[s.Dialect()] {
			name := fmt.Sprintf("wrong %d", i)
			check(t, third(s.SaveCron(ctx, pluginsdk.CronSpec{Name: name, FireAt: at}, true)))
			check(t, second(s.ReportCron(ctx, name, pluginsdk.CronStatus{NextRun: at, LastRun: at})))
			byHand(t, s, fmt.Sprintf("UPDATE cron_jobs SET fire_at = '%[1]s', last_run = '%[1]s', created_at = '%[1]s', until = '%[1]s' WHERE name = '%[2]s'", wrong, name))
			check(t, s.RecordMetrics(ctx, "meter", []pluginsdk.NewMetric{{Name: name, At: at}}))
			byHand(t, s, fmt.Sprintf("UPDATE metrics SET created_at = '%s' WHERE name = '%s'", wrong, name))
		}
		check(t, third(s.SaveCron(ctx, pluginsdk.CronSpec{Name: "right", FireAt: at}, true)))
		right := must[pluginsdk.CronJob](t)(s.ReportCron(ctx, "right", pluginsdk.CronStatus{NextRun: at}))
		check(t, s.RecordMetrics(ctx, "meter", []pluginsdk.NewMetric{{Name: "right", Value: 1, At: at}}))

		jobs := must[[]pluginsdk.CronJob](t)(s.Crons(ctx))
		if len(jobs) != 4 {
			t.Fatalf("%d jobs of 4", len(jobs))
		}
		same(t, right, jobs[0])
		for _, job := range jobs[1:] {
			if !job.Spec.FireAt.IsZero() || !job.Spec.Until.IsZero() || !job.Status.LastRun.IsZero() || !job.CreatedAt.IsZero() || !job.Status.NextRun.Equal(at) {
				t.Errorf("fires at %s, ran at %s, made at %s, next at %s: %+v", job.Spec.FireAt, job.Status.LastRun, job.CreatedAt, job.Status.NextRun, job)
			}
		}
		metrics := must[[]pluginsdk.Metric](t)(s.QueryMetrics(ctx, pluginsdk.MetricQuery{}))
		if len(metrics) != 4 || !metrics[3].CreatedAt.Equal(at) || metrics[3].Value != 1 ||
			slices.ContainsFunc(metrics[:3], func(m pluginsdk.Metric) bool { return !m.CreatedAt.IsZero() }) {
			t.Errorf("metrics %+v", metrics)
		}
		check(t, second(json.Marshal([]any{jobs, metrics})))

		// A plugin mends its job by saving it.
		for _, job := range jobs[1:] {
			job.Spec.FireAt = at
			if saved, existed, err := s.SaveCron(ctx, job.Spec, true); err != nil || !existed || !saved.Spec.FireAt.Equal(at) || saved.ID != job.ID {
				t.Errorf("%v, saved %+v", err, saved)
			}
		}
	})
}
