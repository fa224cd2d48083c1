package approvals

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Who is asked about what is for the thread to say, else for the daemon; and where nobody
// waits nobody is asked.
func TestWhoIsAskedAboutWhat(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for name, row := range map[string]struct {
			config Config
			of     func(*ledger.Asking)
			asked  bool
		}{
			"by default":                       {asked: true},
			"none":                             {config: Config{AskTools: "none"}},
			"others":                           {config: Config{AskTools: "Edit Write"}},
			"this one":                         {config: Config{AskTools: "Edit Bash"}, asked: true},
			"the beginning of its name":        {config: Config{AskTools: "Edit Ba*"}, asked: true},
			"the thread says all":              {config: Config{AskTools: "none"}, of: func(of *ledger.Asking) { of.Thread.AskTools = "all" }, asked: true},
			"the thread says none":             {of: func(of *ledger.Asking) { of.Thread.AskTools = "none" }},
			"a turn":                           {of: func(of *ledger.Asking) { of.Turn = true }},
			"unattended":                       {of: func(of *ledger.Asking) { of.Unattended = true }},
			"a schedule":                       {of: func(of *ledger.Asking) { of.Thread.Kind = pluginsdk.ThreadCron }},
			"unattended, all the same":         {config: Config{AskUnattended: true}, of: func(of *ledger.Asking) { of.Unattended = true }, asked: true},
			"a schedule whose thread says all": {of: func(of *ledger.Asking) { of.Thread.Kind, of.Thread.AskTools = pluginsdk.ThreadCron, "all" }, asked: true},
			"a turn in a thread that says all": {of: func(of *ledger.Asking) { of.Turn, of.Thread.AskTools = true, "all" }},
			"unattended in such a thread":      {of: func(of *ledger.Asking) { of.Unattended, of.Thread.AskTools = true, "all" }},
			"a turn without a thread":          {config: Config{AskUnattended: true}, of: func(of *ledger.Asking) { of.Thread.ID = "" }},
		} {
			t.Run(name, func(t *testing.T) {
				d := newDesk(t, s, row.config)
				of := d.begin(nil)
				if row.of != nil {
					row.of(&of)
				}
				ctx, cancel := context.WithCancel(t.Context())
				answer := d.asking(ctx, of, bash("make"))
				if row.asked {
					d.shown(pluginsdk.ApprovalOpen)
				}
				if !row.asked {
					if got := wait(t, answer); got.Allow || got.Asked || !strings.Contains(got.Words, "not permitted") {
						t.Errorf("answered %+v", got)
					}
				}
				cancel()
			})
		}
	})
}

// A question is carried to the thread's people, else to those of the nearest thread above
// it that somebody carries.
func TestAQuestionIsCarriedToPeople(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newDesk(t, s, Config{})
		top := d.begin(func(n *pluginsdk.NewThread) { n.SourceID = "room" })
		between := d.begin(func(n *pluginsdk.NewThread) { n.Source, n.ParentThreadID = "web", top.Thread.ID })
		worker := d.begin(func(n *pluginsdk.NewThread) {
			n.Source, n.Kind, n.ParentThreadID = "task", pluginsdk.ThreadTask, between.Thread.ID
		})
		alone := d.begin(func(n *pluginsdk.NewThread) { n.Source = "web" })
		for _, row := range []struct {
			of   ledger.Asking
			want int
		}{{top, 1}, {worker, 1}, {alone, 0}} {
			ctx, cancel := context.WithCancel(t.Context())
			answer := d.asking(ctx, row.of, bash("make"))
			approval := d.shown(pluginsdk.ApprovalOpen)
			deliveries, err := s.Deliveries(t.Context(), pluginsdk.DeliveryQuery{Plugin: "chat", Newest: true})
			if err != nil {
				t.Fatal(err)
			}
			carried := 0
			for _, delivery := range deliveries {
				out, err := s.BeginDelivery(t.Context(), delivery.ID)
				if err != nil {
					t.Fatal(err)
				}
				if out.Approval != nil && out.Approval.ID == approval.ID && delivery.Place == "room" {
					carried++
				}
			}
			if carried != row.want {
				t.Errorf("thread of %s: carried %d times", row.of.Thread.Source, carried)
			}
			cancel()
			wait(t, answer)
		}
	})
}

// Who gave the work is told what is asked for it, however deep below it stands; who did not,
// is not.
func TestWhatTasksAskIsFoundFromAbove(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newDesk(t, s, Config{})
		below := func(parent string) ledger.Asking {
			return d.begin(func(n *pluginsdk.NewThread) { n.Kind, n.ParentThreadID = pluginsdk.ThreadTask, parent })
		}
		top, other := d.begin(nil), d.begin(nil)
		between := below(top.Thread.ID)
		beside, deep := below(top.Thread.ID), below(between.Thread.ID)
		asked := make(map[string]ledger.Asking)
		for _, of := range []ledger.Asking{top, between, beside, deep, other} {
			ctx, cancel := context.WithCancel(t.Context())
			answer := d.asking(ctx, of, bash("make"))
			event := <-d.events
			asked[event.ApprovalID] = of
			var above []string
			switch of.RunID {
			case deep.RunID:
				above = []string{between.Thread.ID, top.Thread.ID}
			case between.RunID, beside.RunID:
				above = []string{top.Thread.ID}
			}
			if !slices.Equal(event.AboveThreadIDs, above) {
				t.Errorf("above it are %v; want %v", event.AboveThreadIDs, above)
			}
			cancel()
			wait(t, answer)
		}
		for _, row := range []struct {
			query pluginsdk.ApprovalQuery
			want  []ledger.Asking
		}{
			{pluginsdk.ApprovalQuery{ThreadID: top.Thread.ID, Below: true}, []ledger.Asking{top, between, beside, deep}},
			{pluginsdk.ApprovalQuery{ThreadID: top.Thread.ID}, []ledger.Asking{top}},
			{pluginsdk.ApprovalQuery{ThreadID: between.Thread.ID, Below: true}, []ledger.Asking{between, deep}},
			{pluginsdk.ApprovalQuery{ThreadID: top.Thread.ID, Below: true, RunID: deep.RunID}, []ledger.Asking{deep}},
			{pluginsdk.ApprovalQuery{ThreadID: top.Thread.ID, Below: true, Newest: true, Limit: 2}, []ledger.Asking{deep, beside}},
			{pluginsdk.ApprovalQuery{ThreadID: top.Thread.ID, Below: true, States: []pluginsdk.ApprovalState{pluginsdk.ApprovalOpen}}, []ledger.Asking{top, between, beside, deep}},
			{pluginsdk.ApprovalQuery{ThreadID: "none", Below: true}, nil},
			{pluginsdk.ApprovalQuery{Below: true}, []ledger.Asking{top, between, beside, deep, other}},
		} {
			got, _, err := d.Approvals.Approvals(t.Context(), row.query)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(got, row.want, func(a pluginsdk.Approval, of ledger.Asking) bool { return asked[a.ID].RunID == of.RunID }) {
				t.Errorf("%+v: found %+v", row.query, got)
			}
		}
		if err := d.Over(t.Context(), deep.RunID); err != nil {
			t.Fatal(err)
		}
		if event := <-d.events; event.State != pluginsdk.ApprovalWithdrawn || len(event.AboveThreadIDs) != 2 {
			t.Errorf("at its end: %+v", event)
		}
	})
}
