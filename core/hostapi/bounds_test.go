package hostapi

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

func TestPagesAreBoundedInBytes(t *testing.T) {
	large := func(id int64) pluginsdk.Message {
		return pluginsdk.Message{ID: id, Content: strings.Repeat("x", maxPage/2-100)}
	}
	rows := []pluginsdk.Message{large(1), large(2), large(3)}
	if got := page(rows, false, sizeOfMessage); len(got) != 2 || got[0].ID != 1 {
		t.Errorf("%d rows from the front", len(got))
	}
	if got := page(rows, true, sizeOfMessage); len(got) != 2 || got[1].ID != 3 {
		t.Errorf("%d rows from the end", len(got))
	}
	if got := page([]pluginsdk.Message{{Content: strings.Repeat("x", 2*maxPage)}}, false, sizeOfMessage); len(got) != 1 {
		t.Error("a row that is larger than a page is never seen")
	}
	if got := page([]float64{1, math.NaN(), 2}, false, sizeOf); len(got) != 1 {
		t.Errorf("%d, one of which nobody can measure", len(got))
	}
}

// A field that is not counted is one by which a plugin makes a thread unreadable for
// everybody: an answer that is larger than the wire's 16 MiB is never given.
func TestEveryFieldOfARowCounts(t *testing.T) {
	const much = 1000
	fill := strings.Repeat("x", much)
	var row pluginsdk.Message
	none, fields := sizeOfMessage(row), 0
	value := reflect.ValueOf(&row).Elem()
	for n := range value.NumField() {
		value.SetZero()
		switch field := value.Field(n); field.Kind() { //nolint:exhaustive // the others are of fixed length
		case reflect.String:
			field.SetString(fill)
		case reflect.Slice:
			if field.Type().Elem().Kind() == reflect.Uint8 {
				field.SetBytes([]byte(fill))
				break
			}
			row.Attachments = []pluginsdk.Attachment{{Name: fill}, {Type: fill}, {Where: fill}}
			if size := sizeOfMessage(row); size < 3*much {
				t.Errorf("three attachments of %d bytes: %d", much, size)
			}
		default:
			continue
		}
		fields++
		if size := sizeOfMessage(row); size < none+much {
			t.Errorf("%s: %d bytes with it, %d without", value.Type().Field(n).Name, size, none)
		}
	}
	if fields < 11 {
		t.Errorf("%d fields were looked at", fields)
	}
}

// What stands beside a row's words has no business to be long, and would be in every
// list that the row is in.
func TestWhatStandsBesideARowsWordsIsBounded(t *testing.T) {
	record := pluginsdk.NewMessage{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Content: "x"}
	good := record
	good.Model, good.Metadata = strings.Repeat("m", maxWord), []byte(`{"x":"`+strings.Repeat("x", 1000)+`"}`)
	good.Attachments = []pluginsdk.Attachment{{Name: strings.Repeat("n", maxAttachments/2)}}
	f := newFixture(pluginsdk.CapMessagesWrite)
	if err := f.append(t.Context(), "mine", good); err != nil {
		t.Fatal(err)
	}
	f.store.rows = nil
	for field, change := range map[string]func(*pluginsdk.NewMessage){
		"model":    func(m *pluginsdk.NewMessage) { m.Model = strings.Repeat("m", maxWord+1) },
		"source":   func(m *pluginsdk.NewMessage) { m.Source = strings.Repeat("s", maxWord+1) },
		"metadata": func(m *pluginsdk.NewMessage) { m.Metadata = []byte(`{"x":"` + strings.Repeat("x", maxMetadata) + `"}`) },
		"attachments": func(m *pluginsdk.NewMessage) {
			m.Attachments = slices.Repeat([]pluginsdk.Attachment{{Name: strings.Repeat("n", maxAttachments/2), Where: "w"}}, 2)
		},
	} {
		row := good
		change(&row)
		refused(t, field, f.append(t.Context(), "mine", record, row), pluginsdk.CodeInvalid, "messages[1]: "+field+": at most")
		charges = nil
		admitted, _ := f.api.AdmitEffects(t.Context(), "p", &pluginsdk.Effects{Key: "k", Rows: []pluginsdk.NewMessage{record, row}}, 8<<20)
		if len(admitted.Rows) != 1 || len(charges) != 1 || !strings.Contains(charges[0], "p 1 row 1 of effects: "+field+": at most") {
			t.Errorf("%s of an effect: %d rows, charged %q", field, len(admitted.Rows), charges)
		}
	}
	charges = nil
	large := record
	large.Content = strings.Repeat("x", maxRowsBytes+1)
	admitted, _ := f.api.AdmitEffects(t.Context(), "p", &pluginsdk.Effects{Key: "k", Rows: []pluginsdk.NewMessage{large, record}}, 8<<20)
	if len(admitted.Rows) != 1 || len(charges) != 1 {
		t.Errorf("a row of an effect that is too large: %d rows, charged %q", len(admitted.Rows), charges)
	}
	if len(f.store.rows) > 0 {
		t.Errorf("stored %+v", f.store.rows)
	}
}

