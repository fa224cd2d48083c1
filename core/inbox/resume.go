package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Runs that wait for a window of a plan. A parked run is in its queue, and is claimed when it
// is due, as one that is tried again; it has no process and no place, and its attempt does not
// count.

// parkFor parks a run whose turn the plan of its account, or a plugin's gate, does not let through,
// and says so. A turn that a run at work has asked for fails instead: that run has a place, and
// would wait with it for hours.
func (in *Inbox) parkFor(ctx context.Context, log *slog.Logger, w *worker, attempt failed, reason pluginsdk.Parked) {
	claim, runID := attempt.claim, attempt.claim.Run.ID
	people := ledger.ForPeople(claim.Run.Run, claim.Thread.Thread, claim.Fence)
	row := ledger.ParkedRun{RunID: runID, Override: stillSaid(claim.Run.Override)}
	var none *ledger.NoRoom
	soon := errors.As(attempt.cause, &none) && none.Soon
	if reason.Plugin != "" {
		row = in.parkedByGate(claim.Run, reason, soon)
		row.Override = claim.Run.Override // what a person has said of the plan, which was not asked
	} else {
		row.Parked = in.plan.ParkOf(reason, ledger.PlanAsk{Account: reason.Account, People: people, Last: claim.Run.LastParked})
		row.Row = in.parkedRow(runID, reason, row.Parked)
	}
	parked := row.Parked
	bare := attempt.left
	bare.Effects = nil
	if claim.Run.Kind == pluginsdk.RunTurn && in.atWork(claim.Run.CauseRunID) {
		cause := pluginsdk.Errorf(pluginsdk.CodeExhausted, "exhausted: %s What has asked for this turn is at work, and cannot wait for that", parked.Reason)
		log.Warn("a turn is not parked, since a run at work has asked for it", "why", parked.Reason)
		fail := func(left ledger.Left) func() error {
			return func() error { return in.pipeline.Fail(in.work, claim, cause, left) }
		}
		in.conclude(log, w, fail(attempt.left), fail(bare))
		return
	}
	in.park(ctx, log, w, attempt, row)
	if soon {
		account := ledger.AccountRef{Plugin: reason.Plugin, Account: none.Account}
		in.waitForRoom(ctx, log, w, runID, waiter{account: account, since: parked.Since}, attempt.began)
	}
	if reason.Plugin != "" {
		in.missed(ctx, log, w, reason.Plugin, attempt.began)
	}
}

// park parks a run as row says, with what the attempt has left.
func (in *Inbox) park(ctx context.Context, log *slog.Logger, w *worker, attempt failed, row ledger.ParkedRun) {
	claim, parked := attempt.claim, row.Parked
	bare := attempt.left
	bare.Effects = nil
	if claim.Run.QuietNotices() {
		row.Row = nil
	}
	var lanes []ledger.Lane
	park := func(left ledger.Left) func() error {
		return func() (err error) {
			row.Hooks, row.Effects = left.Hooks, left.Effects
			lanes, err = in.store.ParkRun(ctx, claim.Fence, row)
			return err
		}
	}
	log.Info("run is parked", "account", parked.Account, "window", parked.Window, "by", parked.Plugin, "budget", parked.Budget, "until", parked.Until)
	if in.conclude(log, w, park(attempt.left), park(bare)) < 0 {
		return
	}
	for _, lane := range lanes {
		in.outbox.Wake(lane.Plugin, lane.Target)
	}
	in.events.Publish(pluginsdk.EventPipelineParked, claim.Thread.ID, pluginsdk.ParkedPayload{ThreadID: claim.Thread.ID, RunID: row.RunID, Parked: parked, Kind: claim.Run.Kind})
}

// modelUnknown reports whether an attempt has failed since nobody knows the model with which a
// person has had the run go on.
func modelUnknown(run pluginsdk.Run, failure *pluginsdk.Failure) bool {
	if run.Override == nil || run.Override.Model == "" || failure == nil || failure.Kind != pluginsdk.FailureAPI || failure.Retryable {
		return false
	}
	return failure.APIStatus == http.StatusNotFound || failure.APIStatus == 0 && strings.Contains(strings.ToLower(failure.Message), "model")
}

