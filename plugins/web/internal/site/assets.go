package site

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

//go:embed assets
var embedded embed.FS

const assetsPath = "/assets/"

// assets are the files that pages load. Each has the hash of its bytes in its URL, so that
// browsers keep it for good.
type assets struct {
	files map[string]asset // by name
}

type asset struct {
	url, media string
	plain      []byte
	short      func() []byte // compressed with gzip, once somebody asks for that
}

// loadAssets reads the assets. The stylesheets are one, in the order of their names.
func loadAssets() (*assets, error) {
	loaded, style := &assets{files: make(map[string]asset)}, new(bytes.Buffer)
	err := fs.WalkDir(embedded, "assets", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(file) == ".txt" {
			return err
		}
		plain, err := embedded.ReadFile(file)
		if err != nil {
			return err
		}
		if path.Ext(file) == ".css" {
			style.Write(plain)
			return nil
		}
		loaded.add(path.Base(file), plain)
		return nil
	})
	if err != nil {
		return nil, err
	}
	loaded.add("style.css", style.Bytes())
	return loaded, nil
}

func (a *assets) add(name string, plain []byte) {
	sum := sha256.Sum256(plain)
	a.files[name] = asset{
		url:   assetsPath + hex.EncodeToString(sum[:6]) + "/" + name,
		media: mediaOf(name), plain: plain, short: sync.OnceValue(func() []byte { return compress(plain) }),
	}
}

func compress(plain []byte) []byte {
	var short bytes.Buffer
	writer, _ := gzip.NewWriterLevel(&short, gzip.BestCompression) // fails for a level that there is not
	_, _ = writer.Write(plain)                                     // a bytes.Buffer takes everything
	_ = writer.Close()
	return short.Bytes()
}

func mediaOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".webmanifest":
		return "application/manifest+json"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// url is where an asset is. One that there is not is a mistake in the page.
func (a *assets) url(name string) string {
	file, ok := a.files[name]
	if !ok {
		panic("there is no asset " + name)
	}
	return file.url
}

// ServeHTTP serves an asset. An old page may ask for one that has changed since: it gets
// what is there now, and does not keep it.
func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	file, ok := a.files[r.PathValue("name")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	header := w.Header()
	header.Set("Content-Type", file.media)
	header.Set("Vary", "Accept-Encoding")
	if r.URL.Path == file.url {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	body := file.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		body = file.short()
	}
	_, _ = w.Write(body) // the client may be gone
}
