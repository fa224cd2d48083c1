package search_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/search"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A backup of an installation with files and a filled index, restored where there was an
// index before: the files are there with what refers to them, everything that was said is
// found at once and in the index that is made anew, and nothing else.
func TestARestoreHasTheFilesAndMakesTheIndexAnew(t *testing.T) {
	databases := map[string]func(testing.TB) store.Config{"sqlite": storetest.SQLite, "postgres": storetest.Postgres}
	for from, saved := range databases {
		for to, restored := range databases {
			t.Run(from+" to "+to, func(t *testing.T) {
				ctx := t.Context()
				s := storetest.OpenConfig(t, saved(t))
				thread := newThread(t, s, "one")
				ids := say(t, s, thread, numbered(120)...)
				bytes, dir := []byte("the bytes"), filepath.Join(t.TempDir(), "files")
				sum := sha256.Sum256(bytes)
				file := pluginsdk.File{SHA256: hex.EncodeToString(sum[:]), Name: "a.txt", Type: "text/plain", Size: int64(len(bytes)), ThreadID: thread}
				place := filepath.Join(dir, file.SHA256[:2], file.SHA256)
				if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(place, bytes, 0o400); err != nil {
					t.Fatal(err)
				}
				kept := must[ledger.KeptFile](t)(s.KeepFile(ctx, ledger.KeptFile{File: file}))
				ids = append(ids, sayAs(t, s, thread, pluginsdk.NewMessage{
					Role: pluginsdk.RoleUser, Kind: pluginsdk.MessageText, Content: "said with a file", Attachments: []pluginsdk.Attachment{kept.Attachment()},
				}))
				gone := newThread(t, s, "gone")
				say(t, s, gone, "said in vain")
				if err := search.New(search.Config{}, s).Finish(ctx, nil); err != nil {
					t.Fatal(err)
				}
				must[pluginsdk.Thread](t)(s.DeleteThread(ctx, gone, "ann"))
				if err := s.RemoveThread(ctx, gone); err != nil {
					t.Fatal(err)
				}
				archive := filepath.Join(t.TempDir(), "it.backup")
				must[store.BackupReport](t)(s.Backup(ctx, store.Backup{File: archive, Files: dir}))

				config := restored(t)
				before := must[*store.Store](t)(store.Open(ctx, config))
				mark := must[ledger.IndexMark](t)(before.IndexMark(ctx))
				if err := before.AddToIndex(ctx, mark, 1<<40, nil); err != nil { // as if much had been said here
					t.Fatal(err)
				}
				if err := before.Close(); err != nil {
					t.Fatal(err)
				}
				report := must[store.RestoreReport](t)(store.RestoreBackup(ctx, config, store.Restore{
					File: archive, Workspace: filepath.Join(config.Dir, "workspace"), Owner: "test",
				}))
				if len(report.Problems) > 0 {
					t.Errorf("problems %q", report.Problems)
				}
				again := storetest.OpenConfig(t, config)
				named := must[[]ledger.FileBytes](t)(again.FileBytes(ctx, "", 9))
				content, err := os.ReadFile(filepath.Join(config.Dir, store.FilesName, file.SHA256[:2], file.SHA256))
				if err != nil || string(content) != "the bytes" || len(named) != 1 || named[0].SHA256 != file.SHA256 {
					t.Errorf("%q, %v; rows %+v", content, err, named)
				}
				room := search.New(search.Config{}, again)
				slices.Reverse(ids)
				for range 2 {
					if got := all(t, room, pluginsdk.SearchQuery{Text: "said", Order: pluginsdk.SearchNewest}, 50); !slices.Equal(got, ids) {
						t.Errorf("found %d of %d", len(got), len(ids))
					}
					if err := room.Finish(ctx, nil); err != nil {
						t.Fatal(err)
					}
				}
				if got := indexed(t, again, "said"); !slices.Equal(got, ids) {
					t.Errorf("the index has %d", len(got))
				}
				sound(t, again)
				if next := say(t, again, thread, "said after it"); next[0] <= ids[0] {
					t.Errorf("the id %d was given out before", next[0])
				}
			})
		}
	}
}
