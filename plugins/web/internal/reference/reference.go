// Package reference is the page on which people read what the API can do, made from its
// OpenAPI description. It has no script, and nothing from any other place.
package reference

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/pluginsdk"
)

var (
	//go:embed page.html.tmpl
	pageText string
	//go:embed page.css
	style string
)

// page is parsed when it is first needed.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{"style": func() template.CSS { return template.CSS(style) }}).Parse(pageText)) //nolint:gosec // our own
})

// policy lets the page's own style in, by its sum, and nothing else.
var policy = func() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

// book is the whole page.
type book struct {
	Base     string // address of the API, as the reader has it
	Version  string
	Chapters []chapter
	Types    []kind
}

// chapter has the operations of a tag.
type chapter struct {
	Name, ID, Words string
	Operations      []operation
}

// operation is one thing that can be asked of the API.
type operation struct {
	ID, Method, Path, Summary string
	Words                     []string // paragraphs
	Scope                     string   // of the token that it needs; empty: nothing says so
	Parameters, Body          []field
	BodyOf                    *term // of a body that has no fields of its own
	Answers                   []answer

	sample string // of a body
}

// Curl is how the operation is asked for from a shell.
func (o operation) Curl(base string) string {
	path := strings.NewReplacer("{id}", "ID", "{name}", "NAME", "{path}", "PATH").Replace(o.Path)
	line := "curl"
	if o.Method != http.MethodGet {
		line += " -X " + o.Method
	}
	line += " '" + base + path + "' \\\n  -H \"Authorization: Bearer $HARNESS_TOKEN\""
	if o.sample != "" {
		line += " \\\n  -H 'Content-Type: application/json' \\\n  -d '" + strings.ReplaceAll(o.sample, "'", `'\''`) + "'"
	}
	return line
}

// field is a parameter, or a property of an object.
type field struct {
	Name, In, Words string
	Required        bool
	Type            term
}

// term is the type of a value in words; Of links to what it is made of.
type term struct {
	Words string // in front of Of, or alone
	Of    string // a name among the page's types; empty: none
	After string // what the value has to be
}

// answer is what can come back.
type answer struct {
	Status, Words string
	Type          *term
}

// kind is a type of object.
type kind struct {
	Name   string
	Fields []field
}

// Handler serves the page of an API whose operations are all known. scope says what an
// operation needs of a token; empty: nothing is said.
func Handler(of *huma.OpenAPI, scope func(*huma.Operation) pluginsdk.TokenScope) http.Handler {
	whole := write(of, scope)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown := whole
		shown.Base = "http://" + r.Host
		if r.TLS != nil {
			shown.Base = "https://" + r.Host
		}
		var text bytes.Buffer
		if err := page().Execute(&text, shown); err != nil {
			panic(err) // the template and the description are ours
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", policy)
		_, _ = w.Write(text.Bytes()) // the client may be gone
	})
}

// write makes the page of a description.
func write(of *huma.OpenAPI, scope func(*huma.Operation) pluginsdk.TokenScope) book {
	whole := book{Version: of.Info.Version}
	chapters := make(map[string]*chapter)
	order := make([]string, 0, len(of.Tags))
	for _, tag := range of.Tags {
		chapters[tag.Name] = &chapter{Name: tag.Name, ID: anchor(tag.Name), Words: tag.Description}
		order = append(order, tag.Name)
	}
	types := of.Components.Schemas
	used := make(map[string]bool)
	for _, path := range slices.Sorted(maps.Keys(of.Paths)) {
		for _, described := range operationsOf(of.Paths[path]) {
			tag := cmp.Or(strings.Join(described.Tags[:min(1, len(described.Tags))], ""), "Other")
			if chapters[tag] == nil {
				chapters[tag] = &chapter{Name: tag, ID: anchor(tag)}
				order = append(order, tag)
			}
			chapters[tag].Operations = append(chapters[tag].Operations, operationOf(path, described, types, used, string(scope(described))))
		}
	}
	for _, name := range order {
		if len(chapters[name].Operations) > 0 {
			whole.Chapters = append(whole.Chapters, *chapters[name])
		}
	}
	whole.Types = typesOf(types, used)
	return whole
}

// operationsOf are the operations of a path, those that read first.
func operationsOf(item *huma.PathItem) (found []*huma.Operation) {
	for _, one := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
		if one != nil {
			found = append(found, one)
		}
	}
	return found
}

