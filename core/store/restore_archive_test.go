package store_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// entry is one entry of an archive.
type entry struct {
	header  tar.Header
	content []byte
}

// unpack returns the entries of a backup, the manifest last.
func unpack(t *testing.T, file string) (entries []entry) {
	t.Helper()
	zip := must[*gzip.Reader](t)(gzip.NewReader(bytes.NewReader(must[[]byte](t)(os.ReadFile(file)))))
	reader := tar.NewReader(zip)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return entries
		}
		check(t, err)
		entries = append(entries, entry{*header, must[[]byte](t)(io.ReadAll(reader))})
	}
}

func pack(t *testing.T, entries []entry) string {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	writer := tar.NewWriter(zip)
	for _, e := range entries {
		e.header.Size = int64(len(e.content))
		check(t, writer.WriteHeader(&e.header))
		check(t, second(writer.Write(e.content)))
	}
	check(t, errors.Join(writer.Close(), zip.Close()))
	file := filepath.Join(t.TempDir(), "changed.backup")
	check(t, os.WriteFile(file, out.Bytes(), 0o600))
	return file
}

// rewrite makes a backup with other entries and a manifest that fits them.
func rewrite(t *testing.T, file string, change func([]entry) []entry) string {
	t.Helper()
	entries := change(unpack(t, file))
	last := &entries[len(entries)-1]
	var manifest store.Manifest
	check(t, json.Unmarshal(last.content, &manifest))
	for _, e := range entries {
		for i, table := range manifest.Tables {
			if e.header.Name == "tables/"+table.Name+".jsonl" {
				sum := sha256.Sum256(e.content)
				manifest.Tables[i].SHA256 = hex.EncodeToString(sum[:])
			}
		}
	}
	last.content = must[[]byte](t)(json.Marshal(manifest))
	return pack(t, entries)
}

// wantUntouched checks that a restore is refused and has not made anything.
func wantUntouched(t *testing.T, file string, parts ...string) {
	t.Helper()
	config := storetest.SQLite(t)
	_, err := store.RestoreBackup(context.Background(), config, restoration(config, file))
	if err == nil {
		t.Fatal("it was restored")
	}
	wantCode(t, err, pluginsdk.CodeInvalid)
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	if made := must[[]os.DirEntry](t)(os.ReadDir(config.Dir)); len(made) != 0 {
		t.Errorf("made: %v", made)
	}
}

// A disk that rots, or a copy that broke off, must be noticed before anything
// is changed.
func TestDamagedBackupIsRefused(t *testing.T) {
	file := saved(t)
	whole := must[[]byte](t)(os.ReadFile(file))
	damaged := filepath.Join(t.TempDir(), "damaged.backup")
	const gzipHeader = 10 // it says nothing about the content
	for n := range 40 {
		content := slices.Clone(whole)
		content[gzipHeader+n*(len(whole)-gzipHeader-1)/39] ^= 1 << (n % 8)
		check(t, os.WriteFile(damaged, content, 0o600))
		wantUntouched(t, damaged, damaged, "is damaged", "nothing was changed")
	}
	for n := range 20 {
		check(t, os.WriteFile(damaged, whole[:n*len(whole)/20], 0o600))
		wantUntouched(t, damaged, "is damaged")
	}
	check(t, os.WriteFile(damaged, append(slices.Clone(whole), "more"...), 0o600))
	wantUntouched(t, damaged, "is damaged")
	check(t, os.WriteFile(damaged, []byte("PRAGMA foreign_keys=OFF;"), 0o600))
	wantUntouched(t, damaged, "no backup of Harness")
}

