package pluginsdk

import "time"

// NewMetric is one measured value to be recorded.
type NewMetric struct {
	// Key makes the record idempotent: a value whose key the plugin has used before
	// is not recorded again. Empty: it always is.
	Key      string            `json:"key,omitempty"`
	Name     string            `json:"name"`
	Value    float64           `json:"value"`
	Tags     map[string]string `json:"tags,omitempty"`
	ThreadID string            `json:"threadId,omitempty"`
	At       time.Time         `json:"at,omitzero"` // zero: now
}

// Metric is one measured value.
type Metric struct {
	ID        int64             `json:"id"`
	Plugin    string            `json:"plugin,omitempty"` // who recorded it
	Key       string            `json:"key,omitempty"`    // the plugin's
	Name      string            `json:"name"`
	Value     float64           `json:"value"`
	Tags      map[string]string `json:"tags,omitempty"`
	ThreadID  string            `json:"threadId,omitempty"`
	CreatedAt time.Time         `json:"createdAt"`
}

// MetricQuery selects metrics, oldest first. Zero fields do not restrict.
type MetricQuery struct {
	Plugin   string    `json:"plugin,omitempty"`
	Name     string    `json:"name,omitempty"`
	ThreadID string    `json:"threadId,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	Until    time.Time `json:"until,omitzero"`
	After    int64     `json:"after,omitempty"`
	Limit    int       `json:"limit,omitempty"` // default 100, at most 1000
}