// parkAgain parks a run that a person has had go on with a model that nobody knows, as if they
// had not said so, and tells them. It is due at once: the next attempt finds out until when the
// run waits.
func (in *Inbox) parkAgain(ctx context.Context, log *slog.Logger, w *worker, attempt failed) {
	run, now := attempt.claim.Run, in.config.Now().UTC()
	log.Warn("a parked run has gone on with a model that is not known; it waits again", "model", run.Override.Model, "err", attempt.cause)
	row := notice(fmt.Sprintf("%s%s:model:%s", ledger.ParkedKey, run.ID, run.Override.Model), fmt.Sprintf(
		"There is no model %q. The message waits for the plan again.%s", run.Override.Model, howToGoOn))
	in.park(ctx, log, w, attempt, ledger.ParkedRun{
		RunID: run.ID, Row: row,
		Parked: pluginsdk.Parked{Reason: fmt.Sprintf("The model %q is not known.", run.Override.Model), Account: run.Account, Until: now, Since: now},
	})
}

// stillSaid is what of a person's word on a run holds when it is parked again: that it is to
// go on now with what is paid for was said of then.
func stillSaid(override *pluginsdk.RunOverride) *pluginsdk.RunOverride {
	if override == nil || override.Model == "" {
		return nil
	}
	return &pluginsdk.RunOverride{Model: override.Model}
}

// parkedRow tells the thread's people that a run is parked, once for each time that the window
// opens: it may be parked for that many times.
func (in *Inbox) parkedRow(runID string, reason, parked pluginsdk.Parked) *ledger.Row {
	when := parked.Since
	if reason.Until.After(in.config.Now()) {
		when = reason.Until
	}
	return notice(fmt.Sprintf("%s%s:%s:%d", ledger.ParkedKey, runID, parked.Window, when.Unix()), in.plan.Told(parked)+howToGoOn)
}

// howToGoOn stands behind what people are told of a parked run.
const howToGoOn = " To continue now: /plan go tries the plan again, /plan go MODEL uses another model, " +
	"/plan go fallback uses the account's fallback key, which is billed. To drop the message: /stop"

// notice tells the people of a parked run's thread.
func notice(key, text string) *ledger.Row {
	metadata, _ := json.Marshal(map[string]string{"event": "pipeline_parked"}) //nolint:errchkjson // strings
	return &ledger.Row{Key: key, Message: pluginsdk.NewMessage{
		Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Source: "core", Metadata: metadata, Content: text,
	}}
}

// GoOn has parked runs that are due after later go on when due says, unless that is the zero
// time. people says that people wait for the run.
func (in *Inbox) GoOn(ctx context.Context, later time.Time, due func(parked pluginsdk.Parked, people bool) time.Time) error {
	if err := in.recheckStuck(ctx); err != nil {
		return err
	}
	queues, err := in.store.HastenParked(ctx, later, func(parked pluginsdk.Parked, people bool) time.Time {
		if parked.Plugin != "" { // a gate holds it, no plan
			return time.Time{}
		}
		return due(parked, people)
	})
	for _, queue := range queues {
		in.lanes.Wake(queue)
	}
	if len(queues) > 0 {
		in.config.Log.Info("parked runs go on before their time", "runs", len(queues))
	}
	return err
}

// planned returns the head of a thread's queue if that is parked; the zero Run: it is not.
func (in *Inbox) planned(ctx context.Context, threadID string) (pluginsdk.Run, error) {
	head, err := in.store.FirstQueued(ctx, threadID, pluginsdk.RunQueued)
	if err != nil || head.Parked == nil {
		return pluginsdk.Run{}, err
	}
	return head, nil
}

// ResumeRun has a parked run go on now, as a person says: as it is, with another model, or
// with the fallback of the account that it is parked for. The audit log says who it was.
// CodeStale: it is not parked. CodeInvalid: there is no fallback with a daily limit.
// CodeDenied: the person's right is too little for another model, or for the fallback.
func (in *Inbox) ResumeRun(ctx context.Context, request pluginsdk.ResumeRunRequest, by ledger.By) (pluginsdk.Run, error) {
	if err := in.admitResume(request, by); err != nil {
		return pluginsdk.Run{}, err
	}
	resumed := ledger.ResumedRun{RunID: request.RunID, Override: pluginsdk.RunOverride{Model: request.Model}, Who: by.AuditName()}
	if request.Fallback {
		run, err := in.store.Run(ctx, request.RunID)
		if err != nil {
			return pluginsdk.Run{}, err
		}
		if run.Parked == nil {
			return pluginsdk.Run{}, pluginsdk.Errorf(pluginsdk.CodeStale, "run %s is not parked: it is %s", run.ID, run.State)
		}
		if run.Parked.Plugin != "" {
			return pluginsdk.Run{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "fallback: run %s waits for the budget %s, and a budget counts fallback keys too; raise the budget instead", run.ID, run.Parked.Budget)
		}
		if resumed.Override.Account, err = in.fallbackOf(ctx, run.Parked.Account); err != nil {
			return pluginsdk.Run{}, err
		}
	}
	run, queue, err := in.store.ResumeRun(ctx, resumed)
	if err != nil {
		return pluginsdk.Run{}, err
	}
	in.config.Log.Info("a parked run goes on before its time", "run", run.ID, "thread", run.ThreadID,
		"by", wordsFor(by), "model", request.Model, "account", resumed.Override.Account)
	in.lanes.Wake(queue)
	return run, nil
}

