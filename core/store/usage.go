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
	case pluginsdk.UsageByPurpose, pluginsdk.UsageByModel, pluginsdk.UsageByPlugin:
		return string(by), nil
	case pluginsdk.UsageByTask:
		return "task_id", nil
	case pluginsdk.UsageByDay:
		if s.Dialect() == dialect.Postgres {
			return "to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')", nil
		}
		return "substr(started_at, 1, 10)", nil // stored in UTC, the date first
	}
	return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "by: %q is not accepted; it is thread, purpose, model, task, plugin, day, or nothing", by)
}

// Usage sums up what turns of the agent have used and cost, in one reading: the total is
// that of the sums. Turns that are of no task, thread or plugin are summed up under the
// empty name.
func (s *Store) Usage(ctx context.Context, request pluginsdk.UsageRequest) (answer *pluginsdk.UsageResponse, err error) {
	of, err := s.usageOf(request.By)
	if err != nil {
		return nil, err
	}
	where, args := usageWhere(request)
	rows, err := s.query.QueryContext(ctx, `SELECT `+of+`, COUNT(*), SUM(CASE WHEN success THEN 0 ELSE 1 END),
		SUM(input_tokens), SUM(output_tokens), SUM(cache_read_tokens), SUM(cache_write_tokens), SUM(cost_usd), SUM(duration_ns)
		FROM agent_runs`+where+` GROUP BY 1`, args...)
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
		var sum pluginsdk.UsageSum
		if err := rows.Scan(&sum.Of, &sum.Turns, &sum.Failed, &sum.Usage.InputTokens, &sum.Usage.OutputTokens,
			&sum.Usage.CacheReadTokens, &sum.Usage.CacheWriteTokens, &sum.CostUSD, &sum.Duration); err != nil {
			return nil, err
		}
		answer.Total = plusUsage(answer.Total, sum)
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
	a.Usage.InputTokens += b.Usage.InputTokens
	a.Usage.OutputTokens += b.Usage.OutputTokens
	a.Usage.CacheReadTokens += b.Usage.CacheReadTokens
	a.Usage.CacheWriteTokens += b.Usage.CacheWriteTokens
	return a
}
