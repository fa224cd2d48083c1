package doors

import (
	"cmp"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const root = "../../.."

// tables are what the code says about who may do what.
type tables struct {
	capability map[string]pluginsdk.Capability // what a method of the host needs, by its name on the wire
	personal   []string                        // the methods of the host that only a person's act calls
	typed      []typed
	routes     map[string]pluginsdk.TokenScope // by METHOD PATH
	commands   map[string]pluginsdk.TokenScope // of the plugins' commands
}

// typed is what a command of the core needs, with the word behind it; the word *: any.
type typed struct {
	command, word string
	capability    pluginsdk.Capability
	scope         pluginsdk.TokenScope
	people        bool
}

// readTables reads the contract's methods, the persons' methods, the commands' rights, and,
// from the daemon, the description of its API and the commands of its plugins.
func readTables(t *testing.T, d *world) tables {
	t.Helper()
	constants := constantsOf(t, "pluginsdk")
	maps.Copy(constants, constantsOf(t, "core/inbox"))
	return tables{
		capability: capabilities(t), personal: keysOf(t, "core/hostapi/persons.go", "personal"), typed: typedRows(t, constants),
		routes: d.routes(), commands: d.commandScopes(),
	}
}

// capabilities reads from the contract what each method of the host needs; empty: nothing.
func capabilities(t *testing.T) map[string]pluginsdk.Capability {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "proto/harness/host/v1/*.proto"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("there is no contract: %v", err)
	}
	needs := map[string]pluginsdk.Capability{}
	declared := regexp.MustCompile(`rpc (\w+)\([^{;]*\{\s*option \(harness\.host\.v1\.capability\) = "([^"]+)"`)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range declared.FindAllStringSubmatch(string(text), -1) {
			needs[match[1]] = pluginsdk.Capability(strings.TrimPrefix(match[2], "none"))
		}
	}
	return needs
}

// literal returns the composite literal that a variable of a file is set to.
func literal(t *testing.T, path, name string) *ast.CompositeLit {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found *ast.CompositeLit
	ast.Inspect(file, func(node ast.Node) bool {
		if spec, ok := node.(*ast.ValueSpec); ok && len(spec.Names) == 1 && spec.Names[0].Name == name && len(spec.Values) == 1 {
			found, _ = spec.Values[0].(*ast.CompositeLit)
		}
		return found == nil
	})
	if found == nil || len(found.Elts) == 0 {
		t.Fatalf("%s has no table %s any more", path, name)
	}
	return found
}

// keysOf returns the keys of a map of texts.
func keysOf(t *testing.T, path, name string) (keys []string) {
	t.Helper()
	for _, element := range literal(t, path, name).Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			t.Fatalf("%s: %s is no map any more", path, name)
		}
		keys = append(keys, valueOf(t, nil, pair.Key))
	}
	return keys
}

// typedRows reads the table of the core's commands.
func typedRows(t *testing.T, constants map[string]string) (rows []typed) {
	t.Helper()
	for _, element := range literal(t, "core/inbox/rights.go", "needs").Elts {
		row, ok := element.(*ast.CompositeLit)
		if !ok || len(row.Elts) != 5 {
			t.Fatal("core/inbox/rights.go: a row of needs has other fields than this test knows")
		}
		rows = append(rows, typed{
			command: valueOf(t, constants, row.Elts[0]), word: valueOf(t, constants, row.Elts[1]),
			capability: pluginsdk.Capability(valueOf(t, constants, row.Elts[2])), scope: pluginsdk.TokenScope(valueOf(t, constants, row.Elts[3])),
			people: valueOf(t, constants, row.Elts[4]) == "true",
		})
	}
	return rows
}

// constantsOf returns the texts that the constants of a package are.
func constantsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	constants := map[string]string{"anything": "*", "true": "true", "false": "false"}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if spec, ok := node.(*ast.ValueSpec); ok && len(spec.Names) == len(spec.Values) {
				for n, value := range spec.Values {
					if text, ok := value.(*ast.BasicLit); ok && text.Kind == token.STRING {
						constants[spec.Names[n].Name], _ = strconv.Unquote(text.Value)
					}
				}
			}
			return true
		})
	}
	return constants
}

func valueOf(t *testing.T, constants map[string]string, expression ast.Expr) string {
	t.Helper()
	name := ""
	switch e := expression.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err != nil {
			t.Fatal(err)
		}
		return text
	case *ast.Ident:
		name = e.Name
	case *ast.SelectorExpr:
		name = e.Sel.Name
	}
	value, known := constants[name]
	if !known {
		t.Fatalf("a table has a value that this test cannot read: %T %s", expression, name)
	}
	return value
}

// needOf returns what a typed command needs: of a plugin's what its plugin says.
func (t tables) needOf(command, word string) typed {
	if scope, ok := t.commands[command]; ok {
		return typed{command: command, scope: scope}
	}
	for _, row := range t.typed {
		if row.command == command && (row.word == word || row.word == "*" && word != "") {
			return row
		}
	}
	return typed{command: command, scope: pluginsdk.ScopeChat}
}

// isPersonal reports whether only a person's act calls a method.
func (t tables) isPersonal(method string) bool { return slices.Contains(t.personal, method) }

// routes reads from the description of the API which scope each route needs.
func (w *world) routes() map[string]pluginsdk.TokenScope {
	w.t.Helper()
	var described struct {
		Paths map[string]map[string]struct {
			Scope pluginsdk.TokenScope `json:"x-scope"`
		}
	}
	w.get("/api/openapi.json", &described)
	routes := map[string]pluginsdk.TokenScope{}
	for path, operations := range described.Paths {
		for method, operation := range operations {
			routes[strings.ToUpper(method)+" "+path] = operation.Scope
		}
	}
	return routes
}

// commandScopes are what the plugins' commands need.
func (w *world) commandScopes() map[string]pluginsdk.TokenScope {
	w.t.Helper()
	var list struct {
		Plugins []struct{ Commands []pluginsdk.CommandSpec }
	}
	w.get("/api/plugins", &list)
	scopes := map[string]pluginsdk.TokenScope{}
	for _, plugin := range list.Plugins {
		for _, command := range plugin.Commands {
			scopes[command.Name] = cmp.Or(command.Scope, pluginsdk.ScopeChat)
		}
	}
	return scopes
}

// textsOf returns the values that are texts.
func textsOf(values map[string]json.RawMessage) map[string]string {
	texts := map[string]string{}
	for name, value := range values {
		var text string
		if json.Unmarshal(value, &text) == nil {
			texts[name] = text
		}
	}
	return texts
}
