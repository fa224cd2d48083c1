// Package lexers finds the lexers of the languages whose code is coloured. Their rules are
// chroma's, written out to the files beside this one: chroma's own package of them registers
// every language there is when a program starts, which takes 5 MB of a process that may never
// show a line of code. Here they are read when the first block of code is.
package lexers

import (
	"embed"
	"io/fs"
	"strings"
	"sync"

	"github.com/alecthomas/chroma/v2"
)

//go:embed *.xml
var files embed.FS

// Find returns the lexer of a language by its name, an alias (golang) or what its files end in
// (py), in any case; nil when there is none. Goroutine-safe.
func Find(language string) chroma.Lexer { return byName()[strings.ToLower(language)] }

// byName is all names, aliases and endings, of which the first that has one keeps it.
var byName = sync.OnceValue(func() map[string]chroma.Lexer {
	registry := chroma.NewLexerRegistry() // through it a lexer finds that of a language within its own
	names := make(map[string]chroma.Lexer)
	add := func(name string, lexer chroma.Lexer) {
		if name = strings.ToLower(name); names[name] == nil {
			names[name] = lexer
		}
	}
	paths, err := fs.Glob(files, "*.xml")
	if err != nil {
		panic(err) // only a bad pattern is an error
	}
	var all []chroma.Lexer
	for _, path := range paths {
		all = append(all, registry.Register(chroma.MustNewXMLLexer(files, path)))
	}
	for _, lexer := range all {
		add(lexer.Config().Name, lexer)
	}
	for _, lexer := range all {
		for _, alias := range lexer.Config().Aliases {
			add(alias, lexer)
		}
	}
	for _, lexer := range all {
		for _, pattern := range lexer.Config().Filenames {
			if ending, ok := strings.CutPrefix(pattern, "*."); ok && !strings.ContainsAny(ending, "*?[") {
				add(ending, lexer)
			}
		}
	}
	return names
})
