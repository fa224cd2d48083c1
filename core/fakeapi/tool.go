package fakeapi

import (
	"encoding/json"
	"fmt"
	"regexp"
)

// tool is a tool as a request offers it.
type tool struct {
	Name        string                     `json:"name"`
	InputSchema map[string]json.RawMessage `json:"input_schema"`
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// refused is what the API says of a tool that it does not take: one such, and
// the request as a whole is not answered.
func (t tool) refused(n int) error {
	if !toolName.MatchString(t.Name) {
		return fmt.Errorf("tools.%d.custom.name: String should match pattern '%s'", n, toolName)
	}
	for _, keyword := range []string{"oneOf", "allOf", "anyOf"} {
		if _, has := t.InputSchema[keyword]; has {
			return fmt.Errorf("tools.%d.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level", n)
		}
	}
	return nil
}
