package pluginsdk

// FigureKind says how a figure moves.
type FigureKind string

// The kinds of figures. Pass over one that you do not know.
const (
	// FigureCounter only grows, from 0 at the daemon's start.
	FigureCounter FigureKind = "counter"
	// FigureGauge is as it is now.
	FigureGauge FigureKind = "gauge"
	// FigureHistogram counts what was measured by its size, since the daemon's start.
	FigureHistogram FigureKind = "histogram"
)

// Figure is something that the daemon counts or measures of itself, as Prometheus and
// OpenMetrics have it: a family of samples under one name. Which figures there are is no
// part of the contract.
type Figure struct {
	// Name begins with harness_ and ends with its unit if it has one (_seconds, _bytes),
	// a counter's with _total behind that.
	Name string     `json:"name"`
	Help string     `json:"help"` // one line, for people
	Kind FigureKind `json:"kind"`
	// Samples have the same labels, each with other values.
	Samples []FigureSample `json:"samples"`
}

// FigureSample is a figure's value for one set of labels.
type FigureSample struct {
	Labels map[string]string `json:"labels,omitempty"`
	// Value is, of a histogram, the sum of all that was measured.
	Value float64 `json:"value"`
	// Count and Buckets are of histograms only: how much was measured, and how much of it
	// was no more than each bound, from the lowest up.
	Count   int64          `json:"count,omitempty"`
	Buckets []FigureBucket `json:"buckets,omitempty"`
}

// FigureBucket says how much of what was measured was at most Bound.
type FigureBucket struct {
	Bound float64 `json:"bound"`
	Count int64   `json:"count"`
}

// ListFiguresRequest asks for the daemon's figures.
type ListFiguresRequest struct{}

// ListFiguresResponse has all of them, by name.
type ListFiguresResponse struct{ Figures []Figure }
