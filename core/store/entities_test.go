package store_test

import (
	"context"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"entgo.io/ent/dialect"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// There is one primary thread however often and from however many sides it is
// asked for.
func TestOnePrimaryThread(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		wantCode(t, second(s.Primary(ctx)), pluginsdk.CodeNotFound)
		ids := make([]string, 8)
		var group sync.WaitGroup
		for i := range ids {
			group.Go(func() {
				thread, err := s.EnsurePrimary(ctx)
				check(t, err)
				ids[i] = thread.ID
			})
		}
		group.Wait()
		primary := must[pluginsdk.Thread](t)(s.Primary(ctx))
		if primary.Source != "web" || primary.SourceID != "primary" || primary.Name != "Primary" || primary.Kind != pluginsdk.ThreadPrimary {
			t.Errorf("got %+v", primary)
		}
		if slices.ContainsFunc(ids, func(id string) bool { return id != primary.ID }) {
			t.Errorf("ids %v", ids)
		}
		_, _, err := s.CreateThread(ctx, pluginsdk.NewThread{Source: "x", SourceID: "y", Kind: pluginsdk.ThreadPrimary})
		wantCode(t, err, pluginsdk.CodeInvalid)
	})
}

func TestThreads(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		first, again := newThread(t, s, "one"), newThread(t, s, "one")
		if first.ID != again.ID {
			t.Error("one channel has two threads")
		}
		other, created, err := s.CreateThread(ctx, pluginsdk.NewThread{Source: "web", SourceID: "two", Kind: pluginsdk.ThreadTask})
		if err != nil || !created || other.Status != pluginsdk.ThreadActive || other.BusyMode != pluginsdk.BusyQueue {
			t.Errorf("created %v %v %+v", err, created, other)
		}
		for name, test := range map[string]struct {
			query pluginsdk.ThreadQuery
			want  []string
		}{
			"all":    {pluginsdk.ThreadQuery{}, []string{first.ID, other.ID}},
			"source": {pluginsdk.ThreadQuery{Source: "web", SourceID: "two"}, []string{other.ID}},
			"kind":   {pluginsdk.ThreadQuery{Kind: pluginsdk.ThreadGeneral}, []string{first.ID}},
			"status": {pluginsdk.ThreadQuery{Status: pluginsdk.ThreadIdle}, nil},
			"after":  {pluginsdk.ThreadQuery{After: first.ID}, []string{other.ID}},
		} {
			var got []string
			for _, thread := range must[[]pluginsdk.Thread](t)(s.Threads(ctx, test.query)) {
				got = append(got, thread.ID)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%s: got %v, want %v", name, got, test.want)
			}
		}
		wrongMode, wrongStatus := pluginsdk.BusyMode("x"), pluginsdk.ThreadStatus("x")
		for name, err := range map[string]error{
			"no source":    third(s.CreateThread(ctx, pluginsdk.NewThread{SourceID: "x"})),
			"wrong kind":   third(s.CreateThread(ctx, pluginsdk.NewThread{Source: "x", SourceID: "x", Kind: "x"})),
			"wrong mode":   third(s.CreateThread(ctx, pluginsdk.NewThread{Source: "x", SourceID: "x", BusyMode: "x"})),
			"patch mode":   second(s.UpdateThread(ctx, first.ID, pluginsdk.ThreadPatch{BusyMode: &wrongMode})),
			"patch status": second(s.UpdateThread(ctx, first.ID, pluginsdk.ThreadPatch{Status: &wrongStatus})),
		} {
			if pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
				t.Errorf("%s: got %v", name, err)
			}
		}
		for name, err := range map[string]error{
			"thread": second(s.Thread(ctx, "nope")),
			"parent": third(s.CreateThread(ctx, pluginsdk.NewThread{Source: "x", SourceID: "x", ParentThreadID: "nope"})),
			"update": second(s.UpdateThread(ctx, "nope", pluginsdk.ThreadPatch{})),
			"reset":  s.ResetSession(ctx, "nope"),
			"run":    second(s.Run(ctx, "nope")), "message": second(s.Message(ctx, 404)), "task": second(s.Task(ctx, "nope")),
		} {
			if pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
}

func third[A, B any](_ A, _ B, err error) error { return err }

