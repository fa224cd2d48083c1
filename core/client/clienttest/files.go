package clienttest

import (
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// kept is a file with its bytes.
type kept struct {
	pluginsdk.File
	content string
}

// AddFile puts a file into the daemon, and returns its id.
func (d *Daemon) AddFile(file pluginsdk.File, content string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	file.ID, file.Size = fmt.Sprintf("file-%d", len(d.files)+1), int64(len(content))
	d.files = append(d.files, kept{file, content})
	return file.ID
}

// Uploaded returns the names of the files that are there.
func (d *Daemon) Uploaded() (names []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, file := range d.files {
		names = append(names, file.Name)
	}
	return names
}

// Attached returns the names of the files that messages refer to.
func (d *Daemon) Attached() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.attached)
}

// attach notes what a message refers to. The lock is held.
func (d *Daemon) attach(files []client.FileRef) {
	for _, ref := range files {
		for _, file := range d.files {
			if file.ID == ref.FileID {
				d.attached = append(d.attached, file.Name)
			}
		}
	}
}

func (d *Daemon) takeFile(w http.ResponseWriter, r *http.Request) {
	content, err := io.ReadAll(r.Body)
	if err != nil || r.Header.Get("Content-Type") != "application/octet-stream" || r.ContentLength != int64(len(content)) {
		refuse(w, http.StatusUnsupportedMediaType, "the Content-Type header must be application/octet-stream")
		return
	}
	id := d.AddFile(pluginsdk.File{Name: r.URL.Query().Get("name"), ThreadID: r.URL.Query().Get("threadId")}, string(content))
	reply(w, http.StatusCreated, pluginsdk.File{ID: id})
}

// listFiles gives the newest first.
func (d *Daemon) listFiles(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	files := []pluginsdk.File{}
	skip := r.URL.Query().Get("after")
	for _, file := range slices.Backward(d.files) {
		if skip == "" {
			files = append(files, file.File)
		} else if file.ID == skip {
			skip = ""
		}
	}
	reply(w, http.StatusOK, map[string]any{"files": files})
}

// file answers with a file, or its bytes, or deletes it.
func (d *Daemon) file(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := slices.IndexFunc(d.files, func(file kept) bool { return file.ID == r.PathValue("id") })
	switch {
	case r.Method == http.MethodDelete:
		if at >= 0 {
			d.files = slices.Delete(d.files, at, at+1)
		}
		w.WriteHeader(http.StatusNoContent)
	case at < 0:
		refuse(w, http.StatusNotFound, `no file with the id "`+r.PathValue("id")+`"`)
	case r.PathValue("content") != "":
		_, _ = io.WriteString(w, d.files[at].content) // the client may be gone
	default:
		reply(w, http.StatusOK, d.files[at].File)
	}
}
