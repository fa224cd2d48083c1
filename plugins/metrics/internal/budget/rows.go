package budget

import (
	"context"
	"encoding/json"

	"github.com/seed-706843ae/harness/plugins/metrics/internal/rows"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// heard are the types of events that the plugin is told of: those of which rows are made.
func heard() []string {
	types := []string{string(pluginsdk.EventResync)}
	for _, rule := range rows.Rules {
		types = append(types, rule.Types...)
	}
	return types
}

// keepRows turns the rows of metrics on or off, as the settings say. While they are off the plugin is told of no event.
func (p *Plugin) keepRows(ctx context.Context) error {
	on := p.settings.Load().rows
	rules := rows.Silence
	if on {
		rules = rows.Rules
	}
	_, err := p.host.Events.Listen(ctx, &pluginsdk.ListenEventsRequest{Rules: rules})
	if err != nil && pluginsdk.CodeOf(err) != pluginsdk.CodeUnimplemented {
		return err
	}
	p.rows.Turn(on)
	if on {
		p.begun.awake()
	}
	return nil
}

// OnBroadcast takes in what becomes of deliveries and tasks. It is written within a minute, with all else.
func (p *Plugin) OnBroadcast(_ context.Context, request *pluginsdk.OnBroadcastRequest) (*pluginsdk.OnBroadcastResponse, error) {
	if p.rows.Heard(request.Events) {
		p.begun.awake()
	}
	return nil, nil //nolint:nilnil // it has nothing to say
}

// cronPlugin is the plugin whose messages are the prompts of scheduled jobs.
const cronPlugin = "cron"

// jobOf is the scheduled job whose prompt the run answers, by the name that the plugin cron gives with it; empty: it
// answers none. The name of the thread says nothing: people rename threads, and a job may use any thread.
func jobOf(request *pluginsdk.OnBeforeRunRequest) string {
	said := request.Message
	if request.Run.Kind != pluginsdk.RunMessage || said.Plugin != cronPlugin || said.Author != "" {
		return ""
	}
	var about struct {
		Job string `json:"job"`
	}
	if json.Unmarshal(said.Metadata, &about) != nil {
		return ""
	}
	return about.Job
}
