package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// Health says that the API answers.
type Health struct {
	Status   string `json:"status" enum:"ok"`
	Version  string `json:"version" doc:"Version of Harness; unknown when the daemon does not say"`
	UptimeMS int64  `json:"uptimeMs" doc:"Since the API began to answer"`
}

type healthOutput struct {
	Body Health
}

func (h *handlers) registerHealth(api huma.API) {
	huma.Register(api, get("health", "/api/health", "Whether the API answers"), h.health)
}

func (h *handlers) health(context.Context, *struct{}) (*healthOutput, error) {
	return &healthOutput{Body: Health{
		Status: "ok", Version: h.version, UptimeMS: time.Since(h.started).Milliseconds(),
	}}, nil
}
