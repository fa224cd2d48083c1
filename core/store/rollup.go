package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"entgo.io/ent/dialect"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// The sums of usage are made of agent_runs, and can be made again: they are in no backup, and
// ent does not know their tables.
//
//   - usage_sums has what turns have used, by what they are summed up by (facet), over a length of
//     time (span): for all time, each month, each day and, where there are few names, each hour
//   - usage_marks has one row: the id up to which the turns are in the sums. Turns with a greater
//     id are summed up from agent_runs, whenever they began. So each turn counts once, at every moment
//
// A turn writes neither table. The epoch changes with each change of turns that are in the sums:
// who has read them before reads them again.

// span is a length of time whose turns have sums of their own.
type span struct {
	name   string
	layout string                    // how the start of one is written, in UTC
	next   func(time.Time) time.Time // the start of the one after it
}

// The spans. A start is the beginning of the start of an hour, as long as the layout.
var (
	spanHour  = span{"hour", "2006-01-02T15", func(t time.Time) time.Time { return t.Add(time.Hour) }}
	spanDay   = span{"day", "2006-01-02", func(t time.Time) time.Time { return t.AddDate(0, 0, 1) }}
	spanMonth = span{"month", "2006-01", func(t time.Time) time.Time { return t.AddDate(0, 1, 0) }}
	spanAll   = span{name: "all"}
)

// floor returns the start of the span that t is in, ceil the first start that is not before t.
func (s span) floor(t time.Time) time.Time {
	at, _ := time.Parse(s.layout, t.UTC().Format(s.layout)) // of years up to 9999
	return at
}

func (s span) ceil(t time.Time) time.Time {
	if at := s.floor(t); at.Before(t) {
		return s.next(at)
	}
	return t
}

// facet is what turns are summed up by.
type facet struct {
	name   string
	column string // of agent_runs; empty: all turns together
	spans  []span // the longest first
}

// Threads and tasks have no sums of hours: there would be about as many as turns.
var (
	long  = []span{spanAll, spanMonth, spanDay}
	short = append(slices.Clone(long), spanHour)

	facetAll    = facet{"all", "", short}
	facetThread = facet{"thread", "thread_id", long}
	facetModel  = facet{"model", "model", short}
	facets      = []facet{
		facetAll, facetThread, {"task", "task_id", long}, {"purpose", "purpose", short}, {"plugin", "plugin", short},
		{"cron", "cron", short}, {"account", "account", short}, facetModel,
	}
)

// modelMore is the facet of what other models than the first have had of turns: those turns
// count with them, and are in the sums of the first already.
const modelMore = "model_more"

// sumColumns are the columns of usage_sums that are added up.
var sumColumns = []string{
	"turns", "failed", "unsure", "duration_ns", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_usd", "notional_usd",
}

// sumKey names a row of usage_sums.
type sumKey struct{ facet, span, start, name string }

func (k sumKey) compare(o sumKey) int {
	return cmp.Or(cmp.Compare(k.facet, o.facet), cmp.Compare(k.span, o.span), cmp.Compare(k.start, o.start), cmp.Compare(k.name, o.name))
}

// usageMark says which turns are in the sums.
type usageMark struct {
	epoch, agentRunID int64
	oldest            string // the start of the hour in which the first of them began
}

func (s *Store) usageMark(ctx context.Context) (mark usageMark, err error) {
	err = row(ctx, s.query, `SELECT epoch, agent_run_id, COALESCE((SELECT MIN(start) FROM usage_sums WHERE facet = 'all' AND span = 'hour'), '')
		FROM usage_marks WHERE id = 1`, nil, &mark.epoch, &mark.agentRunID, &mark.oldest)
	return mark, err
}

