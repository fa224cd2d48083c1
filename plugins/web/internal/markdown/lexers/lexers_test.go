package lexers

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
)

var update = flag.Bool("update", false, "write the lexers anew from chroma's")

// languages are those that are coloured, by chroma's names.
var languages = []string{
	"Bash", "Bash Session", "C", "C#", "C++", "Clojure", "CSS", "Dart", "Diff", "Docker", "Elixir",
	"Erlang", "Go", "GraphQL", "Groovy", "Haskell", "HTML", "INI", "Java", "JavaScript", "JSON", "Kotlin",
	"Lua", "Makefile", "Nginx configuration file", "Nix", "OCaml", "Perl", "PHP", "PowerShell", "Protocol Buffer", "Python", "R",
	"react", "Ruby", "Rust", "Scala", "SCSS", "SQL", "Swift", "Terraform", "TOML", "TypeScript", "XML", "YAML", "Zig",
}

// The files are what this version of chroma has; after it was upgraded they are to be written anew.
func TestTheLexersAreChromas(t *testing.T) {
	var names []string
	for _, language := range languages {
		name := strings.ReplaceAll(strings.ToLower(language), " ", "_") + ".xml"
		names = append(names, name)
		want := written(t, language)
		if *update {
			if err := os.WriteFile(name, want, 0o644); err != nil {
				t.Fatal(err)
			}
		} else if got, err := files.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not the lexer %s that chroma has (%v): go test ./plugins/web/internal/markdown/lexers -update", name, language, err)
		}
	}
	slices.Sort(names)
	got, err := fs.Glob(os.DirFS("."), "*.xml")
	if err != nil || !slices.Equal(got, names) {
		t.Errorf("there are the files %v, not %v (%v)", got, names, err)
	}
}

// written is one of chroma's lexers as a file. What a file cannot express, text of another
// language inside a string, is written as a string.
func written(t *testing.T, language string) []byte {
	t.Helper()
	lexer, ok := lexers.Get(language).(*chroma.RegexLexer)
	if !ok {
		t.Fatalf("chroma has no lexer %s that can be written out, but %T", language, lexers.Get(language))
	}
	rules := lexer.MustRules().Clone()
	for state := range rules {
		for i, rule := range rules[state] {
			if rule.Pattern == "(`)([^`]*)(`)" && lexer.Config().Name == "Go" {
				rules[state][i] = chroma.Rule{Pattern: "`[^`]*`", Type: chroma.LiteralStringBacktick}
			}
		}
	}
	config := *lexer.Config()
	written, err := chroma.NewLexer(&config, func() chroma.Rules { return rules })
	if err != nil {
		t.Fatal(err)
	}
	data, err := chroma.Marshal(written)
	if err != nil {
		t.Fatalf("%s: %v", language, err)
	}
	return ordered(string(data))
}

// ordered is a lexer's file with its states in the order of their names; chroma writes them in
// that of a map.
func ordered(file string) []byte {
	const state, end = "    <state ", "  </rules>"
	head, rest, _ := strings.Cut(file, state)
	rest, tail, _ := strings.Cut(rest, end)
	states := strings.Split(rest, state)
	slices.Sort(states)
	return []byte(head + state + strings.Join(states, state) + end + tail + "\n")
}

// People name languages in many ways.
func TestFind(t *testing.T) {
	for given, want := range map[string]string{
		"go": "Go", "golang": "Go", "GO": "Go", "py": "Python", "python3": "Python", "sh": "Bash", "console": "Bash Session",
		"js": "JavaScript", "mjs": "JavaScript", "jsx": "react", "ts": "TypeScript", "tsx": "TypeScript", "c++": "C++", "cpp": "C++", "cs": "C#", "c#": "C#",
		"yml": "YAML", "dockerfile": "Docker", "make": "Makefile", "patch": "Diff", "rs": "Rust", "proto": "Protocol Buffer", "hcl": "Terraform", "html": "HTML", "php": "PHP",
	} {
		if lexer := Find(given); lexer == nil || lexer.Config().Name != want {
			t.Errorf("%s is not found as %s but as %v", given, want, lexer)
		}
	}
	for _, none := range []string{"", "nothing", "../go", "*"} {
		if lexer := Find(none); lexer != nil {
			t.Errorf("%q is found as %v", none, lexer)
		}
	}
}
