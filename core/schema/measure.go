package schema

import (
	"encoding/json"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxPattern is how long a regular expression may be, in bytes.
const maxPattern = 1000

// measure looks at every schema in s, and returns how many steps the check of
// one value can take at most.
func measure(s *Schema) (steps int, err error) {
	m := meter{Schema: s, own: make(map[*jsonschema.Schema]weight), of: make(map[string]weight)}
	if err := m.look(s.root, ""); err != nil {
		return 0, err
	}
	for _, at := range s.places {
		if _, ok := s.refers(at.Ref); at.Ref != "" && !ok {
			return 0, fmt.Errorf(`$ref %q: want "#/$defs/NAME" of a definition in the schema itself`, at.Ref)
		}
	}
	whole, err := m.count(s.root, nil)
	if err != nil {
		return 0, err
	}
	whole.defaults = max(whole.defaults, m.sum.defaults)
	// What nothing refers to can still lead back, and its defaults are checked.
	for _, at := range s.places {
		for _, unused := range definitions(at) {
			more, err := m.count(unused, nil)
			if err != nil {
				return 0, err
			}
			whole.steps = max(whole.steps, more.steps)
		}
	}
	switch {
	case whole.steps > s.limits.Steps:
		return 0, tooLarge(s.limits)
	case whole.steps*whole.defaults > s.limits.Work:
		return 0, fmt.Errorf("its defaults are too large: with its references followed they have %d bytes and values, to be checked in %d steps each",
			whole.defaults, whole.steps)
	}
	return whole.steps, nil
}

func tooLarge(limits Limits) error {
	return fmt.Errorf("too large: with its references followed it has more than %d parts", limits.Steps)
}

// refers returns what a reference refers to.
func (s *Schema) refers(ref string) (*jsonschema.Schema, bool) {
	at, inside := strings.CutPrefix(ref, "#/")
	target, ok := s.places[at]
	return target, ok && inside && at != ""
}

// weight is what a schema adds to the work.
type weight struct {
	steps    int
	defaults int // their size
}

// plus does not grow past what can be multiplied.
func (w weight) plus(more weight) weight {
	const most = 1 << 30
	return weight{min(w.steps+more.steps, most), min(w.defaults+more.defaults, most)}
}

type meter struct {
	*Schema
	sum weight
	own map[*jsonschema.Schema]weight
	of  map[string]weight // of what is referred to, by the reference
}

// look looks at every schema once, notes its place and what it takes by itself.
func (m *meter) look(s *jsonschema.Schema, at string) error {
	if s == nil {
		return fmt.Errorf("%s: want a schema, got null", at)
	}
	if s.ID != "" && s != m.root || s.Anchor != "" || s.DynamicAnchor != "" || s.DynamicRef != "" {
		return fmt.Errorf(`%s: $id, $anchor and $dynamicRef have no place here; use "$ref": "#/$defs/NAME"`, at)
	}
	var err error
	if m.own[s], err = weigh(s); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	// While they are read, so that no more are than fit.
	if m.sum = m.sum.plus(m.own[s]); m.sum.steps > m.limits.Steps {
		return tooLarge(m.limits)
	}
	m.places[at] = s
	for _, inside := range []map[string]*jsonschema.Schema{children(s), definitions(s)} {
		for step, child := range inside {
			if err := m.look(child, strings.TrimPrefix(at+"/"+step, "/")); err != nil {
				return err
			}
		}
	}
	return nil
}

// weigh returns what a schema takes without those in it.
func weigh(s *jsonschema.Schema) (weight, error) {
	w := weight{steps: 1 + len(s.Required)}
	for _, names := range s.DependentRequired {
		w.steps += 1 + len(names)
	}
	for _, names := range s.DependencyStrings {
		w.steps += 1 + len(names)
	}
	// A value is compared with each, and the words for one that is another
	// repeat them all.
	for _, listed := range []any{s.Enum, s.Const, s.Required} {
		encoded, err := json.Marshal(listed)
		if err != nil {
			return w, err
		}
		w.steps += len(encoded) / 8
	}
	for pattern := range s.PatternProperties {
		more, err := patternSteps(pattern)
		if err != nil {
			return w, err
		}
		w.steps += more
	}
	if s.Default != nil {
		w.defaults = size(s.Default)
	}
	if s.Pattern == "" {
		return w, nil
	}
	more, err := patternSteps(s.Pattern)
	w.steps += more
	return w, err
}

// patternSteps is how many steps a pattern takes for a character. (a{1000}){2}
// is short and long.
func patternSteps(pattern string) (int, error) {
	if len(pattern) > maxPattern {
		return 0, fmt.Errorf("pattern: at most %d bytes, this has %d", maxPattern, len(pattern))
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, fmt.Errorf("pattern: %w", err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0, fmt.Errorf("pattern: %w", err)
	}
	return len(program.Inst) / 2, nil
}

// count returns what a schema takes with those in it and those it refers to.
// within are the references that it is inside of.
func (m *meter) count(s *jsonschema.Schema, within []string) (weight, error) {
	sum := m.own[s]
	for _, child := range children(s) {
		more, err := m.count(child, within)
		if err != nil {
			return weight{}, err
		}
		sum = sum.plus(more)
	}
	if s.Ref == "" {
		return sum, nil
	}
	more, ok := m.of[s.Ref]
	if !ok {
		if slices.Contains(within, s.Ref) {
			return weight{}, fmt.Errorf("$ref %q: it leads back to itself", s.Ref)
		}
		target, _ := m.refers(s.Ref)
		var err error
		if more, err = m.count(target, append(slices.Clone(within), s.Ref)); err != nil {
			return weight{}, err
		}
		m.of[s.Ref] = more
	}
	return sum.plus(more), nil
}