// However much there is, and whoever put it there, everybody's lists can be read.
func TestEveryListFitsIntoAnAnswer(t *testing.T) {
	f, ctx := newFixture(), t.Context()
	f.store.long = strings.Repeat("x", 1<<20)
	clear(f.store.threads)
	for n := range 20 {
		id := fmt.Sprint("T", n)
		f.store.threads[id] = pluginsdk.Thread{ID: id, Instructions: f.store.long}
		f.store.made = append(f.store.made, pluginsdk.Task{Prompt: f.store.long})
		f.store.listed = append(f.store.listed, pluginsdk.Message{Attachments: []pluginsdk.Attachment{{Name: f.store.long}}})
	}
	threads, err := f.Threads.List(ctx, &pluginsdk.ListThreadsRequest{})
	bounded(t, "threads", threads.Threads, err)
	messages, err := f.Messages.List(ctx, &pluginsdk.ListMessagesRequest{})
	bounded(t, "messages", messages.Messages, err)
	runs, err := f.Runs.List(ctx, &pluginsdk.ListRunsRequest{})
	bounded(t, "runs", runs.Runs, err)
	tasks, err := f.Tasks.List(ctx, &pluginsdk.ListTasksRequest{})
	bounded(t, "tasks", tasks.Tasks, err)
	deliveries, err := f.Deliveries.List(ctx, &pluginsdk.ListDeliveriesRequest{})
	bounded(t, "deliveries", deliveries.Deliveries, err)
	metrics, err := f.Metrics.Query(ctx, &pluginsdk.QueryMetricsRequest{})
	bounded(t, "metrics", metrics.Metrics, err)
	f.events.data = json.RawMessage(f.store.long)
	events, err := f.Events.List(ctx, &pluginsdk.ListEventsRequest{After: pluginsdk.Position{Boot: "b", Seq: 7}, Limit: 20})
	bounded(t, "events", events.Events, err)
	if want := (pluginsdk.Position{Boot: "b", Seq: 7 + uint64(len(events.Events))}); events.Next != want {
		t.Errorf("the events go on after %v, want %v: those between are lost", events.Next, want)
	}
}

// Whoever reads a task's history page by page reads all of it, however much was said.
func TestTheHistoryOfATaskIsReadInPages(t *testing.T) {
	f := newFixture()
	for n := range 20 {
		f.room.said = append(f.room.said, pluginsdk.TaskAnswer{ID: int64(n + 1), Feedback: strings.Repeat("x", 1<<20)})
	}
	var ids []int64
	request := &pluginsdk.TaskHistoryRequest{ID: "K", Limit: 5}
	for more := true; more; request.Limit = 0 {
		got, err := f.Tasks.History(t.Context(), request)
		if err != nil || len(got.Answers) == 0 || len(got.Answers) > 8 || len(got.Iterations) != 1 || request.Limit > 0 && len(got.Answers) != request.Limit {
			t.Fatalf("a page of %d answers, %v", len(got.Answers), err)
		}
		for _, answer := range got.Answers {
			ids = append(ids, answer.ID)
		}
		more, request.After = got.More, ids[len(ids)-1]
	}
	if len(ids) != 20 || !slices.IsSorted(ids) || ids[19] != 20 {
		t.Errorf("read are %d", ids)
	}
}

