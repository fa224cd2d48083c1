package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"entgo.io/ent/dialect"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// usageTries is how often Usage reads sums that are added to meanwhile, before it leaves them out.
const usageTries = 5

// Usage sums up what turns of the agent have used and cost, in one reading: tokens and costs
// of the total are those of the sums. A turn that several models have answered counts with
// each of them, and once in the total. Turns that are of no task, thread, plugin or scheduled job
// are summed up under the empty name.
//
// Of turns that are rolled up, it reads the sums of whole spans of time and, at both ends, the turns.
func (s *Store) Usage(ctx context.Context, request pluginsdk.UsageRequest) (answer *pluginsdk.UsageResponse, err error) {
	defer func() { err = wrap("sum up usage", err) }()
	grouping, err := s.groupingOf(request)
	if err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		mark := usageMark{}
		if grouping.facet != nil && try < usageTries {
			if mark, err = s.usageMark(ctx); err != nil {
				return nil, err
			}
		}
		answer, is, err := s.sumUsage(ctx, request, grouping, mark)
		if err != nil || is == mark.agentRunID || mark.agentRunID == 0 {
			return answer, err
		}
	}
}

// grouping is how turns are summed up.
type grouping struct {
	of    string // the expression in SQL for the name that a turn is summed up under
	facet *facet // whose sums there are; nil: they are summed up from the turns
	spans []span // of the facet's, those that can be used
	start int    // the name of a sum is so much of its start; 0: its own name
	many  bool   // there may be as many names as turns
}

func (s *Store) groupingOf(request pluginsdk.UsageRequest) (g grouping, err error) {
	switch request.By {
	case "":
		g = grouping{of: "''", facet: &facetAll, spans: facetAll.spans}
	case pluginsdk.UsageByDay:
		g = grouping{of: "substr(" + s.hourOf("a.started_at") + ", 1, 10)", facet: &facetAll, spans: []span{spanDay, spanHour}, start: len(spanDay.layout)}
	case pluginsdk.UsageByHour:
		g = grouping{of: s.hourOf("a.started_at"), facet: &facetAll, spans: []span{spanHour}, start: len(spanHour.layout)}
	default:
		i := slices.IndexFunc(facets, func(f facet) bool { return f.column != "" && f.name == string(request.By) })
		if i < 0 {
			return g, pluginsdk.Errorf(pluginsdk.CodeInvalid,
				"by: %q is not accepted; it is thread, purpose, model, task, plugin, cron, account, day, hour, or nothing", request.By)
		}
		g = grouping{of: "a." + facets[i].column, facet: &facets[i], spans: facets[i].spans, many: len(facets[i].spans) == len(long)}
		if request.By == pluginsdk.UsageByModel {
			g.of = "COALESCE(m.model, a.model)"
		}
	}
	if request.ThreadID == "" {
		return g, nil
	}
	switch request.By { // a thread has only its own sums, and none of hours
	case "", pluginsdk.UsageByThread:
		g.facet, g.spans = &facetThread, facetThread.spans
	case pluginsdk.UsageByDay:
		g.facet, g.spans = &facetThread, []span{spanDay}
	default:
		g.facet = nil
	}
	return g, nil
}

// stretch is a time from one instant on and before another. Zero times do not bound it.
type stretch struct{ since, until time.Time }

// piece is a number of spans that follow each other.
type piece struct {
	span
	stretch
}

// cover divides a time into whole spans, the longest that there are, and what is left at its ends.
func cover(of stretch, spans []span) (whole []piece, ends []stretch) {
	if len(spans) == 0 {
		return nil, []stretch{of}
	}
	longest, shorter := spans[0], spans[1:]
	if longest.name == spanAll.name {
		if of.since.IsZero() && of.until.IsZero() {
			return []piece{{longest, of}}, nil
		}
		return cover(of, shorter)
	}
	inner := of
	if !of.since.IsZero() {
		inner.since = longest.ceil(of.since)
	}
	if !of.until.IsZero() {
		inner.until = longest.floor(of.until)
	}
	if !inner.until.IsZero() && !inner.since.Before(inner.until) {
		return cover(of, shorter)
	}
	whole = []piece{{longest, inner}}
	for _, end := range []stretch{{of.since, inner.since}, {inner.until, of.until}} {
		if end.since.Before(end.until) && !end.since.IsZero() {
			finer, left := cover(end, shorter)
			whole, ends = append(whole, finer...), append(ends, left...)
		}
	}
	return whole, ends
}

