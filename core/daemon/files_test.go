package daemon_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	stdpng "image/png"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// leave writes a file into the outbox of a thread, as its agent does.
func (in *installation) leave(thread, name, content string) {
	in.t.Helper()
	path := filepath.Join(in.config.Data, "threads", thread, "out", name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		in.t.Fatal(err)
	}
}

// upload sends bytes as a file; change changes the request before.
func (in *installation) upload(name string, content []byte, change func(*http.Request)) (int, pluginsdk.File, string) {
	in.t.Helper()
	request, err := http.NewRequestWithContext(in.t.Context(), http.MethodPost, in.base+"/api/files?name="+url.QueryEscape(name), bytes.NewReader(content))
	if err != nil {
		in.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/octet-stream")
	if change != nil {
		change(request)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		in.t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		in.t.Fatal(err)
	}
	var file pluginsdk.File
	if response.StatusCode == http.StatusCreated {
		if err := json.Unmarshal(answer, &file); err != nil {
			in.t.Fatal(err)
		}
	}
	return response.StatusCode, file, string(answer)
}

func (in *installation) file(name string, content []byte) pluginsdk.File {
	in.t.Helper()
	status, file, answer := in.upload(name, content, nil)
	if status != http.StatusCreated {
		in.t.Fatalf("POST /api/files: %d %s", status, answer)
	}
	return file
}

// fetch reads a path, with headers NAME, VALUE, ...
func (in *installation) fetch(path string, headers ...string) (int, http.Header, []byte) {
	in.t.Helper()
	request, err := http.NewRequestWithContext(in.t.Context(), http.MethodGet, in.base+path, nil)
	if err != nil {
		in.t.Fatal(err)
	}
	for pair := range slices.Chunk(headers, 2) {
		request.Header.Set(pair[0], pair[1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		in.t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		in.t.Fatal(err)
	}
	return response.StatusCode, response.Header, content
}

// kept are the names of what lies in the directory of the bytes.
func (in *installation) kept() (names []string) {
	in.t.Helper()
	err := filepath.WalkDir(filepath.Join(in.config.Data, "files"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, entry.Name())
		}
		return err
	})
	if err != nil {
		in.t.Fatal(err)
	}
	return names
}

// noise is a PNG of so many pixels, which compress to nothing smaller.
func noise(t *testing.T, width, height int) []byte {
	t.Helper()
	picture := image.NewNRGBA(image.Rect(0, 0, width, height))
	random := rand.New(rand.NewPCG(1, 2))
	for i := range picture.Pix {
		picture.Pix[i] = byte(random.Uint32())
	}
	var out bytes.Buffer
	if err := (&stdpng.Encoder{CompressionLevel: stdpng.NoCompression}).Encode(&out, picture); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// What a person sends comes back as it was, as what it is, and as nothing else.
func TestFilesThroughTheAPI(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(*testing.T) string) {
		in := leanInstallation(t, database(t))
		var mu sync.Mutex
		var fault error
		in.config.FileFault = func(step string) error {
			mu.Lock()
			defer mu.Unlock()
			if step == "write" {
				return fault
			}
			return nil
		}
		in.start()
		in.subtest("a 20 MB image", func(t *testing.T) { largeImage(t, in) })
		in.subtest("a zip bomb", func(t *testing.T) { zipBomb(t, in) })
		in.subtest("an HTML file called .png", func(t *testing.T) { disguised(t, in) })
		in.subtest("a path as a name", func(t *testing.T) { pathAsName(t, in) })
		in.subtest("the same file again and again", func(t *testing.T) { sameFile(t, in) })
		in.subtest("a full disk", func(t *testing.T) {
			before := in.kept()
			mu.Lock()
			fault = syscall.ENOSPC
			mu.Unlock()
			status, _, answer := in.upload("big.bin", make([]byte, 9<<20), nil)
			mu.Lock()
			fault = nil
			mu.Unlock()
			if status != http.StatusInsufficientStorage || !strings.Contains(answer, "is full; free some space") {
				t.Errorf("%d %s", status, answer)
			}
			if after := in.kept(); !slices.Equal(before, after) {
				t.Errorf("left: %q", after)
			}
			in.file("big.bin", make([]byte, 9<<20))
		})
		in.subtest("what is refused", func(t *testing.T) { refusedUploads(t, in) })
		in.subtest("a message with files", func(t *testing.T) { messageWithFiles(t, in) })
	})
}