func operationOf(path string, of *huma.Operation, types huma.Registry, used map[string]bool, scope string) operation {
	shown := operation{ID: of.OperationID, Method: of.Method, Path: path, Summary: of.Summary, Scope: scope}
	if of.Description != "" {
		shown.Words = strings.Split(of.Description, "\n\n")
	}
	for _, parameter := range of.Parameters {
		shown.Parameters = append(shown.Parameters, field{
			Name: parameter.Name, In: parameter.In, Required: parameter.Required,
			Words: cmp.Or(parameter.Description, parameter.Schema.Description), Type: termOf(parameter.Schema, used),
		})
	}
	if of.RequestBody != nil {
		for _, media := range of.RequestBody.Content {
			schema := resolved(media.Schema, types)
			if shown.Body = fieldsOf(schema, used); len(shown.Body) == 0 {
				as := termOf(media.Schema, used)
				shown.BodyOf = &as
			}
			shown.sample = sampleOf(schema, types, 0)
		}
	}
	for _, status := range slices.Sorted(maps.Keys(of.Responses)) {
		response := of.Responses[status]
		given := answer{Status: status, Words: response.Description}
		if status == "default" {
			given.Status, given.Words = "4xx, 5xx", "What went wrong: a problem document (RFC 9457) whose detail says it in words"
		}
		for name, media := range response.Content {
			as := term{Words: name}
			if media.Schema != nil && strings.Contains(name, "json") {
				as = termOf(media.Schema, used)
			}
			given.Type = &as
		}
		shown.Answers = append(shown.Answers, given)
	}
	return shown
}

// typesOf are the types that the page links to, and those that these link to.
func typesOf(types huma.Registry, used map[string]bool) (kinds []kind) {
	written := make(map[string]bool)
	for {
		before := len(written)
		for _, name := range slices.Sorted(maps.Keys(used)) {
			if schema := types.Map()[name]; schema != nil && !written[name] {
				written[name] = true
				kinds = append(kinds, kind{Name: name, Fields: fieldsOf(schema, used)})
			}
		}
		if len(written) == before {
			slices.SortFunc(kinds, func(a, b kind) int { return cmp.Compare(a.Name, b.Name) })
			return kinds
		}
	}
}

func resolved(schema *huma.Schema, types huma.Registry) *huma.Schema {
	if schema != nil && schema.Ref != "" {
		return types.SchemaFromRef(schema.Ref)
	}
	return schema
}

// fieldsOf are the properties of an object, those that it must have first.
func fieldsOf(schema *huma.Schema, used map[string]bool) (fields []field) {
	if schema == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		property := schema.Properties[name]
		fields = append(fields, field{
			Name: name, Required: slices.Contains(schema.Required, name), Words: property.Description, Type: termOf(property, used),
		})
	}
	slices.SortStableFunc(fields, func(a, b field) int {
		switch {
		case a.Required == b.Required:
			return 0
		case a.Required:
			return -1
		}
		return 1
	})
	return fields
}

// termOf says what a value is.
func termOf(schema *huma.Schema, used map[string]bool) term {
	switch {
	case schema == nil:
		return term{Words: "any value"}
	case schema.Ref != "":
		name := schema.Ref[strings.LastIndexByte(schema.Ref, '/')+1:]
		used[name] = true
		return term{Of: name}
	case schema.Type == huma.TypeArray:
		of := termOf(schema.Items, used)
		of.Words = strings.TrimSpace("list of " + of.Words)
		return of
	case schema.Type == huma.TypeObject:
		if of, ok := schema.AdditionalProperties.(*huma.Schema); ok {
			inner := termOf(of, used)
			inner.Words = strings.TrimSpace("object, of each name " + inner.Words)
			return inner
		}
		return term{Words: "object"}
	}
	return term{Words: wordOf(schema), After: bounds(schema)}
}

func wordOf(schema *huma.Schema) string {
	switch {
	case len(schema.Enum) > 0:
		values := make([]string, len(schema.Enum))
		for n, value := range schema.Enum {
			values[n] = text(value)
		}
		return "one of " + strings.Join(values, ", ")
	case schema.Format == "date-time":
		return "time (RFC 3339)"
	case schema.ContentEncoding == "base64":
		return "bytes in base64"
	case schema.Type == huma.TypeString:
		return "text"
	case schema.Type == huma.TypeBoolean:
		return "true or false"
	case schema.Type == huma.TypeInteger:
		return "whole number"
	}
	return cmp.Or(schema.Type, "any value")
}

func text(value any) string {
	if word, ok := value.(string); ok {
		return word
	}
	return strings.TrimSpace(strings.Trim(jsonOf(value), `"`))
}

// bounds says what a value has to be, and what it is when it is absent.
func bounds(schema *huma.Schema) string {
	var words []string
	number := func(word string, n *float64) {
		if n != nil {
			words = append(words, word+" "+strconv.FormatFloat(*n, 'f', -1, 64))
		}
	}
	number("from", schema.Minimum)
	number("to", schema.Maximum)
	if schema.MaxLength != nil {
		words = append(words, "at most "+strconv.Itoa(*schema.MaxLength)+" characters")
	}
	if schema.Default != nil {
		words = append(words, "default "+text(schema.Default))
	}
	return strings.Join(words, ", ")
}

// anchor is the id of a heading.
func anchor(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
}
