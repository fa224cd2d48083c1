package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// additions are what a commit of a run adds to what is stored: the effects of
// hooks, then the run's own rows, all with the run's id.
type additions struct {
	threadID string
	effects  []effect
	rows     []pluginsdk.Message
	// careful says that some may be stored already: what is known is looked for first.
	careful bool
}

// errTaken leaves a transaction whose additions are not all new.
var errTaken = errors.New("something is stored under a key of these additions")

// writeWith is writer.do for a write that makes additions. Hardly ever is one of them
// stored already, so nothing is asked first: when it is, the write is made anew, with
// care.
func (s *Store) writeWith(ctx context.Context, how durability, more *additions, f func(context.Context, *tx) error) error {
	err := s.write.do(ctx, how, f)
	if errors.Is(err, errTaken) {
		more.careful = true
		err = s.write.do(ctx, how, f)
	}
	return err
}

// effect is a ledger.Effect as it will be stored.
type effect struct {
	plugin  string
	key     string // of its first row
	metric  string // of its first metric that has none of its own; empty: there is none
	rows    []pluginsdk.Message
	metrics []pluginsdk.Metric
}

// newAdditions checks what a commit of a run adds. A row of the run's own that cannot
// be stored is an error; an effect's is left out: it must not fail a run, and who
// asked the hook should not have let it through.
func (s *Store) newAdditions(threadID, runID string, effects []ledger.Effect, rows []ledger.Row) (additions, error) {
	a := additions{threadID: threadID}
	for _, row := range rows {
		m, err := s.newMessage(origin{threadID: threadID, runID: runID, plugin: row.Plugin}, row.Message)
		if err != nil {
			return additions{}, err
		}
		m.Key = clean(row.Key)
		a.rows = append(a.rows, m)
	}
	for _, one := range effects {
		a.effects = append(a.effects, s.newEffect(threadID, runID, one))
	}
	return a, nil
}

func (s *Store) newEffect(threadID, runID string, from ledger.Effect) effect {
	owner := runID + "/" + from.Plugin
	e := effect{plugin: from.Plugin, key: numbered(owner, from.Key, 0)}
	leaveOut := func(err error) {
		s.config.Log.Warn("an effect of a hook cannot be stored and is left out", "run", runID, "plugin", from.Plugin, "key", from.Key, "err", err)
	}
	for _, row := range from.Rows {
		m, err := s.newMessage(origin{threadID: threadID, runID: runID, plugin: from.Plugin}, row)
		if err != nil {
			leaveOut(err)
			continue
		}
		m.Key = numbered(owner, from.Key, len(e.rows))
		e.rows = append(e.rows, m)
	}
	unnamed := 0
	for i, value := range from.Metrics {
		m, err := s.newMetric(from.Plugin, i, value)
		if err != nil {
			leaveOut(err)
			continue
		}
		if m.Key == "" {
			m.Key = numbered(runID, from.Key, unnamed)
			e.metric, unnamed = cmp.Or(e.metric, m.Key), unnamed+1
		}
		e.metrics = append(e.metrics, m)
	}
	return e
}

// add stores the additions, but for the rows and the effects whose keys are known,
// in a transaction that holds the thread. Ids are those of the rows in their order,
// fresh of those that were stored now. Where the key of a single row of an effect is
// taken, that row is left out: no plugin's row makes a commit of a run fail.
func (s *Store) add(ctx context.Context, t *tx, a additions) (ids, fresh []int64, err error) {
	if len(a.effects) == 0 && len(a.rows) == 0 {
		return nil, nil, nil
	}
	known := knownKeys{make(map[string]int64), make(map[string]bool)}
	// A metric that is known stands in nobody's way when it is stored, and tells nothing.
	careful := a.careful || slices.ContainsFunc(a.effects, func(e effect) bool { return e.metric != "" })
	if careful {
		if known, err = t.known(ctx, a); err != nil {
			return nil, nil, err
		}
	}
	var ofEffects, own []pluginsdk.Message
	var metrics []pluginsdk.Metric
	for _, e := range a.effects {
		if known.effect(e) {
			continue
		}
		known.messages[e.key] = 0 // of two with one key in a commit, the first
		ofEffects, metrics = append(ofEffects, e.rows...), append(metrics, e.metrics...)
	}
	ids = make([]int64, len(a.rows))
	for i, row := range a.rows {
		if ids[i] = known.messages[row.Key]; ids[i] == 0 {
			own = append(own, row)
		}
	}
	sizes := make(storedBytes)
	leftOut, err := t.insertEffects(ctx, ofEffects, sizes)
	if err != nil {
		return nil, nil, err
	}
	if leftOut > 0 && !careful {
		return nil, nil, errTaken
	}
	if leftOut > 0 {
		s.config.Log.Warn("rows of effects are left out: others have their keys", "run", ofEffects[0].RunID, "rows", leftOut)
	}
	own, err = t.insertMessages(ctx, own, sizes)
	if duplicate(err) && !careful {
		return nil, nil, errTaken
	}
	if err != nil {
		return nil, nil, err
	}
	if err := t.insertMetrics(ctx, metrics, sizes); err != nil {
		return nil, nil, err
	}
	for _, m := range own {
		fresh = append(fresh, m.ID)
	}
	for i, next := 0, 0; i < len(ids); i++ {
		if ids[i] == 0 {
			ids[i], next = fresh[next], next+1
		}
	}
	return ids, fresh, t.countStored(ctx, sizes)
}

// knownKeys are those of a commit's that something is stored under: messages with
// their ids, and metrics, as PLUGIN/KEY.
type knownKeys struct {
	messages map[string]int64
	metrics  map[string]bool
}

