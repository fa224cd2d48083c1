package toolserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-706843ae/harness/core/schema"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// separator stands between a plugin's name, which cannot contain it, and its
// tool's.
const separator = "__"

const (
	maxTools   = 128       // of one plugin
	maxSchemas = 256 << 10 // bytes of all of its schemas: a turn waits until they are read
	// maxName is how long a tool's name may be as the agent's API gets it, with
	// what the CLI puts before it (https://docs.claude.com/en/api/messages).
	maxName = 64
	prefix  = "mcp__" + Name + separator
)

// limits bound what plugins declare as schemas, and what they are called with.
var limits = schema.Limits{Bytes: 64 << 10, Depth: 40, Steps: 10_000, Work: 100_000_000}

// tool is one tool of an enabled plugin.
type tool struct {
	plugin string
	local  string             // its name in the plugin
	spec   pluginsdk.ToolSpec // Name is PLUGIN__TOOL
	schema *schema.Schema
}

// mcp is the tool as the agent is told of it.
func (t *tool) mcp() *mcp.Tool {
	return &mcp.Tool{Name: t.spec.Name, Description: t.spec.Description, InputSchema: t.spec.InputSchema}
}

// catalog makes tools of what manifests declare. It keeps what it has made of
// those that are enabled.
type catalog struct {
	bounds Bounds
	log    *slog.Logger

	mu      sync.Mutex
	plugins map[string][]*offer // the newest versionsKept
	menus   []*menu             // the newest menusKept
	lacking map[string]string   // what was last said of plugins that are not offered all
}

func newCatalog(bounds Bounds, log *slog.Logger) *catalog {
	return &catalog{bounds: bounds.withDefaults(), log: log, plugins: make(map[string][]*offer), lacking: make(map[string]string)}
}

// menusKept is how many sets of plugins are shared out among at a time, as a rule:
// runs that began before an upgrade see another one than those after it.
const menusKept = 8

// versionsKept is how many versions of a plugin runs see at a time, as a rule.
const versionsKept = 2

// offer is what came of the tools that a plugin declares.
type offer struct {
	declared []pluginsdk.ToolSpec
	made     func() *shelf
}

// shelf has a plugin's tools, and why others are left out.
type shelf struct {
	plugin string
	tools  []*tool
	left   map[string]error // by their names in the plugin
}

// menu shares what there is room for among plugins, in their order. A tool that
// cannot be used is left out, with a warning at the first sight of it.
func (c *catalog) menu(plugins []*pluginsdk.PluginInfo) *menu {
	shelves := make([]*shelf, len(plugins))
	for n, info := range plugins {
		shelves[n] = c.shelf(info)
	}
	same := func(m *menu) bool { return slices.Equal(m.shelves, shelves) }
	c.mu.Lock()
	at := slices.IndexFunc(c.menus, same)
	if at >= 0 {
		defer c.mu.Unlock()
		return c.menus[at]
	}
	c.mu.Unlock()
	made := &menu{bounds: c.bounds, shelves: shelves, taken: c.bounds.share(shelves)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.menus = append(c.menus, made)
	c.menus = slices.Delete(c.menus, 0, max(0, len(c.menus)-menusKept))
	return made
}

// tell logs of which plugins the agent is offered less than before by a menu, or all
// again, and forgets plugins that are not in it. The menu is the one of runs that
// begin now: what older runs see is no news.
func (c *catalog) tell(now *menu) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lacking := make(map[string]string)
	for n, shelf := range now.shelves {
		lack, said := now.lack(n), c.lacking[shelf.plugin]
		switch {
		case lack == "" && said != "":
			c.log.Info("all tools of a plugin are offered again", "plugin", shelf.plugin)
		case lack != said:
			c.log.Warn("there is no room for all tools of a plugin", "plugin", shelf.plugin, "problem", lack)
		}
		if lack != "" {
			lacking[shelf.plugin] = lack
		}
	}
	c.lacking = lacking
	gone := func(name string) bool {
		return !slices.ContainsFunc(now.shelves, func(s *shelf) bool { return s.plugin == name })
	}
	maps.DeleteFunc(c.plugins, func(name string, _ []*offer) bool { return gone(name) })
	c.menus = slices.DeleteFunc(c.menus, func(m *menu) bool {
		return slices.ContainsFunc(m.shelves, func(s *shelf) bool { return gone(s.plugin) })
	})
}

// find returns the tool of that name, or why it is left out; nil: there is none.
// What the agent was told of (known) is found although there is no room for it
// any more.
func (c *catalog) find(plugins []*pluginsdk.PluginInfo, name string, known bool) (*tool, error) {
	plugin, local, _ := strings.Cut(name, separator)
	menu := c.menu(plugins)
	for n, shelf := range menu.shelves {
		if shelf.plugin != plugin {
			continue
		}
		at := slices.IndexFunc(shelf.tools, func(t *tool) bool { return t.local == local })
		switch {
		case at < 0:
			return nil, shelf.left[local]
		case at >= menu.taken[n] && !known:
			return nil, errors.New(menu.lack(n))
		}
		return shelf.tools[at], nil
	}
	return nil, nil
}

