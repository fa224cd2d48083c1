package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// NewFile is a file to be taken in.
type NewFile struct {
	Name     string
	ThreadID string // it is for; empty: none
	Size     int64
	Content  io.Reader // of Size bytes
}

// Upload takes a file in. It takes as long as its bytes do.
func (c *Client) Upload(ctx context.Context, file NewFile) (pluginsdk.File, error) {
	c.introduce(ctx)
	query := url.Values{"name": {file.Name}}
	if file.ThreadID != "" {
		query.Set("threadId", file.ThreadID)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address("/api/files", query), io.NopCloser(file.Content))
	if err != nil {
		return pluginsdk.File{}, fmt.Errorf("build the request: %w", err)
	}
	request.Header.Set("Content-Type", "application/octet-stream")
	if request.ContentLength = file.Size; file.Size == 0 {
		request.Body = http.NoBody
	}
	var made pluginsdk.File
	err = c.stream(ctx, request, func(content io.Reader) error { return json.NewDecoder(content).Decode(&made) })
	return made, err
}

// Download writes the bytes of a file. What was written before an error is a part of them.
func (c *Client) Download(ctx context.Context, id string, to io.Writer) error {
	path := "/api/files/" + url.PathEscape(id) + "/content"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.address(path, nil), http.NoBody)
	if err != nil {
		return fmt.Errorf("build the request: %w", err)
	}
	return c.stream(ctx, request, func(content io.Reader) error {
		_, err := io.Copy(to, content)
		return err
	})
}

// stream makes a request that may take as long as bytes come or go.
func (c *Client) stream(ctx context.Context, request *http.Request, read func(io.Reader) error) error {
	response, err := c.patient().ask(ctx, request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if err := read(response.Body); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("%s %s: %w", request.Method, request.URL.Path, err)
	}
	return nil
}

// Files returns the selected files, newest first, at most limit. The query's Limit, After
// and Newest are not used.
func (c *Client) Files(ctx context.Context, query pluginsdk.FileQuery, limit int) ([]pluginsdk.File, error) {
	values := url.Values{"newest": {"true"}}
	for name, value := range map[string]string{"threadId": query.ThreadID, "sha256": query.SHA256} {
		if value != "" {
			values.Set(name, value)
		}
	}
	var all []pluginsdk.File
	for len(all) < limit {
		values.Set("limit", strconv.Itoa(min(pageSize, limit-len(all))))
		var page struct {
			Files []pluginsdk.File `json:"files"`
		}
		if err := c.get(ctx, "/api/files", values, &page); err != nil {
			return nil, err
		}
		if len(page.Files) == 0 {
			break
		}
		all = append(all, page.Files...)
		values.Set("after", all[len(all)-1].ID)
	}
	return all, nil
}

// File returns what a file is.
func (c *Client) File(ctx context.Context, id string) (pluginsdk.File, error) {
	var file pluginsdk.File
	err := c.get(ctx, "/api/files/"+url.PathEscape(id), nil, &file)
	return file, err
}

// DeleteFile deletes a file; an absent one is no error.
func (c *Client) DeleteFile(ctx context.Context, id string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodDelete, c.address("/api/files/"+url.PathEscape(id), nil), http.NoBody)
	if err != nil {
		return fmt.Errorf("build the request: %w", err)
	}
	return c.stream(ctx, request, func(io.Reader) error { return nil })
}