// An archive may come from anywhere: what is not a backup, or wants to write
// where it must not, is refused as a whole.
func TestForgedBackupIsRefused(t *testing.T) {
	file := saved(t)
	plain := unpack(t, file)
	end := len(plain) - 1
	regular := func(name string) entry { return entry{tar.Header{Name: name, Mode: 0o600}, []byte("x\n")} }
	with := func(e entry) []entry { return slices.Insert(slices.Clone(plain), 1, e) }
	link := func(name, target string) entry {
		return entry{tar.Header{Name: name, Linkname: target, Typeflag: tar.TypeSymlink}, nil}
	}
	said := func(old, now string) []entry {
		entries := slices.Clone(plain)
		entries[end].content = bytes.Replace(entries[end].content, []byte(old), []byte(now), 1)
		return entries
	}
	remade := func(change func(*store.Manifest)) []entry {
		entries := slices.Clone(plain)
		var manifest store.Manifest
		check(t, json.Unmarshal(entries[end].content, &manifest))
		change(&manifest)
		entries[end].content = must[[]byte](t)(json.Marshal(manifest))
		return entries
	}
	unknown := func(name string) []entry {
		entries := remade(func(m *store.Manifest) {
			sum := sha256.Sum256([]byte("x\n"))
			m.Tables = append(m.Tables, store.SavedTable{
				Name: name, Rows: 1, SHA256: hex.EncodeToString(sum[:]), Columns: m.Tables[0].Columns,
			})
		})
		return slices.Insert(entries, 1, regular("tables/"+name+".jsonl"))
	}
	none := func(m *store.Manifest) {
		for i := range m.Tables {
			m.Tables[i].Columns, m.Tables[i].Sequence = m.Tables[i].Columns[:0], new(int64)
		}
	}
	for name, forged := range map[string]struct {
		entries []entry
		part    string
	}{
		"missing table":      {slices.Delete(slices.Clone(plain), 3, 4), "is missing"},
		"missing manifest":   {plain[:end], "manifest.json is missing"},
		"extra table":        {with(regular("tables/users.jsonl")), "tables/users.jsonl was not saved with it"},
		"extra file":         {with(regular("workspace/extra")), "workspace/extra was not saved with it"},
		"file after the end": {append(slices.Clone(plain), regular("workspace/extra")), "after the end"},
		"twice":              {with(plain[0]), "is in it twice"},
		"unknown place":      {with(regular("etc/passwd")), "has no place"},
		"absolute":           {with(regular("/etc/passwd")), "has no place"},
		"parent":             {with(regular("../../x")), "has no place"},
		"parent of tables":   {with(regular("tables/../../x.jsonl")), "has no place"},
		"parent of files":    {with(regular("workspace/../../x")), "has no place"},
		"parent, hidden":     {with(regular("workspace/a/../../../x")), "has no place"},
		"absolute link":      {with(link("workspace/l", "/etc")), "leads out"},
		"link to parents":    {with(link("workspace/a/l", "../../x")), "leads out"},
		"link elsewhere":     {with(link("tables/l.jsonl", "runs.jsonl")), "leads out"},
		"device":             {with(entry{tar.Header{Name: "workspace/d", Typeflag: tar.TypeChar}, nil}), "neither a file"},
		"hard link":          {with(entry{tar.Header{Name: "workspace/d", Linkname: "x", Typeflag: tar.TypeLink}, nil}), "neither a file"},
		"unknown table":      {unknown("users"), `a table "users", which Harness has not`},
		"table of versions":  {unknown("schema_migrations"), `a table "schema_migrations", which Harness has not`},
		"no columns":         {remade(none), "has no columns"},
		"fewer rows":         {said(`"rows": 250`, `"rows": 249`), "has 250 rows instead of 249"},
		"newer schema":       {said(`"schema": `, `"schema": 9`), "made by a newer program"},
		"newer format":       {said(`"format": 1`, `"format": 2`), "has the format 2"},
	} {
		t.Run(name, func(t *testing.T) { wantUntouched(t, pack(t, forged.entries), forged.part) })
	}
}

// Of a link that leads out of the workspace by way of another one, at most the
// link itself may be made: nothing is written through it.
func TestNothingIsWrittenThroughALink(t *testing.T) {
	entries := unpack(t, saved(t))
	end := len(entries) - 1
	outside := t.TempDir()
	added := []entry{
		{tar.Header{Name: "workspace/a/b/s", Linkname: "../..", Typeflag: tar.TypeSymlink}, nil},
		{tar.Header{Name: "workspace/x", Linkname: "a/b/s/../.." + outside, Typeflag: tar.TypeSymlink}, nil},
		{tar.Header{Name: "workspace/x/evil", Mode: 0o600}, nil},
	}
	var manifest store.Manifest
	check(t, json.Unmarshal(entries[end].content, &manifest))
	empty := sha256.Sum256(nil)
	manifest.Files = append(manifest.Files, store.SavedFile{Name: "workspace/a/b/s", Link: "../.."},
		store.SavedFile{Name: "workspace/x", Link: "a/b/s/../.." + outside},
		store.SavedFile{Name: "workspace/x/evil", SHA256: hex.EncodeToString(empty[:])})
	entries[end].content = must[[]byte](t)(json.Marshal(manifest))
	file := pack(t, slices.Insert(entries, end, added...))

	config := storetest.SQLite(t)
	_, err := store.RestoreBackup(context.Background(), config, restoration(config, file))
	if err == nil {
		t.Error("a file below a link was restored")
	}
	if made := must[[]os.DirEntry](t)(os.ReadDir(outside)); len(made) != 0 {
		t.Errorf("written outside of the workspace: %v", made)
	}
	if got := state(t, config); got != "empty" {
		t.Errorf("the installation is %s", got)
	}
}
