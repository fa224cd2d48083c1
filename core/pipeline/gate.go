package pipeline

import (
	"context"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// beforeRun is step 1's gate, asked about every message that the run answers.
func (p *Pipeline) beforeRun(ctx context.Context, t *trip) error {
	p.config.Fault("beforeRun", t.run.ID)
	if err := p.mayRun(ctx, t, &t.on, t.message); err != nil {
		return err
	}
	for _, further := range t.absorbed {
		if err := p.mayRun(ctx, t, &t.on, further); err != nil {
			return err
		}
	}
	return nil
}

func (p *Pipeline) mayRun(ctx context.Context, t *trip, on *hooks.Occasion, message pluginsdk.Message) error {
	return hooks.Gate(ctx, p.hooks, on, hooks.Question[pluginsdk.OnBeforeRunRequest, pluginsdk.OnBeforeRunResponse]{
		Hook: pluginsdk.HookBeforeRun, Name: t.callName(pluginsdk.HookBeforeRun, message),
		Ask: func(process hooks.Process, ctx context.Context, request *pluginsdk.OnBeforeRunRequest) (*pluginsdk.OnBeforeRunResponse, error) {
			return verdict(process.OnBeforeRun(ctx, request))
		},
		Request: func(call pluginsdk.Call, _ *pluginsdk.PluginInfo) *pluginsdk.OnBeforeRunRequest {
			return &pluginsdk.OnBeforeRunRequest{Call: call, Thread: t.thread.Thread, Message: message, Run: bare(t.run.Run)}
		},
	}, func(plugin string, answer *pluginsdk.OnBeforeRunResponse) (denied bool, reason string) {
		p.collect(t, plugin, answer.Effects)
		if on == &t.on { // else the agent has been asked already
			t.costCap = lower(t.costCap, answer.CostCapUSD)
			t.reserve(plugin, answer.Reservations)
		}
		return answer.Deny, answer.Reason
	})
}

// reservationsMax bounds how many accounts one answer of a gate names, and accountBytes
// the name of each.
const (
	reservationsMax = 16
	accountBytes    = 200
)

// verdict is the answer of a gate. Amounts that make no sense are an error of the
// plugin's: what it wanted to guard is not known.
func verdict(answer *pluginsdk.OnBeforeRunResponse, err error) (*pluginsdk.OnBeforeRunResponse, error) {
	if err != nil || answer == nil || answer.Deny {
		return answer, err
	}
	if !amount(answer.CostCapUSD) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "its cap of %v USD is no amount", answer.CostCapUSD)
	}
	if n := len(answer.Reservations); n > reservationsMax {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "it reserves in %d accounts; %d are possible", n, reservationsMax)
	}
	for _, r := range answer.Reservations {
		switch {
		case r.Account == "" || len(r.Account) > accountBytes || strings.ContainsRune(r.Account, 0) || !utf8.ValidString(r.Account):
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "it reserves in an account %.40q; a name has 1 to %d bytes of text", r.Account, accountBytes)
		case !amount(r.AmountUSD) || !amount(r.LimitUSD):
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "in the account %q it reserves %v USD, of at most %v, which are no amounts", r.Account, r.AmountUSD, r.LimitUSD)
		}
	}
	return answer, nil
}

// amount reports whether dollars can be counted.
func amount(usd float64) bool { return usd >= 0 && !math.IsInf(usd, 0) }

// reserve keeps what a gate sets aside for the run until 5a: of one account the latest.
func (t *trip) reserve(plugin string, all []pluginsdk.Reservation) {
	for _, r := range all {
		t.reserved = slices.DeleteFunc(t.reserved, func(one ledger.Reservation) bool {
			return one.Plugin == plugin && one.Account == r.Account
		})
		t.reserved = append(t.reserved, ledger.Reservation{Plugin: plugin, Reservation: r})
	}
}
