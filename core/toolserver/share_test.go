package toolserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// hasMany adds an enabled plugin with many tools, each with a description of so
// many bytes.
func (f *fakePlugins) hasMany(plugin string, tools, bytes int) {
	f.has(plugin, "t0", anyObject, echo)
	f.mu.Lock()
	defer f.mu.Unlock()
	declared := make([]pluginsdk.ToolSpec, tools)
	for n := range declared {
		declared[n] = pluginsdk.ToolSpec{
			Name: fmt.Sprintf("t%d", n), Description: strings.Repeat("x", bytes), InputSchema: json.RawMessage(anyObject),
		}
	}
	f.rows[len(f.rows)-1].Manifest.Tools = declared
}

// counted returns how many tools each plugin has in a list of names.
func counted(names string) map[string]int {
	counts := make(map[string]int)
	for name := range strings.FieldsSeq(names) {
		plugin, _, _ := strings.Cut(name, separator)
		counts[plugin]++
	}
	return counts
}

// What greedy plugins declare costs neither the agent its context nor the modest
// ones their tools; what is left out is said, once, to the operator, and with the
// reason to who calls it.
func TestGreedyPluginsAreCutAndModestOnesAreNot(t *testing.T) {
	f := start(t, nil)
	f.plugins.hasMany("numerous", 128, 10)
	f.plugins.hasMany("verbose", 100, 9000)
	f.plugins.hasMany("modest", 10, 500)
	client := f.open()
	end := f.begin(behalf)
	specs := f.server.List()
	bytes := 0
	for _, spec := range specs {
		bytes += len(spec.Name) + len(spec.Description) + len(spec.InputSchema)
	}
	if len(specs) > 128 || bytes > 128<<10 {
		t.Errorf("%d tools with %d bytes are offered", len(specs), bytes)
	}
	counts := counted(f.names(client))
	if counts["modest"] != 10 || counts["numerous"] < 60 || counts["numerous"] == 128 || counts["verbose"] < 8 || counts["verbose"] == 100 {
		t.Errorf("offered: %v", counts)
	}
	for _, plugin := range []string{"numerous", "verbose"} {
		first := fmt.Sprintf("%s__t%d", plugin, counts[plugin])
		says := fmt.Sprintf("the tool %s cannot be used: %s", first, f.server.Unoffered(plugin))
		if result := f.call(client, first, `{}`); !strings.Contains(text(result), "unavailable: "+says) {
			t.Errorf("%s: %q, want %q", first, text(result), says)
		}
		if _, err := f.server.Call(t.Context(), "web", ledger.Behalf{}, first, nil); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
			t.Errorf("%s, for a plugin: %v", first, err)
		}
		last := fmt.Sprintf("%s__t%d", plugin, counts[plugin]-1)
		if result := f.call(client, last, `{}`); result.IsError {
			t.Errorf("%s: %q", last, text(result))
		}
	}
	if words := f.server.Unoffered("modest") + f.server.Unoffered("nobody"); words != "" {
		t.Errorf("said of who is offered all: %q", words)
	}
	want := fmt.Sprintf("the agent is offered %[1]d of the 100 tools of verbose, none from t%[1]d on: "+
		"there is room for 128 tools and 128 KiB of names, descriptions and schemas of all plugins together", counts["verbose"])
	if words := f.server.Unoffered("verbose"); words != want {
		t.Errorf("%q, want %q", words, want)
	}
	if words := Unoffered(Bounds{}, &pluginsdk.PluginInfo{Name: "core"}, f.plugins.registry()); len(words) != 2 || words["verbose"] != want {
		t.Errorf("by the rows: %q", words)
	}
	end()
	f.begin(behalf)()
	if n := strings.Count(f.log.String(), "there is no room for all tools"); n != 2 {
		t.Errorf("it is said %d times in\n%s", n, f.log)
	}

	f.plugins.enable("verbose", false)
	f.begin(behalf)()
	if counts := counted(f.names(client)); counts["numerous"] != 118 {
		t.Errorf("offered beside the modest one: %v", counts)
	}
	f.plugins.enable("modest", false)
	f.begin(behalf)()
	if n := strings.Count(f.log.String(), "all tools of a plugin are offered again"); n != 1 || f.server.Unoffered("numerous") != "" {
		t.Errorf("that there is room for all is said %d times", n)
	}
}

