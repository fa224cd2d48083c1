package promptcontext

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// firstFiles come first, in this order; other *.md files follow by name.
var firstFiles = []string{"memory.md", "world-state.md", "thread-summaries.md", "inbox.md", "system.md"}

// maxSectionBytes bounds the files together: the file that passes it is cut to
// what is left, and those after it are named.
const maxSectionBytes = 512 << 10

// directory reads the context files. It is safe for concurrent use: hooks of
// different threads arrive at the same time.
type directory struct {
	path     string
	named    bool // by the settings: it should be there
	maxBytes int64
	log      *slog.Logger

	mu      sync.Mutex
	cache   map[string]file   // by name
	skipped map[string]string // why, by name, as it was logged
}

func newDirectory(path string, named bool, maxBytes int64, log *slog.Logger) *directory {
	return &directory{
		path: path, named: named, maxBytes: maxBytes, log: log,
		cache: make(map[string]file), skipped: make(map[string]string),
	}
}

// section returns `# Context` with a section for each file that shows accepts
// and that is not empty, or the empty string when there is none. Nothing in it
// tells of the other files.
func (d *directory) section(shows func(name string) bool) string {
	if d.path == "" {
		return ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var section strings.Builder
	var leftOut []string
	for _, name := range d.names() {
		if !shows(name) {
			continue
		}
		room := maxSectionBytes - section.Len()
		content := d.read(name).show(name, max(room, 0))
		switch {
		case content == "":
		case room <= 0:
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

// names lists the *.md files in the order of the section, links to files
// included, and forgets what is kept about files that are gone.
func (d *directory) names() []string {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		d.skip(".", err)
	}
	var names []string
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) == ".md" && !strings.HasPrefix(entry.Name(), ".") {
			names = append(names, entry.Name())
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if order := rank(a) - rank(b); order != 0 {
			return order
		}
		return strings.Compare(a, b)
	})
	gone := func(name string) bool { return !slices.Contains(names, name) }
	maps.DeleteFunc(d.cache, func(name string, _ file) bool { return gone(name) })
	maps.DeleteFunc(d.skipped, func(name, _ string) bool { return gone(name) && (name != "." || err == nil) })
	return names
}

// skip logs, once, why the prompts go without a file, or without all of them.
func (d *directory) skip(name string, err error) {
	if name == "." && !d.named && errors.Is(err, fs.ErrNotExist) {
		return // an agent without a memory
	}
	if d.skipped[name] == err.Error() {
		return
	}
	d.skipped[name] = err.Error()
	d.log.Warn("context file is skipped; prompts go without it", "file", filepath.Join(d.path, name), "err", err)
}

// rank is a file's place in firstFiles, or the place after them.
func rank(name string) int {
	if i := slices.Index(firstFiles, name); i >= 0 {
		return i
	}
	return len(firstFiles)
}
