package pluginsdk

import (
	"context"
	"time"
)

// DeliveryState says how far a delivery has come.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryPending   DeliveryState = "pending"
	DeliverySending   DeliveryState = "sending"
	DeliveryDelivered DeliveryState = "delivered"
	DeliveryDead      DeliveryState = "dead"
)

// Delivery is a message on its way to a person through the plugin of its
// target. It is attempted at least once; its ID is the same at every attempt,
// so that a plugin can recognise one it has already carried out.
type Delivery struct {
	ID            string        `json:"id"`
	MessageID     int64         `json:"messageId"`
	Plugin        string        `json:"plugin"` // carries it, to Place
	Place         string        `json:"place"`  // a channel, a chat; the plugin gives it its meaning
	State         DeliveryState `json:"state"`
	Attempt       int           `json:"attempt"`
	NextAttemptAt time.Time     `json:"nextAttemptAt,omitzero"`
	LastError     string        `json:"lastError,omitempty"`
	ExternalID    string        `json:"externalId,omitempty"`
	CreatedAt     time.Time     `json:"createdAt"`
}

// DeliveryQuery selects deliveries, oldest first. Zero fields do not restrict.
type DeliveryQuery struct {
	State  DeliveryState `json:"state,omitempty"`
	Plugin string        `json:"plugin,omitempty"`
	Place  string        `json:"place,omitempty"`
	Newest bool          `json:"newest,omitempty"` // newest first
	After  string        `json:"after,omitempty"`  // id of the last delivery of the page before
	Limit  int           `json:"limit,omitempty"`  // default 100, at most 1000
}

// DeliverRequest is a Delivery with what it carries.
type DeliverRequest struct {
	Call     Call
	Delivery Delivery
	Thread   Thread // whose message it is; where it is delivered is Delivery.Place
	Message  Message
}

// DeliverResponse acknowledges a delivery.
type DeliverResponse struct {
	ExternalID string // the id of the message at the target
}

// DeliverHook is implemented by plugins that carry messages to people: the
// replies in threads of the sources that Manifest.Sources names, and what is
// addressed to PLUGIN:TARGET. An error with CodeInvalid, CodeNotFound or
// CodeDenied is permanent; any other is retried.
type DeliverHook interface {
	Deliver(ctx context.Context, request *DeliverRequest) (*DeliverResponse, error)
}