// While runs of before an upgrade go on, each of their calls asks for what the old
// version offered, and those after it for the new one's. The log tells of what holds
// now, once, or it is nothing but that.
func TestRunsOnTwoVersionsOfAPlugin(t *testing.T) {
	f := start(t, func(c *Config) { c.Bounds.Tools = 3 })
	f.plugins.hasMany("a", 5, 0)
	f.plugins.kept = map[string]pluginsdk.PluginInfo{"R": f.plugins.rows[0]}
	f.plugins.rows[0].Manifest.Tools = f.plugins.rows[0].Manifest.Tools[:2]
	client := f.open()
	defer f.begin(behalf)()
	for range 3 {
		if result := f.call(client, "a__t2", `{}`); result.IsError {
			t.Fatalf("the old version's tool: %q", text(result))
		}
		if _, err := f.server.Call(t.Context(), "web", ledger.Behalf{}, "a__t1", nil); err != nil {
			t.Fatalf("the new version's: %v", err)
		}
		if f.server.Unoffered("a") != "" {
			t.Fatal("the new version lacks something")
		}
	}
	if log := f.log.String(); strings.Contains(log, "there is no room for all tools") || strings.Contains(log, "offered again") {
		t.Errorf("it is said what holds no more:\n%s", log)
	}
	old, now := f.server.catalog.menu(f.plugins.Offering("R")), f.server.catalog.menu(f.plugins.Offering(""))
	if old != f.server.catalog.menu(f.plugins.Offering("R")) || now != f.server.catalog.menu(f.plugins.Offering("")) {
		t.Error("the room is shared out anew for each call")
	}
}

// Doctor must not promise a plugin the room that the core's own tool takes.
func TestTheCoresOwnToolTakesRoomToo(t *testing.T) {
	f := start(t, nil)
	f.plugins.hasMany("a", 3, 0)
	own := pluginsdk.PluginInfo{Name: "core", Manifest: pluginsdk.Manifest{
		Name: "core", Tools: []pluginsdk.ToolSpec{{Name: "notify", InputSchema: json.RawMessage(anyObject)}},
	}}
	if words := Unoffered(Bounds{Tools: 3}, &own, f.plugins.registry()); !strings.Contains(words["a"], "offered 2 of the 3") || len(words) != 1 {
		t.Errorf("lacking: %q", words)
	}
}

// An operator with a larger model, or a smaller purse, sets other bounds.
func TestTheBoundsCanBeSet(t *testing.T) {
	f := start(t, func(c *Config) { c.Bounds = Bounds{Tools: 3, Bytes: 110} })
	f.plugins.hasMany("a", 5, 0)
	f.plugins.hasMany("b", 5, 40)
	client := f.open()
	if names := f.names(client); names != "a__t0 a__t1 b__t0" {
		t.Errorf("offered: %s", names)
	}
}

// What the agent was told of at the beginning of its turn works until the end of
// it, although a plugin that is turned on meanwhile takes its room.
func TestAToolOfTheTurnsListStaysForTheTurn(t *testing.T) {
	f := start(t, nil)
	f.plugins.hasMany("a", 128, 10)
	f.plugins.hasMany("b", 100, 10)
	f.plugins.enable("b", false)
	client := f.open()
	end := f.begin(behalf)
	f.plugins.enable("b", true)
	if f.server.Unoffered("a") == "" {
		t.Fatal("there is room for all")
	}
	if result := f.call(client, "a__t127", `{}`); result.IsError {
		t.Errorf("in the turn: %q", text(result))
	}
	end()
	defer f.begin(behalf)()
	if result := f.call(client, "a__t127", `{}`); !strings.Contains(text(result), "the agent is offered 64 of the 128 tools of a, none from t64 on") {
		t.Errorf("in the next turn: %q", text(result))
	}
}

// A plugin that wants no more than an equal share has all of it, whatever the
// others declare; and nothing is left out that there is room for.
func TestSharesAreFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bounds := Bounds{Tools: rapid.IntRange(1, 40).Draw(t, "tools"), Bytes: rapid.IntRange(1, 2000).Draw(t, "bytes")}
		shelves := make([]*shelf, rapid.IntRange(0, 8).Draw(t, "plugins"))
		wanted := make([]int, len(shelves))
		for n := range shelves {
			shelves[n] = &shelf{}
			for _, size := range rapid.SliceOfN(rapid.IntRange(1, 500), 0, 20).Draw(t, "sizes") {
				shelves[n].tools = append(shelves[n].tools, &tool{spec: pluginsdk.ToolSpec{Name: strings.Repeat("x", size)}})
				wanted[n] += size
			}
		}
		taken := bounds.share(shelves)
		tools, bytes := 0, 0
		for n, shelf := range shelves {
			tools += taken[n]
			for _, tool := range shelf.tools[:taken[n]] {
				bytes += tool.size()
			}
		}
		if tools > bounds.Tools || bytes > bounds.Bytes {
			t.Fatalf("%d tools with %d bytes are offered", tools, bytes)
		}
		for n, shelf := range shelves {
			if taken[n] == len(shelf.tools) {
				continue
			}
			if len(shelf.tools)*len(shelves) <= bounds.Tools && wanted[n]*len(shelves) <= bounds.Bytes {
				t.Fatalf("plugin %d wants %d tools with %d bytes and has %d of them", n, len(shelf.tools), wanted[n], taken[n])
			}
			if tools < bounds.Tools && bytes+shelf.tools[taken[n]].size() <= bounds.Bytes {
				t.Fatalf("there is room for tool %d of plugin %d", taken[n], n)
			}
		}
		if again := bounds.share(shelves); !slices.Equal(again, taken) {
			t.Fatalf("%v, and then %v", taken, again)
		}
	})
}