// A delegation that is repeated after a crash must not start the work twice.
func TestTasks(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		parent := newThread(t, s, "parent")
		asked := pluginsdk.NewTask{ParentThreadID: parent.ID, OriginalMessage: "Research X\nand write a report", Prompt: "do it"}
		task, created, err := s.CreateTask(ctx, ledger.NewTask{Plugin: "maker", Key: "key", NewTask: asked})
		if err != nil || !created || task.Status != pluginsdk.TaskPending || task.MaxIterations != 5 ||
			task.MaxValidationIterations != 3 || task.CostCapUSD != 5 || task.Depth != 0 {
			t.Fatalf("%v %v %+v", err, created, task)
		}
		thread := must[pluginsdk.Thread](t)(s.Thread(ctx, task.ThreadID))
		if thread.Kind != pluginsdk.ThreadTask || thread.ParentThreadID != parent.ID || thread.Name != "Research X" {
			t.Errorf("its thread %+v", thread)
		}
		again, created, err := s.CreateTask(ctx, ledger.NewTask{Plugin: "maker", Key: "key", NewTask: asked})
		if err != nil || created || again.ID != task.ID {
			t.Errorf("repeated: %v %v %s", err, created, again.ID)
		}
		_, _, err = s.CreateTask(ctx, ledger.NewTask{Plugin: "maker", Key: "key", NewTask: pluginsdk.NewTask{ParentThreadID: parent.ID, Prompt: "something else"}})
		wantCode(t, err, pluginsdk.CodeConflict)
		child, _, err := s.CreateTask(ctx, ledger.NewTask{Plugin: "maker", NewTask: pluginsdk.NewTask{ParentTaskID: task.ID, Prompt: "part"}})
		if err != nil || child.Depth != 1 {
			t.Errorf("child: %v, depth %d", err, child.Depth)
		}
		for _, n := range []pluginsdk.NewTask{{ParentTaskID: "nope", Prompt: "x"}, {ParentThreadID: "nope", Prompt: "x"}} {
			wantCode(t, third(s.CreateTask(ctx, ledger.NewTask{Plugin: "maker", NewTask: n})), pluginsdk.CodeNotFound)
		}
		wantCode(t, third(s.CreateTask(ctx, ledger.NewTask{Plugin: "maker", NewTask: pluginsdk.NewTask{}})), pluginsdk.CodeInvalid)

		got := only[pluginsdk.Task](t)(s.Tasks(ctx, pluginsdk.TaskQuery{ParentThreadID: parent.ID, Statuses: []pluginsdk.TaskStatus{pluginsdk.TaskPending}}))
		if got.ID != task.ID {
			t.Errorf("got task %s", got.ID)
		}
		if got := only[pluginsdk.Task](t)(s.Tasks(ctx, pluginsdk.TaskQuery{After: task.ID})); got.ID != child.ID {
			t.Errorf("got task %s", got.ID)
		}
	})
}