func largeImage(t *testing.T, in *installation) {
	picture := noise(t, 2500, 2000)
	if len(picture) < 20_000_000 {
		t.Fatalf("%d bytes", len(picture))
	}
	file := in.file("holiday.png", picture)
	if file.Type != "image/png" || file.Size != int64(len(picture)) || file.Plugin != "web" {
		t.Errorf("%+v", file)
	}
	content := "/api/files/" + file.ID + "/content"
	status, header, got := in.fetch(content)
	if status != 200 || !bytes.Equal(got, picture) || header.Get("Content-Type") != "image/png" || !strings.HasPrefix(header.Get("Content-Disposition"), "inline; ") ||
		header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("%d, %d bytes, %v", status, len(got), header)
	}
	if status, _, got := in.fetch(content, "Range", "bytes=10000000-10000099"); status != http.StatusPartialContent || !bytes.Equal(got, picture[10_000_000:10_000_100]) {
		t.Errorf("a range: %d, %d bytes", status, len(got))
	}
	if status, _, got := in.fetch(content, "If-None-Match", header.Get("ETag")); status != http.StatusNotModified || len(got) > 0 {
		t.Errorf("again: %d, %d bytes", status, len(got))
	}
	if _, header, _ := in.fetch(content + "?download=true"); !strings.HasPrefix(header.Get("Content-Disposition"), "attachment; ") {
		t.Errorf("as a download: %v", header)
	}
}

func zipBomb(t *testing.T, in *installation) {
	bomb := bombOfZeros(t)
	file := in.file("bomb.zip", bomb)
	status, header, got := in.fetch("/api/files/" + file.ID + "/content")
	if file.Type != "application/zip" || status != 200 || !bytes.Equal(got, bomb) || header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("%+v: %d, %d bytes, %v", file, status, len(got), header)
	}
}

