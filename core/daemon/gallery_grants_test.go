package daemon_test

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// packed is what the packrat may keep in all, in bytes.
const packed = 8 << 20

// checkPackrat looks at what the packrat has got on the disk. Nobody could send a file any
// more, and the disk would be full.
func checkPackrat(h *hall) {
	h.t.Helper()
	h.until("the refusals of the packrat", func() bool { return strings.Contains(h.file("packrat.txt"), "over\n") })
	h.installation.file("mine.txt", []byte("of a person, meanwhile"))
	h.turns(audience)
	var size int64
	err := filepath.WalkDir(filepath.Join(h.config.Data, "files"), func(_ string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || entry.IsDir() {
			return nil
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		size += info.Size()
		return err
	})
	h.must(err)
	if size > packed+1<<20 {
		h.t.Errorf("it may keep %d bytes, and there are %d:\n%s", packed, size, h.file("packrat.txt"))
	}
	if told := h.file("packrat.txt"); !strings.Contains(told, "bytes in all: ") {
		h.t.Errorf("it is told\n%s", told)
	}
	kept, err := h.store.Files(h.t.Context(), pluginsdk.FileQuery{})
	h.must(err)
	for _, file := range kept {
		if strings.Contains(file.Name, "/") {
			h.t.Errorf("a file is called %q", file.Name)
		}
	}
}

// checkBurrower looks at what lies around the workspace. Whoever may keep notes for the
// agent would write the operator's files.
func checkBurrower(h *hall) {
	h.t.Helper()
	outside, workspace := filepath.Join(h.config.Data, "outside"), filepath.Join(h.config.Data, "workspace")
	notes := filepath.Join(workspace, "context")
	h.must(errors.Join(os.MkdirAll(notes, 0o700), os.Mkdir(outside, 0o700)))
	for _, path := range []string{filepath.Join(outside, "inside.md"), filepath.Join(workspace, "..", "outside.md")} {
		h.must(os.WriteFile(path, []byte("the operator's"), 0o600))
	}
	h.must(os.Symlink(filepath.Join(outside, "inside.md"), filepath.Join(notes, "link.md")))
	h.must(os.Symlink(outside, filepath.Join(notes, "linked")))
	h.answered(h.thread("victim of the burrower"), "hello")
	tries := h.said("burrower.txt", "victim of the burrower")
	for _, try := range tries {
		if try[1] == "done" || try[1] == string(pluginsdk.CodeUnavailable) {
			h.t.Errorf("%s: %s, %.300s", try[0], try[1], try[2])
		}
	}
	if len(tries) < 50 {
		h.t.Errorf("%d tries", len(tries))
	}
	for _, path := range []string{filepath.Join(outside, "inside.md"), filepath.Join(workspace, "..", "outside.md")} {
		if text, err := os.ReadFile(path); err != nil || string(text) != "the operator's" {
			h.t.Errorf("%s says %q, %v", path, text, err)
		}
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		h.t.Errorf("beside it there are %v, %v", entries, err)
	}
	for _, name := range []string{".mcp.json", ".claude/settings.json"} {
		if _, err := os.Lstat(filepath.Join(workspace, name)); !errors.Is(err, fs.ErrNotExist) {
			h.t.Errorf("%s: %v", name, err)
		}
	}
}

// checkUsurper looks at who has answered what the agent asked. It would be allowed what no
// person has allowed.
func checkUsurper(h *hall) {
	h.t.Helper()
	asked := h.chat(h.thread("what is asked"), "clean up")
	question := h.openApproval(asked.RunID)
	h.answered(h.thread("victim of the usurper"), "hello")
	for _, try := range h.said("usurper.txt", "victim of the usurper") {
		if try[1] != string(pluginsdk.CodeDenied) && !strings.HasPrefix(try[0], "person of 1 MB") || !strings.Contains(try[2], "approvals.decide") && try[1] == string(pluginsdk.CodeDenied) {
			h.t.Errorf("without the right: %s: %s, %.300s", try[0], try[1], try[2])
		}
	}
	h.must(os.Remove(filepath.Join(h.config.Plugins, "usurper.txt")))
	h.stillAsked(question)

	h.regrant("usurper", pluginsdk.CapApprovalsRead, pluginsdk.CapApprovalsDecide, pluginsdk.CapMessagesWrite)
	h.answered(h.thread("victim of the right"), "hello")
	tries := h.said("usurper.txt", "victim of the right")
	for _, try := range tries {
		switch last := try[0] == "person of 64 KB"; {
		case strings.HasPrefix(try[0], "hook") && (try[1] != string(pluginsdk.CodeDenied) || !strings.Contains(try[2], "only a person answers")):
			h.t.Errorf("in a hook: %s, %s", try[1], try[2])
		case !last && try[1] == "done", len(try[2]) > 4<<10:
			h.t.Errorf("%s: %s, %.300s", try[0], try[1], try[2])
		case last && try[1] != "done":
			h.t.Errorf("with the right, in a person's name: %s, %.300s", try[1], try[2])
		}
	}
	if run := h.installation.ended(asked.RunID); run.State != pluginsdk.RunSucceeded {
		h.t.Errorf("the run that asked is %s: %s", run.State, run.Error)
	}
	answered, err := h.store.Approval(h.t.Context(), question.ID)
	h.must(err)
	if answered.State != pluginsdk.ApprovalDenied || answered.Plugin != "usurper" || !strings.HasPrefix(answered.Author, "Ann") || strings.Contains(answered.Author, "\n") || len(answered.Author) > 1<<10 {
		h.t.Errorf("it was answered by %.300q through %q: %s", answered.Author, answered.Plugin, answered.State)
	}
	entries, err := h.store.AuditEntries(h.t.Context(), question.ID, 10)
	h.must(err)
	if len(entries) != 1 || !strings.Contains(entries[0].Who, "usurper") || len(entries[0].Who) > 1<<10 {
		h.t.Errorf("the audit log says %.1000v", entries)
	}
}

// stillAsked wants an approval to be open.
func (h *hall) stillAsked(approval pluginsdk.Approval) {
	h.t.Helper()
	if now, err := h.store.Approval(h.t.Context(), approval.ID); err != nil || now.State != pluginsdk.ApprovalOpen || !now.SpentAt.IsZero() {
		h.t.Errorf("it is %s, spent at %v by %q, %v", now.State, now.SpentAt, now.Author, err)
	}
}

// checkRummager searches meanwhile. Nobody would find anything any more, without knowing
// why.
func checkRummager(h *hall) {
	h.t.Helper()
	h.until("the searches", func() bool { return strings.Count(h.file("rummager.txt"), "search ") >= 4 })
	var took []time.Duration
	for range 5 {
		began := time.Now()
		var found struct{ Hits []pluginsdk.SearchHit }
		if status := h.call(http.MethodGet, "/api/search?q=hello", nil, &found); status != http.StatusOK || len(found.Hits) == 0 {
			h.t.Errorf("GET /api/search: %d, %d hits", status, len(found.Hits))
		}
		took = append(took, time.Since(began))
	}
	if slices.Max(took) > patience/4 {
		h.t.Errorf("a person's searches take %v", took)
	}
}
