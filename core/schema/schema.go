// Package schema makes the JSON Schemas of strangers safe to use. A schema can
// be small and yet take for ever, or the whole stack, which nothing recovers
// from: by references that lead back, or that double at each step, by nesting,
// by long lists and patterns. What Compile accepts is bounded, and so is the
// check of any value against it.
package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Limits bound a schema and its use. All have to be set.
type Limits struct {
	Bytes int // of the schema
	Depth int // of its nesting, as JSON
	// Steps are the subschemas, each counted as often as it is referred to, and
	// with its enumerations and patterns.
	Steps int
	// Work is the steps times the size of what is checked: its bytes, and 25 for
	// each value in it. 100 million take about a second.
	Work int
}

// Schema is a schema within limits. It does not change, and may be used
// concurrently.
type Schema struct {
	root     *jsonschema.Schema
	resolved *jsonschema.Resolved
	places   map[string]*jsonschema.Schema
	limits   Limits
	steps    int
}

// Compile reads a schema, which has to be an object. Its references have to be
// to places in itself ("#/$defs/NAME"), and must not lead back to where they
// are. The error says what is wrong.
func Compile(raw json.RawMessage, limits Limits) (*Schema, error) {
	if err := checkSize(raw, limits); err != nil {
		return nil, err
	}
	s := &Schema{root: new(jsonschema.Schema), places: make(map[string]*jsonschema.Schema), limits: limits}
	err := Guard(func() (err error) {
		if err := json.Unmarshal(raw, s.root); err != nil {
			return err
		}
		if s.steps, err = measure(s); err != nil {
			return err
		}
		s.resolved, err = s.root.Resolve(nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Root is the schema itself. It must not be changed.
func (s *Schema) Root() *jsonschema.Schema { return s.root }

// All are the schema and all schemas in it, by where they are: "" and, for
// instance, "properties/port".
func (s *Schema) All() iter.Seq2[string, *jsonschema.Schema] { return maps.All(s.places) }

// Target is where the references of a schema of this one lead.
func (s *Schema) Target(of *jsonschema.Schema) *jsonschema.Schema {
	for of.Ref != "" {
		of, _ = s.refers(of.Ref)
	}
	return of
}

// Affords returns an error with CodeInvalid when a value, as JSON, is too large
// to be checked against the schema.
func (s *Schema) Affords(value []byte) error {
	if s.steps*size(value) <= s.limits.Work {
		return nil
	}
	return pluginsdk.Errorf(pluginsdk.CodeInvalid,
		"too large to be checked against the schema: %d bytes, and the schema takes up to %d steps for each value in them", len(value), s.steps)
}

// Validate checks a value, which is JSON. The error can repeat parts of it.
func (s *Schema) Validate(value json.RawMessage) error {
	if err := s.Affords(value); err != nil {
		return err
	}
	var decoded any
	if err := json.Unmarshal(value, &decoded); err != nil {
		return err
	}
	if err := Guard(func() error { return s.resolved.Validate(decoded) }); err != nil {
		return errors.New(cut(err.Error()))
	}
	return nil
}

// Guard turns a panic of the library into an error: what it works on comes from
// strangers.
func Guard(do func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = pluginsdk.Errorf(pluginsdk.CodeInternal, "the schema cannot be used: %v", cause)
		}
	}()
	return do()
}

// maxWords is how long the words for a value that does not fit are, in bytes:
// the library repeats the value in them, more than once.
const maxWords = 2000

func cut(words string) string {
	if len(words) <= maxWords {
		return words
	}
	return fmt.Sprintf("%.*s... (%d bytes in all)", maxWords, words, len(words))
}
