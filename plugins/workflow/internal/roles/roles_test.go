package roles_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/roles"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// project is a directory with files in .brain/agents.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	agents := filepath.Join(dir, roles.Dir)
	if err := os.MkdirAll(agents, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(agents, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func load(t *testing.T, dir string, settings map[string]roles.Override) (map[string]roles.Role, []string) {
	t.Helper()
	all, problems, err := roles.Load(dir, settings)
	if err != nil {
		t.Fatal(err)
	}
	return all, problems
}

func TestTheShippedRoles(t *testing.T) {
	all, problems := load(t, "", nil)
	if names := slices.Sorted(maps.Keys(all)); !slices.Equal(names, []string{"architect", "builder", "reviewer", "scout"}) || len(problems) > 0 {
		t.Fatalf("there are %q: %q", names, problems)
	}
	for name, role := range all {
		if role.Name != name || string(stages.RoleOf(name)) != name || role.Source != roles.Shipped || role.PermissionMode != "acceptEdits" || len(role.Description) < 50 || len(role.Prompt) < 1000 {
			t.Errorf("%s is %+v", name, role)
		}
		for _, tool := range []string{"Agent", "Task", "AskUserQuestion", "EnterWorktree", "Skill", "Workflow", "mcp__*"} {
			if !slices.Contains(role.Denies(false), tool) {
				t.Errorf("%s may use %s", name, tool)
			}
		}
		for _, tool := range []string{"Read", "Grep", "Glob", "Write", "StructuredOutput"} {
			if slices.Contains(role.Denies(false), tool) {
				t.Errorf("%s may not use %s", name, tool)
			}
		}
		if teams := role.Denies(true); slices.Contains(teams, "Agent") || slices.Contains(teams, "Task") || !slices.Contains(teams, "Workflow") {
			t.Errorf("with teams %s may not use %q", name, teams)
		}
	}
	if _, problems := load(t, t.TempDir(), nil); len(problems) > 0 {
		t.Errorf("a project without files of roles: %q", problems)
	}
	if _, problems := load(t, filepath.Join(t.TempDir(), "nothing"), nil); len(problems) > 0 {
		t.Errorf("no project: %q", problems)
	}
	// What the plugin's programs read, the architect has to be told as they read it.
	for _, words := range []string{"### Task 1: ", "Depends: 1, 3", ".brain/PLAN.md", ".brain/DECISIONS.md", ".brain/PATTERNS.md", ".brain/research/"} {
		if !strings.Contains(all["architect"].Prompt, words) {
			t.Errorf("the architect is not told of %s", words)
		}
	}
	for _, words := range []string{"`APPROVE`", "`REVISE`", "`REDESIGN`"} {
		if !strings.Contains(all["reviewer"].Prompt, words) {
			t.Errorf("the reviewer is not told of %s", words)
		}
	}
	if slices.Contains(all["scout"].Tools, "Bash") || slices.Contains(all["architect"].Tools, "Bash") {
		t.Error("who builds nothing runs nothing")
	}
}

func TestAProjectExtendsAndOverridesRoles(t *testing.T) {
	dir := project(t, map[string]string{
		"reviewer.md":   "---\r\nname: reviewer\r\ndescription: \"Looks: closely\"\r\nmodel: opus # the large one\r\ntools: Read, Grep, Bash\r\npermissionMode: default\r\n---\r\n\r\nLook at all.\r\n",
		"go-builder.md": "---\n# a comment\ndescription: 'Builds Go, and doesn''t guess'\ntools:\n  - Read\n  - \"Write\"\ndisallowedTools: [\"Bash(rm:*, -r)\", WebFetch]\nmodel: inherit\n---\nBuild Go.",
		"writer.md":     "---\ndescription: Writes documents\n---\nWrite.\n\n---\n\nMore.",
		"scout.md":      "---\nmodel: haiku\n---\n",
		"notes.txt":     "no role",
	})
	all, problems := load(t, dir, nil)
	if len(problems) > 0 {
		t.Errorf("%q", problems)
	}
	shipped, _ := load(t, "", nil)
	for name, want := range map[string]roles.Role{
		"reviewer":   {Name: "reviewer", Description: "Looks: closely", Model: "opus", Tools: []string{"Read", "Grep", "Bash"}, PermissionMode: "default", Prompt: shipped["reviewer"].Prompt + "\n\nLook at all.", Source: ".brain/agents/reviewer.md"},
		"go-builder": {Name: "go-builder", Description: "Builds Go, and doesn't guess", Tools: []string{"Read", "Write"}, DisallowedTools: []string{"Bash(rm:*, -r)", "WebFetch"}, PermissionMode: "acceptEdits", Prompt: "Build Go.", Source: ".brain/agents/go-builder.md"},
		"writer":     {Name: "writer", Description: "Writes documents", Tools: shipped["builder"].Tools, PermissionMode: "acceptEdits", Prompt: "Write.\n\n---\n\nMore.", Source: ".brain/agents/writer.md"},
		"scout":      {Name: "scout", Description: shipped["scout"].Description, Model: "haiku", Tools: shipped["scout"].Tools, PermissionMode: "acceptEdits", Prompt: shipped["scout"].Prompt, Source: ".brain/agents/scout.md"},
		"builder":    shipped["builder"],
	} {
		if got := all[name]; fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("%s is\n%+v, want\n%+v", name, got, want)
		}
	}
	if denied := all["go-builder"].Denies(false); !slices.Contains(denied, "Bash(rm:*, -r)") || !slices.Contains(denied, "Bash") || !slices.Contains(denied, "Edit") || slices.Contains(denied, "Write") {
		t.Errorf("the builder may not use %q", denied)
	}
}

// Whoever can write files in a repository gains nothing by them.
func TestAHostileRepositoryGainsNothing(t *testing.T) {
	const body = "\n---\nDo it.\n"
	for name, row := range map[string]struct {
		file, text string
		says       string // in the problem
	}{
		"all permissions":        {"builder.md", "---\npermissionMode: bypassPermissions" + body, "permissionMode"},
		"others' spelling":       {"builder.md", "---\npermissionMode: BypassPermissions" + body, "permissionMode"},
		"a mode of a new role":   {"my-builder.md", "---\npermissionMode: bypassPermissions" + body, "permissionMode"},
		"a mode that is none":    {"builder.md", "---\npermissionMode: auto" + body, "permissionMode"},
		"a tool more":            {"scout.md", "---\ntools: Read, Bash" + body, "Bash"},
		"a tool of a plugin":     {"builder.md", "---\ntools: Read, mcp__harness__delegation__delegate" + body, "mcp__harness__delegation__delegate"},
		"all tools":              {"reviewer.md", "---\ntools: \"*\"" + body, "tools"},
		"all tools of servers":   {"reviewer.md", "---\ntools: [mcp__*]" + body, "tools"},
		"no tools, for all":      {"reviewer.md", "---\ntools: []" + body, "tools"},
		"an empty list":          {"reviewer.md", "---\ntools:" + body, "tools"},
		"sub-agents":             {"builder.md", "---\ntools: [Agent, Task]" + body, "Agent"},
		"a rule that allows":     {"scout.md", "---\ntools: Bash(*)" + body, "Bash(*)"},
		"a rule for a directory": {"scout.md", "---\ntools: Read(//etc/**)" + body, "Read(//etc/**)"},
		"hooks":                  {"builder.md", "---\nhooks: x" + body, "hooks"},
		"servers":                {"builder.md", "---\nmcpServers:\n  - evil" + body, "mcpServers"},
		"allowed tools":          {"builder.md", "---\nallowedTools: Bash(*)" + body, "allowedTools"},
		"options in the model":   {"builder.md", "---\nmodel: --dangerously-skip-permissions" + body, "model"},
		"spaces in the model":    {"builder.md", "---\nmodel: \"opus --settings /tmp/x\"" + body, "model"},
		"lines in the model":     {"builder.md", "---\nmodel: \"opus\\n--x\"" + body, "model"},
		"another's name":         {"x.md", "---\nname: builder\npermissionMode: plan" + body, "name"},
		"a bad rule":             {"builder.md", "---\ndisallowedTools: [\"--x\"]" + body, "disallowedTools"},
		"a name":                 {"Builder.md", "---\nmodel: opus" + body, "Builder.md"},
		"a name with spaces":     {"a builder.md", "---\nmodel: opus" + body, "a builder.md"},
		"a name with a newline":  {"a\nb.md", "---\nmodel: opus" + body, "b.md"},
	} {
		t.Run(name, func(t *testing.T) {
			shipped, _ := load(t, "", nil)
			all, problems := load(t, project(t, map[string]string{row.file: row.text}), nil)
			if len(problems) == 0 || !strings.Contains(problems[0], row.says) || !strings.Contains(problems[0], roles.Dir+"/"+row.file) {
				t.Errorf("the problems are %q", problems)
			}
			for name, role := range all {
				as := shipped[string(stages.RoleOf(name))]
				if as.Name == "" {
					as = shipped["builder"]
				}
				if role.PermissionMode != as.PermissionMode && role.PermissionMode != "plan" && role.PermissionMode != "default" {
					t.Errorf("%s has the mode %s", name, role.PermissionMode)
				}
				for _, tool := range as.Denies(false) {
					if !slices.Contains(role.Denies(false), tool) {
						t.Errorf("%s may use %s", name, tool)
					}
				}
				if len(role.Tools) == 0 || strings.HasPrefix(role.Model, "-") || strings.ContainsAny(role.Model, " \n") {
					t.Errorf("%s has the tools %q and the model %q", name, role.Tools, role.Model)
				}
			}
		})
	}
}

// A project lowers a permission mode, and never raises one.
func TestAProjectOnlyLowersAMode(t *testing.T) {
	for _, row := range []struct{ has, wanted, want string }{
		{"acceptEdits", "default", "default"}, {"acceptEdits", "plan", "plan"}, {"acceptEdits", "dontAsk", "dontAsk"}, {"acceptEdits", "acceptEdits", "acceptEdits"},
		{"default", "acceptEdits", "default"}, {"default", "plan", "plan"}, {"default", "dontAsk", "default"}, {"plan", "default", "plan"}, {"plan", "acceptEdits", "plan"},
		{"plan", "bypassPermissions", "plan"}, {"default", "", "default"},
	} {
		mode, wishes := roles.LowerMode(row.has, row.wanted)
		if left := row.want == row.has && row.wanted != row.has && row.wanted != ""; mode != row.want || (wishes > 0) != left {
			t.Errorf("%s, with the wish %q, is %s with %d wishes left out", row.has, row.wanted, mode, wishes)
		}
	}
}

// A file that cannot be used is said by name, and the shipped role holds.
func TestAFileThatCannotBeUsed(t *testing.T) {
	shipped, _ := load(t, "", nil)
	for name, row := range map[string]struct{ text, says string }{
		"empty":           {"", "front matter"},
		"no front matter": {"Build it.", "front matter"},
		"no end":          {"---\nmodel: opus\nBuild it.", "front matter"},
		"no field":        {"---\nmodel opus\n---\nx", "line 2"},
		"nested":          {"---\nmodel: opus\nhooks:\n  start: x\n---\nx", "line 4"},
		"twice":           {"---\nmodel: opus\nmodel: haiku\n---\nx", "twice"},
		"an open quote":   {"---\nmodel: \"opus\n---\nx", "quotes"},
		"an open quote '": {"---\nmodel: 'opus\n---\nx", "quotes"},
		"an open list":    {"---\ntools: [Read,\n---\nx", "list"},
		"a block":         {"---\ndescription: |\n  words\n---\nx", "one line"},
		"an alias":        {"---\nmodel: *x\n---\nx", "YAML"},
		"a tag":           {"---\nmodel: !!binary x\n---\nx", "YAML"},
		"an item of none": {"---\n- Read\n---\nx", "line 2"},
		"too large":       {"---\nmodel: opus\n---\n" + strings.Repeat("x", 64<<10), "65536 bytes"},
		"binary":          {"---\nmodel: opus\n---\n\x00", "UTF-8"},
		"no UTF-8":        {"---\nmodel: opus\n---\n\xff", "UTF-8"},
		"another file's":  {"---\nname: scout\n---\nx", "scout"},
	} {
		t.Run(name, func(t *testing.T) {
			all, problems := load(t, project(t, map[string]string{"builder.md": row.text, "scout.md": "---\nmodel: haiku\n---\n"}), nil)
			if len(problems) != 1 || !strings.Contains(problems[0], ".brain/agents/builder.md is not used: ") || !strings.Contains(problems[0], row.says) {
				t.Errorf("the problems are %q", problems)
			}
			if fmt.Sprint(all["builder"]) != fmt.Sprint(shipped["builder"]) || all["scout"].Model != "haiku" {
				t.Errorf("the builder is %+v", all["builder"])
			}
		})
	}
	if _, problems := load(t, project(t, map[string]string{"tester.md": "---\nmodel: opus\n---\n \n"}), nil); len(problems) != 1 || !strings.Contains(problems[0], "told") {
		t.Errorf("a new role without a text: %q", problems)
	}
}

func TestFilesOfRolesAreBounded(t *testing.T) {
	files := map[string]string{}
	for n := range 60 {
		files[fmt.Sprintf("r%02d.md", n)] = "---\nmodel: opus\n---\nx"
	}
	all, problems := load(t, project(t, files), nil)
	if len(all) != 54 || len(problems) != 1 || !strings.Contains(problems[0], "60 files") || all["r49"].Name == "" {
		t.Errorf("%d roles: %q", len(all), problems)
	}
}

func TestLinksOutOfTheProjectAreNotRead(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.md")
	if err := os.WriteFile(secret, []byte("---\nmodel: opus\n---\nsecret"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := func(dir, to, at string) string {
		path := filepath.Join(dir, at)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	full := project(t, map[string]string{"builder.md": "---\nmodel: opus\n---\nsecret"})
	for name, dir := range map[string]string{
		"the file":          link(t.TempDir(), secret, ".brain/agents/builder.md"),
		"the file, inside":  link(project(t, map[string]string{"other.txt": "---\nmodel: opus\n---\nsecret"}), "other.txt", ".brain/agents/builder.md"),
		"the directory":     link(t.TempDir(), filepath.Join(full, roles.Dir), ".brain/agents"),
		"the directory two": link(t.TempDir(), filepath.Join(full, ".brain"), ".brain"),
	} {
		all, problems := load(t, dir, nil)
		if all["builder"].Source != roles.Shipped || len(problems) != 1 || !strings.Contains(problems[0], "link") {
			t.Errorf("%s: %s, %q", name, all["builder"].Source, problems)
		}
	}
}

func TestTheSettingsComeLast(t *testing.T) {
	dir := project(t, map[string]string{"builder.md": "---\nmodel: haiku\npermissionMode: plan\n---\nThe project's.", "tester.md": "---\nmodel: haiku\n---\nTest."})
	all, problems := load(t, dir, map[string]roles.Override{
		"builder":   {Model: "opus", PermissionMode: "dontAsk", Tools: []string{"Read", "mcp__harness__cron__list", "Bash(go test:*)"}, DisallowedTools: []string{"Bash(git push:*)"}},
		"tester":    {Prompt: "Test more.", Description: "Tests"},
		"my-review": {Prompt: "Review."},
		"scout":     {},
	})
	if len(problems) > 0 {
		t.Errorf("%q", problems)
	}
	shipped, _ := load(t, "", nil)
	builder, tester, review := all["builder"], all["tester"], all["my-review"]
	if builder.Model != "opus" || builder.PermissionMode != "dontAsk" || len(builder.Tools) != 3 || builder.Prompt != "The project's." || builder.Source != roles.FromSettings {
		t.Errorf("the builder is %+v", builder)
	}
	if denied := builder.Denies(false); slices.Contains(denied, "mcp__*") || slices.Contains(denied, "Bash") || !slices.Contains(denied, "Write") || !slices.Contains(denied, "Bash(git push:*)") {
		t.Errorf("the builder may not use %q", denied)
	}
	if tester.Prompt != "Test more." || tester.Model != "haiku" || tester.Description != "Tests" {
		t.Errorf("the tester is %+v", tester)
	}
	if review.Name != "my-review" || !slices.Equal(review.Tools, shipped["reviewer"].Tools) || review.Prompt != "Review." || review.Description != "" {
		t.Errorf("the reviewer is %+v", review)
	}
	if all["scout"].Prompt != shipped["scout"].Prompt {
		t.Errorf("the scout is %+v", all["scout"])
	}
	for name, override := range map[string]roles.Override{
		"builder":  {PermissionMode: "bypassPermissions"},
		"scout":    {Model: "--x"},
		"reviewer": {Tools: []string{"a b"}},
		"new":      {Model: "opus"},
		"A b":      {Prompt: "x"},
	} {
		if _, _, err := roles.Load("", map[string]roles.Override{name: override}); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), "roles."+name+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A role that is offered all tools has sub-agents only with teams.
func TestARoleWithoutAListOfTools(t *testing.T) {
	role := roles.Role{DisallowedTools: []string{"Bash"}}
	if got := role.Denies(false); !slices.Equal(got, []string{"Agent", "Bash", "Task", "TaskOutput", "TaskStop"}) {
		t.Errorf("%q", got)
	}
	if got := role.Denies(true); !slices.Equal(got, []string{"Bash"}) {
		t.Errorf("%q", got)
	}
}
