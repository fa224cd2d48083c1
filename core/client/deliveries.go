package client

import (
	"context"
	"net/url"
	"strconv"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Deliveries returns all the selected deliveries, oldest first. The query's
// Limit and After are not used.
func (c *Client) Deliveries(ctx context.Context, query pluginsdk.DeliveryQuery) ([]pluginsdk.Delivery, error) {
	var all []pluginsdk.Delivery
	values := url.Values{"limit": {strconv.Itoa(pageSize)}}
	for name, value := range map[string]string{
		"state": string(query.State), "plugin": query.Plugin, "place": query.Place,
	} {
		if value != "" {
			values.Set(name, value)
		}
	}
	for {
		var page struct {
			Deliveries []pluginsdk.Delivery `json:"deliveries"`
		}
		if err := c.get(ctx, "/api/deliveries", values, &page); err != nil {
			return nil, err
		}
		if len(page.Deliveries) == 0 {
			return all, nil
		}
		all = append(all, page.Deliveries...)
		values.Set("after", page.Deliveries[len(page.Deliveries)-1].ID)
	}
}

// RetryDelivery makes a dead delivery pending again, and has one that waits
// tried at once.
func (c *Client) RetryDelivery(ctx context.Context, id string) (pluginsdk.Delivery, error) {
	var delivery pluginsdk.Delivery
	err := c.post(ctx, "/api/deliveries/"+url.PathEscape(id)+"/retry", struct{}{}, &delivery)
	return delivery, err
}
