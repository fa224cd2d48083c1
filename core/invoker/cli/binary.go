package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// probeLimit bounds each command that asks a binary what it is.
const probeLimit = 10 * time.Second

// Binary is a CLI as it lies on the disk. An upgrade in place makes another Binary, and so
// does a link that leads elsewhere. The zero Binary is none.
type Binary struct {
	path     string // behind all links
	device   uint64
	inode    uint64
	size     int64
	modified int64 // nanoseconds since 1970
}

// Find returns the binary that lies at a path.
func Find(path string) (Binary, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return Binary{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return Binary{}, err
	}
	b := Binary{path: path, size: info.Size(), modified: info.ModTime().UnixNano()}
	if system, ok := info.Sys().(*syscall.Stat_t); ok {
		b.device, b.inode = uint64(system.Dev), system.Ino //nolint:gosec,unconvert // the type differs by system
	}
	return b, nil
}

// Features is what a binary can do that not every CLI can.
type Features struct {
	Version string // as the CLI prints it; empty: it does not
	// PromptSnapshot says that the CLI keeps the system prompt of a session's beginning, and
	// takes FreshPrompt, with which it does not. Verified: 2.1.197 cannot, 2.1.330 can.
	PromptSnapshot bool
	// KeepsTools says that a process goes on offering the tools of MCP servers as it was first
	// told of them: one that is gone stays in its requests, where a call of it is an error, and one that has
	// changed stays as it was. It takes in new ones. A process that resumes the session
	// offers what there is. Verified with 2.1.330; 2.1.197 offers what there is at each turn. It
	// came with the snapshot of the prompt, of which it is a part.
	KeepsTools bool
}

// FreshPrompt is the argument with which a CLI that has Features.PromptSnapshot uses the
// system prompt that it is given, also in a session that it resumes. Verified with 2.1.330,
// for sessions that were begun with and without it: while the text is the same, the requests
// to the API are the same byte for byte, so that the API's cache of the conversation holds.
const FreshPrompt = "--system-prompt-snapshot=off"

// Catalog remembers the features of binaries. The zero Catalog is empty. It is safe for
// concurrent use.
type Catalog struct {
	mu    sync.Mutex
	known map[Binary]Features
	told  map[Binary]string // the version that a session told otherwise last
}

// Correct takes the version that a session of the binary tells of itself. If the binary was
// another version when it was asked, its features are forgotten, and Correct reports true, once
// for each version: the file of a launcher stays the same when the CLI that it starts is upgraded.
func (c *Catalog) Correct(b Binary, version string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.known[b]
	_, isVersion := numbers(version)
	if _, was := numbers(found.Version); !ok || !isVersion || !was || found.Version == version || c.told[b] == version {
		return false
	}
	if c.told == nil {
		c.told = make(map[Binary]string)
	}
	c.told[b] = version
	delete(c.known, b)
	return true
}

// Features returns the features of a binary. It runs the binary, twice and without a
// session, the first time that it sees it; that takes some tenths of a second. Beside an
// error it returns what could be found out.
func (c *Catalog) Features(ctx context.Context, b Binary, path string, environ []string) (Features, error) {
	c.mu.Lock()
	found, ok := c.known[b]
	c.mu.Unlock()
	if ok {
		return found, nil
	}
	found, err := Probe(ctx, path, environ)
	if err != nil {
		return found, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = make(map[Binary]Features)
	}
	c.known[b] = found
	return found, nil
}

// Probe runs the CLI at a path to find out what it can do. Beside an error it returns what
// could be found out.
func Probe(ctx context.Context, path string, environ []string) (Features, error) {
	var help, version string
	var helpErr, versionErr error
	var asking sync.WaitGroup
	asking.Go(func() { help, helpErr = run(ctx, path, environ, "--help") })
	asking.Go(func() { version, versionErr = run(ctx, path, environ, "--version") })
	asking.Wait()
	version, _, _ = strings.Cut(strings.TrimSpace(version), " ") // "2.1.197 (Claude Code)"
	flag, _, _ := strings.Cut(FreshPrompt, "=")
	snapshot := strings.Contains(help, flag)
	return Features{Version: version, PromptSnapshot: snapshot, KeepsTools: snapshot}, errors.Join(helpErr, versionErr)
}

// Version runs the CLI at a path for its version.
func Version(ctx context.Context, path string, environ []string) (string, error) {
	output, err := run(ctx, path, environ, "--version")
	version, _, _ := strings.Cut(strings.TrimSpace(output), " ")
	return version, err
}

// run returns what a command of the CLI prints.
func run(ctx context.Context, path string, environ []string, argument string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, argument)
	cmd.Env, cmd.Dir, cmd.WaitDelay = environ, os.TempDir(), time.Second
	output, err := cmd.Output()
	if cause := ctx.Err(); cause != nil {
		return "", fmt.Errorf("%s %s: %w", path, argument, cause)
	}
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && len(exit.Stderr) > 0 {
			err = fmt.Errorf("%w: %.200s", err, exit.Stderr)
		}
		return "", fmt.Errorf("%s %s: %w", path, argument, err)
	}
	return string(output), nil
}

// Newer reports whether a version is newer than another one. It is false when one of them
// is no version.
func Newer(version, than string) bool {
	a, aOK := numbers(version)
	b, bOK := numbers(than)
	if !aOK || !bOK {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return a[i] > b[i]
		}
	}
	return false
}

func numbers(version string) (parts [3]int, ok bool) {
	version, _, _ = strings.Cut(version, "-")
	texts := strings.Split(version, ".")
	if len(texts) != len(parts) {
		return parts, false
	}
	for i, text := range texts {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return parts, false
		}
		parts[i] = n
	}
	return parts, true
}
