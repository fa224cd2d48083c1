package clienttest

import (
	"net/http"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// AddDelivery adds a delivery.
func (d *Daemon) AddDelivery(delivery pluginsdk.Delivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.deliveries = append(d.deliveries, delivery)
}

func (d *Daemon) listDeliveries(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	query := r.URL.Query()
	found := []pluginsdk.Delivery{}
	skip := query.Get("after") != ""
	for _, delivery := range d.deliveries {
		if !skip && matches(query.Get("state"), string(delivery.State)) && matches(query.Get("plugin"), delivery.Plugin) &&
			matches(query.Get("place"), delivery.Place) {
			found = append(found, delivery)
		}
		if delivery.ID == query.Get("after") {
			skip = false
		}
	}
	reply(w, http.StatusOK, map[string]any{"deliveries": found[:min(len(found), d.limit(r))]})
}

// matches reports whether a value is what was asked for, if anything was.
func matches(asked, value string) bool { return asked == "" || asked == value }

func (d *Daemon) retryDelivery(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for n := range d.deliveries {
		if d.deliveries[n].ID != r.PathValue("id") {
			continue
		}
		if d.deliveries[n].State == pluginsdk.DeliveryDelivered {
			refuse(w, http.StatusUnprocessableEntity, "delivery "+d.deliveries[n].ID+" was delivered")
			return
		}
		d.deliveries[n].State = pluginsdk.DeliveryPending
		reply(w, http.StatusOK, d.deliveries[n])
		return
	}
	refuse(w, http.StatusNotFound, "there is no delivery "+r.PathValue("id"))
}
