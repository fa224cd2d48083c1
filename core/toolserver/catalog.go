package toolserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// separator stands between a plugin's name, which cannot contain it, and its
// tool's.
const separator = "__"

// tool is one tool of an enabled plugin.
type tool struct {
	plugin string
	local  string             // its name in the plugin
	spec   pluginsdk.ToolSpec // Name is PLUGIN__TOOL
	schema *jsonschema.Resolved
}

// mcp is the tool as the agent is told of it.
func (t *tool) mcp() *mcp.Tool {
	return &mcp.Tool{Name: t.spec.Name, Description: t.spec.Description, InputSchema: t.spec.InputSchema}
}

// catalog makes tools of what manifests declare. It keeps what it has compiled.
type catalog struct {
	log *slog.Logger

	mu       sync.Mutex
	compiled map[string]compiled // by PLUGIN__TOOL
}

// compiled is what came of a tool's schema.
type compiled struct {
	source string // the declared schema
	shown  json.RawMessage
	schema *jsonschema.Resolved // nil: it cannot be used
}

// of returns the tools of plugins, in their order. A tool whose schema cannot
// be used is left out, with a warning at the first sight of it.
func (c *catalog) of(plugins []*pluginsdk.PluginInfo) []*tool {
	var tools []*tool
	for _, info := range plugins {
		for _, spec := range info.Manifest.Tools {
			if made := c.tool(info.Name, spec); made != nil {
				tools = append(tools, made)
			}
		}
	}
	return tools
}

// find returns the tool of that name, or nil.
func (c *catalog) find(plugins []*pluginsdk.PluginInfo, name string) *tool {
	plugin, local, _ := strings.Cut(name, separator)
	for _, info := range plugins {
		if info.Name != plugin {
			continue
		}
		for _, spec := range info.Manifest.Tools {
			if spec.Name == local {
				return c.tool(plugin, spec)
			}
		}
	}
	return nil
}

func (c *catalog) tool(plugin string, spec pluginsdk.ToolSpec) *tool {
	name := plugin + separator + spec.Name
	schema := c.compile(name, plugin, string(spec.InputSchema))
	if schema.schema == nil {
		return nil
	}
	local := spec.Name
	spec.Name, spec.InputSchema = name, schema.shown
	return &tool{plugin: plugin, local: local, spec: spec, schema: schema.schema}
}

func (c *catalog) compile(name, plugin, source string) compiled {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.compiled[name]; ok && known.source == source {
		return known
	}
	made := compiled{source: source}
	var err error
	if made.shown, made.schema, err = compile(name, source); err != nil {
		c.log.Warn("a tool is left out: its input schema cannot be used; its plugin has to be corrected",
			"plugin", plugin, "tool", name, "err", err)
	}
	c.compiled[name] = made
	return made
}

// compile reads a schema. What a tool takes is an object, whether the schema
// says so or not; the agent's API wants it said.
func compile(name, source string) (shown json.RawMessage, schema *jsonschema.Resolved, err error) {
	defer func() { // of libraries, over what anybody may have written
		if fault := recover(); fault != nil {
			shown, schema, err = nil, nil, fmt.Errorf("%v", fault)
		}
	}()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(source), &fields); err != nil {
		return nil, nil, err
	}
	if fields == nil {
		return nil, nil, errors.New("it is not a JSON object")
	}
	if _, said := fields["type"]; !said {
		fields["type"] = json.RawMessage(`"object"`)
	}
	if shown, err = json.Marshal(fields); err != nil {
		return nil, nil, err
	}
	var parsed jsonschema.Schema
	if err := json.Unmarshal(shown, &parsed); err != nil {
		return nil, nil, err
	}
	if schema, err = parsed.Resolve(nil); err != nil {
		return nil, nil, err
	}
	// The SDK has demands of its own, and panics when they are not met.
	mcp.NewServer(&mcp.Implementation{Name: Name}, nil).
		AddTool(&mcp.Tool{Name: name, InputSchema: shown}, nil)
	return shown, schema, nil
}

// check returns the input as an object that fits the schema, or CodeInvalid.
func (t *tool) check(input json.RawMessage) (json.RawMessage, error) {
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	var value map[string]any
	if err := json.Unmarshal(input, &value); err != nil || value == nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "the input of %s has to be a JSON object", t.spec.Name)
	}
	if err := t.schema.Validate(value); err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "the input of %s does not fit its schema: %w", t.spec.Name, err)
	}
	return input, nil
}
