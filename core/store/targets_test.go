package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func target(plugin, place string) pluginsdk.Target {
	return pluginsdk.Target{Plugin: plugin, Place: place}
}

// People get a reply where they are, or where the thread says; where nobody
// carries, nothing waits for ever to be carried.
func TestRepliesGoWhereTheThreadSays(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		s.SetCarrier(func(source string) (string, bool) {
			return "dis-cord", source == "discord" || source == "relay"
		})
		thread := func(source, id string, kind pluginsdk.ThreadKind, to pluginsdk.Target) string {
			thread, _, err := s.CreateThread(ctx, pluginsdk.NewThread{Source: source, SourceID: id, Kind: kind, ReportTo: to})
			check(t, err)
			return thread.ID
		}
		at := func(id string) pluginsdk.Target { return pluginsdk.Target{ThreadID: id} }
		discord := thread("discord", "channel", "", pluginsdk.Target{})
		passed := discord
		for n := range 8 {
			passed = thread("web", fmt.Sprint("hop ", n), "", at(passed))
		}
		near := passed
		passed = thread("web", "too far away", "", pluginsdk.Target{})
		byHand(t, s, "UPDATE threads SET report_to = 'thread:"+near+"' WHERE id = '"+passed+"'")
		circle := thread("discord", "circle 1", "", pluginsdk.Target{})
		other := thread("web", "circle 2", "", at(circle))
		byHand(t, s, "UPDATE threads SET report_to = 'thread:"+other+"' WHERE id = '"+circle+"'")
		own := thread("discord", "own", "", pluginsdk.Target{})
		byHand(t, s, "UPDATE threads SET report_to = 'thread:"+own+"' WHERE id = '"+own+"'")
		gone := thread("web", "gone", "", pluginsdk.Target{})
		lost := thread("web", "lost", "", at(gone))
		byHand(t, s, "DELETE FROM threads WHERE id = '"+gone+"'")
		for name, test := range map[string]struct {
			thread string
			want   []ledger.Lane
		}{
			"its source":              {discord, []ledger.Lane{{Plugin: "dis-cord", Target: "channel"}}},
			"another source of his":   {thread("relay", "r", "", pluginsdk.Target{}), []ledger.Lane{{Plugin: "dis-cord", Target: "r"}}},
			"nobody carries it":       {thread("web", "page", "", pluginsdk.Target{}), nil},
			"told where":              {thread("web", "told", "", target("mail", "ann@example.org")), []ledger.Lane{{Plugin: "mail", Target: "ann@example.org"}}},
			"told whom":               {thread("discord", "told", "", target("mail", "")), []ledger.Lane{{Plugin: "mail"}}},
			"where another's go":      {thread("web", "follows", "", at(discord)), []ledger.Lane{{Plugin: "dis-cord", Target: "channel"}}},
			"eight threads away":      {near, []ledger.Lane{{Plugin: "dis-cord", Target: "channel"}}},
			"too far away":            {passed, nil},
			"in a circle":             {circle, nil},
			"to itself":               {own, nil},
			"to one that does":        {thread("discord", "to own", "", at(own)), nil},
			"a thread that is gone":   {lost, nil},
			"a task":                  {thread("discord", "task", pluginsdk.ThreadTask, pluginsdk.Target{}), nil},
			"a task that is told":     {thread("task", "told", pluginsdk.ThreadTask, target("mail", "x")), []ledger.Lane{{Plugin: "mail", Target: "x"}}},
			"where a task's would go": {thread("web", "to task", "", at(thread("discord", "task 2", pluginsdk.ThreadTask, pluginsdk.Target{}))), nil},
		} {
			accept(t, s, test.thread, "hello")
			c := claim(t, s, test.thread)
			done := must[ledger.Finished](t)(s.Finish(ctx, c.Fence, ledger.Finish{
				RunID: c.Run.ID, State: pluginsdk.RunSucceeded, Deliver: true,
				Rows: []ledger.Row{{Key: c.Run.ID, Message: text(pluginsdk.RoleAssistant, "hi")}},
			}))
			if !slices.Equal(done.Lanes, test.want) {
				t.Errorf("%s: carried to %+v, want %+v", name, done.Lanes, test.want)
			}
			var lanes []ledger.Lane
			for _, d := range must[[]pluginsdk.Delivery](t)(s.Deliveries(ctx, pluginsdk.DeliveryQuery{Newest: true})) {
				if d.MessageID == done.MessageIDs[0] {
					lanes = append(lanes, ledger.Lane{Plugin: d.Plugin, Target: d.Place})
				}
			}
			if !slices.Equal(lanes, test.want) {
				t.Errorf("%s: deliveries for %+v, want %+v", name, lanes, test.want)
			}
		}
	})
}

func ptr[T any](value T) *T { return &value }