func bounded[T any](t *testing.T, what string, rows []T, err error) {
	t.Helper()
	if err != nil || len(rows) < 7 || len(rows) > 8 {
		t.Errorf("%s: %d of 20 rows with 1 MiB each, %v", what, len(rows), err)
	}
}

// A job that does not fit into an answer would keep whoever schedules from reading any.
func TestScheduledJobsAreBounded(t *testing.T) {
	f, ctx := newFixture(), t.Context()
	save := func(change func(*pluginsdk.CronSpec)) error {
		spec := pluginsdk.CronSpec{Name: "job", Schedule: "* * * * *", Prompt: "do it"}
		change(&spec)
		return second(f.Crons.Save(ctx, &pluginsdk.SaveCronRequest{Spec: spec}))
	}
	for field, change := range map[string]func(*pluginsdk.CronSpec){
		"name":     func(s *pluginsdk.CronSpec) { s.Name = strings.Repeat("n", maxCronName+1) },
		"schedule": func(s *pluginsdk.CronSpec) { s.Schedule = strings.Repeat("*", maxCronSchedule+1) },
		"prompt":   func(s *pluginsdk.CronSpec) { s.Prompt = strings.Repeat("p", maxCronPrompt+1) },
		"threadId": func(s *pluginsdk.CronSpec) { s.ThreadID = strings.Repeat("t", maxCronPlace+1) },
		"reportTo": func(s *pluginsdk.CronSpec) { s.ReportTo.Place = strings.Repeat("t", maxCronPlace+1) },
	} {
		refused(t, field, save(change), pluginsdk.CodeInvalid, field+": at most")
	}
	report := pluginsdk.CronStatus{LastResult: strings.Repeat("r", maxCronResult+1)}
	refused(t, "result", second(f.Crons.Report(ctx, &pluginsdk.ReportCronRequest{Name: "job", Status: report})), pluginsdk.CodeInvalid, "lastResult: at most")
}

func TestATaskIsBounded(t *testing.T) {
	f := newFixture(pluginsdk.CapTasksWrite)
	for field, task := range map[string]pluginsdk.NewTask{
		// With the context that plugins may give it, it would be no message any more, and the
		// task would never begin.
		"prompt":          {Prompt: strings.Repeat("p", maxTaskText-256<<10)},
		"originalMessage": {OriginalMessage: strings.Repeat("p", maxTaskText+1)},
		"allowedTools":    {AllowedTools: slices.Repeat([]string{strings.Repeat("t", 1024)}, 17)},
		"labels":          {Labels: map[string]string{"a": strings.Repeat("l", maxTaskLabels)}},
		"requestedBy":     {RequestedBy: strings.Repeat("r", maxTaskRequester+1)},
		"costCapUsd":      {CostCapUSD: math.Inf(1)},
	} {
		refused(t, field, second(f.Tasks.Create(t.Context(), &pluginsdk.CreateTaskRequest{Task: task})), pluginsdk.CodeInvalid, field+": ")
	}
	if len(f.room.tasks) > 0 {
		t.Errorf("%d tasks were made", len(f.room.tasks))
	}
}

