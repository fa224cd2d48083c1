package brain_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/brain"
)

// What is no directory, or no file, and what is a link, is not used in its place.
func TestLinksAreNotFollowed(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	write(t, filepath.Join(outside, "secret"), "secret")
	secret := filepath.Join(outside, "secret")
	refused := func(t *testing.T, err error, words ...string) {
		t.Helper()
		for _, word := range append(words, "link") {
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Fatalf("the error is %v, want %q in it", err, word)
			}
		}
	}
	t.Run(".brain", func(t *testing.T) {
		dir := t.TempDir()
		inside := filepath.Join(dir, "inside")
		if err := os.Mkdir(inside, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, to := range []string{outside, inside, "inside", "nowhere"} {
			link(t, to, filepath.Join(dir, brain.Dir))
			_, err := brain.Open(dir)
			refused(t, err, filepath.Join(dir, brain.Dir), "put a directory")
			_, _, err = brain.ReadIn(dir, "secret", 100)
			refused(t, err, filepath.Join(dir, brain.Dir))
			_, _, err = brain.TextsIn(dir, brain.Research, 10, 100)
			refused(t, err)
		}
		if len(names(t, inside))+len(names(t, outside)) != 1 {
			t.Error("something was written there")
		}
	})
	t.Run("a file", func(t *testing.T) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, brain.Dir), "")
		if _, err := brain.Open(dir); err == nil || !strings.Contains(err.Error(), "no directory") {
			t.Error(err)
		}
	})
	t.Run("read", func(t *testing.T) {
		dir := t.TempDir()
		b := open(t, dir)
		write(t, filepath.Join(dir, brain.Dir, "real.md"), "real")
		for _, to := range []string{secret, "real.md"} {
			link(t, to, filepath.Join(dir, brain.Dir, brain.Plan))
			_, _, err := b.Read(brain.Plan, 100)
			refused(t, err, filepath.Join(dir, brain.Dir, brain.Plan))
		}
		link(t, outside, filepath.Join(dir, brain.Dir, brain.Research))
		_, _, err := b.Read("research/secret", 100)
		refused(t, err, "research")
		_, _, err = brain.TextsIn(dir, brain.Research, 10, 100)
		refused(t, err, "research")
	})
	t.Run("written", func(t *testing.T) {
		dir := t.TempDir()
		b := open(t, dir)
		for _, name := range []string{brain.ReviewFile, brain.ReviewFile + ".new", brain.StateFile + ".new"} {
			link(t, secret, filepath.Join(dir, brain.Dir, name))
		}
		if err := errors.Join(b.WriteReview("words"), b.Save(at("w1"))); err != nil {
			t.Fatal(err)
		}
		link(t, secret, filepath.Join(dir, brain.Dir, brain.StateFile))
		if _, _, err := b.Load(); !errors.Is(err, brain.ErrSetAside) {
			t.Error(err)
		}
		link(t, secret, filepath.Join(dir, brain.Dir, brain.LockFile))
		_, err := b.Lock("w1")
		refused(t, err, brain.LockFile)
		if read(t, secret) != "secret" || read(t, filepath.Join(dir, brain.Dir, brain.ReviewFile)) != "words" {
			t.Error("a link was followed")
		}
	})
	t.Run("no files", func(t *testing.T) {
		dir := t.TempDir()
		b := open(t, dir)
		if err := errors.Join(syscall.Mkfifo(filepath.Join(dir, brain.Dir, brain.Plan), 0o600), os.Mkdir(filepath.Join(dir, brain.Dir, brain.Patterns), 0o755)); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{brain.Plan, brain.Patterns} {
			if _, _, err := b.Read(name, 100); err == nil || !strings.Contains(err.Error(), "no file") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// link puts a link in the place of whatever is there.
func link(t *testing.T, to, at string) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(at), os.Symlink(to, at)); err != nil {
		t.Fatal(err)
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	if text, found, err := brain.ReadIn(dir, brain.Plan, 100); text != "" || found || err != nil {
		t.Error(text, found, err)
	}
	if texts, more, err := brain.TextsIn(dir, brain.Research, 10, 100); len(texts)+more != 0 || err != nil {
		t.Error(texts, more, err)
	}
	if len(names(t, dir)) != 0 {
		t.Error("reading makes something")
	}
	b := open(t, dir)
	in := func(name string) string { return filepath.Join(dir, brain.Dir, name) }
	write(t, in(brain.Plan), "a plan")
	write(t, in("binary"), "a\x00b")
	write(t, in("latin"), "\xe9")
	write(t, filepath.Join(dir, "secret"), "secret")
	for n := range 5 {
		write(t, in(fmt.Sprintf("research/%d.md", n)), strings.Repeat("x", n))
	}
	write(t, in("research/other.txt"), "x")
	for name, row := range map[string]struct {
		name  string
		most  int
		found bool
		fault string
	}{
		"whole":             {brain.Plan, 6, true, ""},
		"too long":          {brain.Plan, 5, false, "more than 5 bytes"},
		"none":              {brain.Decisions, 100, false, ""},
		"below":             {"research/3.md", 3, true, ""},
		"in no directory":   {"nothing/3.md", 3, false, ""},
		"in a file":         {"PLAN.md/3.md", 3, false, "no directory"},
		"outside":           {"../secret", 100, false, "leads out"},
		"outside, later":    {"research/../../secret", 100, false, "leads out"},
		"absolute":          {"/etc/hostname", 100, false, "leads out"},
		"a directory":       {"research", 100, false, "no file"},
		"nothing":           {"", 100, false, "no file"},
		"up":                {"..", 100, false, "no file"},
		"binary":            {"binary", 100, false, "UTF-8"},
		"no UTF-8":          {"latin", 100, false, "UTF-8"},
		"a directory's end": {"research/", 100, false, "no file"},
	} {
		t.Run(name, func(t *testing.T) {
			text, found, err := b.Read(row.name, row.most)
			if found != row.found || (err != nil) != (row.fault != "") || err != nil && !strings.Contains(err.Error(), row.fault) {
				t.Errorf("%t, %v", found, err)
			}
			if again, there, fault := brain.ReadIn(dir, row.name, row.most); again != text || there != found || (fault != nil) != (err != nil) {
				t.Errorf("in the directory it is %q, %t, %v", again, there, fault)
			}
		})
	}
	texts, more, err := brain.TextsIn(dir, brain.Research, 4, 2)
	if err != nil || more != 1 || len(texts) != 4 || texts[2] != (brain.Text{Path: ".brain/research/2.md", Text: "xx"}) || texts[3].Fault == nil {
		t.Errorf("%+v, %d more, %v", texts, more, err)
	}
}
