package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/seed-706843ae/harness/plugins/web/internal/access"
	"github.com/seed-706843ae/harness/plugins/web/internal/guard"
	"github.com/seed-706843ae/harness/plugins/web/internal/problem"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	filesPath = "/api/files"
	filePath  = filesPath + "/{id}"
	// uploadFile and readFile are the operations whose bodies are streams: they may take
	// as long as bytes come.
	uploadFile = "upload-file"
	readFile   = "read-file"
	// fileChunk is how much is handed to and taken from the host at once, in bytes: so much is
	// held for each transfer, of which there can be as many as connections.
	fileChunk = 256 << 10
	// streamPatience is how long a client may send, or take, nothing.
	streamPatience = 30 * time.Second
	// streamDeadline is how long an upload may take in all: then the host forgets it.
	streamDeadline = time.Hour
)

// inlineTypes are what browsers may show by themselves. Everything else is a download of
// bytes: pages and drawings (HTML, SVG, XML) could run scripts as this site's own.
var inlineTypes = map[string]bool{
	"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true, "application/pdf": true,
}

type filesInput struct {
	Thread string `query:"threadId" maxLength:"100" doc:"Only files for this thread"`
	SHA256 string `query:"sha256" maxLength:"64" doc:"Only files with these bytes"`
	After  string `query:"after" maxLength:"100" doc:"Id of the last file of the page before"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"The most of a page. A page may be shorter although more follow: the end is an empty page"`
	Newest bool   `query:"newest" doc:"The newest first"`
}

type filesOutput struct {
	Body struct {
		Files []pluginsdk.File `json:"files" nullable:"false"`
	}
}

type fileOutput struct {
	Body pluginsdk.File
}

type fileIDInput struct {
	ID string `path:"id" maxLength:"100"`
}

type deleteFileInput struct {
	ID     string `path:"id" maxLength:"100"`
	Author string `query:"author" maxLength:"200" doc:"Who deletes it"`
}

type uploadInput struct {
	Name     string `query:"name" required:"true" minLength:"1" maxLength:"4096" doc:"What it is called; of a path, the last part is kept"`
	ThreadID string `query:"threadId" maxLength:"100" doc:"The thread that it is for"`
	Author   string `query:"author" maxLength:"200" doc:"Who sends it"`
	SHA256   string `query:"sha256" maxLength:"64" doc:"Of its bytes, hex; others are refused"`
	Length   int64  `header:"Content-Length" doc:"How many bytes it has; needed"`

	request *http.Request
	writer  http.ResponseWriter
}

// Resolve keeps the request, whose body is read as it comes.
func (i *uploadInput) Resolve(ctx huma.Context) []error {
	i.request, i.writer = humago.Unwrap(ctx)
	return nil
}

type contentInput struct {
	ID       string `path:"id" maxLength:"100"`
	Download bool   `query:"download" doc:"As a download, also what browsers could show"`
}

func (h *handlers) registerFiles(api huma.API) {
	binary := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	shown := map[string]*huma.MediaType{guard.UploadType: binary}
	for media := range inlineTypes {
		shown[media] = binary
	}
	upload := post(uploadFile, filesPath, "Take a file in", http.StatusCreated)
	upload.Description = "The body is the file. Its type is found out from its bytes."
	upload.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{guard.UploadType: binary}}
	huma.Register(api, needs(pluginsdk.ScopeChat, upload), h.uploadFile)
	huma.Register(api, needs(pluginsdk.ScopeRead, get("list-files", filesPath, "Files that are kept, oldest first")), h.listFiles)
	huma.Register(api, needs(pluginsdk.ScopeRead, get("get-file", filePath, "What a file is")), h.getFile)
	huma.Register(api, needs(pluginsdk.ScopeRead, get(readFile, filePath+"/content", "The bytes of a file, or a range of them")), h.readFile)
	responses := api.OpenAPI().Paths[filePath+"/content"].Get.Responses
	maps.Copy(responses, map[string]*huma.Response{
		"200": {Description: "The bytes", Content: shown}, "206": {Description: "A range of them", Content: shown},
		"304": {Description: "They are what the client has"}, "412": {Description: "They are not what If-Match says"},
		"416": {Description: "There is no such range; Content-Range says how long the file is", Content: responses["default"].Content},
	})
	huma.Register(api, needs(pluginsdk.ScopeChat, remove("delete-file", filePath, "Delete a file, also one that a message refers to")), h.deleteFile)
}

func (h *handlers) listFiles(ctx context.Context, input *filesInput) (*filesOutput, error) {
	answer, err := h.host.Files.List(ctx, &pluginsdk.ListFilesRequest{Query: pluginsdk.FileQuery{
		ThreadID: input.Thread, SHA256: strings.ToLower(input.SHA256), Newest: input.Newest, After: input.After, Limit: input.Limit,
	}})
	if err != nil {
		return nil, h.fail("list-files", err)
	}
	output := &filesOutput{}
	output.Body.Files = list(answer.Files)
	return output, nil
}