// fallbackOf returns the account of the kind key that an account may be replaced by.
// CodeInvalid: none is set, or it has no daily limit.
func (in *Inbox) fallbackOf(ctx context.Context, name string) (string, error) {
	accounts, err := in.store.Accounts(ctx)
	if err != nil {
		return "", err
	}
	named := func(name string) ledger.Account {
		i := slices.IndexFunc(accounts, func(a ledger.Account) bool { return a.Name == name })
		if i < 0 {
			return ledger.Account{}
		}
		return accounts[i]
	}
	key := named(named(name).Fallback)
	switch {
	case key.Name == "" || key.Kind != pluginsdk.AccountKey:
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "fallback: the account %[1]s has none; set a key with a daily limit: harness account set %[1]s --fallback KEY", name)
	case key.DailyLimitUSD <= 0:
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "fallback: the key %[1]s has no daily limit; set one: harness account set %[1]s --limit 5.00", key.Name)
	}
	return key.Name, nil
}

// planCommand shows what is left of the plans and what waits for it, or has the thread's parked
// run go on now. What a run has caused is no person's word: an agent must not spend a person's
// money.
func (in *Inbox) planCommand(ctx context.Context, thread pluginsdk.Thread, by ledger.By, command typed) (string, error) {
	words := strings.Fields(command.args)
	if len(words) == 0 {
		return in.showPlan(ctx, thread)
	}
	switch {
	case words[0] != "go" || len(words) > 2:
		return "", fmt.Errorf("%q is not understood; say /plan, or /plan go with nothing, a model's name or fallback behind it", command.args)
	case command.caused:
		return "", errors.New("only a person can have a parked message continue, and this command comes from a run; somebody has to type /plan go")
	}
	head, err := in.planned(ctx, thread.ID)
	if err != nil {
		return "", err
	}
	if head.ID == "" {
		return "", errors.New("nothing is parked in this thread")
	}
	request := pluginsdk.ResumeRunRequest{RunID: head.ID}
	how := ""
	if len(words) == 2 {
		if request.Fallback = words[1] == "fallback"; !request.Fallback && meansFallback(words[1]) {
			return "", fmt.Errorf("%q is no model; say /plan go with nothing, a model's name or the word fallback behind it", words[1])
		}
		if how = ", with the fallback of its account"; !request.Fallback {
			request.Model, how = words[1], ", with the model "+words[1]
		}
	}
	if _, err := in.ResumeRun(ctx, request, by); err != nil {
		return "", err
	}
	if waits := head.Parked; waits.Plugin != "" {
		return fmt.Sprintf("It is tried now%s. While the budget %s has no room it goes on waiting; /budget shows what is left.", how, waits.Budget), nil
	}
	return "The message is being answered now" + how + ".", nil
}

// meansFallback reports whether a word is "fallback", mistyped: no model has a name like that.
func meansFallback(word string) bool {
	word = strings.ToLower(word)
	return strings.HasPrefix(word, "fal") || strings.HasSuffix(word, "back")
}

func (in *Inbox) showPlan(ctx context.Context, thread pluginsdk.Thread) (string, error) {
	head, err := in.planned(ctx, thread.ID)
	if err != nil {
		return "", err
	}
	parked, err := in.store.CountParked(ctx)
	if err != nil {
		return "", err
	}
	text := in.plan.Show()
	if head.Parked != nil {
		text += "\n\nThis thread: " + in.told(*head.Parked)
	}
	if parked > 0 {
		text += fmt.Sprintf("\n\nParked in all threads: %d.", parked)
	}
	return text, nil
}