// RollUpUsage adds the oldest turns that are not in the sums to them, at most so many, in one
// transaction, and reports whether there are more.
func (s *Store) RollUpUsage(ctx context.Context, most int) (more bool, err error) {
	defer func() { err = wrap("roll up usage", err) }()
	mark, err := s.usageMark(ctx)
	if err != nil {
		return false, err
	}
	newest, err := s.newest(ctx, "agent_runs")
	if err != nil || newest <= mark.agentRunID {
		return false, err
	}
	horizon, err := s.horizon(ctx, "agent_runs")
	if err != nil {
		return false, err
	}
	var n, upTo int64
	err = row(ctx, s.query, `SELECT COUNT(*), COALESCE(MAX(id), 0) FROM
		(SELECT id FROM agent_runs WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3) AS batch`, []any{mark.agentRunID, horizon, most}, &n, &upTo)
	if err != nil || n == 0 {
		return false, err
	}
	sums, err := s.sumTurns(ctx, mark.agentRunID, upTo)
	if err != nil {
		return false, err
	}
	err = s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) error {
		n, err := tx.run(ctx, "UPDATE usage_marks SET agent_run_id = $1 WHERE id = 1 AND epoch = $2 AND agent_run_id = $3", upTo, mark.epoch, mark.agentRunID)
		if err == nil && n == 0 {
			return errMoved
		}
		if err != nil {
			return err
		}
		return tx.addSums(ctx, sums)
	})
	if errors.Is(err, errMoved) {
		return true, nil
	}
	return n == int64(most), err
}

// errMoved says that the mark is elsewhere, or that turns were changed that were read.
var errMoved = errors.New("somebody else rolls up usage too")

// sumTurns sums up the turns after one id, up to another.
func (s *Store) sumTurns(ctx context.Context, after, upTo int64) (sums map[sumKey]pluginsdk.UsageSum, err error) {
	rows, err := s.query.QueryContext(ctx, `SELECT a.id, `+s.hourOf("a.started_at")+`, a.thread_id, a.task_id, a.purpose, a.plugin, a.cron, a.account,
		a.success, a.cost_unsure, a.notional, a.duration_ns, a.input_tokens, a.output_tokens, a.cache_read_tokens, a.cache_write_tokens, a.cost_usd,
		COALESCE(m.model, a.model), COALESCE(m.input_tokens, a.input_tokens), COALESCE(m.output_tokens, a.output_tokens),
		COALESCE(m.cache_read_tokens, a.cache_read_tokens), COALESCE(m.cache_write_tokens, a.cache_write_tokens), COALESCE(m.cost_usd, a.cost_usd)
		FROM agent_runs a LEFT JOIN agent_run_models m ON m.agent_run_id = a.id WHERE a.id > $1 AND a.id <= $2 ORDER BY a.id, m.id`, after, upTo)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Err(), rows.Close()) }()
	sums = make(map[sumKey]pluginsdk.UsageSum)
	for last := int64(0); rows.Next(); {
		turn, err := scanPart(rows)
		if err != nil {
			return nil, err
		}
		turn.addTo(sums, turn.id != last)
		last = turn.id
	}
	return sums, nil
}

// turnPart is a turn, with what one model has had of it.
type turnPart struct {
	id    int64
	hour  string
	names [6]string // thread, task, purpose, plugin, cron, account: as in facets
	model string
	whole pluginsdk.UsageSum // the turn
	part  pluginsdk.UsageSum // the model's
}

func scanPart(rows *sql.Rows) (p turnPart, err error) {
	var success, unsure, notional bool
	whole, part := &p.whole, &p.part
	err = rows.Scan(&p.id, &p.hour, &p.names[0], &p.names[1], &p.names[2], &p.names[3], &p.names[4], &p.names[5],
		&success, &unsure, &notional, &whole.Duration, &whole.Usage.InputTokens, &whole.Usage.OutputTokens,
		&whole.Usage.CacheReadTokens, &whole.Usage.CacheWriteTokens, &whole.CostUSD,
		&p.model, &part.Usage.InputTokens, &part.Usage.OutputTokens, &part.Usage.CacheReadTokens, &part.Usage.CacheWriteTokens, &part.CostUSD)
	whole.Turns, part.Duration = 1, whole.Duration
	if !success {
		whole.Failed = 1
	}
	if unsure {
		whole.Unsure = 1
	}
	if notional {
		whole.NotionalUSD, part.NotionalUSD = whole.CostUSD, part.CostUSD
	}
	part.Turns, part.Failed, part.Unsure = whole.Turns, whole.Failed, whole.Unsure
	return p, err
}

