package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/lanes"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

var errAway = pluginsdk.Errorf(pluginsdk.CodeUnavailable, "connection refused")

// memory is a Store that records its writes.
type memory struct {
	mu   sync.Mutex
	rows []*pluginsdk.Delivery // in the order of their messages
	gone map[int64]bool        // messages that were deleted
	log  []string              // "begin 1", "done 1", ...
	// fail is asked before each write; landed says that it is made all the
	// same, and only its answer is lost.
	fail func(operation, id string) (landed bool, err error)
	find func() error // asked before each read
}

// add makes the delivery of a message, which is called like it.
func (m *memory) add(message int64, plugin, target string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows = append(m.rows, &pluginsdk.Delivery{
		ID: strconv.FormatInt(message, 10), MessageID: message, Plugin: plugin, Place: target, State: pluginsdk.DeliveryPending,
	})
	slices.SortStableFunc(m.rows, func(a, b *pluginsdk.Delivery) int { return int(a.MessageID - b.MessageID) })
}

// trouble makes the writes fail, or no longer.
func (m *memory) trouble(fail func(operation, id string) (landed bool, err error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = fail
}

// edit changes a row as an operator does by SQL.
func (m *memory) edit(id string, change func(*pluginsdk.Delivery)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range m.rows {
		if d.ID == id {
			change(d)
		}
	}
}

func (m *memory) row(id string) (row pluginsdk.Delivery) {
	m.edit(id, func(d *pluginsdk.Delivery) { row = *d })
	return row
}

// writes returns what was written, without what was refused.
func (m *memory) writes() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.log, ", ")
}

func (m *memory) write(operation, id string, change func()) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var landed bool
	var err error
	if m.fail != nil {
		landed, err = m.fail(operation, id)
	}
	if err == nil || landed {
		change()
	}
	if err == nil {
		m.log = append(m.log, strings.TrimSpace(operation+" "+id))
	}
	return err
}

// only changes the row if it is in the state.
func (m *memory) only(id string, state pluginsdk.DeliveryState, change func(*pluginsdk.Delivery)) {
	for _, d := range m.rows {
		if d.ID == id && d.State == state {
			change(d)
		}
	}
}

func (m *memory) RecoverDeliveries(_ context.Context, underWay ...string) (n int, err error) {
	err = m.write("recover", "", func() {
		for _, d := range m.rows {
			if slices.Contains(underWay, d.ID) {
				continue
			}
			m.only(d.ID, pluginsdk.DeliverySending, func(d *pluginsdk.Delivery) { d.State = pluginsdk.DeliveryPending; n++ })
		}
	})
	return n, err
}

func (m *memory) Lanes(context.Context) (lanes []ledger.Lane, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.find != nil {
		if err := m.find(); err != nil {
			return nil, err
		}
	}
	seen := make(map[address]bool)
	for _, d := range m.rows {
		to := address{d.Plugin, d.Place}
		if d.State == pluginsdk.DeliveryPending && !seen[to] {
			seen[to] = true
			lanes = append(lanes, ledger.Lane{Plugin: d.Plugin, Target: d.Place, NotBefore: d.NextAttemptAt})
		}
	}
	return lanes, nil
}

func (m *memory) NextDelivery(_ context.Context, plugin, target string) (ledger.Due, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.find != nil {
		if err := m.find(); err != nil {
			return ledger.Due{}, err
		}
	}
	for _, state := range []pluginsdk.DeliveryState{pluginsdk.DeliverySending, pluginsdk.DeliveryPending} {
		for _, d := range m.rows {
			if d.Plugin == plugin && d.Place == target && d.State == state {
				return ledger.Due{ID: d.ID, NotBefore: d.NextAttemptAt}, nil
			}
		}
	}
	return ledger.Due{}, nil
}