// Nobody carries anything before a daemon says who does.
func TestWithoutACarrierNothingIsCarried(t *testing.T) {
	s := storetest.Open(t)
	thread, _, err := s.CreateThread(t.Context(), pluginsdk.NewThread{Source: "discord", SourceID: "x"})
	check(t, err)
	reply(t, s, thread.ID, "hi")
	if lanes := must[[]ledger.Lane](t)(s.Lanes(t.Context())); len(lanes) != 0 {
		t.Errorf("lanes %+v", lanes)
	}
}

// A notification that a plugin stores reaches a person, once, and what is only a
// record does not.
func TestAppendDelivers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general").ID
		call := ledger.Append{
			ThreadID: thread, Plugin: "cron", Key: "fired", RunID: "R", Deliver: true,
			Rows: []pluginsdk.NewMessage{
				statusRow("fired"), {Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Content: "wake up"},
				{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageSummary, Content: "s"}, text(pluginsdk.RoleSystem, "tea is ready"),
			},
		}
		want := []ledger.Lane{{Plugin: "discord", Target: "general"}}
		first := must[ledger.Appended](t)(s.Append(ctx, call))
		again := must[ledger.Appended](t)(s.Append(ctx, call))
		if !slices.Equal(first.Lanes, want) || !slices.Equal(again.Lanes, want) {
			t.Errorf("lanes %+v, repeated %+v", first.Lanes, again.Lanes)
		}
		var carried []string
		for _, d := range must[[]pluginsdk.Delivery](t)(s.Deliveries(ctx, pluginsdk.DeliveryQuery{})) {
			carried = append(carried, must[pluginsdk.Message](t)(s.Message(ctx, d.MessageID)).Content)
			check(t, s.DeliveryDone(ctx, d.ID, "x"))
		}
		if !slices.Equal(carried, []string{"wake up", "tea is ready"}) {
			t.Errorf("carried %q", carried)
		}
		if done := must[ledger.Appended](t)(s.Append(ctx, call)); len(done.Lanes) != 0 {
			t.Errorf("lanes %+v of what was delivered", done.Lanes)
		}
		if m := first.Messages[1]; m.Plugin != "cron" || m.Source != "cron" || m.RunID != "R" || m.Key != "cron#1/fired" {
			t.Errorf("row %+v", m)
		}
		call.Key, call.Deliver = "quiet", false
		if quiet := must[ledger.Appended](t)(s.Append(ctx, call)); len(quiet.Lanes) != 0 || len(must[[]pluginsdk.Delivery](t)(s.Deliveries(ctx, pluginsdk.DeliveryQuery{}))) != 2 {
			t.Errorf("delivered unasked: %+v", quiet.Lanes)
		}
	})
}

// An answer of the core's own is carried like any other, and somebody is told to.
func TestAnAnsweredCommandIsCarried(t *testing.T) {
	s := storetest.Open(t)
	a := acceptance(newThread(t, s, "general").ID, "key", "/status")
	a.Kind, a.Answer = pluginsdk.RunCommand, &ledger.Answer{Text: "all is well", State: pluginsdk.RunSucceeded}
	accepted := must[ledger.Accepted](t)(s.Accept(t.Context(), a))
	if want := []ledger.Lane{{Plugin: "discord", Target: "general"}}; !slices.Equal(accepted.Lanes, want) {
		t.Errorf("lanes %+v, want %+v", accepted.Lanes, want)
	}
}

// What is sent to a place stands in the thread of the people who are there, and
// reaches the place where they have no thread yet.
func TestTheThreadOfATarget(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		s.SetCarrier(func(source string) (string, bool) {
			return map[string]string{"discord": "discord", "slack": "chat"}[source], source == "discord" || source == "slack"
		})
		notify := func(plugin, place string) (pluginsdk.Thread, ledger.Lane) {
			t.Helper()
			thread := must[pluginsdk.Thread](t)(s.ThreadOfTarget(ctx, plugin, place))
			appended := must[ledger.Appended](t)(s.Append(ctx, ledger.Append{
				ThreadID: thread.ID, Plugin: "cron", Deliver: true, Rows: []pluginsdk.NewMessage{text(pluginsdk.RoleSystem, "wake up")},
			}))
			if len(appended.Lanes) != 1 {
				t.Fatalf("%s:%s: lanes %+v", plugin, place, appended.Lanes)
			}
			return thread, appended.Lanes[0]
		}
		known, _, err := s.CreateThread(ctx, pluginsdk.NewThread{Source: "slack", SourceID: "here"})
		check(t, err)
		check(t, third(s.CreateThread(ctx, pluginsdk.NewThread{Source: "web", SourceID: "here"})))
		if thread, lane := notify("chat", "here"); thread.ID != known.ID || lane != (ledger.Lane{Plugin: "chat", Target: "here"}) {
			t.Errorf("thread %+v, lane %+v", thread, lane)
		}
		for _, to := range []ledger.Lane{{Plugin: "discord", Target: "new"}, {Plugin: "discord"}, {Plugin: "chat", Target: "new"}, {Plugin: "mail", Target: "a@b"}} {
			thread, lane := notify(to.Plugin, to.Target)
			again, _ := notify(to.Plugin, to.Target)
			if lane != to || again.ID != thread.ID || thread.Source != to.Plugin || thread.Kind != pluginsdk.ThreadGeneral {
				t.Errorf("to %+v: thread %+v, then %s; carried to %+v", to, thread, again.ID, lane)
			}
		}
	})
}