// A key that comes with another task is no repetition: whoever believes that their
// task was made must not be given one that may do something else.
func TestATaskOfTheSameKeyIsTheSame(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		asked := pluginsdk.NewTask{
			Prompt: "do it", PermissionMode: "plan", AllowedTools: []string{"Read"}, Cwd: "/srv/garden",
			Labels: map[string]string{"kind": "audit"}, CostCapUSD: 1, MaxIterations: 2, MaxValidationIterations: 4,
		}
		first, _, err := s.CreateTask(ctx, ledger.NewTask{Plugin: "maker", Key: "key", NewTask: asked, AskedPermissionMode: asked.PermissionMode})
		check(t, err)
		if again, created, err := s.CreateTask(ctx, ledger.NewTask{Plugin: "maker", Key: "key", NewTask: asked, AskedPermissionMode: asked.PermissionMode}); err != nil || created || again.ID != first.ID {
			t.Errorf("repeated: %v, created %v, %s", err, created, again.ID)
		}
		for field, change := range map[string]func(*pluginsdk.NewTask){
			"prompt":                  func(n *pluginsdk.NewTask) { n.Prompt = "do that" },
			"originalMessage":         func(n *pluginsdk.NewTask) { n.OriginalMessage = "do that" },
			"model":                   func(n *pluginsdk.NewTask) { n.Model = "haiku" },
			"permissionMode":          func(n *pluginsdk.NewTask) { n.PermissionMode = "acceptEdits" },
			"cwd":                     func(n *pluginsdk.NewTask) { n.Cwd = "" },
			"allowedTools":            func(n *pluginsdk.NewTask) { n.AllowedTools = []string{"Read", "Bash"} },
			"labels":                  func(n *pluginsdk.NewTask) { n.Labels = map[string]string{"kind": "repair"} },
			"costCapUsd":              func(n *pluginsdk.NewTask) { n.CostCapUSD = 0 },
			"maxIterations":           func(n *pluginsdk.NewTask) { n.MaxIterations = 3 },
			"maxValidationIterations": func(n *pluginsdk.NewTask) { n.MaxValidationIterations = 3 },
			"wake":                    func(n *pluginsdk.NewTask) { n.Wake = true },
			"requestedBy":             func(n *pluginsdk.NewTask) { n.RequestedBy = "bob" },
			"ownDirectory":            func(n *pluginsdk.NewTask) { n.Cwd, n.OwnDirectory = "", true },
		} {
			n := asked
			change(&n)
			if err := third(s.CreateTask(ctx, ledger.NewTask{Plugin: "maker", Key: "key", NewTask: n, AskedPermissionMode: n.PermissionMode, Directories: "/srv"})); pluginsdk.CodeOf(err) != pluginsdk.CodeConflict || !strings.Contains(err.Error(), field) {
				t.Errorf("%s: %v", field, err)
			}
		}
	})
}

// A fire that somebody asks for is on disk, for a job that there is, and with data once a minute.
func TestAFireIsAskedFor(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		wantCode(t, second(s.FireCron(ctx, "ghost", "")), pluginsdk.CodeNotFound)
		check(t, third(s.SaveCron(ctx, pluginsdk.CronSpec{Name: "digest", Schedule: "0 7 * * *", Prompt: "morning"}, false)))
		for range 2 {
			if fire := must[pluginsdk.CronFire](t)(s.FireCron(ctx, "digest", "")); fire.Cause != pluginsdk.FireAsked || fire.Job != "digest" {
				t.Errorf("asked for: %+v", fire)
			}
		}
		wantCode(t, second(s.FireCron(ctx, "digest", "version 6")), pluginsdk.CodeConflict) // it is off
		check(t, second(s.SetCronEnabled(ctx, "digest", true)))
		ahead := pluginsdk.CronFire{Due: time.Now().Add(time.Hour), Cause: pluginsdk.FireCalled, State: pluginsdk.FireSucceeded}
		check(t, second(s.ReportCron(ctx, "digest", pluginsdk.CronStatus{}, ahead))) // by a clock that was wrong
		called := must[pluginsdk.CronFire](t)(s.FireCron(ctx, "digest", "version 7"))
		wantCode(t, second(s.FireCron(ctx, "digest", "version 8")), pluginsdk.CodeExhausted)
		fires, _, err := s.CronFires(ctx, pluginsdk.CronFiresRequest{Open: true})
		check(t, err)
		if len(fires) != 3 || fires[0] != called || called.Cause != pluginsdk.FireCalled || called.Data != "version 7" {
			t.Errorf("there are %+v, called %+v", fires, called)
		}
		for range 17 { // up to 20 that are open
			check(t, second(s.FireCron(ctx, "digest", "")))
		}
		wantCode(t, second(s.FireCron(ctx, "digest", "")), pluginsdk.CodeExhausted)
		over := called
		over.State = pluginsdk.FireSkipped
		check(t, second(s.ReportCron(ctx, "digest", pluginsdk.CronStatus{}, over)))
		check(t, second(s.FireCron(ctx, "digest", "")))
		for _, name := range []string{"digest ", "a\nb", "a|b", "a\u200bb"} {
			wantCode(t, third(s.SaveCron(ctx, pluginsdk.CronSpec{Name: name, Schedule: "0 7 * * *", Prompt: "morning"}, false)), pluginsdk.CodeInvalid)
		}
	})
}