func (m *memory) BeginDelivery(ctx context.Context, id string) (out ledger.Outgoing, err error) {
	if err := ctx.Err(); err != nil {
		return out, err
	}
	err = m.write("begin", id, func() {
		m.only(id, pluginsdk.DeliveryPending, func(d *pluginsdk.Delivery) {
			d.State, d.NextAttemptAt = pluginsdk.DeliverySending, time.Time{}
			d.Attempt++
		})
		m.only(id, pluginsdk.DeliverySending, func(d *pluginsdk.Delivery) {
			out = ledger.Outgoing{Found: true, Delivery: *d}
			if !m.gone[d.MessageID] {
				out.Thread = pluginsdk.Thread{ID: "thread " + d.Place, Source: d.Plugin}
				out.Message = pluginsdk.Message{ID: d.MessageID, ThreadID: out.Thread.ID, Content: "content of " + d.ID}
			}
		})
	})
	if err != nil {
		return ledger.Outgoing{}, err
	}
	return out, nil
}

func (m *memory) DeliveryDone(_ context.Context, id, externalID string) error {
	return m.write("done", id, func() {
		for _, d := range m.rows {
			if d.ID == id {
				d.State, d.ExternalID, d.LastError = pluginsdk.DeliveryDelivered, externalID, ""
			}
		}
	})
}

func (m *memory) DeliveryRetry(_ context.Context, id string, at time.Time, reason string) error {
	return m.write("retry", id, func() {
		m.only(id, pluginsdk.DeliverySending, func(d *pluginsdk.Delivery) {
			d.State, d.NextAttemptAt, d.LastError = pluginsdk.DeliveryPending, at, reason
		})
	})
}

func (m *memory) DeliveryDead(_ context.Context, id, reason string) error {
	return m.write("dead", id, func() {
		m.only(id, pluginsdk.DeliverySending, func(d *pluginsdk.Delivery) {
			d.State, d.LastError = pluginsdk.DeliveryDead, reason
		})
	})
}

func (m *memory) RetryDelivery(_ context.Context, id string) (d pluginsdk.Delivery, err error) {
	err = m.write("again", id, func() {
		m.only(id, pluginsdk.DeliveryDead, func(d *pluginsdk.Delivery) { d.State, d.Attempt = pluginsdk.DeliveryPending, 0 })
		m.only(id, pluginsdk.DeliveryPending, func(d *pluginsdk.Delivery) { d.NextAttemptAt = time.Time{} })
	})
	if d = m.row(id); d.State == pluginsdk.DeliveryDelivered {
		return d, pluginsdk.Errorf(pluginsdk.CodeInvalid, "delivered")
	}
	return d, err
}

// people is the plugins, and what has reached people through them.
type people struct {
	mu      sync.Mutex
	away    map[string]bool
	asked   int // how often one that is away was asked for
	panics  int // how often Do itself is to panic
	got     []*pluginsdk.DeliverRequest
	deliver func(ctx context.Context, request *pluginsdk.DeliverRequest) error // nil: it succeeds
}

func (p *people) Plugin(name string) hooks.Plugin { return &process{people: p, name: name} }

func (p *process) Info() *pluginsdk.PluginInfo { return &pluginsdk.PluginInfo{Name: p.name} }

func (p *process) Do(_ context.Context, _ pluginsdk.Hook, callID string, fn func(hooks.Process) error) error {
	p.mu.Lock()
	away, panics := p.away[p.name], p.panics > 0
	if away {
		p.asked++
	}
	if panics {
		p.panics--
	}
	p.mu.Unlock()
	if panics {
		panic("a bug")
	}
	if away {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s is disabled", p.name)
	}
	p.callID = callID
	return fn(p)
}

func (p *people) set(plugin string, away bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away == nil {
		p.away = make(map[string]bool)
	}
	p.away[plugin] = away
}

// calls returns what the plugins were given, as "id/attempt".
func (p *people) calls() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var calls []string
	for _, request := range p.got {
		calls = append(calls, fmt.Sprintf("%s/%d", request.Delivery.ID, request.Delivery.Attempt))
	}
	return strings.Join(calls, " ")
}

// process is one plugin, as it is asked for one delivery.
type process struct {
	*people
	hooks.Process // what it does not answer
	name          string
	callID        string
}