// A target that cannot be reached is refused where it is set; one that an operator
// mistyped in SQL is as none.
func TestTargetsAreChecked(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		for name, to := range map[string]pluginsdk.Target{
			"place of nobody":    {Place: "x"},
			"no plugin's name":   {Plugin: "Discord", Place: "x"},
			"two at once":        {Plugin: "discord", ThreadID: thread.ID},
			"no such thread":     {ThreadID: "nope"},
			"not to be stored":   {Plugin: "discord", Place: "a\x00b"},
			"as long as a novel": {Plugin: "discord", Place: fmt.Sprintf("%0600d", 1)},
		} {
			_, _, err := s.CreateThread(ctx, pluginsdk.NewThread{Source: "x", SourceID: name, ReportTo: to})
			for _, err := range []error{err, second(s.UpdateThread(ctx, thread.ID, pluginsdk.ThreadPatch{ReportTo: &to}))} {
				if pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
					t.Errorf("%s: got %v", name, err)
				}
			}
		}
		byHand(t, s, "UPDATE threads SET report_to = 'Some Body'")
		if got := must[pluginsdk.Thread](t)(s.Thread(ctx, thread.ID)); got.ReportTo != (pluginsdk.Target{}) {
			t.Errorf("report to %+v", got.ReportTo)
		}
		reply(t, s, thread.ID, "hi")
		if d := only[pluginsdk.Delivery](t)(s.Deliveries(ctx, pluginsdk.DeliveryQuery{})); d.Plugin != "discord" || d.Place != "general" {
			t.Errorf("delivery %+v", d)
		}
		byHand(t, s, "UPDATE threads SET report_to = 'thread:nope'")
		if problems := must[[]string](t)(s.Integrity(ctx)); !slices.Contains(problems, "1 threads whose replies go to no thread") {
			t.Errorf("problems %q", problems)
		}
	})
}

// Threads whose replies go round among them reach nobody: that is refused where it is
// set, and said of those that an operator has set by SQL.
func TestTargetsThatNeverArrive(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		at := func(id string) pluginsdk.Target { return pluginsdk.Target{ThreadID: id} }
		report := func(id, to string) error {
			return second(s.UpdateThread(ctx, id, pluginsdk.ThreadPatch{ReportTo: ptr(at(to))}))
		}
		clean := must[[]string](t)(s.Integrity(ctx))
		var ids []string
		for n := range 10 {
			ids = append(ids, newThread(t, s, fmt.Sprint("thread ", n)).ID)
		}
		check(t, report(ids[0], ids[1]))
		check(t, report(ids[1], ids[2]))
		for _, from := range ids[:3] {
			if err := report(ids[2], from); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), "never arrive") {
				t.Errorf("a circle: %v", err)
			}
		}
		for n := 9; n > 2; n-- {
			check(t, report(ids[n-1], ids[n]))
		}
		wantCode(t, third(s.CreateThread(ctx, pluginsdk.NewThread{Source: "x", SourceID: "far", ReportTo: at(ids[0])})), pluginsdk.CodeInvalid)
		check(t, third(s.CreateThread(ctx, pluginsdk.NewThread{Source: "x", SourceID: "near", ReportTo: at(ids[2])})))
		if problems := must[[]string](t)(s.Integrity(ctx)); len(problems) != len(clean)+1 { // the first one has nine before it
			t.Errorf("problems %q", problems)
		}
		check(t, second(s.UpdateThread(ctx, ids[0], pluginsdk.ThreadPatch{ReportTo: &pluginsdk.Target{}})))
		byHand(t, s, "UPDATE threads SET report_to = 'thread:"+ids[9]+"' WHERE id = '"+ids[9]+"'") // nobody is meant
		if problems := must[[]string](t)(s.Integrity(ctx)); !slices.Equal(problems, clean) {
			t.Errorf("problems %q of what is well", problems)
		}
		byHand(t, s, "UPDATE threads SET report_to = 'thread:"+ids[8]+"' WHERE id = '"+ids[9]+"'")
		byHand(t, s, "UPDATE threads SET report_to = '' WHERE id = '"+ids[7]+"'")
		problems := must[[]string](t)(s.Integrity(ctx))
		if len(problems) != len(clean)+1 || !strings.Contains(problems[len(problems)-1], ids[8]) {
			t.Errorf("problems %q, want that %s is named", problems, ids[8])
		}
	})
}
