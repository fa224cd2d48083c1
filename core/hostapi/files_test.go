package hostapi

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// cabinet is a room of files that remembers what it was asked for.
type cabinet struct {
	there  map[string]pluginsdk.File
	calls  []string
	coming int64
	full   bool // it begins nothing
}

func (s *cabinet) Begin(plugin string, request pluginsdk.BeginFileRequest) (string, error) {
	s.calls = append(s.calls, "begin "+plugin+" "+request.Name)
	if s.full {
		return "", pluginsdk.Errorf(pluginsdk.CodeExhausted, "the disk is full")
	}
	s.coming += request.Size
	return "u", nil
}

func (s *cabinet) Coming(string) int64 { return s.coming }

func (s *cabinet) Write(plugin string, request pluginsdk.WriteFileRequest) (int64, error) {
	s.calls = append(s.calls, "write "+plugin)
	return int64(len(request.Data)), nil
}

func (s *cabinet) Commit(_ context.Context, plugin string, _ pluginsdk.CommitFileRequest) (pluginsdk.File, error) {
	s.calls = append(s.calls, "commit "+plugin)
	made := pluginsdk.File{ID: "made", Plugin: plugin, Size: s.coming}
	s.coming = 0
	return made, nil
}

func (s *cabinet) Get(_ context.Context, id string) (pluginsdk.File, error) {
	if file, ok := s.there[id]; ok {
		return file, nil
	}
	return pluginsdk.File{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "no file with the id %q", id)
}

func (s *cabinet) List(context.Context, pluginsdk.FileQuery) ([]pluginsdk.File, error) {
	return nil, nil
}

func (s *cabinet) Read(context.Context, pluginsdk.ReadFileRequest) ([]byte, error) { return nil, nil }

func (s *cabinet) Delete(_ context.Context, id string) (pluginsdk.File, bool, error) {
	s.calls = append(s.calls, "delete "+id)
	return s.there[id], true, nil
}

// A file counts among what a plugin may store in all, before its first byte is written.
func TestFilesCountInWhatAPluginStores(t *testing.T) {
	f := newFixture()
	room := &cabinet{}
	f.api.Files = room
	f.limits = pluginsdk.PluginLimits{StoredBytes: 10 << 20}
	begin := func(size int64) error {
		_, err := f.Files.Begin(t.Context(), &pluginsdk.BeginFileRequest{Name: "x", Size: size})
		return err
	}
	refused := func(when string, size int64) {
		t.Helper()
		before := len(room.calls)
		if err := begin(size); pluginsdk.CodeOf(err) != pluginsdk.CodeExhausted || !strings.Contains(err.Error(), "--stored") {
			t.Errorf("%s: %v", when, err)
		}
		if len(room.calls) != before {
			t.Errorf("%s: %q", when, room.calls)
		}
	}
	room.full = true
	if err := begin(6 << 20); err == nil {
		t.Error("it has begun")
	}
	room.full = false // what was not begun counts nowhere
	if err := begin(6 << 20); err != nil {
		t.Fatal(err)
	}
	refused("beside what comes", 6<<20)
	refused("more than can be counted", math.MaxInt64)
	f.clock = f.clock.Add(time.Hour) // nothing of it is in the database yet
	refused("beside what comes, later", 6<<20)
	if _, err := f.Files.Commit(t.Context(), &pluginsdk.CommitFileRequest{UploadID: "u"}); err != nil {
		t.Fatal(err)
	}
	refused("beside what was just stored", 6<<20)
	if err := begin(3 << 20); err != nil {
		t.Error(err)
	}
	before := len(room.calls)
	_, err := f.Files.Begin(t.Context(), &pluginsdk.BeginFileRequest{Name: "x", Size: 1, ThreadID: "gone"})
	if pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound || len(room.calls) != before {
		t.Errorf("for a thread that is not there: %v, %q", err, room.calls)
	}
}

// What is said of a file is kept in memory and in a row, and no quota counts it.
func TestWhatIsSaidOfAFileIsBounded(t *testing.T) {
	f := newFixture()
	f.api.Files = &cabinet{}
	for field, request := range map[string]*pluginsdk.BeginFileRequest{
		"name": {Name: strings.Repeat("x", maxFileName+1)}, "author": {Name: "x", Author: strings.Repeat("x", maxFileAuthor+1)},
	} {
		if _, err := f.Files.Begin(t.Context(), request); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// What another has taken in is deleted by who may decide about others' threads only, and
// the audit log says so.
func TestDeletingOthersFilesNeedsARight(t *testing.T) {
	for name, granted := range map[string]bool{"without": false, "with": true} {
		t.Run(name, func(t *testing.T) {
			capabilities := []pluginsdk.Capability{}
			if granted {
				capabilities = append(capabilities, pluginsdk.CapThreadsAdmin)
			}
			f := newFixture(capabilities...)
			room := &cabinet{there: map[string]pluginsdk.File{"own": {ID: "own", Plugin: "p"}, "other": {ID: "other", Plugin: "q", Name: "plan.pdf"}}}
			f.api.Files = room
			for _, id := range []string{"own", "absent", "other"} {
				_, err := f.Files.Delete(t.Context(), &pluginsdk.DeleteFileRequest{ID: id, Author: "ann"})
				if denied := pluginsdk.CodeOf(err) == pluginsdk.CodeDenied; denied != (id == "other" && !granted) || err != nil && !denied {
					t.Errorf("%s: %v", id, err)
				}
			}
			want := "delete own"
			if granted {
				want = "delete own, delete other"
			}
			if got := strings.Join(room.calls, ", "); got != want {
				t.Errorf("%s", got)
			}
			if audits := strings.Join(f.store.audits, "\n"); strings.Contains(audits, "file.delete") != granted || granted && !strings.Contains(audits, "plugin:p (ann)") {
				t.Errorf("audit log: %s", audits)
			}
		})
	}
}

// A reference to nothing is refused when it is submitted, not found out by the agent.
func TestAttachmentsMustBeThere(t *testing.T) {
	f := newFixture()
	file := pluginsdk.File{ID: "own", Name: "a.png", Type: "image/png", Size: 3}
	f.api.Files = &cabinet{there: map[string]pluginsdk.File{"own": file}}
	submit := func(attachments ...pluginsdk.Attachment) error {
		_, err := f.Messages.Submit(t.Context(), &pluginsdk.SubmitMessageRequest{Submission: pluginsdk.Submission{
			Source: "p", Key: "k", Content: "see", Attachments: attachments,
		}})
		return err
	}
	if err := submit(file.Attachment(), pluginsdk.Attachment{Name: "b", Where: "https://example.org/b"}); err != nil {
		t.Error(err)
	}
	if err := submit(slices.Repeat([]pluginsdk.Attachment{file.Attachment()}, 101)...); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), "at most 100") {
		t.Errorf("101: %v", err)
	}
	for _, where := range []string{"file:", "file:absent", "file:../own"} {
		if err := submit(file.Attachment(), pluginsdk.Attachment{Name: "b", Where: where}); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), "attachments[1]") {
			t.Errorf("%s: %v", where, err)
		}
	}
}
