package promptcontext

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// firstFiles come first, in this order; other *.md files follow by name.
var firstFiles = []string{"memory.md", "world-state.md", "thread-summaries.md", "inbox.md", "system.md"}

// maxSectionBytes bounds the files together; what does not fit is named.
const maxSectionBytes = 512 << 10

// directory reads the context files. It is safe for concurrent use: hooks of
// different threads arrive at the same time.
type directory struct {
	path     string
	maxBytes int64
	log      *slog.Logger

	mu    sync.Mutex
	cache map[string]cachedFile // by name
}

func newDirectory(path string, maxBytes int64, log *slog.Logger) *directory {
	return &directory{path: path, maxBytes: maxBytes, log: log, cache: make(map[string]cachedFile)}
}

// section returns `# Context` with a section for each file that is not empty,
// or the empty string when there is none.
func (d *directory) section() string {
	if d.path == "" {
		return ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var section strings.Builder
	var leftOut []string
	for _, name := range d.names() {
		content := d.read(name)
		switch {
		case content == "":
		case section.Len()+len(content) > maxSectionBytes:
			leftOut = append(leftOut, name)
		default:
			fmt.Fprintf(&section, "\n\n## %s\n\n%s", name, content)
		}
	}
	if len(leftOut) > 0 {
		fmt.Fprintf(&section, "\n\n[left out, because the files together are too long: %s]", strings.Join(leftOut, ", "))
	}
	if section.Len() == 0 {
		return ""
	}
	return "# Context" + section.String()
}

// names lists the regular *.md files in the order of the section and forgets
// what is cached of files that are gone.
func (d *directory) names() []string {
	entries, err := os.ReadDir(d.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.log.Warn("context directory could not be read", "dir", d.path, "err", err)
	}
	var names []string
	for _, entry := range entries {
		// A link could lead anywhere, and a pipe would block.
		if entry.Type().IsRegular() && filepath.Ext(entry.Name()) == ".md" && !strings.HasPrefix(entry.Name(), ".") {
			names = append(names, entry.Name())
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if order := rank(a) - rank(b); order != 0 {
			return order
		}
		return strings.Compare(a, b)
	})
	for name := range d.cache {
		if !slices.Contains(names, name) {
			delete(d.cache, name)
		}
	}
	return names
}

// rank is a file's place in firstFiles, or the place after them.
func rank(name string) int {
	if i := slices.Index(firstFiles, name); i >= 0 {
		return i
	}
	return len(firstFiles)
}