// A row whose keep was written by SQL loses no fire of the last hour: such a fire could be made again, or called again at once.
func TestAFireOfTheLastHourIsKept(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx, now := t.Context(), time.Now().UTC().Truncate(time.Microsecond)
		check(t, third(s.SaveCron(ctx, pluginsdk.CronSpec{Name: "digest", Schedule: "0 7 * * *", Prompt: "do it"}, true)))
		byHand(t, s, "UPDATE cron_jobs SET keep = '5s'")
		for _, fire := range []pluginsdk.CronFire{
			{Due: now.Add(-61 * time.Minute), Cause: pluginsdk.FireScheduled, State: pluginsdk.FireSucceeded},
			{Due: now.Add(-59 * time.Minute), Cause: pluginsdk.FireScheduled, State: pluginsdk.FireSucceeded},
			{Due: now, Cause: pluginsdk.FireScheduled, State: pluginsdk.FirePending},
		} {
			check(t, second(s.ReportCron(ctx, "digest", pluginsdk.CronStatus{}, fire)))
		}
		fires, _, err := s.CronFires(ctx, pluginsdk.CronFiresRequest{Name: "digest"})
		if check(t, err); len(fires) != 2 {
			t.Errorf("left are %+v", fires)
		}
	})
}

// What became of a job's fires is kept for as long as the job says, and of other jobs as before. What is not over stays.
func TestFiresAreKeptAsTheirJobSays(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx, now := t.Context(), time.Now().UTC().Truncate(time.Microsecond)
		for name, keep := range map[string]time.Duration{"short": 48 * time.Hour, "long": 0} {
			spec := pluginsdk.CronSpec{Name: name, Schedule: "0 7 * * *", Prompt: "do it", Keep: keep}
			check(t, third(s.SaveCron(ctx, spec, true)))
			old := []pluginsdk.CronFire{
				{Due: now.Add(-72 * time.Hour), Cause: pluginsdk.FireScheduled, State: pluginsdk.FireSucceeded},
				{Due: now.Add(-71 * time.Hour), Cause: pluginsdk.FireScheduled, State: pluginsdk.FireRunning},
				{Due: now.Add(-47 * time.Hour), Cause: pluginsdk.FireScheduled, State: pluginsdk.FireSucceeded},
			}
			check(t, second(s.ReportCron(ctx, name, pluginsdk.CronStatus{}, old...)))
			check(t, second(s.ReportCron(ctx, name, pluginsdk.CronStatus{}, pluginsdk.CronFire{Due: now, Cause: pluginsdk.FireScheduled, State: pluginsdk.FirePending})))
			fires, _, err := s.CronFires(ctx, pluginsdk.CronFiresRequest{Name: name})
			check(t, err)
			if want := map[string]int{"short": 3, "long": 4}[name]; len(fires) != want || fires[len(fires)-1].State == pluginsdk.FireSucceeded && name == "short" {
				t.Errorf("of %s there are %+v, want %d", name, fires, want)
			}
		}
		for _, keep := range []time.Duration{-time.Hour, time.Minute} {
			wantCode(t, third(s.SaveCron(ctx, pluginsdk.CronSpec{Name: "wrong", Schedule: "0 7 * * *", Prompt: "x", Keep: keep}, true)), pluginsdk.CodeInvalid)
		}
	})
}

// What an operator writes that is no duration is not taken for none: who fires the job sees that it is wrong.
func TestADurationThatIsNone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		check(t, third(s.SaveCron(t.Context(), pluginsdk.CronSpec{Name: "digest", Schedule: "0 7 * * *", Prompt: "x"}, true)))
		for text, want := range map[string]time.Duration{"banana": -1, "-5m": -1, " 5m ": 5 * time.Minute, "": 0, "0": 0} {
			byHand(t, s, "UPDATE cron_jobs SET jitter = '"+text+"', timeout = '"+text+"'")
			jobs, err := s.Crons(t.Context())
			check(t, err)
			if jobs[0].Spec.Jitter != want || jobs[0].Spec.Timeout != want {
				t.Errorf("%q is read as %+v", text, jobs[0].Spec)
			}
		}
	})
}

