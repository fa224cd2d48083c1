// Package roles has the roles of a workflow: what an agent of a name is told, and what it may. Those
// that are shipped are Markdown files beside this one. Files of the project extend them or say the same
// role otherwise, and the operator's settings come last.
package roles

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/brain"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Dir is where a project keeps its roles: Below in the directory .brain.
const (
	Dir   = brain.Dir + "/" + Below
	Below = "agents"
)

// Where a role comes from; a role of the project has the path of its file.
const (
	Shipped      = "shipped"
	FromSettings = "settings"
)

// Role is who works on a stage. Whoever asks for its turns passes Denies as rules that are denied, and
// PermissionMode as it is.
type Role struct {
	Name, Description string
	Model             string   // empty: the thread's
	Tools             []string // the CLI's tools that it is offered; empty: all but those that are denied
	DisallowedTools   []string // rules that deny it something, besides the tools that it is not offered
	PermissionMode    string
	Prompt            string
	Source            string // Shipped, FromSettings, or a file of the project
}

// Override is what the operator's settings say of a role; what is empty stays as it is.
type Override struct {
	Description     string   `json:"description,omitempty"`
	Model           string   `json:"model,omitempty"`
	Tools           []string `json:"tools,omitempty"`
	DisallowedTools []string `json:"disallowedTools,omitempty"`
	PermissionMode  string   `json:"permissionMode,omitempty"`
	Prompt          string   `json:"prompt,omitempty"`
}

var (
	name  = lazy.Regexp(`^[a-z][a-z0-9-]{0,39}$`)
	model = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._:/\[\]-]{0,99}$`)
	rule  = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_*-]{0,199}(?:\([^()\n]{1,500}\))?$`)
)

// Load returns the roles by their names. project is the project's directory; empty: it has none.
// A file of the project that cannot be used, or asks for what it may not have, is a problem in words that
// names the file; what holds then is the shipped role, or the role without that wish. An error is of the settings.
func Load(project string, settings map[string]Override) (all map[string]Role, problems []string, err error) {
	all = make(map[string]Role)
	for _, role := range shipped() {
		all[role.Name] = role
	}
	files, problems := readDir(project)
	for _, file := range files {
		role, wishes, err := file.role()
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s is not used: %v", file.path, err))
			continue
		}
		for _, wish := range wishes {
			problems = append(problems, fmt.Sprintf("%s: %s", file.path, wish))
		}
		all[role.Name] = role
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		role, err := settings[name].over(name, all)
		if err != nil {
			return nil, problems, err
		}
		all[name] = role
	}
	return all, problems, nil
}

//go:embed *.md
var files embed.FS

// shipped are the roles that come with the plugin.
func shipped() (all []Role) {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		panic(err) // they are compiled in
	}
	for _, entry := range entries {
		text, err := fs.ReadFile(files, entry.Name())
		if err != nil {
			panic(err)
		}
		read, err := parse(string(text))
		if err != nil {
			panic(fmt.Sprintf("%s: %v", entry.Name(), err)) // a test reads them
		}
		all = append(all, Role{
			Name: read.text("name"), Description: read.text("description"), Model: read.text("model"), Tools: read.list("tools"),
			PermissionMode: read.text("permissionMode"), Prompt: read.body, Source: Shipped,
		})
	}
	return all
}

// base is the shipped role whose rights an agent has: the one of its name, else that of its part in a
// workflow. An agent that has none of these parts works as a builder does.
func base(agent string) Role {
	part := stages.RoleOf(agent)
	if part == stages.Other {
		part = stages.Builder
	}
	all := shipped()
	at := slices.IndexFunc(all, func(r Role) bool { return r.Name == string(part) })
	return all[at]
}

// modes are the permission modes that a turn can have, and how much each lets an agent do unasked.
var modes = map[string]int{"plan": 0, "dontAsk": 1, "default": 1, "acceptEdits": 2}

// over returns the role of a name as the settings want it.
func (o Override) over(agent string, all map[string]Role) (Role, error) {
	wrong := func(format string, args ...any) error {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "roles.%.60s: %s", agent, fmt.Sprintf(format, args...))
	}
	role, known := all[agent]
	if !known {
		role = base(agent)
		role.Name, role.Description, role.Prompt = agent, "", ""
	}
	role.Source = FromSettings
	if !name.MatchString(agent) {
		return role, wrong("a role's name has lower case letters, digits and hyphens, begins with a letter, and has at most 40 characters")
	}
	if o.Model != "" {
		if role.Model = o.Model; !model.MatchString(o.Model) {
			return role, wrong("model: %.100q is no name of a model", o.Model)
		}
	}
	if o.PermissionMode != "" {
		if _, known := modes[o.PermissionMode]; !known {
			return role, wrong("permissionMode: %.50q is none of default, acceptEdits, plan and dontAsk", o.PermissionMode)
		}
		role.PermissionMode = o.PermissionMode
	}
	for _, one := range slices.Concat(o.Tools, o.DisallowedTools) {
		if !rule.MatchString(one) {
			return role, wrong("%.100q is no name of a tool, and no rule for one", one)
		}
	}
	if len(o.Tools) > 0 {
		role.Tools = o.Tools
	}
	role.DisallowedTools = slices.Concat(role.DisallowedTools, o.DisallowedTools)
	if o.Description != "" {
		role.Description = o.Description
	}
	if o.Prompt != "" {
		role.Prompt = o.Prompt
	}
	if strings.TrimSpace(role.Prompt) == "" {
		return role, wrong("prompt: a role that is not there yet needs one")
	}
	return role, nil
}
