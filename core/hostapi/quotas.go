package hostapi

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/tally"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// maxEffectRows is how many rows and metrics one hook's effects may have.
const maxEffectRows = 25_000

// AdmitEffects returns what of a hook's effects may be stored with its run, and how many
// bytes they are: the plugin has been granted what they need, each row is one that
// a hook may write, and fits into room, in bytes. When together they pass a quota, none
// is stored. What is left out is counted against the plugin; it is no error of the run.
func (a *API) AdmitEffects(ctx context.Context, plugin string, effects *pluginsdk.Effects, room int) (admitted ledger.Effect, size int) {
	all := len(effects.Rows) + len(effects.Metrics)
	switch {
	case effects.Key == "":
		a.Grants.CountDropped(plugin, all, "effects need a key")
		return ledger.Effect{}, 0
	case checkKey(effects.Key) != nil:
		a.Grants.CountDropped(plugin, all, "effects: "+checkKey(effects.Key).Error())
		return ledger.Effect{}, 0
	case all > maxEffectRows:
		a.Grants.CountDropped(plugin, all, fmt.Sprintf("effects: at most %d rows and metrics at once, these are %d", maxEffectRows, all))
		return ledger.Effect{}, 0
	}
	admitted = ledger.Effect{Plugin: plugin, Key: effects.Key}
	size += a.admitRows(plugin, effects.Rows, room, &admitted)
	size += a.admitMetrics(plugin, effects.Metrics, room-size, &admitted)
	kept := len(admitted.Rows) + len(admitted.Metrics)
	if kept == 0 {
		return ledger.Effect{}, 0
	}
	if err := a.Quotas.Effects(ctx, plugin, kept, int64(size)); err != nil {
		a.Grants.CountDropped(plugin, kept, "effects: "+err.Error())
		return ledger.Effect{}, 0
	}
	return admitted, size
}

// admitRows adds the rows that may be stored, and returns their bytes.
func (a *API) admitRows(plugin string, rows []pluginsdk.NewMessage, room int, to *ledger.Effect) (size int) {
	if len(rows) > 0 && !a.Grants.Granted(plugin, pluginsdk.CapMessagesWrite) {
		a.Grants.CountDropped(plugin, len(rows), "rows of effects: "+lacks(plugin, pluginsdk.CapMessagesWrite).Error())
		return 0
	}
	for n, row := range rows {
		bytes := int(sizeOfRow(row))
		err := row.CheckEffectOf(plugin)
		if err == nil {
			err = a.checkBeside(plugin, row)
		}
		switch {
		case err != nil:
		case bytes > maxRowsBytes:
			err = pluginsdk.Errorf(pluginsdk.CodeExhausted, "at most %d bytes, this has %d", maxRowsBytes, bytes)
		case size+bytes > room:
			err = pluginsdk.Errorf(pluginsdk.CodeExhausted, "the run has no room for %d bytes more", bytes)
		}
		if err != nil {
			a.Grants.CountDropped(plugin, 1, fmt.Sprintf("row %d of effects: %s", n, err))
			continue
		}
		to.Rows = append(to.Rows, row)
		size += bytes
	}
	return size
}

func (a *API) admitMetrics(plugin string, metrics []pluginsdk.NewMetric, room int, to *ledger.Effect) (size int) {
	if len(metrics) > 0 && !a.Grants.Granted(plugin, pluginsdk.CapMetricsWrite) {
		a.Grants.CountDropped(plugin, len(metrics), "metrics of effects: "+lacks(plugin, pluginsdk.CapMetricsWrite).Error())
		return 0
	}
	for n, metric := range metrics {
		bytes := int(sizeOfMetric(metric))
		err := checkTime("at", metric.At)
		switch {
		case err != nil:
		case metric.Name == "":
			err = pluginsdk.Errorf(pluginsdk.CodeInvalid, "name: a metric needs one")
		case size+bytes > room:
			err = pluginsdk.Errorf(pluginsdk.CodeExhausted, "the run has no room for %d bytes more", bytes)
		}
		if err != nil {
			a.Grants.CountDropped(plugin, 1, fmt.Sprintf("metric %d of effects: %s", n, err))
			continue
		}
		to.Metrics = append(to.Metrics, metric)
		size += bytes
	}
	return size
}