// Whoever watches the jobs must see each change of what one is to be, and nothing else on SQLite: what
// the plugin that fires them reports has it look once more.
func TestCronsMark(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		before, err := s.CronsMark(ctx)
		check(t, err)
		changed := func(what string, want bool) {
			t.Helper()
			now, err := s.CronsMark(ctx)
			check(t, err)
			if (now != before) != want {
				t.Errorf("%s: changed is %v", what, now != before)
			}
			before = now
		}
		changed("nothing", false)
		spec := pluginsdk.CronSpec{Name: "digest", Schedule: "0 7 * * *", Prompt: "morning"}
		check(t, third(s.SaveCron(ctx, spec, true)))
		changed("made", true)
		spec.Prompt = "evening"
		check(t, third(s.SaveCron(ctx, spec, true)))
		changed("another prompt", true)
		check(t, second(s.SetCronEnabled(ctx, "digest", false)))
		changed("off", true)
		check(t, second(s.ReportCron(ctx, "digest", pluginsdk.CronStatus{LastResult: "fine"})))
		if s.Dialect() == dialect.SQLite {
			changed("reported", false)
		}
		before, err = s.CronsMark(ctx)
		check(t, err)
		check(t, s.DeleteCron(ctx, "digest"))
		changed("removed", true)
	})
}

func TestCrons(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		job, existed, err := s.SaveCron(ctx, pluginsdk.CronSpec{Name: "digest", Schedule: "0 7 * * *", Prompt: "morning"}, true)
		if err != nil || existed || job.ID == "" || job.CreatedAt.IsZero() || !job.Enabled ||
			job.Spec.Timezone != "America/Phoenix" || job.Spec.Missed != pluginsdk.MissedSkip {
			t.Errorf("%v %v job %+v", err, existed, job)
		}
		byHand(t, s, "UPDATE cron_jobs SET enabled = true")
		if !only[pluginsdk.CronJob](t)(s.Crons(ctx)).Enabled {
			t.Error("enabled = true is read as off")
		}
		at := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
		for _, bad := range []pluginsdk.CronSpec{
			{Schedule: "x"}, {Name: "neither"}, {Name: "both", Schedule: "x", FireAt: at}, {Name: "missed", Schedule: "x", Missed: "x"},
		} {
			wantCode(t, third(s.SaveCron(ctx, bad, true)), pluginsdk.CodeInvalid)
		}
		check(t, s.DeleteCron(ctx, "digest"))
		wantCode(t, s.DeleteCron(ctx, "digest"), pluginsdk.CodeNotFound)
		wantCode(t, second(s.SetCronEnabled(ctx, "digest", true)), pluginsdk.CodeNotFound)
		wantCode(t, second(s.ReportCron(ctx, "digest", pluginsdk.CronStatus{LastResult: "x"})), pluginsdk.CodeNotFound)
	})
}

// A plugin that saves what a job is must not turn on again what a person turned
// off, nor forget when it ran last; who reports a run must not undo either.
func TestTheThreePartsOfACronAreWrittenApart(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		job, _, err := s.SaveCron(ctx, pluginsdk.CronSpec{Name: "digest", Schedule: "0 7 * * *", Prompt: "morning"}, true)
		check(t, err)
		last, next := time.Date(2027, 1, 1, 7, 0, 0, 0, time.UTC), time.Date(2027, 1, 2, 7, 0, 0, 0, time.UTC)
		if off := must[pluginsdk.CronJob](t)(s.SetCronEnabled(ctx, "digest", false)); off.Enabled {
			t.Error("it is still on")
		}
		check(t, second(s.ReportCron(ctx, "digest", pluginsdk.CronStatus{LastRun: last, NextRun: next, LastResult: "done"})))
		spec := pluginsdk.CronSpec{Name: "digest", FireAt: next, Prompt: "once", Timezone: "Europe/Berlin", Missed: pluginsdk.MissedRun, ReportTo: pluginsdk.Target{Plugin: "discord", Place: "x"}, ThreadID: "t"}
		saved, existed, err := s.SaveCron(ctx, spec, true)
		check(t, err)
		want := pluginsdk.CronJob{
			ID: job.ID, Spec: spec, CreatedAt: job.CreatedAt,
			Status: pluginsdk.CronStatus{LastRun: last, NextRun: next, LastResult: "done"},
		}
		if !existed || !reflect.DeepEqual(saved, want) {
			t.Errorf("saved %+v (existed: %v)\n want %+v", saved, existed, want)
		}
		same(t, want, only[pluginsdk.CronJob](t)(s.Crons(ctx)))
	})
}

