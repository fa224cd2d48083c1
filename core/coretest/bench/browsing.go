package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// browsing stands for the test that core/coretest/browser works for: what would fail one ends
// what measures, with an error.
type browsing struct {
	testing.TB // nil: what is not below is never asked for

	ends   []func()
	dirs   []string
	failed []error
}

// browse measures with a browser, in a goroutine of its own, and then closes what was opened.
func browse(measure func(t testing.TB) error) error {
	t, over := &browsing{}, make(chan error)
	go func() {
		var err error
		defer func() { over <- errors.Join(append(t.failed, err, t.end())...) }()
		err = measure(t)
	}()
	return <-over
}

// end runs what was to run at the end, the last first.
func (t *browsing) end() error {
	for _, end := range slices.Backward(t.ends) {
		end()
	}
	var errs []error
	for _, dir := range t.dirs {
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}

func (t *browsing) Helper()            {}
func (t *browsing) Name() string       { return "bench" }
func (t *browsing) Cleanup(end func()) { t.ends = append(t.ends, end) }

func (t *browsing) TempDir() string {
	dir, err := os.MkdirTemp("", "harness-bench-browser")
	if err != nil {
		t.Fatal(err)
	}
	t.dirs = append(t.dirs, dir)
	return dir
}

func (t *browsing) Logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func (t *browsing) Errorf(format string, args ...any) {
	t.failed = append(t.failed, fmt.Errorf(format, args...))
}

func (t *browsing) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	runtime.Goexit()
}

func (t *browsing) Fatal(args ...any) { t.Fatalf("%s", strings.TrimSpace(fmt.Sprintln(args...))) }
func (t *browsing) Skip(args ...any)  { t.Fatal(args...) }
