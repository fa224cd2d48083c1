package rules

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// What git finds of a repository without its configuration: repositories in it, and files that
// lie elsewhere.

// leadsAway returns in words where a repository has git read what is outside of its working
// tree: by a `.git` that leads away, by other stores of objects, or by symlinks. A linked
// working tree and a submodule say themselves where they belong.
func leadsAway(tree, repository string) (words []string) {
	real, ok := follow(repository)
	if !ok {
		return []string{shown(repository) + " cannot be read"}
	}
	common, ok := follow(commonOf(real))
	if !ok {
		return []string{shown(repository) + " cannot be read"}
	}
	ours := func(path string) bool { return within(tree, path) || within(real, path) || within(common, path) }
	if (!within(tree, real) || !within(tree, common)) && !belongs(tree, real, common) {
		return []string{shown(filepath.Join(tree, ".git")) + " leads to " + shown(common)}
	}
	if content, err := readShort(filepath.Join(common, "objects", "info", "alternates")); err == nil {
		for line := range strings.Lines(content) {
			line = strings.TrimSpace(line)
			store, ok := follow(relativeTo(filepath.Join(common, "objects"), line))
			if line != "" && !strings.HasPrefix(line, "#") && (!ok || !ours(store)) {
				words = append(words, "objects are in "+shown(line))
			}
		}
	}
	for _, directory := range slices.Compact([]string{real, common}) {
		for _, below := range []string{"", "info", "objects", "objects/info", "objects/pack", "refs", "refs/heads", "refs/tags", "logs"} {
			entries, err := os.ReadDir(filepath.Join(directory, below))
			if err != nil {
				continue // there is none, or git cannot read it either
			}
			for _, entry := range entries {
				path := filepath.Join(directory, below, entry.Name())
				if entry.Type()&os.ModeSymlink == 0 {
					continue
				}
				if target, ok := follow(path); !ok || !ours(target) {
					words = append(words, shown(path)+" is a symlink to elsewhere")
				}
			}
		}
	}
	return words
}

// belongs reports whether a repository outside of a working tree says that the tree is one of
// its own: a linked one (git worktree), or that of a submodule.
func belongs(tree, repository, common string) bool {
	if content, err := readShort(filepath.Join(repository, "gitdir")); err == nil && within(filepath.Join(common, "worktrees"), repository) {
		real, ok := follow(filepath.Dir(relativeTo(repository, strings.TrimSpace(content))))
		return ok && real == tree
	}
	content, err := readShort(filepath.Join(repository, "config"))
	entries, _ := parseConfig(content) // what can be read of it
	return err == nil && common == repository && slices.ContainsFunc(entries, func(entry configEntry) bool {
		real, ok := follow(relativeTo(repository, entry.value))
		return entry.key == "core.worktree" && ok && real == tree
	})
}

// maxIndex is the size, in bytes, of the largest index that is read.
const maxIndex = 256 << 20

// gitlinks returns the directories that the index of a repository has for other repositories,
// whether .gitmodules names them or not: git looks in them to show what has changed.
func gitlinks(repository string) (paths []string) {
	shared, _ := filepath.Glob(escaped(repository) + "/sharedindex.*") // the pattern is valid
	for _, path := range append(shared, filepath.Join(repository, "index")) {
		paths = append(paths, indexes.links(path)...)
	}
	return paths
}

// readIndexes are the indexes that were read last, by their paths. Each turn asks for them, and
// that of a large repository has millions of bytes.
type readIndexes struct {
	mu   sync.Mutex
	read map[string]readIndex
}

type readIndex struct {
	size     int64
	modified time.Time
	links    []string
}

// maxRead is how many indexes are remembered.
const maxRead = 100

var indexes = readIndexes{read: make(map[string]readIndex)}

// links returns the paths of an index's entries for other repositories. An index is read again
// when its size or its time of modification is another one.
func (r *readIndexes) links(path string) []string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIndex {
		return nil
	}
	r.mu.Lock()
	known, ok := r.read[path]
	r.mu.Unlock()
	if ok && known.size == info.Size() && known.modified.Equal(info.ModTime()) {
		return known.links
	}
	content, err := os.ReadFile(path) //nolint:gosec // of the repository
	if err != nil {
		return nil
	}
	now := readIndex{size: info.Size(), modified: info.ModTime()}
	// How long a hash is, the configuration says; an index of the other kind has no such entries.
	for _, hash := range []int{20, 32} {
		now.links = append(now.links, linksIn(content, hash)...)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.read) >= maxRead {
		clear(r.read)
	}
	r.read[path] = now
	return now.links
}

// linksIn returns the paths of an index's entries for other repositories, as far as the index can
// be read (gitformat-index).
func linksIn(index []byte, hash int) (paths []string) {
	const header, stat, gitlink = 12, 40, 0o160000
	if len(index) < header || string(index[:4]) != "DIRC" {
		return nil
	}
	version, count := binary.BigEndian.Uint32(index[4:]), binary.BigEndian.Uint32(index[8:])
	rest, name := index[header:], ""
	for range count {
		fixed := stat + hash + 2
		if len(rest) < fixed {
			return paths
		}
		mode, flags := binary.BigEndian.Uint32(rest[24:]), binary.BigEndian.Uint16(rest[stat+hash:])
		if version >= 3 && flags&0x4000 != 0 {
			fixed += 2
		}
		if len(rest) < fixed {
			return paths
		}
		entry, cut := rest[fixed:], 0
		if version == 4 {
			var read int
			if cut, read = offset(entry); read == 0 || cut > len(name) {
				return paths
			}
			entry, name = entry[read:], name[:len(name)-cut]
		} else {
			name = ""
		}
		end := bytes.IndexByte(entry, 0)
		if end < 0 {
			return paths
		}
		name += string(entry[:end])
		if mode == gitlink {
			paths = append(paths, name)
		}
		if version == 4 {
			rest = entry[end+1:]
			continue
		}
		length := (fixed + end + 8) / 8 * 8 // ends with one to eight zeros
		if len(rest) < length {
			return paths
		}
		rest = rest[length:]
	}
	return paths
}

// offset reads a number as indexes of version 4 have it, and returns how many bytes it has.
func offset(content []byte) (value, read int) {
	for i, b := range content {
		if i > 4 {
			return 0, 0
		}
		if i > 0 {
			value++
		}
		value = value<<7 | int(b&0x7f)
		if b&0x80 == 0 {
			return value, i + 1
		}
	}
	return 0, 0
}