func (p *process) Deliver(ctx context.Context, request *pluginsdk.DeliverRequest) (*pluginsdk.DeliverResponse, error) {
	call, ok := pluginsdk.CallFrom(ctx)
	if !ok || call.Token != request.Call.Token || call.Deadline != request.Call.Deadline || call.ID != p.callID || request.Call.ID != p.callID {
		return nil, errors.New("the call is not the one that was announced")
	}
	p.mu.Lock()
	p.got = append(p.got, request)
	deliver := p.deliver
	p.mu.Unlock()
	if deliver != nil {
		if err := deliver(ctx, request); err != nil {
			return nil, err
		}
	}
	return &pluginsdk.DeliverResponse{ExternalID: "external " + request.Delivery.ID}, nil
}

// noTokens are for plugins that ask nothing of the host.
type noTokens struct{}

func (noTokens) Open(context.Context, string, ledger.Behalf, time.Time) string { return "token" }

func (noTokens) Close(string) {}

var asked = hooks.New(hooks.Config{}, nil, noTokens{})

// told is the events, as "id state attempt".
type told struct {
	mu     sync.Mutex
	events []string
}

func (e *told) Publish(kind pluginsdk.EventType, threadID string, payload any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	d := payload.(pluginsdk.DeliveryPayload)
	if kind != pluginsdk.EventDelivery || threadID != d.ThreadID || (d.Error == "") != (d.State == pluginsdk.DeliveryDelivered) {
		e.events = append(e.events, fmt.Sprintf("malformed: %s %+v", kind, d))
		return
	}
	e.events = append(e.events, fmt.Sprintf("%s %s %d", d.DeliveryID, d.State, d.Attempt))
}

func (e *told) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(e.events, ", ")
}

// fixture is an outbox between a store and plugins that are made up, in a
// bubble whose clock moves only when everybody waits.
type fixture struct {
	*Outbox
	t      *testing.T
	store  *memory
	people *people
	told   *told
}

func bubble(t *testing.T, config Config, test func(t *testing.T, f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{t: t, store: &memory{}, people: &people{}, told: &told{}}
		f.Outbox = New(config, Doors{Store: f.store, Plugins: f.people, Hooks: asked, Events: f.told})
		test(t, f)
		if f.lanes.Stage() == lanes.Started {
			f.stop()
		}
		if f.lanes.Len() != 0 {
			t.Errorf("%d lanes are left", f.lanes.Len())
		}
	})
}

func (f *fixture) start() {
	f.t.Helper()
	if err := f.Start(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
	synctest.Wait()
}

func (f *fixture) stop() {
	f.t.Helper()
	if err := f.Stop(f.t.Context()); err != nil {
		f.t.Error(err)
	}
}

// restart is what a new daemon does after the old one has stopped.
func (f *fixture) restart() {
	f.t.Helper()
	f.Outbox = New(f.config, Doors{Store: f.store, Plugins: f.people, Hooks: asked, Events: f.told})
	f.start()
}

// send makes a delivery and announces it.
func (f *fixture) send(message int64, plugin, target string) {
	f.store.add(message, plugin, target)
	f.Wake(plugin, target)
	synctest.Wait()
}

// pass lets time go by.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (f *fixture) want(id string, state pluginsdk.DeliveryState, attempt int) {
	f.t.Helper()
	if d := f.store.row(id); d.State != state || d.Attempt != attempt {
		f.t.Errorf("delivery %s is %s after %d attempts (%s), want %s after %d", id, d.State, d.Attempt, d.LastError, state, attempt)
	}
}

func (f *fixture) wantCalls(want string) {
	f.t.Helper()
	if got := f.people.calls(); got != want {
		f.t.Errorf("calls %q, want %q", got, want)
	}
}

func (f *fixture) wantWrites(want string) {
	f.t.Helper()
	if got := f.store.writes(); got != want {
		f.t.Errorf("writes %q, want %q", got, want)
	}
}

// failing fails the first n attempts of a delivery.
func failing(id string, n int, err error) func(context.Context, *pluginsdk.DeliverRequest) error {
	return func(_ context.Context, request *pluginsdk.DeliverRequest) error {
		if request.Delivery.ID == id && request.Delivery.Attempt <= n {
			return err
		}
		return nil
	}
}

// hang never answers: the call ends with its context.
func hang(ctx context.Context, _ *pluginsdk.DeliverRequest) error {
	<-ctx.Done()
	return ctx.Err()
}
