package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/plugins/web/internal/access"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Health says that the API answers, and to who may read some more.
type Health struct {
	Status   string `json:"status" enum:"ok"`
	Version  string `json:"version,omitempty" doc:"Version of Harness; unknown when the daemon does not say. Absent for who may not read"`
	UptimeMS *int64 `json:"uptimeMs,omitempty" doc:"Since the API began to answer. Absent for who may not read"`
}

type healthOutput struct {
	Body Health
}

func (h *handlers) registerHealth(api huma.API) {
	huma.Register(api, public(get("health", "/api/health", "Whether the API answers")), h.health)
}

func (h *handlers) health(ctx context.Context, _ *struct{}) (*healthOutput, error) {
	answer := Health{Status: "ok"}
	if access.From(ctx).May(pluginsdk.ScopeRead) {
		uptime := time.Since(h.started).Milliseconds()
		answer.Version, answer.UptimeMS = h.version, &uptime
	}
	return &healthOutput{Body: answer}, nil
}