// What the core answers at once is in no queue: one that asks it again and again would
// fill the disk. A person's message is still in no quota.
func TestCommandsThatAreAnsweredAtOnceCount(t *testing.T) {
	f := newFixture(pluginsdk.CapMessagesSubmit)
	say := func(s pluginsdk.Submission) error {
		return second(f.Messages.Submit(t.Context(), &pluginsdk.SubmitMessageRequest{Submission: s}))
	}
	long := strings.Repeat("x", atOnceMost)
	refused(t, "a long one", say(pluginsdk.Submission{Content: "/nosuch " + long}), pluginsdk.CodeInvalid, "content: ", "16384", "without the slash")
	refused(t, "with much", say(pluginsdk.Submission{Content: "/nosuch", Metadata: []byte(`{"x":"` + long + `"}`)}), pluginsdk.CodeInvalid, "metadata", "16384")
	f.limits.RowsPerMinute = 6
	for range 3 {
		if err := say(pluginsdk.Submission{Content: "/help"}); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, "a fourth", say(pluginsdk.Submission{Content: "/help"}), pluginsdk.CodeExhausted, "rows a minute")
	f.clock = f.clock.Add(time.Hour)
	f.limits.RowsPerMinute, f.limits.BytesPerMinute = 0, 40<<10
	for n := range 3 {
		err := say(pluginsdk.Submission{Content: "/nosuch " + long[:10<<10]})
		if n < 2 && err != nil {
			t.Fatal(err)
		} else if n == 2 {
			refused(t, "many bytes", err, pluginsdk.CodeExhausted, "bytes a minute")
		}
	}
	if err := say(pluginsdk.Submission{Content: strings.Repeat("hello ", 10_000)}); err != nil {
		t.Fatalf("a message has a quota of its own: %v", err)
	}
	if got := len(f.inbox.submissions); got != 6 {
		t.Errorf("%d were submitted", got)
	}
}

// Events are stored nowhere, and still one who publishes whatever it can drives those
// of everybody else out of the ring.
func TestEventsCountInTheBytesAMinute(t *testing.T) {
	f := newFixture()
	f.limits.BytesPerMinute, f.limits.StoredBytes, f.stored["p"] = 1000, 1, 2
	publish := func(kind pluginsdk.EventType, size int) error {
		return second(f.Events.Publish(t.Context(), &pluginsdk.PublishEventRequest{
			Type: kind, Data: []byte(`"` + strings.Repeat("x", size-2) + `"`),
		}))
	}
	if err := publish("p:x", 900); err != nil {
		t.Fatal(err)
	}
	refused(t, "more", publish("p:x", 200), pluginsdk.CodeExhausted, "bytes a minute", "--bytes-per-minute N")
	refused(t, "a long name", publish(pluginsdk.EventType("p:"+strings.Repeat("x", maxEventType)), 10), pluginsdk.CodeInvalid, "type: at most")
	if len(f.events.kinds) != 1 {
		t.Errorf("published %d", len(f.events.kinds))
	}
}

// A plugin that keeps where it is in its state must be able to go on when there is no
// room left, or it begins anew again and again.
func TestStateIsOverwrittenWithoutRoom(t *testing.T) {
	f := newFixture()
	f.limits.StoredBytes, f.stored["p"], f.store.long = 1000, 2000, strings.Repeat("v", 100)
	put := func(size int) error {
		return second(f.State.Put(t.Context(), &pluginsdk.PutStateRequest{Key: "k", Value: make([]byte, size)}))
	}
	for _, size := range []int{100, 50} {
		if err := put(size); err != nil {
			t.Errorf("%d bytes in place of 100: %v", size, err)
		}
	}
	refused(t, "101 bytes in place of 100", put(101), pluginsdk.CodeExhausted, "bytes in all", "--stored N", "HARNESS_RETENTION_DAYS")
	f.limits.RowsPerMinute = 1
	if err := put(100); err != nil {
		t.Error(err)
	}
	refused(t, "too many a minute", put(100), pluginsdk.CodeExhausted, "rows a minute")
	if len(f.store.writes) != 3 {
		t.Errorf("%d writes", len(f.store.writes))
	}
}

// What makes room is not refused to one that has stored too much in this minute.
func TestADeletionIsNotPutOff(t *testing.T) {
	f := newFixture()
	f.limits.BytesPerMinute = 1000
	if err := f.append(t.Context(), "mine", pluginsdk.NewMessage{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Content: strings.Repeat("x", 5000)}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.State.Delete(t.Context(), &pluginsdk.DeleteStateRequest{Key: "k"}); err != nil {
		t.Error(err)
	}
}
