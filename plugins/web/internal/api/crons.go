package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type cronsInput struct {
	After string `query:"after" maxLength:"256" doc:"Name of the last job of the page before"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"The most of a page"`
}

type cronsOutput struct {
	Body struct {
		Crons []pluginsdk.CronJob `json:"crons" nullable:"false"`
		More  bool                `json:"more" doc:"There are jobs after the last one"`
	}
}

func (h *handlers) registerCrons(api huma.API) {
	huma.Register(api, needs(pluginsdk.ScopeRead, get("list-crons", "/api/crons", "Scheduled jobs, by name")), h.listCrons)
}

func (h *handlers) listCrons(ctx context.Context, input *cronsInput) (*cronsOutput, error) {
	answer, err := h.host.Crons.List(ctx, &pluginsdk.ListCronsRequest{After: input.After, Limit: input.Limit})
	if err != nil {
		return nil, h.fail("list-crons", err)
	}
	output := &cronsOutput{}
	output.Body.Crons, output.Body.More = list(answer.Jobs), answer.More
	return output, nil
}