func (k knownKeys) effect(e effect) bool {
	_, rows := k.messages[e.key]
	return rows || e.metric != "" && k.metrics[e.plugin+"/"+e.metric]
}

// known looks for the keys of all additions in one query.
func (t *tx) known(ctx context.Context, a additions) (knownKeys, error) {
	var keys []string
	for _, e := range a.effects {
		keys = append(keys, e.key)
	}
	for _, row := range a.rows {
		if row.Key != "" {
			keys = append(keys, row.Key)
		}
	}
	known := knownKeys{make(map[string]int64), make(map[string]bool)}
	if len(keys) == 0 {
		return known, nil
	}
	var b strings.Builder
	args := []any{a.threadID}
	for _, key := range keys {
		args = append(args, key)
	}
	b.WriteString("SELECT id, key FROM messages WHERE thread_id = $1 AND key IN (" + parameters(2, len(keys)) + ")")
	union := " UNION ALL SELECT 0, plugin || '/' || key FROM metrics WHERE "
	for _, e := range a.effects {
		if e.metric != "" {
			fmt.Fprintf(&b, "%splugin = $%d AND key = $%d", union, len(args)+1, len(args)+2)
			args, union = append(args, e.plugin, e.metric), " OR "
		}
	}
	rows, err := t.exec.QueryContext(ctx, b.String(), args...)
	if err != nil {
		return knownKeys{}, err
	}
	return known, known.read(rows)
}

func (k knownKeys) read(rows *sql.Rows) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id int64
		var key string
		if err := rows.Scan(&id, &key); err != nil {
			return err
		}
		if id == 0 {
			k.metrics[key] = true
		} else {
			k.messages[key] = id
		}
	}
	return rows.Err()
}

// insertChunk bounds how many messages one statement stores.
const insertChunk = 50

// Carrier says which plugin carries the replies of a source's threads to people;
// false: nobody does, they read the store themselves.
type Carrier func(source string) (plugin string, ok bool)

// SetCarrier says who carries what, from now on; without it nobody carries
// anything. Writes call it: it must be quick, and must not call the store.
func (s *Store) SetCarrier(carrier Carrier) { s.carrier.Store(&carrier) }

func (s *Store) carries(source string) (plugin string, ok bool) {
	if carrier := s.carrier.Load(); carrier != nil && *carrier != nil {
		return (*carrier)(source)
	}
	return "", false
}

// targetHops is how many threads one may pass on its replies through.
const targetHops = 8

// target says where the replies of a thread are carried to: where it says itself,
// else to who carries its source. A task's thread has no people of its own, and what is
// said in a thread that reports to itself stays there.
func (s *Store) target(ctx context.Context, tx *tx, of pluginsdk.Thread) (lane ledger.Lane, carried bool, err error) {
	for range 1 + targetHops {
		switch to := of.ReportTo; {
		case to.ThreadID == of.ID && of.ID != "":
			return ledger.Lane{}, false, nil
		case to.Plugin != "":
			return ledger.Lane{Plugin: to.Plugin, Target: to.Place}, true, nil
		case to.ThreadID == "" && of.Kind == pluginsdk.ThreadTask:
			return ledger.Lane{}, false, nil
		case to.ThreadID == "":
			plugin, ok := s.carries(of.Source)
			return ledger.Lane{Plugin: plugin, Target: of.SourceID}, ok, nil
		}
		if of, err = tx.targetThread(ctx, of.ReportTo.ThreadID); errors.Is(err, sql.ErrNoRows) {
			break // it was deleted by hand
		}
		if err != nil {
			return ledger.Lane{}, false, err
		}
	}
	return ledger.Lane{}, false, nil
}

// targetThread reads what target needs of a thread.
func (t *tx) targetThread(ctx context.Context, id string) (pluginsdk.Thread, error) {
	of := pluginsdk.Thread{ID: id}
	var reportTo string
	err := t.row(ctx, "SELECT kind, source, source_id, report_to FROM threads WHERE id = $1", []any{id},
		&of.Kind, &of.Source, &of.SourceID, &reportTo)
	of.ReportTo = targetOf(reportTo)
	return of, err
}

// addAndDeliver adds the rows, and has those that are new carried to the thread's people.
func (s *Store) addAndDeliver(ctx context.Context, tx *tx, more additions, threadID string, now time.Time) ([]ledger.Lane, error) {
	_, fresh, err := s.add(ctx, tx, more)
	if err != nil || len(fresh) == 0 {
		return nil, err
	}
	of, err := tx.targetThread(ctx, threadID)
	if err != nil {
		return nil, err
	}
	return s.deliver(ctx, tx, of, now, fresh...)
}

// deliver asks for messages to be carried to where the thread's replies go, if
// somebody carries them there, and returns the lane that has them.
func (s *Store) deliver(ctx context.Context, tx *tx, of pluginsdk.Thread, now time.Time, messageIDs ...int64) ([]ledger.Lane, error) {
	if len(messageIDs) == 0 {
		return nil, nil
	}
	lane, carried, err := s.target(ctx, tx, of)
	if err != nil || !carried {
		return nil, err
	}
	for _, messageID := range messageIDs {
		id, err := newID()
		if err != nil {
			return nil, err
		}
		if err := insertDelivery(tx.Delivery, pluginsdk.Delivery{
			ID: id, MessageID: messageID, Plugin: lane.Plugin, Place: lane.Target,
			State: pluginsdk.DeliveryPending, CreatedAt: now,
		}).Exec(ctx); err != nil {
			return nil, err
		}
	}
	return []ledger.Lane{lane}, nil
}
