package roles

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/brain"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
)

// How many files of roles a project can have, and how large each may be, in bytes.
const (
	mostFiles = 50
	mostBytes = 64 << 10
)

// file is one of a project.
type file struct {
	name string // of the role
	path string
	text string
}

// readDir returns the files of a project's roles. Files that cannot be used are problems.
func readDir(project string) (files []file, problems []string) {
	if project == "" {
		return nil, nil
	}
	texts, more, err := brain.TextsIn(project, Below, mostFiles, mostBytes)
	if err != nil {
		return nil, []string{fmt.Sprintf("%s is not used: %v", Dir, err)}
	}
	if more > 0 {
		problems = append(problems, fmt.Sprintf("%s has %d files of roles; the first %d by name are used", Dir, len(texts)+more, mostFiles))
	}
	for _, text := range texts {
		role, err := strings.TrimSuffix(path.Base(text.Path), ".md"), text.Fault
		if err == nil && !name.MatchString(role) {
			err = errors.New("the name of a role's file has lower case letters, digits and hyphens, begins with a letter, and has at most 40 characters before .md")
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s is not used: %v", text.Path, err))
			continue
		}
		files = append(files, file{name: role, path: text.Path, text: text.Text})
	}
	return files, problems
}

// role is the role of a project's file. Whoever can write files in a repository gains nothing by it: the
// file may say what the agent is told and which model answers, and may take tools and rights away from those
// that the shipped role has. What it tells a reviewer comes after the shipped prompt. Other wishes are left out, and said.
func (f file) role() (role Role, wishes []string, err error) {
	read, err := parse(f.text)
	if err != nil {
		return role, nil, err
	}
	if said := read.text("name"); said != "" && said != f.name {
		return role, nil, fmt.Errorf("name: it says %.60q, but the file's name says %q; make both the same", said, f.name)
	}
	role = base(f.name)
	shipped := role.Name == f.name
	role.Name, role.Source = f.name, f.path
	wish := func(format string, args ...any) { wishes = append(wishes, fmt.Sprintf(format, args...)) }
	if !shipped || read.text("description") != "" {
		role.Description = oneLine(read.text("description"))
	}
	switch reviews := stages.RoleOf(f.name) == stages.Reviewer; {
	case read.body != "" && reviews: // what a reviewer looks at is not for the project to take away
		role.Prompt += "\n\n" + read.body
	case read.body != "":
		role.Prompt = read.body
	case !shipped:
		return role, nil, errors.New("it has no text below the front matter, which is what the agent is told")
	}
	switch said := read.text("model"); {
	case said == "" || said == "inherit":
	case model.MatchString(said):
		role.Model = said
	default:
		wish("model: %.100q is no name of a model, and is left out", said)
	}
	f.lowerMode(&role, read.text("permissionMode"), wish)
	f.fewerTools(&role, read, wish)
	for _, name := range fieldsOf(read) {
		if !slices.Contains([]string{"name", "description", "model", "tools", "disallowedTools", "permissionMode"}, name) {
			wish("%.60s: a role of a project has no such field, and it is left out", name)
		}
	}
	return role, wishes, nil
}

// lowerMode gives the role a permission mode that lets it do less unasked, and no other.
func (f file) lowerMode(role *Role, mode string, wish func(string, ...any)) {
	if mode == "" || mode == role.PermissionMode {
		return
	}
	wanted, known := modes[mode]
	switch {
	case !known:
		wish("permissionMode: %.50q is none that a project can set, and is left out", mode)
	case wanted >= modes[role.PermissionMode]:
		wish("permissionMode: %s lets the agent do more unasked than %s, which only the operator's settings can; it is left out", mode, role.PermissionMode)
	default:
		role.PermissionMode = mode
	}
}

// fewerTools takes tools away from the role.
func (f file) fewerTools(role *Role, read front, wish func(string, ...any)) {
	for _, one := range read.list("disallowedTools") {
		if rule.MatchString(one) {
			role.DisallowedTools = append(role.DisallowedTools, one)
		} else {
			wish("disallowedTools: %.100q is no name of a tool, and is left out", one)
		}
	}
	if _, says := read.fields["tools"]; !says {
		return
	}
	kept := []string{}
	for _, one := range read.list("tools") {
		if slices.Contains(role.Tools, one) {
			kept = append(kept, one)
		} else {
			wish("tools: %.100q is not among the tools of the shipped role (%s), to which only the operator's settings can add; it is left out", one, strings.Join(role.Tools, ", "))
		}
	}
	if len(kept) == 0 {
		wish("tools: none of them is left, so that the agent has those of the shipped role")
		return
	}
	role.Tools = kept
}

// oneLine is a description as it stands in a list.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 1000 {
		text = strings.ToValidUTF8(text[:1000], "") + " [cut]"
	}
	return text
}

func fieldsOf(read front) (names []string) {
	for name := range read.fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
