// Command release makes the files of a release: an archive for each platform, the list
// of what is built into them, and their checksums. What it makes depends on nothing but
// the sources, the version of Go that is installed and its flags: not on the directory,
// the machine, the user or the time. Another version of Go makes other bytes; `go version
// -m` says of a program which one has built it. `make release` calls it.
package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/shipped"
)

// release is what is to be made.
type release struct {
	version string // vMAJOR.MINOR.PATCH
	commit  string // the whole hash
	date    time.Time
	out     string // the directory of the files, which is empty
}

// platforms are those that a release is for, as GOOS/GOARCH.
const platforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64"

// documents lie in every archive.
var documents = []string{"README.md", "LICENSE", "CHANGELOG.md"}

func main() {
	var r release
	flag.StringVar(&r.version, "version", "", "version, such as v1.2.3")
	flag.StringVar(&r.commit, "commit", "", "hash of the commit")
	date := flag.String("date", "", "time of the commit (RFC 3339): of every file, too")
	wanted := flag.String("platforms", platforms, "GOOS/GOARCH, separated by commas")
	flag.StringVar(&r.out, "out", "dist", "directory that is made for the files; it must not be there")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if r.date, err = time.Parse(time.RFC3339, *date); err != nil {
		err = fmt.Errorf("-date: %w", err)
	} else {
		r.date = r.date.UTC()
		err = r.make(ctx, strings.Split(*wanted, ","))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "release: %s\n", err)
		os.Exit(1) //nolint:gocritic // nothing is to be undone
	}
}

// make makes everything, in the directory of the sources.
func (r release) make(ctx context.Context, platforms []string) error {
	if r.version == "" || r.commit == "" {
		return errors.New("-version and -commit are needed")
	}
	if err := os.Mkdir(r.out, 0o750); err != nil {
		return fmt.Errorf("%w; remove it, or name another directory with -out", err)
	}
	var built []*buildinfo.BuildInfo
	for _, platform := range platforms {
		of, err := r.platform(ctx, platform)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		built = append(built, of...)
	}
	bom, err := r.sbom(built)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.out, "harness_"+r.version+".cdx.json"), bom, 0o600); err != nil {
		return err
	}
	return writeSums(r.out)
}

// platform builds the programs for a platform, packs them, and returns what they are
// made of.
func (r release) platform(ctx context.Context, platform string) ([]*buildinfo.BuildInfo, error) {
	system, arch, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, errors.New("a platform is GOOS/GOARCH")
	}
	temp, err := os.MkdirTemp("", "release")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	env := append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=",
		"GOENV=off", "GOWORK=off", "GOTOOLCHAIN=local")
	stamp := fmt.Sprintf(" -X main.version=%s -X main.commit=%s -X main.date=%s", r.version, r.commit, r.date.Format(time.RFC3339))
	a := archive{top: fmt.Sprintf("harness-%s", r.version), time: r.date}
	for _, name := range documents {
		a.add(name, name, 0o644)
	}
	for _, name := range shipped.Plugins.Names() {
		a.link("plugins/"+name, "../harness-plugins")
	}
	var built []*buildinfo.BuildInfo
	for name, of := range map[string]struct{ source, stamp string }{
		"harness": {"./core/cmd/harness", stamp}, "harness-plugins": {"./plugins/cmd/harness-plugins", ""},
	} {
		program := filepath.Join(temp, name)
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w"+of.stamp, "-o", program, of.source)
		build.Env = env
		if output, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", name, err, output)
		}
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, err
		}
		built = append(built, info)
		a.add(name, program, 0o755)
	}
	return built, a.write(filepath.Join(r.out, fmt.Sprintf("harness_%s_%s_%s.tar.gz", r.version, system, arch)))
}