// usageQuery is a query that is being written.
type usageQuery struct {
	grouping

	request  pluginsdk.UsageRequest
	postgres bool
	only     string // a query for the names that count; empty: all
	parts    []string
	args     []any
}

// arg adds an argument and returns its placeholder.
func (q *usageQuery) arg(value any) string {
	q.args = append(q.args, value)
	return fmt.Sprintf("$%d", len(q.args))
}

// sumUsage sums up the turns up to a mark from sums, where there are, and the others from turns.
// It returns the mark that the sums had.
func (s *Store) sumUsage(ctx context.Context, request pluginsdk.UsageRequest, g grouping, mark usageMark) (answer *pluginsdk.UsageResponse, is int64, err error) {
	request.Since, request.Until = whenKept(request.Since), whenKept(request.Until)
	text, args := s.usageText(request, g, mark)
	rows, err := s.query.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, rows.Err(), rows.Close()) }()
	answer = &pluginsdk.UsageResponse{}
	for rows.Next() {
		var total bool
		var mark int64
		var sum pluginsdk.UsageSum
		if err := rows.Scan(&total, &mark, &sum.Of, &sum.Turns, &sum.Failed, &sum.Unsure, &sum.Duration, &sum.Usage.InputTokens, &sum.Usage.OutputTokens,
			&sum.Usage.CacheReadTokens, &sum.Usage.CacheWriteTokens, &sum.CostUSD, &sum.NotionalUSD); err != nil {
			return nil, 0, err
		}
		if total {
			answer.Total, is = sum, mark
		} else {
			answer.Sums = append(answer.Sums, sum)
		}
	}
	slices.SortFunc(answer.Sums, func(a, b pluginsdk.UsageSum) int {
		if g.start > 0 {
			return cmp.Compare(b.Of, a.Of)
		}
		return cmp.Or(cmp.Compare(b.CostUSD, a.CostUSD), cmp.Compare(b.Turns, a.Turns), cmp.Compare(a.Of, b.Of))
	})
	return answer, is, nil
}

// whenKept is a time as times are kept; zero stays zero.
func whenKept(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return instant(t)
}

// write writes the parts of the query: without a mark the turns alone.
func (q *usageQuery) write(mark usageMark) {
	of := stretch{q.request.Since, q.request.Until}
	if mark.agentRunID == 0 {
		q.turns(of)
		return
	}
	q.turns(of, "a.id > "+q.arg(mark.agentRunID)) // there are few
	if mark.oldest != "" && !of.since.IsZero() && of.since.Format(spanHour.layout) < mark.oldest {
		of.since = time.Time{} // nothing is in the sums that began before: longer spans can be read
	}
	whole, ends := cover(of, q.spans)
	for _, one := range whole {
		q.sums(one, q.facet.name, "1")
		if q.facet.name == facetModel.name {
			q.sums(one, modelMore, "0")
		}
	}
	for _, one := range ends {
		q.turns(one, q.not("a.id")+" <= "+q.arg(mark.agentRunID))
	}
}

// not is a column that SQLite is not to look for in an index, as it has no idea how many rows
// there are.
func (q *usageQuery) not(column string) string {
	if q.postgres {
		return column
	}
	return "+" + column
}

