package scaffold

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// sdkModule is the module that has the SDK.
const sdkModule = "github.com/seed-706843ae/harness"

// FindCheckout looks for a checkout of Harness in the directories and upwards
// from each, and returns its absolute path.
func FindCheckout(starts ...string) (string, error) {
	for _, start := range starts {
		dir, err := filepath.Abs(start)
		if err != nil {
			continue
		}
		if resolved, err := filepath.EvalSymlinks(dir); err == nil {
			dir = resolved
		}
		for {
			if isCheckout(dir) {
				return dir, nil
			}
			above := filepath.Dir(dir)
			if above == dir {
				break
			}
			dir = above
		}
	}
	return "", pluginsdk.Errorf(pluginsdk.CodeNotFound,
		"no checkout of Harness in or above %s; the plugin SDK is taken from one: name it with --harness DIR", strings.Join(starts, " or "))
}

func isCheckout(dir string) bool {
	content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && bytes.HasPrefix(bytes.TrimSpace(content), []byte("module "+sdkModule+"\n"))
}

// needs is what a module has to require to build with the SDK.
type needs struct {
	goVersion    string
	requirements []string // PATH VERSION
	sums         []byte   // of go.sum
}

// needsOf asks Go what the SDK's packages import. So the new module builds
// from what the checkout was built from, without asking the network.
func needsOf(ctx context.Context, checkout string) (needs, error) {
	if !isCheckout(checkout) {
		return needs{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s is not a checkout of Harness", checkout)
	}
	version, err := list(ctx, checkout, "-m", "-f", "{{.GoVersion}}")
	if err != nil {
		return needs{}, err
	}
	modules, err := list(ctx, checkout, "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}",
		"./pluginsdk/serve", "./pluginsdk/plugintest/...")
	if err != nil {
		return needs{}, err
	}
	slices.Sort(modules)
	sums, err := os.ReadFile(filepath.Join(checkout, "go.sum"))
	if err != nil {
		return needs{}, fmt.Errorf("read the checkout's sums: %w", err)
	}
	return needs{goVersion: version[0], requirements: slices.Compact(modules), sums: sums}, nil
}

// list runs `go list` in the checkout and returns its lines.
func list(ctx context.Context, checkout string, args ...string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list"}, args...)...) //nolint:gosec // our own arguments
	cmd.Dir = checkout
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
		}
		return nil, fmt.Errorf("ask Go what the SDK in %s needs: %w", checkout, err)
	}
	lines := strings.Fields(strings.ReplaceAll(string(out), " ", "\x00"))
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], "\x00", " ")
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("ask Go what the SDK in %s needs: it says nothing", checkout)
	}
	return lines, nil
}