// A job that will not be fired any more must not promise that it will.
func TestAReportReplacesWhatWasSaidOfAJob(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx, at := context.Background(), time.Date(2027, 1, 1, 7, 0, 0, 0, time.UTC)
		check(t, third(s.SaveCron(ctx, pluginsdk.CronSpec{Name: "once", FireAt: at, Prompt: "now"}, true)))
		check(t, second(s.ReportCron(ctx, "once", pluginsdk.CronStatus{LastRun: at, NextRun: at, LastResult: "done"})))
		if job := must[pluginsdk.CronJob](t)(s.ReportCron(ctx, "once", pluginsdk.CronStatus{LastRun: at})); job.Status != (pluginsdk.CronStatus{LastRun: at}) {
			t.Errorf("fired, it is %+v", job.Status)
		}
		check(t, second(s.ReportCron(ctx, "once", pluginsdk.CronStatus{})))
		if job := only[pluginsdk.CronJob](t)(s.Crons(ctx)); job.Status != (pluginsdk.CronStatus{}) {
			t.Errorf("nothing is known of it any more, and it is %+v", job.Status)
		}
	})
}

func TestMetrics(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		var metrics []pluginsdk.NewMetric
		for i := range 250 {
			metrics = append(metrics, pluginsdk.NewMetric{Name: "tokens", Value: float64(i), At: start.Add(time.Duration(i) * time.Second), ThreadID: "t"})
		}
		metrics[3].Name, metrics[3].Tags = "cost", map[string]string{"model": "sonnet"}
		check(t, s.RecordMetrics(ctx, "meter", metrics))
		check(t, s.RecordMetrics(ctx, "other", []pluginsdk.NewMetric{{Name: "tokens", Value: 3, At: start.Add(3 * time.Second), ThreadID: "t"}}))
		check(t, s.RecordMetrics(ctx, "meter", nil))
		got := must[[]pluginsdk.Metric](t)(s.QueryMetrics(ctx, pluginsdk.MetricQuery{
			Plugin: "meter", Name: "tokens", ThreadID: "t", Since: start.Add(2 * time.Second), Until: start.Add(6 * time.Second),
		}))
		var values []float64
		for _, m := range got {
			values = append(values, m.Value)
		}
		if !slices.Equal(values, []float64{2, 4, 5}) {
			t.Errorf("values %v", values)
		}
		if n := len(must[[]pluginsdk.Metric](t)(s.QueryMetrics(ctx, pluginsdk.MetricQuery{After: got[0].ID, Limit: 1000}))); n != 248 {
			t.Errorf("%d after the third, want 248", n)
		}
	})
}

// A value that is recorded again after a crash is counted once, and what cannot be
// read again, or is too much, is refused as a whole.
func TestMetricsAreRecordedOnceOrRefused(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		for range 2 {
			check(t, s.RecordMetrics(ctx, "meter", []pluginsdk.NewMetric{{Key: "k", Name: "n", Value: 1}, {Key: "l", Name: "n", Value: 2}, {Key: "k", Name: "n", Value: 3}}))
		}
		check(t, s.RecordMetrics(ctx, "other", []pluginsdk.NewMetric{{Key: "k", Name: "n", Value: 4}}))
		var values []float64
		for _, m := range must[[]pluginsdk.Metric](t)(s.QueryMetrics(ctx, pluginsdk.MetricQuery{})) {
			values = append(values, m.Value)
		}
		if !slices.Equal(values, []float64{1, 2, 4}) {
			t.Errorf("recorded %v", values)
		}
		good := pluginsdk.NewMetric{Name: "lost"}
		long := strings.Repeat("x", 33<<10)
		for name, bad := range map[string][]pluginsdk.NewMetric{
			"no name":      {good, {}},
			"no number":    {good, {Name: "n", Value: math.NaN()}},
			"infinite":     {good, {Name: "n", Value: math.Inf(-1)}},
			"long words":   {good, {Name: long, Tags: map[string]string{"t": long}}},
			"many at once": slices.Repeat([]pluginsdk.NewMetric{good}, 1001),
		} {
			if err := s.RecordMetrics(ctx, "meter", bad); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if n := len(must[[]pluginsdk.Metric](t)(s.QueryMetrics(ctx, pluginsdk.MetricQuery{Name: "lost"}))); n != 0 {
			t.Errorf("%d values of calls that were refused", n)
		}
	})
}

