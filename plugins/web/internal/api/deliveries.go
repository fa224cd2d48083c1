package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type deliveriesInput struct {
	After  string                  `query:"after" maxLength:"100" doc:"Id of the last delivery of the page before"`
	Limit  int                     `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"The most of a page. A page may be shorter although more follow: the end is an empty page"`
	State  pluginsdk.DeliveryState `query:"state" enum:"pending,sending,delivered,dead" doc:"Only this state"`
	Plugin string                  `query:"plugin" maxLength:"100" doc:"Only those that this plugin carries"`
	Place  string                  `query:"place" maxLength:"200" doc:"Only those to this place: a channel, a chat"`
	Newest bool                    `query:"newest" doc:"The newest first"`
}

type deliveriesOutput struct {
	Body struct {
		Deliveries []pluginsdk.Delivery `json:"deliveries" nullable:"false"`
	}
}

type deliveryOutput struct {
	Body pluginsdk.Delivery
}

func (h *handlers) registerDeliveries(api huma.API) {
	huma.Register(api, needs(pluginsdk.ScopeRead, get("list-deliveries", "/api/deliveries", "What is on its way to people")), h.listDeliveries)
	huma.Register(api, needs(pluginsdk.ScopeAdmin, post("retry-delivery", "/api/deliveries/{id}/retry", "Try a delivery that is dead or waits at once", http.StatusOK)), h.retryDelivery)
}

func (h *handlers) listDeliveries(ctx context.Context, input *deliveriesInput) (*deliveriesOutput, error) {
	answer, err := h.host.Deliveries.List(ctx, &pluginsdk.ListDeliveriesRequest{Query: pluginsdk.DeliveryQuery{
		State: input.State, Plugin: input.Plugin, Place: input.Place, Newest: input.Newest, After: input.After, Limit: input.Limit,
	}})
	if err != nil {
		return nil, h.fail("list-deliveries", err)
	}
	output := &deliveriesOutput{}
	output.Body.Deliveries = list(answer.Deliveries)
	return output, nil
}

func (h *handlers) retryDelivery(ctx context.Context, input *idInput) (*deliveryOutput, error) {
	answer, err := h.host.Deliveries.Retry(ctx, &pluginsdk.RetryDeliveryRequest{ID: input.ID})
	if err != nil {
		return nil, h.fail("retry-delivery", err)
	}
	return &deliveryOutput{Body: answer.Delivery}, nil
}
