package ui

import (
	"embed"
	"io/fs"
	"strings"
	"sync"
)

// The icons are Lucide's (https://lucide.dev, ISC licence), but for harness.svg.
//
//go:embed icons/*.svg
var iconFiles embed.FS

// drawings are what is in the icons, by name. They stand in the page itself: nothing has to
// be loaded for them.
var drawings = sync.OnceValue(func() map[string]string {
	all := make(map[string]string)
	entries, err := fs.ReadDir(iconFiles, "icons")
	if err != nil {
		panic(err) // they are a part of this program
	}
	for _, entry := range entries {
		text, err := iconFiles.ReadFile("icons/" + entry.Name())
		if err != nil {
			panic(err)
		}
		_, inner, _ := strings.Cut(string(text), ">")
		inner, _, _ = strings.Cut(inner, "</svg>")
		all[strings.TrimSuffix(entry.Name(), ".svg")] = inner
	}
	return all
})

// drawing is what is in an icon. One that there is not is a mistake in the page.
func drawing(name string) string {
	inner, ok := drawings()[name]
	if !ok {
		panic("there is no icon " + name)
	}
	return inner
}