// The quotas of a plugin for which its operator has set none. They are far above
// what a plugin of good will needs, a dashboard with a hundred readers included, and
// far below what keeps others waiting or fills a disk unnoticed.
const (
	defaultCallsPerMinute = 60_000
	defaultRowsPerMinute  = 60_000
	defaultBytesPerMinute = 64 << 20
	// DefaultStoredBytes is what a plugin may have stored in all for which its operator
	// has set nothing. Those that come with Harness may have any amount
	// (pluginhost.Quotas): a recorder that is full has not failed.
	DefaultStoredBytes = 1 << 30
)

// DefaultQuotas are those of a plugin for which its operator has set none.
func DefaultQuotas() pluginsdk.PluginLimits {
	return pluginsdk.PluginLimits{
		CallsPerMinute: defaultCallsPerMinute, RowsPerMinute: defaultRowsPerMinute,
		BytesPerMinute: defaultBytesPerMinute, StoredBytes: DefaultStoredBytes,
	}
}

// What a plugin submits may make turns that are paid for, so it is bounded more closely than
// what it calls and stores: by default 600 messages and 16 MiB a minute, and as a part of
// what its operator has set. What comes with Harness brings what people write, and has the
// whole.
const (
	callsPerMessage = 100
	submittedPart   = 4 // of the bytes a minute
)

// How long a reading of what a plugin has stored in all is good: for what it allows,
// and for what it refuses.
const (
	storedGood    = time.Minute
	storedRefuses = time.Second
)

// heldBackEvery is how often the log names a plugin that is held back, at most.
const heldBackEvery = time.Minute

// QuotaConfig is what Quotas need.
type QuotaConfig struct {
	// Limits returns what an operator has set for a plugin. It is asked at each call.
	Limits func(plugin string) pluginsdk.PluginLimits
	// StoredBytes returns how much a plugin has stored in all.
	StoredBytes func(ctx context.Context, plugin string) (int64, error)
	// Shipped reports whether a plugin comes with Harness; nil: none does.
	Shipped func(plugin string) bool
	Log     *slog.Logger
	Now     func() time.Time // default time.Now
}

// Quotas bound what each plugin asks of the core: calls, rows and bytes a minute,
// bytes in all, and its share of the database's writer. A quota for a minute may be
// used up in an instant, and comes back evenly. Its methods may be called
// concurrently.
type Quotas struct {
	config    QuotaConfig
	writers   *places
	searchers *places

	mu       sync.Mutex
	accounts map[string]*account
}

// account is what one plugin has used.
type account struct {
	uploads sync.RWMutex // held while an upload begins, and, by many at once, while one is committed

	mu                 sync.Mutex
	calls, rows, bytes bucket
	messages, said     bucket    // messages submitted, and their bytes
	stored             int64     // in all, as far as is known
	storedAt           time.Time // when that was read; zero: never
	methods            map[string]*tally.Calls
	heldBack           int64
	untold             map[string]int64 // refusals by quota since the last line in the log
	toldAt             time.Time
}

// NewQuotas returns Quotas of which nothing is used.
func NewQuotas(config QuotaConfig) *Quotas {
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Quotas{config: config, writers: newPlaces("writes", writersAtOnce), searchers: newPlaces("searches", searchersAtOnce), accounts: make(map[string]*account)}
}

func (q *Quotas) account(plugin string) *account {
	q.mu.Lock()
	defer q.mu.Unlock()
	a := q.accounts[plugin]
	if a == nil {
		a = &account{methods: make(map[string]*tally.Calls), untold: make(map[string]int64)}
		q.accounts[plugin] = a
	}
	return a
}

// Effects counts what a hook has returned to be stored with its run; CodeExhausted
// when it is too much. It waits for no place at the writer: the run's own commit stores
// it.
func (q *Quotas) Effects(ctx context.Context, plugin string, rows int, bytes int64) error {
	return q.store(ctx, plugin, load{rows: rows, bytes: bytes})
}

