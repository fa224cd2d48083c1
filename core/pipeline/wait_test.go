package pipeline

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

var free = time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)

// waitsIn is a reservation for which the run waits when there is not that much left.
func waitsIn(account string) pluginsdk.Reservation {
	one := atRest(account, 0.5)
	one.Wait = &pluginsdk.Wait{For: "daily", Until: free}
	return one
}

// wantWait checks that an attempt has its run wait for the budget.
func wantWait(t *testing.T, err error, reason string) {
	t.Helper()
	want := pluginsdk.Parked{Reason: reason, Account: "environment", Plugin: "purser", Budget: "daily", Until: free}
	var failure *pluginsdk.Failure
	if !errors.As(err, &failure) || failure.Parked == nil || *failure.Parked != want {
		t.Errorf("the attempt ends with %v, parked as %+v; want %+v", err, failure, want)
	}
}

// A message for which no money is left is lost to nobody: it waits if its gate says so, whether the gate
// finds it or the account.
func TestADeniedRunWaits(t *testing.T) {
	for what, c := range map[string]struct {
		verdict pluginsdk.OnBeforeRunResponse
		reason  string
	}{
		"the gate's word":    {pluginsdk.OnBeforeRunResponse{Deny: true, Reason: "not today", Wait: &pluginsdk.Wait{For: "daily", Until: free}}, "not today"},
		"the account's room": {pluginsdk.OnBeforeRunResponse{Reservations: []pluginsdk.Reservation{waitsIn("day")}}, "the budget is used up: $1.00 of $1.00"},
	} {
		t.Run(what, func(t *testing.T) {
			b, _ := spending(c.verdict)
			over := ledger.Reservation{Plugin: "purser", Reservation: waitsIn("day")}
			b.store.fail["SaveIntent"] = fmt.Errorf("5a: %w", &ledger.OverLimit{Reservation: over, SpentUSD: 1})
			wantWait(t, b.handle(), c.reason)
			if len(b.store.finishes) != 0 || len(b.agent.requests) != 0 {
				t.Errorf("it ended as %+v, after %d turns", b.store.finishes, len(b.agent.requests))
			}
		})
	}
}

// A run that waits is looked at every hour: nobody's hooks are asked for it while there is no room,
// and it goes on when there is.
func TestARunThatWaitsAsksNoHooksWhileThereIsNoRoom(t *testing.T) {
	b, _ := spending(pluginsdk.OnBeforeRunResponse{Reservations: []pluginsdk.Reservation{waitsIn("day")}})
	b.claim.Run.LastParked = &pluginsdk.Parked{Plugin: "purser", Budget: "daily"}
	b.store.reserved = map[string]float64{"purser/day": 0.97}
	wantWait(t, b.handle(), "the budget is used up: $0.97 of $1.00")
	if lines := b.journal.lines; slices.ContainsFunc(lines, func(line string) bool {
		return strings.Contains(line, "5a") || strings.Contains(line, "OnPipelineStart") || strings.Contains(line, "OnMessage")
	}) || len(b.agent.requests) != 0 {
		t.Errorf("without room it came to %v", lines)
	}
	b.store.reserved["purser/day"] = 0.5
	b.agent.answer = func(_ context.Context, request ledger.AgentRequest, _ func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
		return pluginsdk.InvokeResult{SessionID: request.SessionID, Text: "done"}
	}
	if err := b.handle(); err != nil || len(b.agent.requests) != 1 {
		t.Errorf("with room: %v, %d turns", err, len(b.agent.requests))
	}
}

// A turn that nobody has ever parked pays nothing for those that wait.
func TestAWarmTurnDoesNotLookAtTheAccounts(t *testing.T) {
	b, _ := spending(pluginsdk.OnBeforeRunResponse{Reservations: []pluginsdk.Reservation{waitsIn("day")}})
	b.store.topUp = func() (float64, error) { return 0, errors.New("no") }
	_ = b.handle()
	if slices.Contains(b.journal.lines, "looked at purser/day") {
		t.Errorf("it looked: %v", b.journal.lines)
	}
}

