package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// filler gives every field of a value something of its own.
type filler struct{ n int64 }

func (f *filler) fill(t *testing.T, v reflect.Value, path string) {
	t.Helper()
	f.n++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, int(f.n)*1000, time.UTC)))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(fmt.Sprintf(`{"n":%d}`, f.n))))
		return
	case []byte:
		v.SetBytes([]byte(path))
		return
	case pluginsdk.OnFailure:
		v.SetString(string(pluginsdk.FailClosed))
		return
	case pluginsdk.Target:
		v.Set(reflect.ValueOf(pluginsdk.Target{Plugin: "carrier", Place: fmt.Sprintf("place %d", f.n)}))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("%s %d", path, f.n))
		if strings.HasSuffix(path, ".PermissionMode") {
			v.SetString("plan")
		}
		if strings.HasSuffix(path, ".AskTools") {
			v.SetString(fmt.Sprint("Tool", f.n))
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(f.n)
	case reflect.Float64:
		v.SetFloat(float64(f.n) + 0.25)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(t, v.Elem(), path)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		f.fill(t, v.Index(0), path+"[0]")
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(t, key, path+" key")
		f.fill(t, value, path+" value")
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(t, v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	default:
		t.Fatalf("%s: a field of kind %s: teach the filler about it", path, v.Kind())
	}
}

func filled[T any](t *testing.T) T {
	t.Helper()
	var value T
	new(filler).fill(t, reflect.ValueOf(&value).Elem(), reflect.TypeFor[T]().Name())
	return value
}

// parkedRun is a filled run of a turn, which has no options. A queued one shows how it is parked, another
// remembers it.
func parkedRun(t *testing.T) ledger.Run {
	t.Helper()
	run := filled[ledger.Run](t)
	run.State, run.LastParked = pluginsdk.RunQueued, run.Parked
	run.Kind, run.Options = pluginsdk.RunTurn, nil
	return run
}

// same names each field that the round trip lost.
func same[T any](t *testing.T, want, got T) {
	t.Helper()
	a, b := reflect.ValueOf(want), reflect.ValueOf(got)
	sameFields(t, a, b)
}

func sameFields(t *testing.T, a, b reflect.Value) {
	t.Helper()
	for i := range a.NumField() {
		if a.Type().Field(i).Anonymous {
			sameFields(t, a.Field(i), b.Field(i))
			continue
		}
		if x, y := a.Field(i).Interface(), b.Field(i).Interface(); !reflect.DeepEqual(x, y) {
			t.Errorf("%s.%s is lost on its way through the database:\n got %+v\nwant %+v",
				a.Type().Name(), a.Type().Field(i).Name, y, x)
		}
	}
}