// turns adds a part of the query: what turns have used that began in a time.
func (q *usageQuery) turns(of stretch, more ...string) {
	conditions, startedAt, threadID, name := more, "a.started_at", "a.thread_id", q.of
	switch {
	case len(more) > 0 && strings.HasPrefix(more[0], "a.id"): // it is by the id that there are few
		startedAt, threadID, name = q.not(startedAt), q.not(threadID), q.not(name)
	case len(more) > 0:
		threadID = q.not(threadID)
	}
	if !of.since.IsZero() {
		conditions = append(conditions, startedAt+" >= "+q.arg(of.since))
	}
	if !of.until.IsZero() {
		conditions = append(conditions, startedAt+" < "+q.arg(of.until))
	}
	if q.request.ThreadID != "" {
		conditions = append(conditions, threadID+" = "+q.arg(q.request.ThreadID))
	}
	if q.only != "" {
		conditions = append(conditions, q.of+" IN "+q.only)
	}
	from, head, part := "agent_runs a", "1", "a."
	if q.request.By == pluginsdk.UsageByModel {
		from, head, part = turnParts, turnHead, ""
	}
	where := ""
	if len(conditions) > 0 {
		where = " WHERE " + strings.Join(conditions, " AND ")
	}
	if q.postgres {
		name = "(" + name + `) COLLATE "C"` // as the names of sums: in the order of their bytes
	}
	q.parts = append(q.parts, "SELECT "+name+" AS name, "+head+` AS head, COUNT(*) AS turns, SUM(CASE WHEN a.success THEN 0 ELSE 1 END) AS failed,
		SUM(CASE WHEN a.cost_unsure THEN 1 ELSE 0 END) AS unsure, SUM(a.duration_ns) AS duration_ns, `+usedOf(part)+" FROM "+from+where+" GROUP BY 1, 2")
}

// A turn that several models have answered has a row for each of them, and is countColumns in the
// total with one of these, its head.
const (
	turnParts = "agent_runs a LEFT JOIN agent_run_models m ON m.agent_run_id = a.id"
	turnHead  = "CASE WHEN m.id IS NULL OR m.id = (SELECT MIN(f.id) FROM agent_run_models f WHERE f.agent_run_id = a.id) THEN 1 ELSE 0 END"
)

// usedOf are the sums of tokens and costs, of turns or of what each model has had of them.
func usedOf(table string) string {
	of := func(column string) string {
		if table == "" {
			return "COALESCE(m." + column + ", a." + column + ")"
		}
		return table + column
	}
	return "SUM(" + of("input_tokens") + ") AS input_tokens, SUM(" + of("output_tokens") + ") AS output_tokens, SUM(" +
		of("cache_read_tokens") + ") AS cache_read_tokens, SUM(" + of("cache_write_tokens") + ") AS cache_write_tokens, SUM(" +
		of("cost_usd") + ") AS cost_usd, SUM(CASE WHEN a.notional THEN " + of("cost_usd") + " ELSE 0 END) AS notional_usd"
}

// sums adds a part of the query: the sums of whole spans, whose turns count in the total as often as
// head says.
func (q *usageQuery) sums(of piece, facet, head string) {
	name := "name"
	if q.start > 0 {
		name = fmt.Sprintf("substr(start, 1, %d)", q.start)
	}
	where := "facet = '" + facet + "' AND span = '" + of.name + "'"
	if !of.since.IsZero() {
		where += " AND start >= " + q.arg(of.since.Format(of.layout))
	}
	if !of.until.IsZero() {
		where += " AND start < " + q.arg(of.until.Format(of.layout))
	}
	if q.request.ThreadID != "" {
		where += " AND name = " + q.arg(q.request.ThreadID)
	}
	if q.only != "" {
		where += " AND name IN " + q.only
	}
	from := "usage_sums"
	if !q.postgres && q.request.ThreadID == "" && q.only == "" {
		from += " NOT INDEXED" // else it goes through the sums of all spans, as these are in the order of their names
	}
	q.parts = append(q.parts, "SELECT "+name+" AS name, "+head+" AS head, "+
		strings.Join(sumColumns, ", ")+" FROM "+from+" WHERE "+where)
}

// countColumns are the first of sumColumns: what several models have had of a turn counts it only once
// in them.
const countColumns = 4

// sumOf are the columns of sums, each summed up.
var sumOf = func() string {
	list := make([]string, len(sumColumns))
	for i, column := range sumColumns {
		list[i] = "SUM(" + column + ") AS " + column
	}
	return strings.Join(list, ", ")
}()

