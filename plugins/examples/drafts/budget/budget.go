// Package budget is a draft of the plugin that keeps what is spent a day within a
// limit.
package budget

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	name   = "spending"
	metric = "cost"
)

// Plugin lets runs happen while there is money left of the day, and writes down
// what each attempt has cost.
type Plugin struct {
	// Now is the clock; nil means time.Now. Days are UTC's.
	Now func() time.Time

	host   pluginsdk.Host
	limits struct {
		Day float64 `json:"day"` // USD
		Run float64 `json:"run"` // USD; set aside for each run, and its cap
	}
}

// Manifest describes the plugin.
func (*Plugin) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name: name, Version: "0.1.0", Description: "Keeps what is spent a day within a limit",
		Capabilities: []pluginsdk.CapabilityRequest{
			{Capability: pluginsdk.CapMetricsRead, Reason: "know what was spent"},
			{Capability: pluginsdk.CapMetricsWrite, Reason: "write down what runs cost"},
		},
		SettingsSchema: json.RawMessage(`{"type": "object", "additionalProperties": false, "properties": {
  "day": {"type": "number", "default": 20, "description": "USD a day"},
  "run": {"type": "number", "default": 1, "description": "USD a run"}
}}`),
	}
}

// Start reads the settings; other ones take a restart.
func (p *Plugin) Start(ctx context.Context, host pluginsdk.Host) error {
	p.host = host
	p.limits.Day, p.limits.Run = 20, 1
	answer, err := host.Settings.Get(ctx, &pluginsdk.GetSettingsRequest{})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer.Settings, &p.limits); err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: %w", err)
	}
	return nil
}

// OnBeforeRun denies a run when the day's money is spent. What several runs may
// spend at the same time the core sees to: it sets money aside before the agent is
// called, and denies the run for which there is not enough left.
func (p *Plugin) OnBeforeRun(ctx context.Context, _ *pluginsdk.OnBeforeRunRequest) (*pluginsdk.OnBeforeRunResponse, error) {
	day := p.now().UTC().Truncate(24 * time.Hour)
	spent, err := p.spent(ctx, day)
	if err != nil {
		return nil, err
	}
	if left := p.limits.Day - spent; left <= 0 {
		return &pluginsdk.OnBeforeRunResponse{Deny: true, Reason: fmt.Sprintf(
			"%.2f USD were spent today, of %.2f. It goes on at midnight (UTC), or with a greater limit: harness plugin settings set %s day=...",
			spent, p.limits.Day, name)}, nil
	}
	amount := min(p.limits.Run, p.limits.Day-spent)
	return &pluginsdk.OnBeforeRunResponse{
		Reservations: []pluginsdk.Reservation{{Account: "day:" + day.Format(time.DateOnly), LimitUSD: p.limits.Day, AmountUSD: amount}},
		CostCapUSD:   amount,
	}, nil
}

func (p *Plugin) now() time.Time {
	if p.Now != nil {
		return p.Now()
	}
	return time.Now()
}

// spent adds up what was written down since a time.
func (p *Plugin) spent(ctx context.Context, since time.Time) (sum float64, err error) {
	query := pluginsdk.MetricQuery{Plugin: name, Name: metric, Since: since, Limit: 1000}
	for {
		page, err := p.host.Metrics.Query(ctx, &pluginsdk.QueryMetricsRequest{Query: query})
		if err != nil || len(page.Metrics) == 0 {
			return sum, err
		}
		for _, m := range page.Metrics {
			sum += m.Value
			query.After = m.ID
		}
	}
}

// OnPipelineComplete writes down what an attempt has cost, whatever became of it.
func (*Plugin) OnPipelineComplete(_ context.Context, request *pluginsdk.OnPipelineCompleteRequest) (*pluginsdk.OnPipelineCompleteResponse, error) {
	if request.CostUSD == 0 {
		return nil, nil //nolint:nilnil // nothing to write down is an answer
	}
	attempt := strconv.Itoa(request.Call.Attempt)
	return &pluginsdk.OnPipelineCompleteResponse{Effects: &pluginsdk.Effects{
		Key: "cost:" + attempt,
		Metrics: []pluginsdk.NewMetric{{
			Key: request.Call.RunID + "/" + attempt, Name: metric, Value: request.CostUSD, ThreadID: request.Thread.ID,
			Tags: map[string]string{"outcome": string(request.Outcome)},
		}},
	}}, nil
}