// load is what a plugin wants to have stored.
type load struct {
	rows  int
	bytes int64 // of words; 0: it takes no room, as a deletion does
	// replaced returns how many bytes of words go when these come; nil: none. It is
	// asked only when there is no room left.
	replaced func(ctx context.Context) int64
}

// call counts a call of the host.
func (q *Quotas) call(plugin string) error {
	a, now := q.account(plugin), q.config.Now()
	limit := cmp.Or(q.limits(plugin).CallsPerMinute, defaultCallsPerMinute)
	a.mu.Lock()
	wait := a.calls.wait(1, float64(limit), now)
	if wait == 0 {
		a.calls.take(1)
	}
	a.mu.Unlock()
	if wait == 0 {
		return nil
	}
	return q.refuse(a, plugin, "calls a minute", perMinute(plugin, "calls a minute", "--calls-per-minute", int64(limit), now.Add(wait)))
}

// store counts what is about to be stored. What takes no bytes, such as a deletion,
// is allowed whatever is stored already, and so is what replaces as much.
func (q *Quotas) store(ctx context.Context, plugin string, l load) error {
	a, size, grows := q.account(plugin), l.bytes, l.bytes
	if l.bytes > 0 {
		size += int64(l.rows) * ledger.RowBytes
		grows = size
		if limit := cmp.Or(q.limits(plugin).StoredBytes, DefaultStoredBytes); limit > 0 {
			refusal := q.mayKeep(ctx, a, plugin, size, limit)
			if refusal != nil && (l.replaced == nil || l.replaced(ctx) < l.bytes) {
				return q.refuse(a, plugin, "bytes in all", refusal)
			}
			if refusal != nil {
				grows = 0
			}
		}
	}
	if err := q.pace(plugin, l.rows, size); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stored += grows
	return nil
}

// pace counts rows and bytes in the quotas for a minute alone.
func (q *Quotas) pace(plugin string, rows int, size int64) error {
	a, limits, now := q.account(plugin), q.limits(plugin), q.config.Now()
	rowLimit := cmp.Or(limits.RowsPerMinute, defaultRowsPerMinute)
	byteLimit := cmp.Or(limits.BytesPerMinute, defaultBytesPerMinute)
	var rowWait, byteWait time.Duration
	a.mu.Lock()
	if rows > 0 {
		rowWait = a.rows.wait(float64(rows), float64(rowLimit), now)
	}
	if size > 0 {
		byteWait = a.bytes.wait(float64(size), float64(byteLimit), now)
	}
	if rowWait == 0 && byteWait == 0 {
		a.rows.take(float64(rows))
		a.bytes.take(float64(size))
	}
	a.mu.Unlock()
	switch {
	case rowWait > 0 && rowWait >= byteWait:
		return q.refuse(a, plugin, "rows a minute",
			perMinute(plugin, "rows a minute", "--rows-per-minute", int64(rowLimit), now.Add(rowWait)))
	case byteWait > 0:
		return q.refuse(a, plugin, "bytes a minute",
			perMinute(plugin, "bytes a minute", "--bytes-per-minute", byteLimit, now.Add(byteWait)))
	}
	return nil
}

// submit counts a message that goes into a thread's queue.
func (q *Quotas) submit(plugin string, size int64) error {
	a, limits, now := q.account(plugin), q.limits(plugin), q.config.Now()
	calls, bytes := cmp.Or(limits.CallsPerMinute, defaultCallsPerMinute), cmp.Or(limits.BytesPerMinute, defaultBytesPerMinute)
	if q.config.Shipped == nil || !q.config.Shipped(plugin) {
		calls, bytes = part(calls, callsPerMessage), part(bytes, submittedPart)
	}
	a.mu.Lock()
	messageWait, byteWait := a.messages.wait(1, float64(calls), now), a.said.wait(float64(size), float64(bytes), now)
	if messageWait == 0 && byteWait == 0 {
		a.messages.take(1)
		a.said.take(float64(size))
	}
	a.mu.Unlock()
	switch {
	case messageWait > 0 && messageWait >= byteWait:
		return q.refuse(a, plugin, "messages a minute",
			perMinute(plugin, "messages a minute", "--calls-per-minute", int64(calls), now.Add(messageWait)))
	case byteWait > 0:
		return q.refuse(a, plugin, "bytes of messages a minute",
			perMinute(plugin, "bytes of messages a minute", "--bytes-per-minute", bytes, now.Add(byteWait)))
	}
	return nil
}

