package devloop

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Build is a plugin that was built.
type Build struct {
	Path     string // of the executable
	SHA256   string // of the executable, hex
	Manifest pluginsdk.Manifest

	tree  string // directory to keep whole, when the executable alone is not the plugin
	state string // of the tree
}

func (b Build) same(other Build) bool { return b.SHA256 == other.SHA256 && b.state == other.state }

const manifestFile = "plugin.json"

// describeTime bounds BINARY --describe.
const describeTime = 10 * time.Second

var buildTarget = regexp.MustCompile(`(?m)^build\s*:([^=]|$)`)

// build builds the directory: with `make build` where its Makefile has that,
// else with `go build`. A directory with neither that has a plugin.json which
// names an executable needs no build.
func (l Loop) build(ctx context.Context) (Build, error) {
	makefile, _ := os.ReadFile(filepath.Join(l.Dir, "Makefile")) // none is like an empty one
	switch {
	case buildTarget.Match(makefile):
		if err := l.run(ctx, "make", "build"); err != nil {
			return Build{}, err
		}
		path, err := l.made()
		if err != nil {
			return Build{}, err
		}
		return described(ctx, path)
	case exists(filepath.Join(l.Dir, "go.mod")):
		path := filepath.Join(l.Dir, "bin", filepath.Base(l.Dir))
		if l.Binary != "" {
			path = filepath.Join(l.Dir, l.Binary)
		}
		if err := l.run(ctx, "go", "build", "-o", path, "."); err != nil {
			return Build{}, err
		}
		return described(ctx, path)
	case exists(filepath.Join(l.Dir, manifestFile)):
		return l.asItIs()
	}
	return Build{}, hopelessError{pluginsdk.Errorf(pluginsdk.CodeInvalid,
		"there is nothing to build in %s: no Makefile with a target build, no go.mod, and no %s", l.Dir, manifestFile)}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// run runs a build command. Its own words are what an author reads.
func (l Loop) run(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // the author's own directory
	cmd.Dir = l.Dir
	cmd.Stdout, cmd.Stderr = l.Out, l.Out
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return hopelessError{fmt.Errorf("%s is not installed: %w", name, err)}
		}
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return nil
}

// made finds what `make build` made: the only executable in bin, or the one
// that is called like the directory.
func (l Loop) made() (string, error) {
	if l.Binary != "" {
		return filepath.Join(l.Dir, l.Binary), nil
	}
	entries, err := os.ReadDir(filepath.Join(l.Dir, "bin"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	var found []string
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		path := filepath.Join(l.Dir, "bin", entry.Name())
		if entry.Name() == filepath.Base(l.Dir) {
			return path, nil
		}
		found = append(found, path)
	}
	if len(found) != 1 {
		return "", hopelessError{pluginsdk.Errorf(pluginsdk.CodeInvalid, "`make build` left %d executables in %s; name the plugin's with --binary",
			len(found), filepath.Join(l.Dir, "bin"))}
	}
	return found[0], nil
}

// described reads what an executable says about itself: in the plugin.json
// beside it, else when it is asked.
func described(ctx context.Context, path string) (Build, error) {
	sum, err := sumOf(path)
	if err != nil {
		return Build{}, err
	}
	content, err := os.ReadFile(filepath.Join(filepath.Dir(path), manifestFile))
	if errors.Is(err, os.ErrNotExist) {
		content, err = describe(ctx, path)
	}
	if err != nil {
		return Build{}, err
	}
	manifest, err := manifestOf(content)
	return Build{Path: path, SHA256: sum, Manifest: manifest}, err
}

func describe(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, describeTime)
	defer cancel()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, path, "--describe")
	cmd.Stderr = &said
	cmd.WaitDelay = time.Second
	content, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s --describe: %w: %s", path, err, bytes.TrimSpace(said.Bytes()))
	}
	return content, nil
}

func manifestOf(content []byte) (manifest pluginsdk.Manifest, err error) {
	if err := json.Unmarshal(content, &manifest); err != nil {
		return manifest, fmt.Errorf("read the plugin's manifest: %w", err)
	}
	return manifest, manifest.Check()
}

// asItIs is a plugin that is run from its sources: all of the directory.
func (l Loop) asItIs() (Build, error) {
	content, err := os.ReadFile(filepath.Join(l.Dir, manifestFile))
	if err != nil {
		return Build{}, err
	}
	manifest, err := manifestOf(content)
	if err != nil {
		return Build{}, err
	}
	var static struct {
		Executable string `json:"executable"`
	}
	if err := json.Unmarshal(content, &static); err != nil {
		return Build{}, fmt.Errorf("read %s: %w", manifestFile, err)
	}
	if static.Executable == "" {
		static.Executable = manifest.Name
	}
	b := Build{Path: filepath.Join(l.Dir, static.Executable), Manifest: manifest, tree: l.Dir}
	if b.SHA256, err = sumOf(b.Path); err != nil {
		return Build{}, err
	}
	b.state, err = fingerprint(l.Dir)
	return b, err
}

func sumOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read what was built: %w", err)
	}
	defer func() { _ = file.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", fmt.Errorf("read what was built: %w", err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