// usageText is the query with its arguments. Of the total and of each sum that is shown it has whether
// it is the total, the mark, the name and the columns of a sum.
func (s *Store) usageText(request pluginsdk.UsageRequest, g grouping, mark usageMark) (text string, args []any) {
	q := &usageQuery{grouping: g, request: request, postgres: s.Dialect() == dialect.Postgres}
	const is = "SELECT true, (SELECT agent_run_id FROM usage_marks WHERE id = 1), '', "
	columns := "\nUNION ALL SELECT false, 0, name, " + strings.Join(sumColumns, ", ") + " FROM ("
	switch {
	case request.By == "":
		return "WITH parts AS (" + q.union(mark) + ") " + is + totalOf("head * ", "") + " FROM parts", q.args
	case g.many && mark.agentRunID > 0:
		// Of many names a few are shown: they are found first, by what tells which, and the total has sums of its own.
		all, shown := pluginsdk.UsageRequest{Since: request.Since, Until: request.Until, ThreadID: request.ThreadID}, *q
		ranked := "SELECT name, SUM(cost_usd) AS cost_usd, SUM(turns) AS turns FROM (" + shown.union(mark) + ") AS parts GROUP BY name" + order(g, request)
		shown.parts, shown.only = nil, "(SELECT name FROM ranked)"
		parts := shown.union(mark)
		total := usageQuery{request: all, postgres: q.postgres, args: shown.args}
		total.grouping, _ = s.groupingOf(all) // it is accepted
		return "WITH ranked AS MATERIALIZED (" + ranked + "),\nwhole AS (" + total.union(mark) + ")\n" + is + totalOf("head * ", "") + " FROM whole" +
			columns + "SELECT name, " + sumOf + " FROM (" + parts + ") AS parts GROUP BY name) AS shown", total.args
	}
	return "WITH parts AS (" + q.union(mark) + "),\nsums AS MATERIALIZED (SELECT name, " + sumOf + ", " + onceOf + " FROM parts GROUP BY name)\n" +
		is + totalOf("", "once_") + " FROM sums" + columns + "SELECT * FROM sums" + order(g, request) + ") AS shown", q.args
}

// union is all parts of the query in one.
func (q *usageQuery) union(mark usageMark) string {
	q.write(mark)
	return strings.Join(q.parts, " UNION ALL ")
}

// order is which sums are shown.
func order(g grouping, request pluginsdk.UsageRequest) string {
	by := "cost_usd DESC, turns DESC, name"
	if g.start > 0 {
		by = "name DESC"
	}
	return " ORDER BY " + by + fmt.Sprintf(" LIMIT %d", page(request.Limit))
}

// onceOf are the columns that count turns, each summed up so that a turn counts once.
var onceOf = func() string {
	list := make([]string, countColumns)
	for i, column := range sumColumns[:countColumns] {
		list[i] = "SUM(head * " + column + ") AS once_" + column
	}
	return strings.Join(list, ", ")
}()

// totalOf are the columns of the total, those that count turns with a factor or under another name.
func totalOf(factor, prefix string) string {
	list := make([]string, len(sumColumns))
	for i, column := range sumColumns {
		if i < countColumns {
			column = factor + prefix + column
		}
		list[i] = "COALESCE(SUM(" + column + "), 0)"
	}
	return strings.Join(list, ", ")
}

func plusUsage(a, b pluginsdk.UsageSum) pluginsdk.UsageSum {
	a.Turns, a.Failed, a.CostUSD, a.Duration = a.Turns+b.Turns, a.Failed+b.Failed, a.CostUSD+b.CostUSD, a.Duration+b.Duration
	a.Unsure, a.NotionalUSD = a.Unsure+b.Unsure, a.NotionalUSD+b.NotionalUSD
	a.Usage.InputTokens += b.Usage.InputTokens
	a.Usage.OutputTokens += b.Usage.OutputTokens
	a.Usage.CacheReadTokens += b.Usage.CacheReadTokens
	a.Usage.CacheWriteTokens += b.Usage.CacheWriteTokens
	return a
}