// part is a part of a limit, and at least 1; no limit stays none.
func part[N int | int64](limit, of N) N {
	if limit < 0 {
		return limit
	}
	return max(limit/of, 1)
}

// mayKeep refuses what would make a plugin keep more than it may. A database that
// does not answer is no reason to refuse anything.
func (q *Quotas) mayKeep(ctx context.Context, a *account, plugin string, size, limit int64) error {
	a.mu.Lock()
	stored, age := a.stored, q.config.Now().Sub(a.storedAt)
	good := !a.storedAt.IsZero() && (age < storedRefuses || age < storedGood && stored+size <= limit)
	a.mu.Unlock()
	if !good {
		read, err := q.config.StoredBytes(ctx, plugin)
		if err != nil {
			q.config.Log.Debug("what a plugin has stored cannot be read; it is let through", "plugin", plugin, "err", err)
			return nil
		}
		a.mu.Lock()
		a.stored, a.storedAt = read, q.config.Now()
		stored = read
		a.mu.Unlock()
	}
	if stored+size <= limit {
		return nil
	}
	return pluginsdk.Errorf(pluginsdk.CodeExhausted,
		"bytes in all: the plugin %s may store %d and has stored %d; try again when some of it is deleted. An operator can allow it more: "+
			"harness plugin limits %s --stored N; or have old records and metrics deleted each day: HARNESS_RETENTION_DAYS",
		plugin, limit, stored, plugin)
}

// refuse counts a refusal, and names the plugin in the log, at most once a minute.
func (q *Quotas) refuse(a *account, plugin, quota string, refusal error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.heldBack++
	a.untold[quota]++
	if now := q.config.Now(); a.toldAt.IsZero() || now.Sub(a.toldAt) >= heldBackEvery {
		var counts []string
		for _, quota := range slices.Sorted(maps.Keys(a.untold)) {
			counts = append(counts, fmt.Sprintf("%s: %d", quota, a.untold[quota]))
		}
		q.config.Log.Warn("a plugin is held back by its quotas", "plugin", plugin, "refused", strings.Join(counts, ", "), "last", refusal)
		a.toldAt = now
		clear(a.untold)
	}
	return refusal
}

func (q *Quotas) limits(plugin string) pluginsdk.PluginLimits {
	if q.config.Limits == nil {
		return pluginsdk.PluginLimits{}
	}
	return q.config.Limits(plugin)
}

func perMinute(plugin, quota, flag string, limit int64, at time.Time) error {
	at = at.Add(time.Second - 1).Truncate(time.Second).UTC() // no earlier
	return pluginsdk.Errorf(pluginsdk.CodeExhausted,
		"%s: the plugin %s has used its %d; try again at %s, or an operator can allow it more: harness plugin limits %s %s N",
		quota, plugin, limit, at.Format(time.RFC3339), plugin, flag)
}

// bucket is a quota for a minute. It begins full, is filled evenly, and holds what a
// minute brings.
type bucket struct {
	left float64
	at   time.Time // of the last look; zero: none
}

// wait says how long until n can be taken, of limit a minute; a negative limit is
// none. What is more than a minute brings is allowed once the bucket is full, and
// leaves a debt.
func (b *bucket) wait(n, limit float64, now time.Time) time.Duration {
	if limit < 0 {
		b.at = time.Time{} // what is used without a limit is no debt once there is one
		return 0
	}
	if b.at.IsZero() {
		b.left = limit
	} else if passed := now.Sub(b.at); passed > 0 {
		b.left += limit * passed.Minutes()
	}
	b.left, b.at = min(b.left, limit), now
	if lacking := min(n, limit) - b.left; lacking > 1e-6 { // rounding is no debt
		return max(time.Duration(lacking/limit*float64(time.Minute)), time.Nanosecond)
	}
	return 0
}

func (b *bucket) take(n float64) { b.left -= n }
