package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"entgo.io/ent/dialect"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// usageOf is the expression that turns are summed up by.
func (s *Store) usageOf(by pluginsdk.UsageBy) (string, error) {
	switch by {
	case "":
		return "''", nil
	case pluginsdk.UsageByThread:
		return "thread_id", nil
	case pluginsdk.UsageByPurpose, pluginsdk.UsageByModel, pluginsdk.UsageByPlugin, pluginsdk.UsageByAccount:
		return string(by), nil
	case pluginsdk.UsageByTask:
		return "task_id", nil
	case pluginsdk.UsageByDay:
		if s.Dialect() == dialect.Postgres {
			return "to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')", nil
		}
		return "substr(started_at, 1, 10)", nil // stored in UTC, the date first
	}
	return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "by: %q is not accepted; it is thread, purpose, model, task, plugin, account, day, or nothing", by)
}

// turnParts are the turns by model: a turn that several models have answered has a row for each
// of them, and head is 1 in one of those.
const turnParts = `(SELECT COALESCE(m.model, a.model) AS model, a.started_at, a.thread_id, a.success, a.duration_ns, a.notional, a.cost_unsure,
	COALESCE(m.input_tokens, a.input_tokens) AS input_tokens, COALESCE(m.output_tokens, a.output_tokens) AS output_tokens,
	COALESCE(m.cache_read_tokens, a.cache_read_tokens) AS cache_read_tokens, COALESCE(m.cache_write_tokens, a.cache_write_tokens) AS cache_write_tokens,
	COALESCE(m.cost_usd, a.cost_usd) AS cost_usd,
	CASE WHEN m.id IS NULL OR m.id = (SELECT MIN(f.id) FROM agent_run_models f WHERE f.agent_run_id = a.id) THEN 1 ELSE 0 END AS head
	FROM agent_runs a LEFT JOIN agent_run_models m ON m.agent_run_id = a.id) AS turns`

// Usage sums up what turns of the agent have used and cost, in one reading: tokens and costs
// of the total are those of the sums. A turn that several models have answered counts with
// each of them, and once in the total. Turns that are of no task, thread or plugin are summed
// up under the empty name.
func (s *Store) Usage(ctx context.Context, request pluginsdk.UsageRequest) (answer *pluginsdk.UsageResponse, err error) {
	of, err := s.usageOf(request.By)
	if err != nil {
		return nil, err
	}
	from, head := "agent_runs", "1"
	if request.By == pluginsdk.UsageByModel {
		from, head = turnParts, "head"
	}
	where, args := usageWhere(request)
	rows, err := s.query.QueryContext(ctx, `SELECT `+of+`, COUNT(*), SUM(CASE WHEN success THEN 0 ELSE 1 END), SUM(CASE WHEN cost_unsure THEN 1 ELSE 0 END), SUM(duration_ns),
		SUM(`+head+`), SUM(CASE WHEN success THEN 0 ELSE `+head+` END), SUM(CASE WHEN cost_unsure THEN `+head+` ELSE 0 END), SUM(`+head+` * duration_ns),
		SUM(input_tokens), SUM(output_tokens), SUM(cache_read_tokens), SUM(cache_write_tokens), SUM(cost_usd), SUM(CASE WHEN notional THEN cost_usd ELSE 0 END)
		FROM `+from+where+` GROUP BY 1`, args...)
	if err != nil {
		return nil, wrap("sum up usage", err)
	}
	defer func() {
		if err = wrap("sum up usage", errors.Join(err, rows.Err(), rows.Close())); err != nil {
			answer = nil
		}
	}()
	answer = &pluginsdk.UsageResponse{}
	for rows.Next() {
		var sum, whole pluginsdk.UsageSum
		if err := rows.Scan(&sum.Of, &sum.Turns, &sum.Failed, &sum.Unsure, &sum.Duration, &whole.Turns, &whole.Failed, &whole.Unsure, &whole.Duration,
			&sum.Usage.InputTokens, &sum.Usage.OutputTokens, &sum.Usage.CacheReadTokens, &sum.Usage.CacheWriteTokens, &sum.CostUSD, &sum.NotionalUSD); err != nil {
			return nil, err
		}
		whole.Usage, whole.CostUSD, whole.NotionalUSD = sum.Usage, sum.CostUSD, sum.NotionalUSD
		answer.Total = plusUsage(answer.Total, whole)
		answer.Sums = append(answer.Sums, sum)
	}
	if request.By == "" {
		answer.Sums = nil
		return answer, nil
	}
	slices.SortFunc(answer.Sums, func(a, b pluginsdk.UsageSum) int {
		if request.By == pluginsdk.UsageByDay {
			return cmp.Compare(b.Of, a.Of)
		}
		return cmp.Or(cmp.Compare(b.CostUSD, a.CostUSD), cmp.Compare(b.Turns, a.Turns), cmp.Compare(a.Of, b.Of))
	})
	answer.Sums = answer.Sums[:min(len(answer.Sums), page(request.Limit))]
	return answer, nil
}

func usageWhere(request pluginsdk.UsageRequest) (where string, args []any) {
	var conditions []string
	add := func(condition string, value any) {
		args = append(args, value)
		conditions = append(conditions, fmt.Sprintf(condition, len(args)))
	}
	if !request.Since.IsZero() {
		add("started_at >= $%d", instant(request.Since))
	}
	if !request.Until.IsZero() {
		add("started_at < $%d", instant(request.Until))
	}
	if request.ThreadID != "" {
		add("thread_id = $%d", request.ThreadID)
	}
	if len(conditions) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(conditions, " AND "), args
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
