package files

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// upload is a file that is coming in.
type upload struct {
	id      string
	plugin  string
	request pluginsdk.BeginFileRequest

	mu      sync.Mutex // held while it is written to or committed
	file    *os.File
	sum     hash.Hash
	written int64
	touched time.Time
	placed  string // the hash under which its bytes are at their place; empty: they are not
	kind    string // its media type, once it is placed
	over    bool   // it was committed or forgotten
}

// Begin begins to take a file in for a plugin, and returns the upload's id.
func (r *Room) Begin(plugin string, request pluginsdk.BeginFileRequest) (string, error) {
	if err := r.fits(request.Name, request.Size); err != nil {
		return "", err
	}
	request.Name = CleanName(request.Name)
	id, err := newID()
	if err != nil {
		return "", err
	}
	r.expire()
	r.mu.Lock()
	defer r.mu.Unlock()
	open := 0
	for _, u := range r.uploads {
		if u.plugin == plugin {
			open++
		}
	}
	if open >= uploadsMax {
		return "", pluginsdk.Errorf(pluginsdk.CodeExhausted, "the plugin %s has %d uploads under way and may have no more at once; commit them, or wait until they are forgotten (an hour)", plugin, open)
	}
	if err := r.shelf.promise(request.Size); err != nil {
		return "", err
	}
	u := &upload{id: id, plugin: plugin, request: request, sum: sha256.New(), touched: r.config.Now()}
	if u.file, err = r.create(id); err != nil {
		r.shelf.release(request.Size)
		return "", diskError("take in a file", err)
	}
	r.uploads[id] = u
	return id, nil
}

// Coming is how many bytes were announced for a plugin's uploads that are under way.
func (r *Room) Coming(plugin string) (size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, u := range r.uploads {
		if u.plugin == plugin {
			size += u.request.Size
		}
	}
	return size
}

// sizeMost is more bytes than any disk has: sums of such sizes are numbers still.
const sizeMost = 1 << 50

// fits refuses a file that is larger than any may be.
func (r *Room) fits(name string, size int64) error {
	switch {
	case size < 0 || size > sizeMost:
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "size: %d bytes is no size", size)
	case r.config.MaxFile > 0 && size > r.config.MaxFile:
		return pluginsdk.Errorf(pluginsdk.CodeExhausted, "%s has %d bytes; a file may have %d (HARNESS_MAX_FILE)", CleanName(name), size, r.config.MaxFile)
	}
	return nil
}

// create makes a temporary file, for its owner only.
func (r *Room) create(name string) (*os.File, error) {
	if err := r.config.Fault("create"); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(r.shelf.uploads(), name), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
}

// find returns a plugin's upload, with its lock held.
func (r *Room) find(plugin, id string) (*upload, error) {
	r.mu.Lock()
	u := r.uploads[id]
	r.mu.Unlock()
	if u != nil && u.plugin == plugin {
		u.mu.Lock()
		if !u.over {
			return u, nil
		}
		u.mu.Unlock()
	}
	return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound,
		"there is no upload %q under way; one that is not committed is forgotten after an hour, when the daemon starts anew, or when the disk is full", id)
}

// Write adds bytes at the end of an upload, and returns how many it has then. Bytes that
// are there already are compared. When they cannot be written, the upload is forgotten.
func (r *Room) Write(plugin string, request pluginsdk.WriteFileRequest) (int64, error) {
	u, err := r.find(plugin, request.UploadID)
	if err != nil {
		return 0, err
	}
	defer u.mu.Unlock()
	end := request.Offset + int64(len(request.Data))
	switch {
	case len(request.Data) > chunk:
		return 0, pluginsdk.Errorf(pluginsdk.CodeInvalid, "data: at most %d bytes at once, these are %d", chunk, len(request.Data))
	case request.Offset < 0 || request.Offset > u.written:
		return 0, pluginsdk.Errorf(pluginsdk.CodeInvalid, "offset: %d; the next bytes are those from %d on", request.Offset, u.written)
	case end > u.request.Size:
		return 0, pluginsdk.Errorf(pluginsdk.CodeInvalid, "data: %d bytes are more than the %d that were announced; begin anew", end, u.request.Size)
	case u.placed != "" && end > u.written:
		return 0, pluginsdk.Errorf(pluginsdk.CodeInvalid, "the upload %s was committed", u.id)
	}
	u.touched = r.config.Now()
	if u.placed != "" {
		return u.written, nil // a repetition; what was committed is compared by its hash
	}
	data := request.Data
	if known := min(end, u.written) - request.Offset; known > 0 {
		there := make([]byte, known)
		if _, err := u.file.ReadAt(there, request.Offset); err != nil {
			return 0, diskError("read what was written", err)
		}
		if !bytes.Equal(there, data[:known]) {
			return 0, pluginsdk.Errorf(pluginsdk.CodeConflict, "offset: other bytes than these were written from %d on", request.Offset)
		}
		data = data[known:]
	}
	if len(data) == 0 {
		return u.written, nil
	}
	err = r.config.Fault("write")
	if err == nil {
		_, err = u.file.WriteAt(data, u.written)
	}
	if err != nil {
		r.forget(u)
		return 0, diskError("write the file", err)
	}
	u.sum.Write(data)
	u.written += int64(len(data))
	return u.written, nil
}