// bombOfZeros is an archive with a file of 256 MB. Only the first megabyte is compressed,
// and that block repeated: the race detector makes a compression of all of it long.
func bombOfZeros(t *testing.T) []byte {
	t.Helper()
	const times = 256
	zeros := make([]byte, 1<<20)
	var block, packed, bomb bytes.Buffer
	deflate, err := flate.NewWriter(&block, flate.DefaultCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := deflate.Write(zeros); err != nil {
		t.Fatal(err)
	}
	if err := deflate.Flush(); err != nil { // the block ends with a whole byte
		t.Fatal(err)
	}
	packed.Write(bytes.Repeat(block.Bytes(), times))
	block.Reset()
	if err := deflate.Close(); err != nil {
		t.Fatal(err)
	}
	packed.Write(block.Bytes())
	header := &zip.FileHeader{Name: "zeros", Method: zip.Deflate, CompressedSize64: uint64(packed.Len()), UncompressedSize64: times * uint64(len(zeros))}
	for range times {
		header.CRC32 = crc32.Update(header.CRC32, crc32.IEEETable, zeros)
	}
	archive := zip.NewWriter(&bomb)
	inner, err := archive.CreateRaw(header)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inner.Write(packed.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return bomb.Bytes()
}

func disguised(t *testing.T, in *installation) {
	for name, c := range map[string][2]string{
		"page.png": {"<!DOCTYPE html><html><body><script>alert(document.cookie)</script></body></html>", "text/html"},
		"draw.png": {`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`, "image/svg+xml"},
	} {
		file := in.file(name, []byte(c[0]))
		status, header, got := in.fetch("/api/files/" + file.ID + "/content")
		if file.Type != c[1] || status != 200 || string(got) != c[0] || header.Get("Content-Type") != "application/octet-stream" ||
			!strings.HasPrefix(header.Get("Content-Disposition"), "attachment; ") || header.Get("X-Content-Type-Options") != "nosniff" ||
			header.Get("Content-Security-Policy") != "default-src 'none'; sandbox" {
			t.Errorf("%s is %s: %d %v", name, file.Type, status, header)
		}
	}
}

func pathAsName(t *testing.T, in *installation) {
	for given, want := range map[string]string{
		"../../../harness.env": "harness.env", `..\..\win.ini`: "win.ini", "/etc/passwd": "passwd", "..": "file", "a\x00b\r\nX: y.txt": "abX: y.txt",
	} {
		file := in.file(given, []byte("x"))
		if file.Name != want {
			t.Errorf("%q became %q, want %q", given, file.Name, want)
		}
		_, header, _ := in.fetch("/api/files/" + file.ID + "/content")
		if header.Get("X") != "" || strings.ContainsAny(header.Get("Content-Disposition"), "/\\\r\n") {
			t.Errorf("%q: %v", given, header)
		}
	}
	file := in.file(`naïve "試" 100%.txt`, []byte("x"))
	_, header, _ := in.fetch("/api/files/" + file.ID + "/content")
	if want := `attachment; filename="na_ve ___ 100_.txt"; filename*=UTF-8''na%C3%AFve%20%22%E8%A9%A6%22%20100%25.txt`; header.Get("Content-Disposition") != want {
		t.Errorf("%s, want %s", header.Get("Content-Disposition"), want)
	}
}

func sameFile(t *testing.T, in *installation) {
	const copies = 100
	content := bytes.Repeat([]byte("again "), 10_000)
	before := len(in.kept())
	var sum string
	for n := range copies {
		sum = in.file(fmt.Sprintf("%d.txt", n), content).SHA256
	}
	if after := len(in.kept()); after != before+1 {
		t.Errorf("%d copies", after-before)
	}
	var page struct{ Files []pluginsdk.File }
	in.call(http.MethodGet, "/api/files?limit=1000&newest=true&sha256="+sum, nil, &page)
	if len(page.Files) != copies || page.Files[0].Name != fmt.Sprintf("%d.txt", copies-1) {
		t.Fatalf("%d files", len(page.Files))
	}
	for _, file := range page.Files {
		if status := in.call(http.MethodDelete, "/api/files/"+file.ID, nil, nil); status != http.StatusNoContent {
			t.Fatalf("DELETE: %d", status)
		}
	}
	if after := len(in.kept()); after != before {
		t.Errorf("%d copies are left", after-before)
	}
}

func refusedUploads(t *testing.T, in *installation) {
	as := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for name, c := range map[string]struct {
		change func(*http.Request)
		status int
	}{
		"a form":              {as("Content-Type", "text/plain"), 415},
		"a multipart form":    {as("Content-Type", "multipart/form-data; boundary=x"), 415},
		"its own type":        {as("Content-Type", "image/png"), 415},
		"of another site":     {as("Origin", "https://evil.example"), 403},
		"without its length":  {func(r *http.Request) { r.ContentLength = -1 }, 411},
		"for no thread":       {func(r *http.Request) { r.URL.RawQuery += "&threadId=nobody" }, 404},
		"with another hash":   {func(r *http.Request) { r.URL.RawQuery += "&sha256=" + strings.Repeat("0", 64) }, 422},
		"without a name":      {func(r *http.Request) { r.URL.RawQuery = "" }, 422},
		"to a name like ours": {func(r *http.Request) { r.URL.Path = "/api/files/content" }, 405},
	} {
		before := in.kept()
		if status, _, answer := in.upload("x", []byte("refused "+name), c.change); status != c.status {
			t.Errorf("%s: %d %s, want %d", name, status, answer, c.status)
		}
		if after := in.kept(); !slices.Equal(before, after) {
			t.Errorf("%s: left %q", name, after)
		}
	}
	if status, _, answer := in.upload("huge", make([]byte, 32<<20+1), nil); status != http.StatusRequestEntityTooLarge || !strings.Contains(answer, "HARNESS_MAX_FILE") {
		t.Errorf("too large: %d %s", status, answer)
	}
	if status, _, _ := in.fetch("/api/files/nothing/content"); status != 404 {
		t.Errorf("what is not there: %d", status)
	}
}

func messageWithFiles(t *testing.T, in *installation) {
	watch, thread := in.watch(), in.thread("files")
	file := in.file("plan.csv", []byte("a,b\n"))
	in.leave(thread, "charts/answer.csv", "c,d\n")
	var accepted pluginsdk.Accepted
	body := map[string]any{"threadId": thread, "content": "", "attachments": []any{map[string]any{"fileId": file.ID}}}
	if status := in.call(http.MethodPost, "/api/chat", body, &accepted); status != http.StatusAccepted {
		t.Fatalf("POST /api/chat: %d", status)
	}
	watch.end(accepted.RunID)
	var asked, sent []pluginsdk.Attachment
	for _, message := range in.messages(thread) {
		if message.Role == pluginsdk.RoleUser {
			asked = append(asked, message.Attachments...)
		} else {
			sent = append(sent, message.Attachments...)
		}
	}
	if len(asked) != 1 || asked[0] != file.Attachment() || len(sent) != 1 || sent[0].Name != "charts_answer.csv" || sent[0].Type != "text/csv" && sent[0].Type != "text/plain" {
		t.Errorf("asked with %+v, answered with %+v", asked, sent)
	}
	laid, err := os.ReadFile(filepath.Join(in.config.Data, "threads", thread, "in", file.ID, "plan.csv"))
	if err != nil || string(laid) != "a,b\n" {
		t.Errorf("%q, %v", laid, err)
	}
	for name, attachment := range map[string]map[string]any{
		"a file that is not there": {"fileId": "0198c5c0-0000-7000-8000-000000000000"},
		"the same as a reference":  {"name": "x", "where": "file:0198c5c0-0000-7000-8000-000000000000"},
		"both":                     {"fileId": file.ID, "name": "x"},
		"neither":                  {"type": "text/plain"},
	} {
		body := map[string]any{"threadId": thread, "content": "see", "attachments": []any{attachment}}
		if status := in.call(http.MethodPost, "/api/chat", body, nil); status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", name, status)
		}
	}
	// Who lies about a file is not believed.
	body["content"], body["attachments"] = "see", []any{map[string]any{"name": "x.html", "type": "text/html", "size": 1, "where": "file:" + file.ID}}
	in.call(http.MethodPost, "/api/chat", body, &accepted)
	watch.end(accepted.RunID)
	for _, message := range in.messages(thread) {
		if message.ID == accepted.MessageID && !slices.Equal(message.Attachments, []pluginsdk.Attachment{file.Attachment()}) {
			t.Errorf("%+v", message.Attachments)
		}
	}
}

// A backup has the bytes of files, from whichever database into whichever, and doctor
// reads them all.
func TestBackupsHaveTheFiles(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(*testing.T) string) {
		in := leanInstallation(t, database(t))
		stop := in.start()
		kept, gone := in.file("kept.txt", []byte("kept")), in.file("gone.txt", []byte("gone"))
		in.call(http.MethodDelete, "/api/files/"+gone.ID, nil, nil)
		archive := filepath.Join(t.TempDir(), "it.backup")
		if _, err := daemon.Backup(t.Context(), in.config, daemon.BackupRequest{File: archive}); err != nil {
			t.Fatal(err)
		}
		stop()
		again := leanInstallation(t, "")
		if err := os.RemoveAll(again.config.Data); err != nil {
			t.Fatal(err)
		}
		plugins := again.config.Plugins
		again.config.Plugins = in.config.Plugins
		defer func() { again.config.Plugins = plugins }()
		report, err := daemon.Restore(t.Context(), again.config, archive, false, nil)
		if err != nil || len(report.Problems) > 0 {
			t.Fatalf("%v, %q", err, report.Problems)
		}
		again.start()
		if status, _, content := again.fetch("/api/files/" + kept.ID + "/content"); status != 200 || string(content) != "kept" {
			t.Errorf("%d %q", status, content)
		}
		if on := again.kept(); len(on) != 1 {
			t.Errorf("on disk: %q", on)
		}
		look := func() daemon.Check {
			for _, check := range daemon.Doctor(t.Context(), again.config) {
				if check.Name == "files" {
					return check
				}
			}
			return daemon.Check{}
		}
		if check := look(); !check.OK {
			t.Errorf("%+v", check)
		}
		if err := os.Remove(filepath.Join(again.config.Data, "files", kept.SHA256[:2], kept.SHA256)); err != nil {
			t.Fatal(err)
		}
		if check := look(); check.OK || !strings.Contains(check.Detail, "is missing") {
			t.Errorf("%+v", check)
		}
	})
}

