package pluginsdk

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a plugin's own figures (OnCheckResponse.Figures) may be.
const (
	// MaxFigures is how many figures of a plugin are kept.
	MaxFigures = 32
	// MaxFigureSamples is how many samples they have together.
	MaxFigureSamples = 1000
	// maxFigureName, maxFigureHelp and maxFigureLabel bound a name, a help and a label's value, in bytes, and
	// maxFigureLabels how many labels a sample has.
	maxFigureName, maxFigureHelp, maxFigureLabel, maxFigureLabels = 200, 500, 200, 8
)

var (
	figureName  = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	figureLabel = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]*$`)
)

// FigurePrefix returns what the names of a plugin's own figures begin with.
func FigurePrefix(plugin string) string {
	return "harness_" + strings.ReplaceAll(plugin, "-", "_") + "_"
}

// KeepFigures returns those of a plugin's own figures that may be shown, and why each of the others is left out. A
// figure is kept whole or not at all.
func KeepFigures(plugin string, figures []Figure) (kept []Figure, refused []error) {
	samples, names := 0, make(map[string]bool)
	for n, figure := range figures {
		err := figure.CheckOf(plugin)
		switch {
		case len(kept) == MaxFigures:
			return kept, append(refused, Errorf(CodeInvalid, "%d figures are more than the %d that a plugin may have", len(figures), MaxFigures))
		case err != nil:
		case names[figure.Name]:
			err = Errorf(CodeInvalid, "figure %s: it is there twice", figure.Name)
		case samples+len(figure.Samples) > MaxFigureSamples:
			err = Errorf(CodeInvalid, "figure %s: with its %d samples the figures have more than %d", figure.Name, len(figure.Samples), MaxFigureSamples)
		}
		if err != nil {
			refused = append(refused, fmt.Errorf("figure %d: %w", n+1, err))
			continue
		}
		samples += len(figure.Samples)
		names[figure.Name] = true
		kept = append(kept, figure)
	}
	return kept, refused
}

// CheckOf returns CodeInvalid if the figure may not be one of the plugin's own.
func (f Figure) CheckOf(plugin string) error {
	switch rest, own := strings.CutPrefix(f.Name, FigurePrefix(plugin)); {
	case !own || rest == "" || len(f.Name) > maxFigureName || !figureName.MatchString(f.Name):
		return Errorf(CodeInvalid, "name: %.100q must be %s followed by a-z, 0-9 and _, in at most %d bytes", f.Name, FigurePrefix(plugin), maxFigureName)
	case f.Kind != FigureCounter && f.Kind != FigureGauge:
		return Errorf(CodeInvalid, "%s: kind: %.50q is neither counter nor gauge", f.Name, f.Kind)
	case strings.HasSuffix(f.Name, "_total") != (f.Kind == FigureCounter):
		return Errorf(CodeInvalid, "%s: the names of counters end in _total, and no others do", f.Name)
	case !oneLine(f.Help, maxFigureHelp):
		return Errorf(CodeInvalid, "%s: help is not one line of at most %d bytes", f.Name, maxFigureHelp)
	case len(f.Samples) > MaxFigureSamples:
		return Errorf(CodeInvalid, "%s: %d samples are more than the %d that a plugin's figures may have together", f.Name, len(f.Samples), MaxFigureSamples)
	}
	seen := make(map[string]bool, len(f.Samples))
	var labels []string
	for n, sample := range f.Samples {
		names := slices.Sorted(maps.Keys(sample.Labels))
		if n == 0 {
			labels = names
		}
		if err := sample.check(); err != nil {
			return Errorf(CodeInvalid, "%s: sample %d: %w", f.Name, n+1, err)
		}
		if !slices.Equal(names, labels) {
			return Errorf(CodeInvalid, "%s: sample %d has other labels than the first", f.Name, n+1)
		}
		var key strings.Builder
		for _, name := range names {
			fmt.Fprintf(&key, "%q", sample.Labels[name])
		}
		if seen[key.String()] {
			return Errorf(CodeInvalid, "%s: sample %d has the labels of an earlier one", f.Name, n+1)
		}
		seen[key.String()] = true
	}
	return nil
}

func (s FigureSample) check() error {
	if math.IsNaN(s.Value) || math.IsInf(s.Value, 0) {
		return Errorf(CodeInvalid, "value: %v is no number", s.Value)
	}
	if s.Count != 0 || len(s.Buckets) > 0 {
		return Errorf(CodeInvalid, "count and buckets are of histograms, which a plugin's figures are not")
	}
	if len(s.Labels) > maxFigureLabels {
		return Errorf(CodeInvalid, "labels: %d are more than %d", len(s.Labels), maxFigureLabels)
	}
	for name, value := range s.Labels {
		switch {
		case name == "plugin":
			return Errorf(CodeInvalid, "labels: plugin is Harness's own; the name of the figure says whose it is")
		case len(name) > maxFigureLabel || !figureLabel.MatchString(name):
			return Errorf(CodeInvalid, "labels: the name %.100q must be a letter followed by letters, digits and _", name)
		case !oneLine(value, maxFigureLabel):
			return Errorf(CodeInvalid, "labels: the value of %s is not one line of at most %d bytes", name, maxFigureLabel)
		}
	}
	return nil
}

// oneLine reports whether a text has at most that many bytes, and no control characters.
func oneLine(text string, most int) bool {
	return len(text) <= most && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}
