package outbox

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/lanes"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// storeMax bounds one try to store how an attempt ended.
const storeMax = 10 * time.Second

// reasonMax bounds what is kept of an error's words, in bytes.
const reasonMax = 2000

// attempt is one attempt of a delivery.
type attempt struct {
	reached bool            // a process of the plugin was there to be called
	unknown error           // why the attempt could not be begun
	work    ledger.Outgoing // Found when it was
	receipt pluginsdk.DeliverResponse
	err     error
}

// carry makes one attempt and stores how it ended. Served is false when the plugin does
// not serve, and there is an error when the database did not answer: in both cases
// nothing was attempted, and nothing counted.
func (o *Outbox) carry(to address, id string) (served bool, err error) {
	o.mu.Lock()
	o.underWay[id] = true
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.underWay, id)
	}()
	a := o.try(to.plugin, id)
	if !a.work.Found {
		return a.reached, a.unknown
	}
	o.storeOutcome(a)
	return true, nil
}

// try is the boundary of an attempt: a panic ends it as an error does. The
// attempt is counted once the plugin is known to serve, and before it is
// called.
func (o *Outbox) try(name, id string) (a attempt) {
	err := guard.Call(o.config.Log.With("delivery", id, "plugin", name), "a delivery", func() error {
		plugin := o.plugins.Plugin(name)
		if plugin == nil {
			return nil
		}
		receipt, err := hooks.One(o.work, o.hooks, &hooks.Occasion{}, plugin, hooks.Question[pluginsdk.DeliverRequest, pluginsdk.DeliverResponse]{
			Hook: pluginsdk.HookDeliver, CallID: id, Ask: hooks.Process.Deliver,
			Request: func(call pluginsdk.Call, _ *pluginsdk.PluginInfo) *pluginsdk.DeliverRequest {
				a.reached = true
				if a.work, a.unknown = o.store.BeginDelivery(o.intake, id); !a.work.Found {
					return nil // nothing that the plugin is to blame for
				}
				if a.err = o.hopeless(a.work); a.err != nil {
					return nil
				}
				call.Attempt = a.work.Delivery.Attempt
				return &pluginsdk.DeliverRequest{Call: call, Delivery: a.work.Delivery, Thread: a.work.Thread, Message: a.work.Message, Approval: a.work.Approval}
			},
		})
		if receipt != nil {
			a.receipt = *receipt
		}
		return err
	})
	if err != nil {
		a.err = err
	}
	return a
}

// hopeless is why a delivery is not even tried, if there is a reason.
func (o *Outbox) hopeless(work ledger.Outgoing) error {
	if work.Message.ID == 0 {
		return pluginsdk.Errorf(pluginsdk.CodeNotFound, "the message %d is not stored any more", work.Delivery.MessageID)
	}
	if limit := 2 * o.config.MaxAttempts; work.Delivery.Attempt > limit {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "it was begun %d times and never came to an end", limit)
	}
	return nil
}

// storeOutcome stores how an attempt ended, and tells.
func (o *Outbox) storeOutcome(a attempt) {
	d := a.work.Delivery
	log := o.config.Log.With("delivery", d.ID, "plugin", d.Plugin, "target", d.Place, "attempt", d.Attempt)
	switch {
	case a.err == nil:
		if o.persist(log, func(ctx context.Context) error { return o.store.DeliveryDone(ctx, d.ID, a.receipt.ExternalID) }) {
			log.Info("delivered")
			o.tell(a.work, pluginsdk.DeliveryDelivered, "")
		}
	case o.work.Err() != nil:
		log.Info("delivery was interrupted; it is carried again after the next start", "err", a.err)
	case permanent(a.err), d.Attempt >= o.config.MaxAttempts:
		why := reason(a.err)
		if o.persist(log, func(ctx context.Context) error { return o.store.DeliveryDead(ctx, d.ID, why) }) {
			log.Error("delivery is dead", "err", why)
			o.tell(a.work, pluginsdk.DeliveryDead, why)
		}
	default:
		why, at := reason(a.err), time.Now().Add(o.backoff(d.Attempt))
		if o.persist(log, func(ctx context.Context) error { return o.store.DeliveryRetry(ctx, d.ID, at, why) }) {
			log.Warn("attempt failed; the delivery is tried again", "err", why, "at", at)
			o.tell(a.work, pluginsdk.DeliveryPending, why)
		}
	}
}

// persist stores how an attempt ended, as often as it takes: what is not
// stored is carried again. It gives up only when the outbox must stop.
func (o *Outbox) persist(log *slog.Logger, write func(context.Context) error) bool {
	for {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(o.work), storeMax)
		err := guard.Call(log, "the end of a delivery", func() error { return write(ctx) })
		cancel()
		if err == nil {
			return true
		}
		log.Error("outcome of a delivery cannot be stored; trying again", "err", err)
		timer := time.NewTimer(lanes.FaultPause)
		select {
		case <-timer.C:
		case <-o.work.Done():
			timer.Stop()
			return false
		}
	}
}

func (o *Outbox) tell(work ledger.Outgoing, state pluginsdk.DeliveryState, why string) {
	d := work.Delivery
	o.figures.attempts.Add(1, d.Plugin, string(state))
	o.events.Publish(pluginsdk.EventDelivery, work.Thread.ID, pluginsdk.DeliveryPayload{
		DeliveryID: d.ID, ThreadID: work.Thread.ID, MessageID: d.MessageID, Plugin: d.Plugin,
		State: state, Attempt: d.Attempt, Error: why,
	})
}

// permanent reports whether another attempt cannot help.
func permanent(err error) bool {
	switch pluginsdk.CodeOf(err) { //nolint:exhaustive // the others may pass
	case pluginsdk.CodeInvalid, pluginsdk.CodeNotFound, pluginsdk.CodeDenied, pluginsdk.CodeUnimplemented:
		return true
	}
	return false
}

// reason is an error in words that can be kept.
func reason(err error) string {
	if pluginsdk.CodeOf(err) == pluginsdk.CodeUnimplemented {
		return "the plugin does not carry messages (it has no Deliver): " + err.Error()
	}
	words := err.Error()
	return strings.ToValidUTF8(words[:min(len(words), reasonMax)], "")
}

// backoff is the wait after so many attempts.
func (o *Outbox) backoff(attempts int) time.Duration {
	return guard.Backoff{Base: o.config.RetryBase, Max: o.config.RetryMax, Jitter: o.config.Jitter}.After(attempts)
}
