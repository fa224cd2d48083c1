package invoker

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-706843ae/harness/core/schema"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Structured output: the value that a turn returns when its request has a JSON Schema.
//
// Verified with 2.1.197: with --json-schema the CLI has a tool StructuredOutput with
// that input schema. A call of the tool that fits the schema ends the turn without a
// further API call; the result's structured_output is its input. A call that does not
// fit is an error of the tool, and the model tries again; after five calls the result is
// error_max_structured_output_retries. When a turn would end without a call, the CLI
// asks the model once to make one; the turn may still end without.
//
// A schema that the CLI does not take is left out silently: system/init does not list
// the tool, and the answer is text. The CLI takes a part of draft 7: no "$schema" of a
// later draft, no "format" at all, no keyword that it does not know.

// outputTool is the name of the CLI's tool for structured output.
const outputTool = "StructuredOutput"

// outputLimits bound the schemas: plugins write them, and they go on a command line.
var outputLimits = schema.Limits{Bytes: 64 << 10, Depth: 40, Steps: 10_000, Work: 100_000_000}

// outputSchema compiles a request's schema. It refuses what the Messages API does not
// take as a tool's input: the top must have the type object, and no alternatives.
func outputSchema(source json.RawMessage) (*schema.Schema, error) {
	made, err := schema.Compile(source, outputLimits)
	if err != nil {
		return nil, fmt.Errorf("the JSON schema cannot be used: %w", err)
	}
	root := made.Root()
	if root.Type != "object" || len(root.AllOf)+len(root.AnyOf)+len(root.OneOf) > 0 {
		return nil, errors.New(`the JSON schema cannot be used: at its top it has to have "type": "object", and no allOf, anyOf or oneOf`)
	}
	return made, nil
}

// checkOutput returns why a structured output does not fit its schema; nil: it fits, or
// one of them is empty.
func checkOutput(source, output json.RawMessage) *pluginsdk.Failure {
	if len(source) == 0 || len(output) == 0 {
		return nil
	}
	made, err := outputSchema(source)
	if err == nil {
		err = made.Validate(output)
	}
	if err != nil {
		return otherFailure(fmt.Errorf("the model's structured output does not fit its JSON schema: %w", err))
	}
	return nil
}

// errSchemaLeftOut is why a turn is stopped at its beginning when the CLI does not offer
// outputTool.
var errSchemaLeftOut = errors.New("the Claude CLI does not take the JSON schema of the turn; " +
	"keep to the keywords of draft 7 that say of what type a value is, and what is in it")

// The keywords of a schema that the CLI takes, by what their values are: no schemas, one
// schema, a list of schemas, an object of schemas.
var (
	plainWords = []string{
		"$ref", "type", "title", "description", "default", "examples", "enum", "const",
		"multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength", "minLength", "pattern",
		"maxItems", "minItems", "uniqueItems", "maxProperties", "minProperties", "required",
	}
	schemaWords = []string{"items", "additionalItems", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else"}
	listWords   = []string{"items", "allOf", "anyOf", "oneOf"}
	namedWords  = []string{"properties", "patternProperties", "$defs", "definitions"}
)

// forCLI returns the schema reduced to the keywords that the CLI takes. The others are
// annotations, or checkOutput checks them.
func forCLI(source json.RawMessage) string {
	var whole any
	if len(source) == 0 || json.Unmarshal(source, &whole) != nil {
		return string(source)
	}
	reduced, err := json.Marshal(reduce(whole))
	if err != nil {
		return string(source)
	}
	return string(reduced)
}

func reduce(value any) any {
	source, ok := value.(map[string]any)
	if !ok {
		return value // true or false
	}
	kept := map[string]any{}
	for word, value := range source {
		list, isList := value.([]any)
		named, isNamed := value.(map[string]any)
		switch {
		case slices.Contains(plainWords, word):
			kept[word] = value
		case isList && slices.Contains(listWords, word):
			kept[word] = reduceAll(list)
		case isNamed && slices.Contains(namedWords, word):
			inside := map[string]any{}
			for name, value := range named {
				inside[name] = reduce(value)
			}
			kept[word] = inside
		case !isList && slices.Contains(schemaWords, word):
			kept[word] = reduce(value)
		}
	}
	if first, ok := source["prefixItems"].([]any); ok { // draft 7 calls it items
		rest, has := kept["items"]
		kept["items"] = reduceAll(first)
		if has {
			kept["additionalItems"] = rest
		}
	}
	return kept
}

func reduceAll(list []any) []any {
	reduced := make([]any, len(list))
	for n, value := range list {
		reduced[n] = reduce(value)
	}
	return reduced
}
