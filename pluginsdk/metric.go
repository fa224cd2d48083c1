package pluginsdk

import "time"

// Metric is one measured value.
type Metric struct {
	ID        int64             `json:"id"`
	Name      string            `json:"name"`
	Value     float64           `json:"value"`
	Tags      map[string]string `json:"tags,omitempty"`
	ThreadID  string            `json:"threadId,omitempty"`
	CreatedAt time.Time         `json:"createdAt"`
}

// MetricQuery selects metrics, oldest first. Zero fields do not restrict.
type MetricQuery struct {
	Name     string    `json:"name,omitempty"`
	ThreadID string    `json:"threadId,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	Until    time.Time `json:"until,omitzero"`
	After    int64     `json:"after,omitempty"`
	Limit    int       `json:"limit,omitempty"` // default 100, at most 1000
}