// TestFires has what became of the times of jobs: one row a time, written with the job's status or not at all.
func TestFires(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		for _, name := range []string{"digest", "refresh"} {
			check(t, third(s.SaveCron(ctx, pluginsdk.CronSpec{Name: name, Schedule: "0 7 * * *", Prompt: "do it"}, true)))
		}
		day := time.Date(2026, 11, 1, 7, 0, 0, 0, time.UTC)
		at := func(n int, state pluginsdk.CronFireState) pluginsdk.CronFire {
			return pluginsdk.CronFire{Due: day.AddDate(0, 0, n), Cause: pluginsdk.FireScheduled, State: state}
		}
		for n := range 5 {
			check(t, second(s.ReportCron(ctx, "digest", pluginsdk.CronStatus{}, at(n, pluginsdk.FirePending))))
		}
		check(t, second(s.ReportCron(ctx, "digest", pluginsdk.CronStatus{LastResult: "twice"}, at(0, pluginsdk.FireSucceeded), at(1, pluginsdk.FireRunning))))
		check(t, second(s.ReportCron(ctx, "digest", pluginsdk.CronStatus{}, at(0, pluginsdk.FireMissed)))) // it is over: that stays
		check(t, second(s.ReportCron(ctx, "refresh", pluginsdk.CronStatus{}, at(2, pluginsdk.FireMissed))))
		wantCode(t, second(s.ReportCron(ctx, "nobody", pluginsdk.CronStatus{}, at(2, pluginsdk.FireMissed))), pluginsdk.CodeNotFound)
		wantCode(t, second(s.ReportCron(ctx, "digest", pluginsdk.CronStatus{LastResult: "lost"}, pluginsdk.CronFire{State: pluginsdk.FireMissed})), pluginsdk.CodeInvalid)

		// A row for several times that were skipped takes in more of them. One that is over otherwise does not.
		together := func(count int) (row pluginsdk.CronFire) {
			row = at(-9, pluginsdk.FireSkipped)
			row.Until, row.Count = row.Due.Add(time.Duration(count)*time.Minute), count
			return row
		}
		for _, count := range []int{2, 7, 5} {
			check(t, second(s.ReportCron(ctx, "refresh", pluginsdk.CronStatus{}, together(count))))
		}
		missed := together(9)
		missed.Due = at(2, "").Due
		check(t, second(s.ReportCron(ctx, "refresh", pluginsdk.CronStatus{}, missed)))
		grown, _, err := s.CronFires(ctx, pluginsdk.CronFiresRequest{Name: "refresh"})
		check(t, err)
		if len(grown) != 2 || grown[1].Count != 7 || !grown[1].Until.Equal(together(7).Until) || grown[0].State != pluginsdk.FireMissed || grown[0].Count != 0 {
			t.Errorf("rows for several times: %+v", grown)
		}

		states := func(query pluginsdk.CronFiresRequest) (states []pluginsdk.CronFireState) {
			t.Helper()
			fires, _, err := s.CronFires(ctx, query)
			check(t, err)
			for _, fire := range fires {
				states = append(states, fire.State)
			}
			return states
		}
		pending, running := pluginsdk.FirePending, pluginsdk.FireRunning
		for name, row := range map[string]struct {
			query pluginsdk.CronFiresRequest
			want  []pluginsdk.CronFireState
		}{
			"of a job":     {pluginsdk.CronFiresRequest{Name: "digest"}, []pluginsdk.CronFireState{pending, pending, pending, running, pluginsdk.FireSucceeded}},
			"open":         {pluginsdk.CronFiresRequest{Open: true}, []pluginsdk.CronFireState{pending, pending, pending, running}},
			"before":       {pluginsdk.CronFiresRequest{Name: "digest", Before: day.AddDate(0, 0, 2)}, []pluginsdk.CronFireState{running, pluginsdk.FireSucceeded}},
			"the newest":   {pluginsdk.CronFiresRequest{Limit: 1}, []pluginsdk.CronFireState{pending}},
			"of no job":    {pluginsdk.CronFiresRequest{Name: "nobody"}, nil},
			"of the other": {pluginsdk.CronFiresRequest{Name: "refresh"}, []pluginsdk.CronFireState{pluginsdk.FireMissed, pluginsdk.FireSkipped}},
		} {
			if got := states(row.query); !slices.Equal(got, row.want) {
				t.Errorf("%s: %v, want %v", name, got, row.want)
			}
		}
		if _, more, err := s.CronFires(ctx, pluginsdk.CronFiresRequest{Limit: 5}); err != nil || !more {
			t.Errorf("more: %v, %v", more, err)
		}
		// What is not made yet of a job that is removed does not stay open. What became of the others is stored by the job's id,
		// also when another job has its name now.
		job, err := s.SetCronEnabled(ctx, "digest", true)
		check(t, err)
		ended := at(1, pluginsdk.FireSucceeded)
		ended.JobID, ended.CostUSD, ended.RunID, ended.EndedAt = job.ID, 0.5, "run", day
		wantCode(t, second(s.ReportCron(ctx, "", pluginsdk.CronStatus{}, ended)), pluginsdk.CodeInvalid)
		check(t, s.DeleteCron(ctx, "digest"))
		if open := states(pluginsdk.CronFiresRequest{Open: true}); !slices.Equal(open, []pluginsdk.CronFireState{running}) {
			t.Errorf("open after the job is removed: %v", open)
		}
		check(t, third(s.SaveCron(ctx, pluginsdk.CronSpec{Name: "digest", Schedule: "0 7 * * *", Prompt: "another"}, true)))
		check(t, second(s.ReportCron(ctx, "", pluginsdk.CronStatus{}, ended)))
		ended.State = pluginsdk.FireFailed
		check(t, second(s.ReportCron(ctx, "", pluginsdk.CronStatus{}, ended))) // it is over: that stays
		rows, _, err := s.CronFires(ctx, pluginsdk.CronFiresRequest{Name: "digest", Before: ended.Due.Add(time.Second), Limit: 1})
		check(t, err)
		if len(rows) != 1 || rows[0].State != pluginsdk.FireSucceeded || rows[0].CostUSD != 0.5 || !rows[0].EndedAt.Equal(day) {
			t.Errorf("what became of a fire of a job that was removed: %+v", rows)
		}
		if all := states(pluginsdk.CronFiresRequest{Name: "digest"}); len(all) != 5 {
			t.Errorf("what became of it is gone: %v", all)
		}
	})
}