// What a gate cannot mean is its error.
func TestAWaitThatMakesNoSense(t *testing.T) {
	for words, wait := range map[string]pluginsdk.Wait{
		"no text of at most 100 bytes": {For: strings.Repeat("x", 101)},
		"until the year 20000":         {For: "daily", Until: time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		b, _ := spending(pluginsdk.OnBeforeRunResponse{Deny: true, Reason: "no", Wait: &wait})
		if err := b.handle(); err != nil {
			t.Fatal(err)
		}
		if end := b.store.finishes[0]; !strings.Contains(end.Error, words) {
			t.Errorf("it ends as %q", end.Error)
		}
	}
}

// A plugin's message that is merged into a person's run takes nothing from the person: the run waits for both.
func TestAPersonsRunWaitsWhateverIsMergedIntoIt(t *testing.T) {
	denies := pluginsdk.OnBeforeRunResponse{Deny: true, Reason: "not for plugins"}
	waits := pluginsdk.OnBeforeRunResponse{Deny: true, Reason: "not today", Wait: &pluginsdk.Wait{For: "daily", Until: free}}
	for what, answers := range map[string][]pluginsdk.OnBeforeRunResponse{
		"the person's first": {waits, denies},
		"the plugin's first": {denies, waits},
	} {
		t.Run(what, func(t *testing.T) {
			b, _ := spending(pluginsdk.OnBeforeRunResponse{})
			asked := 0
			b.plugins[0].gate = func() (*pluginsdk.OnBeforeRunResponse, error) {
				asked++
				return &answers[asked-1], nil
			}
			b.claim.Absorbed = []pluginsdk.Message{{ID: 8, ThreadID: b.claim.Thread.ID, Role: pluginsdk.RoleUser, Content: "and this"}}
			wantWait(t, b.handle(), "not today")
		})
	}
	b, _ := spending(pluginsdk.OnBeforeRunResponse{})
	with, without := waitsIn("day"), atRest("day", 0.5)
	without.Reason = "denied"
	asked := 0
	b.plugins[0].gate = func() (*pluginsdk.OnBeforeRunResponse, error) {
		asked++
		return &pluginsdk.OnBeforeRunResponse{Reservations: []pluginsdk.Reservation{[]pluginsdk.Reservation{with, without}[asked-1]}}, nil
	}
	b.claim.Absorbed = []pluginsdk.Message{{ID: 8, ThreadID: b.claim.Thread.ID, Role: pluginsdk.RoleUser, Content: "and this"}}
	b.store.topUp = func() (float64, error) { return 0, errors.New("no") }
	_ = b.handle()
	if got := b.store.intents[0].Reservations; len(got) != 1 || got[0].Wait == nil || got[0].Reason != with.Reason {
		t.Errorf("set aside is %+v", got)
	}
}

// Of a budget that others hold at this moment people read that, and not when it begins anew.
func TestWhoWaitsForTurnsAtWorkIsToldSo(t *testing.T) {
	b, _ := spending(pluginsdk.OnBeforeRunResponse{Reservations: []pluginsdk.Reservation{waitsIn("day")}})
	over := ledger.Reservation{Plugin: "purser", Reservation: waitsIn("day")}
	b.store.fail["SaveIntent"] = &ledger.OverLimit{Reservation: over, SpentUSD: 0.5, ReservedUSD: 0.5}
	wantWait(t, b.handle(), "turns at work hold what is left of the budget daily until they end: $0.50 of $1.00 are set aside for them")
}

// The end of an attempt makes room where it has set something aside, and nowhere else: one that was put back for want
// of room does not have others go on that wait for the same.
func TestWhatTheEndOfAnAttemptFrees(t *testing.T) {
	day := []ledger.AccountRef{{Plugin: "purser", Account: "day"}}
	for what, c := range map[string]struct {
		prepare func(b *bench)
		want    ledger.Freed
	}{
		"it is answered": {func(*bench) {}, ledger.Freed{Accounts: day}},
		"it fails": {func(b *bench) {
			b.agent.answer = func(context.Context, ledger.AgentRequest, func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
				return pluginsdk.InvokeResult{Failure: &pluginsdk.Failure{Kind: pluginsdk.FailureAPI, Message: "529", Retryable: true}}
			}
		}, ledger.Freed{Accounts: day}},
		"there is no room": {func(b *bench) {
			over := ledger.Reservation{Plugin: "purser", Reservation: waitsIn("day")}
			b.store.fail["SaveIntent"] = &ledger.OverLimit{Reservation: over, SpentUSD: 0.5, ReservedUSD: 0.5}
		}, ledger.Freed{}},
		"there is no room again": {func(b *bench) {
			b.claim.Run.Attempt = 2
			over := ledger.Reservation{Plugin: "purser", Reservation: waitsIn("day")}
			b.store.fail["SaveIntent"] = &ledger.OverLimit{Reservation: over, SpentUSD: 0.5, ReservedUSD: 0.5}
		}, ledger.Freed{}},
		"an earlier attempt": {func(b *bench) { b.claim.Run.Attempt = 2 }, ledger.Freed{Accounts: day, Unsure: true}},
	} {
		t.Run(what, func(t *testing.T) {
			b, _ := spending(pluginsdk.OnBeforeRunResponse{Reservations: []pluginsdk.Reservation{waitsIn("day")}})
			b.agent.answer = func(_ context.Context, request ledger.AgentRequest, _ func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
				return pluginsdk.InvokeResult{SessionID: request.SessionID, Text: "done"}
			}
			c.prepare(b)
			left, err := b.line.Handle(t.Context(), t.Context(), b.claim)
			if !reflect.DeepEqual(left.Freed, c.want) {
				t.Errorf("it frees %+v, want %+v (%v)", left.Freed, c.want, err)
			}
			var none *ledger.NoRoom
			if errors.As(err, &none) && none.Account != "day" {
				t.Errorf("it waits for room in %q", none.Account)
			}
		})
	}
}