// Commit makes a file of an upload once all of it is on disk; repeated, it returns the
// first one. An upload that is not what was announced or meant is forgotten.
func (r *Room) Commit(ctx context.Context, plugin string, request pluginsdk.CommitFileRequest) (pluginsdk.File, error) {
	key := "upload:" + request.UploadID
	u, err := r.find(plugin, request.UploadID)
	if err != nil {
		kept, found, failed := r.store.FileOf(ctx, key)
		if failed != nil {
			return pluginsdk.File{}, failed
		}
		if !found || kept.Plugin != plugin {
			return pluginsdk.File{}, err
		}
		return kept.File, wanted(request.SHA256, kept.SHA256)
	}
	defer u.mu.Unlock()
	if u.written != u.request.Size {
		r.forget(u)
		return pluginsdk.File{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "the upload %s has %d bytes of the %d that were announced; begin anew", u.id, u.written, u.request.Size)
	}
	sum := hex.EncodeToString(u.sum.Sum(nil))
	if err := wanted(request.SHA256, sum); err != nil {
		r.forget(u)
		return pluginsdk.File{}, err
	}
	if u.placed == "" {
		if u.kind, err = r.settle(u.file, sum); err != nil {
			r.forget(u)
			return pluginsdk.File{}, diskError("keep the file", err)
		}
		u.placed, u.file = sum, nil
	}
	if err := r.config.Fault("row"); err != nil {
		return pluginsdk.File{}, err
	}
	kept, err := r.store.KeepFile(ctx, ledger.KeptFile{Key: key, File: pluginsdk.File{
		SHA256: sum, Name: u.request.Name, Type: u.kind, Size: u.written, ThreadID: u.request.ThreadID, Plugin: plugin, Author: u.request.Author,
	}})
	switch pluginsdk.CodeOf(err) { //nolint:exhaustive // the others may have stored it
	case "", pluginsdk.CodeNotFound, pluginsdk.CodeInvalid:
		r.forget(u)
	}
	return kept.File, err
}

// wanted refuses bytes that are others than those that were meant.
func wanted(want, sum string) error {
	if want == "" || strings.EqualFold(want, sum) {
		return nil
	}
	return pluginsdk.Errorf(pluginsdk.CodeInvalid, "sha256: what was written is %s, not %.100q; begin anew", sum, want)
}

// settle takes a written file to its place, on disk, and returns its media type. Its
// bytes are held. The file is closed.
func (r *Room) settle(file *os.File, sum string) (kind string, err error) {
	if err = r.config.Fault("sync"); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", err
	}
	if kind, err = typeOf(file.Name()); err != nil {
		return "", err
	}
	return kind, r.shelf.place(file.Name(), sum)
}

// forget ends an upload, whose lock is held, and removes what was written, unless it is
// at its place.
func (r *Room) forget(u *upload) {
	u.over = true
	r.mu.Lock()
	delete(r.uploads, u.id)
	r.mu.Unlock()
	if u.placed != "" {
		r.shelf.letGo(u.placed)
		return
	}
	_ = u.file.Close() // it may be closed already
	if err := os.Remove(u.file.Name()); err != nil && !errors.Is(err, os.ErrNotExist) {
		r.config.Log.Warn("what was uploaded of a file could not be removed; the next start removes it", "err", err)
	}
	r.shelf.release(u.request.Size)
}

// expire forgets the uploads that nobody has written to for an hour.
func (r *Room) expire() {
	r.mu.Lock()
	all := make([]*upload, 0, len(r.uploads))
	for _, u := range r.uploads {
		all = append(all, u)
	}
	r.mu.Unlock()
	now := r.config.Now()
	for _, u := range all {
		if !u.mu.TryLock() {
			continue // somebody is at it
		}
		if !u.over && now.Sub(u.touched) >= uploadLife {
			r.forget(u)
		}
		u.mu.Unlock()
	}
}
