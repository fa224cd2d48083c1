package invoker

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// manualName is the file in a working directory that tells the agent how to work
// there. A session has it in its system prompt, as it is when the process starts.
const manualName = "CLAUDE.md"

// The manual may import files (@notes/style.md), as the CLI has it: relative to
// the importing file, not in code, and to this depth. What lies outside of the
// working directory, also by a link, is left out.
const maxImports = 5

// maxManual is how much is read in bytes, with what is imported.
const maxManual = 256 << 10

// manual is one that is being read.
type manual struct {
	root *os.Root
	seen map[string]bool
	size int
	text strings.Builder
}

// readManual returns the manual of a directory with what it imports; empty
// without one. With an error it is what could be read.
func readManual(dir string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	m := &manual{root: root, seen: map[string]bool{}}
	err = m.add(manualName, 0)
	return m.text.String(), err
}

// add adds a file, whose name is relative to the directory, and what it imports.
// One that is not there is left out: not everything behind an @ is a file.
func (m *manual) add(name string, depth int) error {
	if m.seen[name] || depth > maxImports {
		return nil
	}
	m.seen[name] = true
	content, err := m.read(name)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(m.root.Name(), name), err)
	}
	if content == "" {
		return nil
	}
	fmt.Fprintf(&m.text, "Contents of %s (instructions for work in %s; follow them):\n\n%s\n\n",
		filepath.Join(m.root.Name(), name), m.root.Name(), strings.TrimSpace(content))
	var errs []error
	for _, path := range imports(content) {
		if path = m.local(filepath.Dir(name), path); path != "" {
			errs = append(errs, m.add(path, depth+1))
		}
	}
	return errors.Join(errs...)
}

// read returns the content of a file; empty when there is none.
func (m *manual) read(name string) (string, error) {
	file, err := openRegular(m.root, name)
	if file == nil || err != nil {
		return "", err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, int64(maxManual-m.size)+1))
	if err != nil {
		return "", err
	}
	if m.size+len(content) > maxManual {
		return "", fmt.Errorf("more than %d KiB of instructions; this file is left out", maxManual>>10)
	}
	m.size += len(content)
	return string(content), nil
}

// openRegular opens a file; nil: there is none, or it is something else. It never
// waits: the agent can put a pipe in a file's place at any moment.
func openRegular(root *os.Root, name string) (*os.File, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENXIO) { // ENXIO: a socket
		return nil, nil //nolint:nilnil // nothing to read is no fault
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// local returns an imported path relative to the directory, or nothing when it
// leads out of it.
func (m *manual) local(from, path string) string {
	if filepath.IsAbs(path) {
		inside, err := filepath.Rel(m.root.Name(), path)
		if err != nil {
			return ""
		}
		path = inside
	} else {
		path = filepath.Join(from, path)
	}
	if !filepath.IsLocal(path) {
		return ""
	}
	return filepath.Clean(path)
}

var (
	// code is what holds no imports.
	code = regexp.MustCompile("(?ms)^[ \t]*(?:```|~~~).*?(?:^[ \t]*(?:```|~~~)[ \t]*$|\\z)|`[^`\n]*`")
	// imported is a path behind an @; its spaces are escaped.
	imported = regexp.MustCompile(`(?m)(?:^|\s)@((?:[^\s\\]|\\ )+)`)
)

// imports returns the paths that a text imports.
func imports(text string) []string {
	var paths []string
	for _, match := range imported.FindAllStringSubmatch(code.ReplaceAllString(text, " "), -1) {
		path, _, _ := strings.Cut(match[1], "#")
		if path = strings.TrimRight(path, ".,;:!?)"); path != "" {
			paths = append(paths, strings.ReplaceAll(path, `\ `, " "))
		}
	}
	return paths
}