// A field that somebody adds to a domain type and forgets in mapping.go or in
// the schema would be empty after a restart.
func TestMappingKeepsEveryField(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()

		thread := filled[ledger.Thread](t)
		thread.Unread = 0 // is counted, not stored
		check(t, s.KeepThread(ctx, thread))
		same(t, thread, must[ledger.Thread](t)(s.KeptThread(ctx, thread.ID)))
		same(t, thread.Thread, must[pluginsdk.Thread](t)(s.Thread(ctx, thread.ID)))

		message := filled[pluginsdk.Message](t)
		message.ID = must[int64](t)(s.KeepMessage(ctx, message))
		same(t, message, must[pluginsdk.Message](t)(s.Message(ctx, message.ID)))

		run := parkedRun(t)
		check(t, s.KeepRun(ctx, run))
		same(t, run, must[ledger.Run](t)(s.KeptRun(ctx, run.ID)))
		same(t, run.Run, must[pluginsdk.Run](t)(s.Run(ctx, run.ID)))

		optional := filled[ledger.Run](t) // of a message that has options
		optional.ID, optional.Kind, optional.State, optional.Plugin, optional.Turn = "another", pluginsdk.RunMessage, pluginsdk.RunQueued, "", nil
		optional.LastParked = optional.Parked
		check(t, s.KeepRun(ctx, optional))
		same(t, optional, must[ledger.Run](t)(s.KeptRun(ctx, optional.ID)))

		task := filled[ledger.Task](t)
		task.CostUSD, task.NotionalUSD, task.CostUnsure = 0, 0, false // are summed up, not stored
		check(t, s.KeepTask(ctx, task))
		same(t, task, must[ledger.Task](t)(s.TaskState(ctx, task.ID)))

		approval := filled[ledger.Approval](t)
		check(t, s.KeepApproval(ctx, approval))
		same(t, approval, must[ledger.Approval](t)(s.Approval(ctx, approval.ID)))

		rule := filled[pluginsdk.ApprovalRule](t)
		check(t, s.KeepApprovalRule(ctx, rule))
		same(t, rule, only[pluginsdk.ApprovalRule](t)(s.ApprovalRules(ctx, pluginsdk.ListApprovalRulesRequest{ThreadID: rule.ThreadID})))

		answer := filled[ledger.TaskAnswer](t)
		answer.ID = 1 // the first
		check(t, s.KeepTaskAnswer(ctx, answer))
		same(t, answer, only[ledger.TaskAnswer](t)(s.TaskAnswers(ctx, answer.TaskID, answer.Iteration)))
		// A move must not leave a field behind, nor one as it was.
		moved, immutable := filled[ledger.Task](t), task
		moved.Status, moved.Cwd, moved.Labels = pluginsdk.TaskWaiting, "/elsewhere", nil
		moved.Marks, moved.Result, moved.Feedback, moved.Error = []string{"a", "b"}, "r", "f", "e"
		moved.NotBefore = time.Time{}
		check(t, second(s.MoveTask(ctx, ledger.TaskMove{From: immutable, To: moved})))
		moved.CostUSD, moved.NotionalUSD, moved.CostUnsure, moved.Epoch = 0, 0, false, task.Epoch+1
		same(t, moved, must[ledger.Task](t)(s.TaskState(ctx, task.ID)))

		kept := filled[ledger.KeptFile](t)
		check(t, s.KeepFileAsIs(ctx, kept))
		found, _, err := s.FileOf(ctx, kept.Key)
		check(t, err)
		same(t, kept, found)

		delivery := filled[pluginsdk.Delivery](t)
		check(t, s.KeepDelivery(ctx, delivery))
		same(t, delivery, only[pluginsdk.Delivery](t)(s.Deliveries(ctx, pluginsdk.DeliveryQuery{})))

		account := filled[ledger.Account](t)
		check(t, s.KeepAccount(ctx, account))
		same(t, account, only[ledger.Account](t)(s.Accounts(ctx)))

		window := filled[ledger.PlanState](t)
		window.FullAt = time.Time{} // is computed, not stored
		window.Account = account.Name
		check(t, second(s.SavePlanWindow(ctx, window, true)))
		same(t, window, only[ledger.PlanState](t)(s.PlanWindows(ctx)))
		again := filled[ledger.PlanState](t)
		again.Account, again.Name, again.Warned, again.Overage = window.Account, window.Name, 90, false
		again.Used, again.ResetsAt, again.FullAt = 1, time.Time{}, time.Time{}
		check(t, second(s.SavePlanWindow(ctx, again, false))) // what is seen anew replaces all of it
		same(t, again, only[ledger.PlanState](t)(s.PlanWindows(ctx)))

		agentRun := filled[ledger.AgentRun](t)
		agentRun.ID = must[int64](t)(s.KeepAgentRun(ctx, agentRun))
		same(t, agentRun, only[ledger.AgentRun](t)(s.AgentRuns(ctx, agentRun.ThreadID)))

		token := filled[ledger.Token](t)
		check(t, s.KeepToken(ctx, token))
		same(t, token, must[ledger.Token](t)(s.TokenOf(ctx, token.Hash)))

		metric := filled[pluginsdk.Metric](t)
		metric.ID = 1
		check(t, s.KeepMetric(ctx, metric))
		same(t, metric, only[pluginsdk.Metric](t)(s.QueryMetrics(ctx, pluginsdk.MetricQuery{})))

		cron := filled[pluginsdk.CronJob](t)
		cron.Spec.Missed, cron.Spec.FireAt, cron.Spec.Schedule, cron.Spec.Keep = pluginsdk.MissedRun, time.Time{}, "", 36*time.Hour // it has one cause
		check(t, third(s.SaveCron(ctx, cron.Spec, cron.Enabled)))
		check(t, second(s.ReportCron(ctx, cron.Spec.Name, cron.Status)))
		job := only[pluginsdk.CronJob](t)(s.Crons(ctx))
		cron.ID, cron.CreatedAt = job.ID, job.CreatedAt
		same(t, cron, job)

		fire := filled[pluginsdk.CronFire](t)
		check(t, second(s.ReportCron(ctx, cron.Spec.Name, cron.Status, fire)))
		fire.JobID, fire.Job = job.ID, job.Spec.Name
		fires, _, err := s.CronFires(ctx, pluginsdk.CronFiresRequest{})
		same(t, fire, only[pluginsdk.CronFire](t)(fires, err))

		plugin := filled[ledger.Plugin](t)
		plugin.Problem = "" // is found, not stored
		check(t, s.KeepPlugin(ctx, plugin))
		same(t, plugin, must[ledger.Plugin](t)(s.Plugin(ctx, plugin.Name)))
	})
}

// TestAuditKeepsEveryField is the same for the one type of the store's own.
func TestAuditKeepsEveryField(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		check(t, s.Audit(ctx, "ann", "plugin.enable", "discord", "by hand"))
		entry := only[store.AuditEntry](t)(s.AuditEntries(ctx, "", 0))
		if entry.ID == "" || entry.CreatedAt.IsZero() {
			t.Errorf("entry %+v has no id or no time", entry)
		}
		entry.ID, entry.CreatedAt = "", time.Time{}
		if want := (store.AuditEntry{Who: "ann", Action: "plugin.enable", Target: "discord", Detail: "by hand"}); entry != want {
			t.Errorf("got %+v, want %+v", entry, want)
		}
	})
}