// The real CLI gets an image and a PDF as content, and other files by a path that it may
// read unasked; what it writes to its outbox, unasked too, comes back with its reply.
func TestTheRealAgentSeesAndLeavesFiles(t *testing.T) {
	if !apart(t) {
		return
	}
	in := newInstallation(t, "")
	api := in.claude()
	in.start()
	watch, thread := in.watch(), in.thread("files")
	picture := in.file("photo.png", noise(t, 40, 30))
	document := in.file("paper.pdf", []byte("%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"))
	table := in.file("table.csv", []byte("a,b\n1,2\n"))
	out := filepath.Join(in.config.Data, "threads", thread, "out")
	read := filepath.Join(in.config.Data, "threads", thread, "in", table.ID, "table.csv")
	var accepted pluginsdk.Accepted
	body := map[string]any{
		"threadId":    thread,
		"content":     fmt.Sprintf("usetool:Read {\"file_path\":%q}\nthen:Read.", read),
		"attachments": []any{map[string]any{"fileId": picture.ID}, map[string]any{"fileId": document.ID}, map[string]any{"fileId": table.ID}},
	}
	if status := in.call(http.MethodPost, "/api/chat", body, &accepted); status != http.StatusAccepted {
		t.Fatalf("POST /api/chat: %d", status)
	}
	watch.end(accepted.RunID)
	requests := api.Requests(fakeapi.Main)
	first := requests[0]
	kinds := map[string]int{}
	for _, message := range first.Messages {
		for _, block := range message.Content {
			kinds[block.Type]++
		}
	}
	if kinds["image"] != 1 || kinds["document"] != 1 || !first.Says("[attachment table.csv (text/csv, 8 bytes): "+read+"]") || !strings.Contains(first.System, out) {
		t.Errorf("blocks %v, prompt %s", kinds, first.Prompt())
	}
	if last := requests[len(requests)-1]; !strings.Contains(string(last.Body), "1,2") {
		t.Errorf("the agent could not read %s: %q", read, last.UserTexts())
	}
	write, _ := in.say(watch, thread, fmt.Sprintf("usetool:Write {\"file_path\":%q,\"content\":\"x,y\"}\nthen:Made.", filepath.Join(out, "made.csv")))
	var sent []pluginsdk.Attachment
	for _, message := range in.messages(thread) {
		if message.RunID == write.RunID && message.Role == pluginsdk.RoleAssistant && message.Kind == pluginsdk.MessageText {
			sent = append(sent, message.Attachments...)
		}
	}
	if len(sent) != 1 || sent[0].Name != "made.csv" {
		t.Fatalf("sent %+v", sent)
	}
	id, _ := sent[0].FileID()
	if _, _, content := in.fetch("/api/files/" + id + "/content"); string(content) != "x,y" {
		t.Errorf("%q", content)
	}
	if _, err := os.Lstat(filepath.Join(out, "made.csv")); err == nil {
		t.Error("it is still in the outbox")
	}
}
