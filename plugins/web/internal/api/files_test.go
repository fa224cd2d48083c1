package api_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/web/internal/access"
	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// files serves the API of a host with files.
func files(t *testing.T) (*plugintest.Host, *httptest.Server) {
	t.Helper()
	host, mux := plugintest.NewHost(), http.NewServeMux()
	err := api.Register(mux, api.Config{Host: host.SDK(), Version: "1.2.3", Started: time.Now(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(as(access.Caller{Open: true}, mux))
	t.Cleanup(server.Close)
	return host, server
}

func answerOf(t *testing.T, request *http.Request) (int, http.Header, string) {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(body)
}

func newRequest(t *testing.T, method, url string, body io.Reader) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/octet-stream")
	return request
}

// A file of many parts goes in and comes out as it was, and so does any range of it.
func TestFilesGoThroughInParts(t *testing.T) {
	host, server := files(t)
	data := bytes.Repeat([]byte("0123456789abcdef"), 9<<20/16)
	status, _, body := answerOf(t, newRequest(t, http.MethodPost, server.URL+"/api/files?name=x.bin", bytes.NewReader(data)))
	if status != http.StatusCreated || len(host.Files()) != 1 {
		t.Fatalf("%d %s", status, body)
	}
	content := server.URL + "/api/files/" + host.Files()[0].ID + "/content"
	if status, _, body := answerOf(t, newRequest(t, http.MethodGet, content, nil)); status != 200 || body != string(data) {
		t.Errorf("%d, %d bytes", status, len(body))
	}
	// Of many at a time each must not hold much.
	parts := make(map[string]int)
	for _, call := range host.Calls() {
		parts[call.Method]++
	}
	if least := 9 << 20 / (256 << 10); parts["Files.Write"] < least || parts["Files.Read"] < least {
		t.Errorf("in how many parts it went in and out: %v", parts)
	}
	request := newRequest(t, http.MethodGet, content, nil)
	request.Header.Set("Range", "bytes=4194300-4194309")
	if status, header, body := answerOf(t, request); status != http.StatusPartialContent || body != string(data[4194300:4194310]) {
		t.Errorf("%d %v %q", status, header, body)
	}
	request.Header.Set("Range", "bytes=99999999-")
	status, headers, words := answerOf(t, request)
	if headers.Get("Content-Type") != "application/problem+json" || headers.Get("Content-Disposition") != "" ||
		!strings.Contains(words, "it has 9437184 bytes") || !strings.HasPrefix(headers.Get("Content-Range"), "bytes */") {
		t.Errorf("%v %s", headers, words)
	}
	if status != http.StatusRequestedRangeNotSatisfiable {
		t.Errorf("%d", status)
	}
}

// Many ranges in one request would have the host read a part of 4 MiB for each: they are
// answered with the whole file, which anybody may do.
func TestManyRangesAreAnsweredWithTheWholeFile(t *testing.T) {
	host, server := files(t)
	data := bytes.Repeat([]byte("0123456789abcdef"), 9<<20/16)
	if status, _, body := answerOf(t, newRequest(t, http.MethodPost, server.URL+"/api/files?name=x.bin", bytes.NewReader(data))); status != http.StatusCreated {
		t.Fatalf("%d %s", status, body)
	}
	request := newRequest(t, http.MethodGet, server.URL+"/api/files/"+host.Files()[0].ID+"/content", nil)
	request.Header.Set("Range", "bytes="+strings.TrimSuffix(strings.Repeat("0-0,8388608-8388608,", 50), ","))
	before := len(host.Calls())
	status, header, body := answerOf(t, request)
	reads := 0
	for _, call := range host.Calls()[before:] {
		if call.Method == "Files.Read" {
			reads++
		}
	}
	if least := len(data) / (256 << 10); status != http.StatusOK || body != string(data) || reads > least+1 { // each part once
		t.Errorf("%d %v, %d bytes, %d reads", status, header, len(body), reads)
	}
}

// A name is a name in the header too, whatever is in it.
func TestNamesInHeaders(t *testing.T) {
	host, server := files(t)
	for _, name := range []string{`x"; filename="evil.exe`, `back\slash.txt`, "100%41.txt", "плюс 試.txt", "semi;colon, comma.txt"} {
		status, _, body := answerOf(t, newRequest(t, http.MethodPost, server.URL+"/api/files?name="+url.QueryEscape(name), strings.NewReader("x")))
		if status != http.StatusCreated {
			t.Fatalf("%d %s", status, body)
		}
		kept := host.Files()[len(host.Files())-1]
		_, header, _ := answerOf(t, newRequest(t, http.MethodGet, server.URL+"/api/files/"+kept.ID+"/content", nil))
		said := header.Get("Content-Disposition")
		kind, values, err := mime.ParseMediaType(said)
		if err != nil || kind != "attachment" || len(values) != 1 || values["filename"] != kept.Name {
			t.Errorf("%q: %q is read as %s %q, %v", kept.Name, said, kind, values, err)
		}
		plain, _, _ := strings.Cut(strings.TrimPrefix(said, `attachment; filename="`), `"; filename*=`)
		if strings.ContainsAny(plain, "\"\\%\r\n") {
			t.Errorf("%q: for clients that know no other: %q", kept.Name, plain)
		}
	}
}

// A body of no known length is refused, and so is the rest of one that is: the connection
// ends.
func TestARefusedUploadEndsItsConnection(t *testing.T) {
	host, server := files(t)
	request := newRequest(t, http.MethodPost, server.URL+"/api/files?name=x", strings.NewReader("x"))
	request.ContentLength = -1
	if status, _, body := answerOf(t, request); status != http.StatusLengthRequired {
		t.Errorf("%d %s", status, body)
	}
	host.Fail("Files.Begin", pluginsdk.Errorf(pluginsdk.CodeExhausted, "too large (HARNESS_MAX_FILE)"))
	response, err := http.DefaultClient.Do(newRequest(t, http.MethodPost, server.URL+"/api/files?name=x", strings.NewReader("x")))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusRequestEntityTooLarge || !response.Close {
		t.Errorf("%d, closed %v", response.StatusCode, response.Close)
	}
}

// Whoever breaks off leaves nothing that waits for the rest.
func TestAnUploadThatBreaksOffIsForgotten(t *testing.T) {
	host, server := files(t)
	broken := io.MultiReader(strings.NewReader("half"), errReader{})
	request := newRequest(t, http.MethodPost, server.URL+"/api/files?name=x", broken)
	request.ContentLength = 8
	if response, err := http.DefaultClient.Do(request); err == nil {
		_ = response.Body.Close()
		t.Fatal("a request that broke off was answered")
	}
	patience := time.After(10 * time.Second)
	for {
		calls := host.Calls()
		if len(calls) > 0 && calls[len(calls)-1].Method == "Files.Commit" {
			break
		}
		select {
		case <-patience:
			t.Fatalf("calls %+v", calls)
		case <-time.After(5 * time.Millisecond): // nothing signals across the connection
		}
	}
	if len(host.Files()) != 0 {
		t.Errorf("%+v", host.Files())
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errors.New("broken off") }

// What browsers must not run as this site's own is bytes to them, whatever its name says.
func TestOnlySafeTypesAreShown(t *testing.T) {
	host, server := files(t)
	for kind, inline := range map[string]bool{
		"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true, "application/pdf": true,
		"image/svg+xml": false, "text/html": false, "text/xml": false, "application/xhtml+xml": false, "text/plain": false,
		"application/javascript": false, "application/octet-stream": false, "IMAGE/PNG": false, "image/png; x=text/html": false,
	} {
		file := host.AddFile(pluginsdk.File{Name: "a.png", Type: kind}, []byte("x"))
		status, header, _ := answerOf(t, newRequest(t, http.MethodGet, server.URL+"/api/files/"+file.ID+"/content", nil))
		media, disposition := "application/octet-stream", "attachment; "
		if inline {
			media, disposition = kind, "inline; "
		}
		if status != 200 || header.Get("Content-Type") != media || !strings.HasPrefix(header.Get("Content-Disposition"), disposition) ||
			header.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(header.Get("Content-Security-Policy"), "default-src 'none'; ") {
			t.Errorf("%s: %d %v", kind, status, header)
		}
	}
}