// shelf makes a plugin's tools once, while nobody waits who does not need them.
func (c *catalog) shelf(info *pluginsdk.PluginInfo) *shelf {
	return c.offer(info).made()
}

func (c *catalog) offer(info *pluginsdk.PluginInfo) *offer {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.plugins[info.Name]
	for _, made := range known {
		if slices.EqualFunc(made.declared, info.Manifest.Tools, sameSpec) {
			return made
		}
	}
	next := &offer{declared: info.Manifest.Tools}
	next.made = sync.OnceValue(func() *shelf { return c.make(info.Name, next.declared) })
	known = append(known, next)
	c.plugins[info.Name] = known[max(0, len(known)-versionsKept):]
	return next
}

func sameSpec(a, b pluginsdk.ToolSpec) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.InputSchema, b.InputSchema)
}

func (c *catalog) make(plugin string, declared []pluginsdk.ToolSpec) *shelf {
	made := &shelf{plugin: plugin, left: make(map[string]error)}
	read := 0
	for n, spec := range declared {
		if n == maxTools {
			c.log.Warn("tools are left out: a plugin can have only so many; its plugin has to be corrected",
				"plugin", plugin, "declared", len(declared), "most", maxTools, "first", spec.Name)
			for _, spec := range declared[n:] {
				made.left[spec.Name] = fmt.Errorf("its plugin declares %d tools, and %d are the most that it can have", len(declared), maxTools)
			}
			return made
		}
		var err error
		local := spec.Name
		tool := &tool{plugin: plugin, local: local, spec: spec}
		tool.spec.Name = plugin + separator + local
		if read += len(spec.InputSchema); read > maxSchemas {
			err = fmt.Errorf("the input schemas of its plugin have more than %d bytes up to it", maxSchemas)
		} else {
			tool.spec.InputSchema, tool.schema, err = compile(tool.spec.Name, spec.InputSchema)
		}
		if err != nil {
			c.log.Warn("a tool is left out; its plugin has to be corrected", "plugin", plugin, "tool", tool.spec.Name, "err", err)
			made.left[local] = err
			continue
		}
		made.tools = append(made.tools, tool)
	}
	return made
}

// compile reads a tool's schema. What a tool takes is an object, whether the
// schema says so or not; the agent's API wants it said. What that API refuses
// is refused here: it would answer no turn at all any more.
func compile(name string, source json.RawMessage) (shown json.RawMessage, made *schema.Schema, err error) {
	if full := prefix + name; len(full) > maxName {
		return nil, nil, fmt.Errorf("the agent's API takes names of %d characters, and %s has %d: a shorter name is needed, of the tool or its plugin",
			maxName, full, len(full))
	}
	if len(source) > limits.Bytes {
		return nil, nil, fmt.Errorf("its input schema cannot be used: at most %d bytes, this has %d", limits.Bytes, len(source))
	}
	shown, err = whole(source)
	if err == nil {
		made, err = schema.Compile(shown, limits)
	}
	if err == nil {
		err = schema.Guard(func() error { // the SDK has demands of its own, and panics when they are not met
			mcp.NewServer(&mcp.Implementation{Name: Name}, nil).AddTool(&mcp.Tool{Name: name, InputSchema: shown}, nil)
			return nil
		})
	}
	if err != nil {
		return nil, nil, fmt.Errorf("its input schema cannot be used: %w", err)
	}
	return shown, made, nil
}

// whole returns a tool's schema as the agent is told of it.
func whole(source json.RawMessage) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(source, &fields); err != nil {
		return nil, err
	}
	if fields == nil {
		return nil, errors.New("it is not a JSON object")
	}
	for _, keyword := range []string{"oneOf", "anyOf", "allOf"} {
		if _, has := fields[keyword]; has {
			return nil, fmt.Errorf("the agent's API does not take %s at the top of it; say it in a property, or in the description", keyword)
		}
	}
	if _, said := fields["type"]; !said {
		fields["type"] = json.RawMessage(`"object"`)
	}
	return json.Marshal(fields)
}

// check returns the input as an object that fits the schema, or CodeInvalid.
func (t *tool) check(input json.RawMessage) (json.RawMessage, error) {
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	if trimmed := bytes.TrimSpace(input); !json.Valid(trimmed) || trimmed[0] != '{' {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "the input of %s has to be a JSON object", t.spec.Name)
	}
	if err := t.schema.Validate(input); err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "the input of %s does not fit its schema: %w", t.spec.Name, err)
	}
	return input, nil
}