func (h *handlers) getFile(ctx context.Context, input *fileIDInput) (*fileOutput, error) {
	answer, err := h.host.Files.Get(ctx, &pluginsdk.GetFileRequest{ID: input.ID})
	if err != nil {
		return nil, h.fail("get-file", err)
	}
	return &fileOutput{Body: answer.File}, nil
}

// deleteFile lets a caller without the scope for more delete what they have sent themselves.
func (h *handlers) deleteFile(ctx context.Context, input *deleteFileInput) (*struct{}, error) {
	if caller := access.From(ctx); !caller.May(pluginsdk.ScopeAdmin) {
		found, err := h.host.Files.Get(ctx, &pluginsdk.GetFileRequest{ID: input.ID})
		if err != nil && pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
			return nil, h.fail("delete-file", err)
		}
		if err := admits(ctx, pluginsdk.ScopeAdmin, field{"a file of somebody else", err == nil && found.File.Author != caller.Token.Name}); err != nil {
			return nil, err
		}
	}
	_, err := h.host.Files.Delete(ctx, &pluginsdk.DeleteFileRequest{ID: input.ID, Author: author(ctx, input.Author)})
	if err != nil {
		return nil, h.fail("delete-file", err)
	}
	return nil, nil
}

// uploadFile hands the body on as it comes. The host has to know its length beforehand.
func (h *handlers) uploadFile(ctx context.Context, input *uploadInput) (*fileOutput, error) {
	if input.request.ContentLength < 0 {
		return nil, huma.NewError(http.StatusLengthRequired, "the Content-Length header must say how many bytes the file has")
	}
	begun, err := h.host.Files.Begin(ctx, &pluginsdk.BeginFileRequest{
		Name: input.Name, Size: input.request.ContentLength, ThreadID: input.ThreadID, Author: author(ctx, input.Author),
	})
	if err != nil {
		return nil, h.refuseBody(input, h.failFile(err))
	}
	if err := h.sendBody(ctx, input, begun.UploadID); err != nil {
		// The host forgets what is committed before all of it is there. Else it would wait
		// for the rest for an hour.
		_, _ = h.host.Files.Commit(context.WithoutCancel(ctx), &pluginsdk.CommitFileRequest{UploadID: begun.UploadID})
		return nil, h.refuseBody(input, err)
	}
	made, err := h.host.Files.Commit(ctx, &pluginsdk.CommitFileRequest{UploadID: begun.UploadID, SHA256: input.SHA256})
	if err != nil {
		return nil, h.failFile(err)
	}
	return &fileOutput{Body: made.File}, nil
}

// refuseBody has the connection closed: the rest of the body may be on its way.
func (h *handlers) refuseBody(input *uploadInput, err error) error {
	input.writer.Header().Set("Connection", "close")
	return err
}

// failFile is fail, where a limit is one of size and no matter of time.
func (h *handlers) failFile(err error) error {
	switch pluginsdk.CodeOf(err) { //nolint:exhaustive // the others are as everywhere
	case pluginsdk.CodeExhausted:
		text := err.Error()
		if strings.Contains(text, "disk of the data directory") || strings.Contains(text, "HARNESS_FILES_QUOTA") {
			return huma.NewError(http.StatusInsufficientStorage, text)
		}
		if strings.Contains(text, "HARNESS_MAX_FILE") {
			return huma.NewError(http.StatusRequestEntityTooLarge, text)
		}
	case pluginsdk.CodeNotFound:
		return huma.NewError(http.StatusNotFound, err.Error())
	}
	return h.fail(uploadFile, err)
}

func (h *handlers) sendBody(ctx context.Context, input *uploadInput, uploadID string) error {
	control := http.NewResponseController(input.writer)
	body := &patient{ctx: ctx, body: input.request.Body, control: control}
	// The answer follows the body, however long that took.
	defer func() {
		_ = control.SetReadDeadline(time.Time{})
		_ = control.SetWriteDeadline(time.Now().Add(2 * streamPatience))
	}()
	buffer := make([]byte, min(max(input.request.ContentLength, 1), fileChunk))
	for offset := int64(0); offset < input.request.ContentLength; {
		n, err := io.ReadFull(body, buffer[:min(int64(len(buffer)), input.request.ContentLength-offset)])
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return huma.NewError(http.StatusRequestTimeout, "the file does not arrive: nothing came for "+streamPatience.String())
		case err != nil:
			return huma.NewError(http.StatusBadRequest, "the file is shorter than Content-Length says, or cannot be read: "+err.Error())
		}
		if _, err := h.host.Files.Write(ctx, &pluginsdk.WriteFileRequest{UploadID: uploadID, Offset: offset, Data: buffer[:n]}); err != nil {
			return h.failFile(err)
		}
		offset += int64(n)
	}
	return nil
}

// patient is a body of which bytes must come now and then.
type patient struct {
	ctx     context.Context // of the request, which this is a part of
	body    io.Reader
	control *http.ResponseController
}

func (p *patient) Read(buffer []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	// It fails where there is no connection to set it on, as in tests: then nothing is waited for.
	_ = p.control.SetReadDeadline(time.Now().Add(streamPatience))
	return p.body.Read(buffer)
}