// TestOldFiresGo has the rows of a job that fires each minute not grow for ever.
func TestOldFiresGo(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		check(t, third(s.SaveCron(ctx, pluginsdk.CronSpec{Name: "often", Schedule: "* * * * *", Prompt: "do it"}, true)))
		begin := time.Now().UTC().Truncate(time.Minute).Add(-91 * 24 * time.Hour)
		report := func(states ...pluginsdk.CronFireState) {
			t.Helper()
			for chunk := range slices.Chunk(states, 100) {
				var fires []pluginsdk.CronFire
				for _, state := range chunk {
					fires = append(fires, pluginsdk.CronFire{Due: begin, Cause: pluginsdk.FireScheduled, State: state})
					begin = begin.Add(time.Minute)
				}
				check(t, second(s.ReportCron(ctx, "often", pluginsdk.CronStatus{}, fires...)))
			}
		}
		report(append([]pluginsdk.CronFireState{pluginsdk.FireRunning}, slices.Repeat([]pluginsdk.CronFireState{pluginsdk.FireSucceeded}, 2100)...)...)
		report(pluginsdk.FirePending)
		count := 0
		for before := (time.Time{}); ; {
			fires, more, err := s.CronFires(ctx, pluginsdk.CronFiresRequest{Name: "often", Before: before, Limit: 1000})
			check(t, err)
			count += len(fires)
			if before = fires[len(fires)-1].Due; !more {
				if fires[len(fires)-1].State != pluginsdk.FireRunning {
					t.Error("one of which something is yet to become is gone")
				}
				break
			}
		}
		if count != 2001 { // the newest 2,000, and the one that is open
			t.Errorf("%d rows are kept", count)
		}
	})
}