// What a caller asks for when it makes something must be what is made.
func TestNewThingsKeepWhatWasAsked(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		parent := newThread(t, s, "parent")

		wanted := filled[pluginsdk.NewThread](t)
		wanted.Kind, wanted.BusyMode, wanted.ParentThreadID = pluginsdk.ThreadCron, pluginsdk.BusySteer, parent.ID
		wanted.Cwd, wanted.OwnDirectory = "/srv/garden", false // it is in place of Cwd
		wanted.Account = addAccount(t, s, "work")
		thread, _, err := s.CreateThread(ctx, wanted)
		check(t, err)
		sameNames(t, wanted, thread, "OwnDirectory")
		same(t, thread, must[pluginsdk.Thread](t)(s.Thread(ctx, thread.ID)))

		newMessage := filled[pluginsdk.NewMessage](t)
		newMessage.Role = pluginsdk.RoleSystem
		appended, err := s.Append(ctx, ledger.Append{ThreadID: parent.ID, Rows: []pluginsdk.NewMessage{newMessage}})
		message := only[pluginsdk.Message](t)(appended.Messages, err)
		sameNames(t, newMessage, message)
		same(t, message, must[pluginsdk.Message](t)(s.Message(ctx, message.ID)))

		first, _, err := s.CreateTask(ctx, ledger.NewTask{Plugin: "maker", NewTask: pluginsdk.NewTask{Prompt: "first"}})
		check(t, err)
		newTask := filled[pluginsdk.NewTask](t)
		newTask.ParentThreadID, newTask.ParentTaskID, newTask.Cwd = parent.ID, first.ID, "/srv/garden"
		newTask.FromTaskID = ""      // it decides whose thread it has
		newTask.OwnDirectory = false // it is in place of Cwd
		newTask.Account = "work"
		task, _, err := s.CreateTask(ctx, ledger.NewTask{Plugin: "maker", Key: "key", NewTask: newTask})
		check(t, err)
		sameNames(t, newTask, task)
		same(t, task, must[pluginsdk.Task](t)(s.Task(ctx, task.ID)))
	})
}

// A field of a patch that is not applied looks to its caller as if it were.
func TestPatchesApplyEveryField(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "patched")
		threadPatch := filled[pluginsdk.ThreadPatch](t)
		status, mode := pluginsdk.ThreadArchived, pluginsdk.BusyCollect
		cwd, account := "/srv/garden", addAccount(t, s, "work")
		threadPatch.Account, threadPatch.EndSession = &account, nil // it has no session; see TestResultIsOneCommit
		threadPatch.Status, threadPatch.BusyMode, threadPatch.Cwd = &status, &mode, &cwd
		updated := must[pluginsdk.Thread](t)(s.UpdateThread(ctx, thread.ID, threadPatch))
		sameNames(t, threadPatch, updated, "EndSession")
		same(t, updated, must[pluginsdk.Thread](t)(s.Thread(ctx, thread.ID)))
	})
}

// sameNames compares the fields that two types both have.
func sameNames(t *testing.T, want, got any, but ...string) {
	t.Helper()
	a, b := reflect.ValueOf(want), reflect.ValueOf(got)
	for i := range a.NumField() {
		name := a.Type().Field(i).Name
		if slices.Contains(but, name) {
			continue
		}
		x, y := reflect.Indirect(a.Field(i)), b.FieldByName(name)
		if !y.IsValid() {
			t.Errorf("%s.%s has no counterpart in %s", a.Type().Name(), name, b.Type().Name())
			continue
		}
		if !reflect.DeepEqual(x.Interface(), y.Interface()) {
			t.Errorf("%s.%s: got %v, want %v", a.Type().Name(), name, y, x)
		}
	}
}

func only[T any](t *testing.T) func(list []T, err error) T {
	return func(list []T, err error) (one T) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if len(list) != 1 {
			t.Fatalf("got %d, want one: %+v", len(list), list)
		}
		return list[0]
	}
}

// A working directory that depends on where the daemon was started is a mistake.
func TestWorkingDirectoryIsAbsolute(t *testing.T) {
	s := storetest.OpenConfig(t, storetest.SQLite(t))
	ctx := context.Background()
	_, _, err := s.CreateThread(ctx, pluginsdk.NewThread{Source: "web", SourceID: "1", Cwd: "relative/../x"})
	wantCode(t, err, pluginsdk.CodeInvalid)
	cwd := "relative"
	_, err = s.UpdateThread(ctx, newThread(t, s, "general").ID, pluginsdk.ThreadPatch{Cwd: &cwd})
	wantCode(t, err, pluginsdk.CodeInvalid)
}
