// Package devloop keeps a daemon running what an author has just saved: it
// builds a plugin's directory, hands the build to the daemon, and does both
// again whenever a source has changed.
package devloop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Loop is one directory being worked on.
type Loop struct {
	// Dir has the plugin's sources.
	Dir string
	// Binary is what the build makes, relative to Dir; empty: it is looked for
	// (see Build).
	Binary string
	// Home is where builds are kept: HOME/NAME/SHA256/.
	Home string
	// Out gets what the build says, and what the loop does.
	Out io.Writer
	// Use makes the daemon use a build. It is called once for each that
	// differs from the one before.
	Use func(ctx context.Context, build Build) error
}

// shown is how much is shown of what a manifest says.
const shown = 300

// settle is how long the sources must stay as they are to be built: an editor
// that saves all, or a checkout, changes many files.
const settle = 50 * time.Millisecond

// Run builds, and builds again at each change, until ctx ends. What does not
// build leaves the last build in use. The error is nil when ctx ended it; the
// first build of a directory that has nothing to build is one that ends it.
func (l Loop) Run(ctx context.Context) error {
	dir, err := filepath.Abs(l.Dir)
	if err != nil {
		return err
	}
	l.Dir = dir
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s is not a directory with a plugin's sources", l.Dir)
	}
	watch, err := newWatch(l.Dir)
	if err != nil {
		return err
	}
	defer watch.close()
	var used Build
	for {
		if err := l.settled(ctx, watch); err != nil {
			return ended(ctx, err)
		}
		if used, err = l.once(ctx, used); err != nil {
			return ended(ctx, err)
		}
		if err := watch.changed(ctx); err != nil {
			return ended(ctx, err)
		}
	}
}

func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// settled waits until two looks at the sources agree, and remembers that look.
func (l Loop) settled(ctx context.Context, watch *watch) error {
	ticks := time.NewTicker(settle)
	defer ticks.Stop()
	for {
		before, err := fingerprint(l.Dir)
		if err != nil {
			return err
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if watch.seen, err = fingerprint(l.Dir); err != nil {
			return err
		}
		if watch.seen == before {
			return nil
		}
	}
}

// once builds, and has the build used when it is another than the last.
func (l Loop) once(ctx context.Context, used Build) (Build, error) {
	began := time.Now()
	made, err := l.build(ctx)
	if err != nil {
		return used, l.failed(ctx, used, err)
	}
	if made.same(used) {
		fmt.Fprintln(l.Out, "Built: nothing has changed.")
		return used, nil
	}
	kept, err := made.keep(l.Home)
	if err != nil {
		return used, err
	}
	took := time.Since(began).Round(10 * time.Millisecond)
	if err := l.Use(ctx, kept); err != nil {
		return used, l.failed(ctx, used, err)
	}
	if err := kept.sweep(used); err != nil {
		fmt.Fprintln(l.Out, err)
	}
	fmt.Fprintf(l.Out, "Built %s %s in %s (%.12s).\n", kept.Manifest.Name, terminal.Short(kept.Manifest.Version, shown), took, kept.SHA256)
	return kept, nil
}

// failed says what went wrong. Only a directory that cannot be built at all
// ends the loop.
func (l Loop) failed(ctx context.Context, used Build, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var hopeless hopelessError
	if errors.As(err, &hopeless) {
		return err
	}
	what := "Nothing runs yet"
	if used.Path != "" {
		what = "The last build goes on running"
	}
	fmt.Fprintf(l.Out, "%s\n%s; save a change to try again.\n", terminal.Clean(err.Error()), what)
	return nil
}

// hopelessError is one that no change of the sources mends.
type hopelessError struct{ error }

func (e hopelessError) Unwrap() error { return e.error }