// addTo adds the turn to the sums that it belongs to. first says that it is the turn's first part.
func (p turnPart) addTo(sums map[sumKey]pluginsdk.UsageSum, first bool) {
	add := func(facet string, spans []span, name string, sum pluginsdk.UsageSum) {
		for _, one := range spans {
			key := sumKey{facet, one.name, p.hour[:min(len(p.hour), len(one.layout))], name}
			sums[key] = plusUsage(sums[key], sum)
		}
	}
	if !first {
		add(modelMore, facetModel.spans, p.model, p.part)
		return
	}
	add(facetModel.name, facetModel.spans, p.model, p.part)
	add(facetAll.name, facetAll.spans, "", p.whole)
	for i, name := range p.names {
		add(facets[1+i].name, facets[1+i].spans, name, p.whole)
	}
}

// sumsAtOnce is how many rows of usage_sums one statement adds to.
const sumsAtOnce = 32

// addSums adds to rows of usage_sums, and makes those that are not there.
func (t *tx) addSums(ctx context.Context, sums map[sumKey]pluginsdk.UsageSum) error {
	keys := make([]sumKey, 0, len(sums))
	for key := range sums {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, sumKey.compare)
	for len(keys) > 0 {
		n := sumsAtOnce
		if len(keys) < n {
			n = 1 // there are two statements, and each is prepared once
		}
		args := make([]any, 0, n*14)
		for _, key := range keys[:n] {
			sum := sums[key]
			args = append(args, key.facet, key.span, key.start, key.name, sum.Turns, sum.Failed, sum.Unsure, int64(sum.Duration), sum.Usage.InputTokens,
				sum.Usage.OutputTokens, sum.Usage.CacheReadTokens, sum.Usage.CacheWriteTokens, sum.CostUSD, sum.NotionalUSD)
		}
		if _, err := t.run(ctx, addSums[n], args...); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// addSums are the statements that add to so many rows.
var addSums = map[int]string{1: addSumsOf(1), sumsAtOnce: addSumsOf(sumsAtOnce)}

func addSumsOf(n int) string {
	width := 4 + len(sumColumns)
	values := make([]string, n)
	for i := range values {
		values[i] = "(" + parameters(1+i*width, width) + ")"
	}
	return insertSums + "VALUES " + strings.Join(values, ", ") + mergeSums
}

// insertSums and mergeSums are the beginning and the end of a statement that adds to sums.
var insertSums, mergeSums = func() (string, string) {
	added := make([]string, len(sumColumns))
	for i, column := range sumColumns {
		added[i] = fmt.Sprintf("%s = usage_sums.%s + excluded.%s", column, column, column)
	}
	return "INSERT INTO usage_sums (facet, span, start, name, " + strings.Join(sumColumns, ", ") + ") ",
		" ON CONFLICT (facet, span, start, name) DO UPDATE SET " + strings.Join(added, ", ")
}()

// moveTaskUsage moves what a task that has one above it has used to that one, in the sums: the
// turns themselves are moved in the same transaction, after it.
func (t *tx) moveTaskUsage(ctx context.Context, id any) error {
	const above = "(SELECT k.parent_task_id FROM tasks k WHERE k.id = $1 AND k.parent_task_id <> '')"
	for _, statement := range []string{
		// First the mark: who is rolling up at this moment is waited for, and who does it later reads the turns again.
		"UPDATE usage_marks SET epoch = epoch + 1 WHERE id = 1 AND EXISTS " + above,
		insertSums + "SELECT facet, span, start, " + above + ", " + strings.Join(sumColumns, ", ") +
			" FROM usage_sums WHERE facet = 'task' AND name = $1 AND EXISTS " + above + mergeSums,
		"DELETE FROM usage_sums WHERE facet = 'task' AND name = $1 AND EXISTS " + above,
	} {
		if _, err := t.run(ctx, statement, id); err != nil {
			return err
		}
	}
	return nil
}

// ResetUsage empties the sums of usage: from now on they are made anew. Until then usage is summed
// up from the turns themselves.
func (s *Store) ResetUsage(ctx context.Context) error {
	err := s.write.do(ctx, durable, func(ctx context.Context, tx *tx) error {
		if _, err := tx.run(ctx, "UPDATE usage_marks SET epoch = epoch + 1, agent_run_id = 0 WHERE id = 1"); err != nil {
			return err
		}
		_, err := tx.run(ctx, "DELETE FROM usage_sums") // who reads at this moment sees them whole: no TRUNCATE
		return err
	})
	return wrap("begin the sums of usage anew", err)
}

// UsageRolledUp returns how many turns are in the sums of usage, and how many are not yet.
func (s *Store) UsageRolledUp(ctx context.Context) (in, behind int64, err error) {
	const mark = "(SELECT agent_run_id FROM usage_marks WHERE id = 1)"
	err = row(ctx, s.query, `SELECT COALESCE((SELECT CAST(SUM(turns) AS bigint) FROM usage_sums WHERE facet = 'all' AND span = 'all'), 0),
		(SELECT COUNT(*) FROM agent_runs WHERE id > `+mark+`)`, nil, &in, &behind)
	return in, behind, wrap("look how far usage is rolled up", err)
}

// hourOf is the expression for the start of the hour in which a time lies.
func (s *Store) hourOf(column string) string {
	if s.Dialect() == dialect.Postgres {
		return "to_char(" + column + ` AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24')`
	}
	return "substr(" + column + ", 1, 10) || 'T' || substr(" + column + ", 12, 2)" // stored in UTC, the date first
}

// UsageIntegrity says, in words for people, where the sums of usage are not what the turns in them
// say. It reads all turns.
func (s *Store) UsageIntegrity(ctx context.Context) (problems []string, err error) {
	defer func() { err = wrap("compare the sums of usage with the turns", err) }()
	for range 3 { // what is rolled up meanwhile is in one of the two, and not in the other
		var before, after string
		const mark = "SELECT COALESCE((SELECT CAST(epoch AS text) || '/' || CAST(agent_run_id AS text) FROM usage_marks WHERE id = 1), '')"
		if err := row(ctx, s.query, mark, nil, &before); err != nil {
			return nil, err
		}
		if problems, err = s.usageProblems(ctx); err != nil || len(problems) == 0 {
			return nil, err
		}
		if err := row(ctx, s.query, mark, nil, &after); err != nil {
			return nil, err
		}
		if before == after {
			return problems, nil
		}
	}
	return nil, nil
}

func (s *Store) usageProblems(ctx context.Context) (problems []string, err error) {
	type summed struct {
		turns int64
		usd   float64
	}
	var want summed
	err = row(ctx, s.query, `SELECT COUNT(*), COALESCE(SUM(cost_usd), 0) FROM agent_runs WHERE id <= COALESCE((SELECT agent_run_id FROM usage_marks WHERE id = 1), 0)`,
		nil, &want.turns, &want.usd)
	if err != nil || want.turns == 0 {
		return nil, err
	}
	rows, err := s.query.QueryContext(ctx, "SELECT facet, span, CAST(SUM(turns) AS bigint), SUM(cost_usd) FROM usage_sums GROUP BY facet, span")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Err(), rows.Close()) }()
	found := make(map[[2]string]summed)
	for rows.Next() {
		var of [2]string
		var is summed
		if err := rows.Scan(&of[0], &of[1], &is.turns, &is.usd); err != nil {
			return nil, err
		}
		found[of] = is
	}
	for _, facet := range facets { // also one of which nothing is there
		if facet.name == facetModel.name { // a turn of several models has a part in each
			continue
		}
		for _, span := range facet.spans {
			is := found[[2]string{facet.name, span.name}]
			if is.turns != want.turns || math.Abs(is.usd-want.usd) > 1e-6*max(1, want.usd) {
				problems = append(problems, fmt.Sprintf("the sums of usage of %s by %s have %d turns for $%.4f, and there are %d for $%.4f", span.name, facet.name, is.turns, is.usd, want.turns, want.usd))
			}
		}
	}
	return problems, nil
}