// readFile answers with the bytes. What a browser must not run as this site's own is
// bytes to it, whatever the name says.
func (h *handlers) readFile(ctx context.Context, input *contentInput) (*huma.StreamResponse, error) {
	answer, err := h.host.Files.Get(ctx, &pluginsdk.GetFileRequest{ID: input.ID})
	if err != nil {
		return nil, h.fail(readFile, err)
	}
	file := answer.File
	content := &fileContent{ctx: ctx, files: h.host.Files, file: file}
	if err := content.fetch(0); err != nil {
		return nil, h.fail(readFile, err) // while it can still be said
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		request, writer := humago.Unwrap(ctx)
		content.control = http.NewResponseController(writer)
		defer func() { _ = content.control.SetWriteDeadline(time.Now().Add(streamPatience)) }()
		header := writer.Header()
		inline := inlineTypes[file.Type] && !input.Download
		disposition, policy, media := "attachment", "default-src 'none'; sandbox", guard.UploadType
		if inline {
			disposition, media = "inline", file.Type
		}
		if inline && file.Type == "application/pdf" {
			policy = "default-src 'none'; object-src 'self'" // a browser's viewer does not work in a sandbox
		}
		header.Set("Content-Type", media)
		header.Set("Content-Disposition", contentDisposition(disposition, file.Name))
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cache-Control", "private, no-cache") // asked for again, and answered with 304
		header.Set("ETag", `"`+file.SHA256+`"`)
		if strings.Contains(request.Header.Get("Range"), ",") {
			request.Header.Del("Range") // each would be read by itself, as a part of 4 MiB
		}
		http.ServeContent(&unranged{ResponseWriter: writer, size: file.Size}, request, "", file.CreatedAt, content)
	}}, nil
}

// unranged is an answer of http.ServeContent that says as a problem document that a range is
// not there, or is none.
type unranged struct {
	http.ResponseWriter

	size    int64
	refused bool
}

func (u *unranged) WriteHeader(status int) {
	if status != http.StatusRequestedRangeNotSatisfiable {
		u.ResponseWriter.WriteHeader(status)
		return
	}
	u.refused = true
	header := u.Header()
	header.Del("Content-Disposition") // of the file, as are the type and the policy
	header.Set("Content-Security-Policy", "default-src 'none'")
	header.Set("Cache-Control", "no-store")
	problem.Write(u.ResponseWriter, status, fmt.Sprintf("the Range header asks for what the file does not have: it has %d bytes", u.size))
}

func (u *unranged) Write(words []byte) (int, error) {
	if u.refused {
		return len(words), nil
	}
	return u.ResponseWriter.Write(words)
}

// fileContent is a file's content for http.ServeContent, read from the host in chunks.
type fileContent struct {
	ctx     context.Context // of the request, which this is a part of
	files   pluginsdk.Files
	file    pluginsdk.File
	control *http.ResponseController

	at    int64
	from  int64 // where chunk begins
	chunk []byte
}

func (c *fileContent) fetch(offset int64) error {
	answer, err := c.files.Read(c.ctx, &pluginsdk.ReadFileRequest{ID: c.file.ID, Offset: offset, Limit: fileChunk})
	if err == nil {
		c.from, c.chunk = offset, answer.Data
	}
	return err
}

// Read gives the client time to take what it was given before.
func (c *fileContent) Read(buffer []byte) (int, error) {
	if c.at >= c.file.Size {
		return 0, io.EOF
	}
	if c.at < c.from || c.at >= c.from+int64(len(c.chunk)) {
		if err := c.fetch(c.at); err != nil {
			return 0, err
		}
		if len(c.chunk) == 0 {
			return 0, io.ErrUnexpectedEOF
		}
	}
	_ = c.control.SetWriteDeadline(time.Now().Add(streamPatience))
	n := copy(buffer, c.chunk[c.at-c.from:])
	c.at += int64(n)
	return n, nil
}

// Seek sets from where is read next.
func (c *fileContent) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += c.at
	case io.SeekEnd:
		offset += c.file.Size
	}
	if offset < 0 {
		return 0, fmt.Errorf("seek to %d", offset)
	}
	c.at = offset
	return offset, nil
}

// contentDisposition is the header of that name (RFC 6266): with the file's name as it is
// (RFC 8187), and for clients that do not know that, in ASCII.
func contentDisposition(disposition, name string) string {
	var plain, exact strings.Builder
	for _, r := range name {
		if r < ' ' || r > '~' || r == '"' || r == '\\' || r == '%' {
			r = '_'
		}
		plain.WriteRune(r)
	}
	for _, b := range []byte(name) {
		if b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || strings.IndexByte("!#$&+-.^_`|~", b) >= 0 {
			exact.WriteByte(b)
		} else {
			fmt.Fprintf(&exact, "%%%02X", b)
		}
	}
	return fmt.Sprintf(`%s; filename="%s"; filename*=UTF-8''%s`, disposition, plain.String(), exact.String())
}
