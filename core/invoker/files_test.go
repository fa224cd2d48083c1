package invoker

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/gif"
	"image/png"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
)

// pngOf is an image that says that it is so large, and is small.
func pngOf(t *testing.T, width, height uint32) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	data := out.Bytes()
	const header = 8 + 4 // the signature, and the length of the first part
	binary.BigEndian.PutUint32(data[header+4:], width)
	binary.BigEndian.PutUint32(data[header+8:], height)
	binary.BigEndian.PutUint32(data[header+17:], crc32.ChecksumIEEE(data[header:header+17]))
	return data
}

// An image is shown to the model when it can be unpacked by whoever does it: not one of
// which a few bytes say that it is enormous, or nothing that can be read.
func TestImageBombsAreNotShown(t *testing.T) {
	var small bytes.Buffer
	if err := gif.Encode(&small, image.NewGray(image.Rect(0, 0, 3, 3)), nil); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		kind string
		data []byte
		want bool
	}{
		"a pixel":                {"image/png", pngOf(t, 1, 1), true},
		"8192 by 8192":           {"image/png", pngOf(t, 8192, 8192), true},
		"8192 by 8193":           {"image/png", pngOf(t, 8192, 8193), false},
		"more than can be said":  {"image/png", pngOf(t, 1<<31-1, 1<<31-1), false},
		"a small one":            {"image/gif", small.Bytes(), true},
		"only the mark of a PNG": {"image/png", []byte("\x89PNG\r\n\x1a\n"), false},
		"a JPEG without an end":  {"image/jpeg", []byte("\xff\xd8\xff\xe0"), false},
		"a WebP":                 {"image/webp", []byte("RIFF\x00\x00\x00\x00WEBPVP8 "), true}, // its format bounds it
	} {
		if got := len(showing(t, fileOf(t, name, c.kind, c.data))) == 1; got != c.want {
			t.Errorf("%s: shown %v", name, got)
		}
	}
}

// What is shown with a prompt is bounded; what has been changed since it was laid ready, or
// is of another kind, is not shown.
func TestWhatIsShownIsBounded(t *testing.T) {
	one := pngOf(t, 1, 1)
	large := append(bytes.Clone(one), make([]byte, imageMost-len(one)+1)...)
	paper := append([]byte("%PDF-1.7"), make([]byte, documentsMost/2-8)...)
	changed := fileOf(t, "changed", "image/png", one)
	changed.Size++
	gone := fileOf(t, "gone", "image/png", one)
	gone.Path += ".not"
	for name, c := range map[string]struct {
		files []ledger.AgentFile
		want  string
	}{
		"an image and a document": {[]ledger.AgentFile{fileOf(t, "a", "image/png", one), fileOf(t, "b", typePDF, paper)}, "image document"},
		"other kinds":             {[]ledger.AgentFile{fileOf(t, "a", "image/svg+xml", []byte("<svg/>")), fileOf(t, "b", "text/html", one)}, ""},
		"empty":                   {[]ledger.AgentFile{fileOf(t, "a", "image/png", nil)}, ""},
		"changed, and gone":       {[]ledger.AgentFile{changed, gone}, ""},
		"too large an image":      {[]ledger.AgentFile{fileOf(t, "a", "image/png", large)}, ""},
		"too large a document":    {[]ledger.AgentFile{fileOf(t, "a", typePDF, append(paper, make([]byte, documentMost)...))}, ""},
		"three documents":         {[]ledger.AgentFile{fileOf(t, "a", typePDF, paper), fileOf(t, "b", typePDF, paper), fileOf(t, "c", typePDF, paper)}, "document document"},
		"more together": {[]ledger.AgentFile{
			fileOf(t, "a", "image/png", large[:imageMost/2+1]), fileOf(t, "b", "image/png", large[:imageMost/2]), fileOf(t, "c", "image/png", one),
		}, "image image"},
		"too many": {func() (many []ledger.AgentFile) {
			for range shownFiles + 1 {
				many = append(many, fileOf(t, "a", "image/png", one))
			}
			return many
		}(), strings.TrimSpace(strings.Repeat("image ", shownFiles))},
	} {
		var kinds []string
		for _, block := range showing(t, c.files...) {
			kinds = append(kinds, block.Type)
		}
		if got := strings.Join(kinds, " "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func fileOf(t *testing.T, name, kind string, data []byte) ledger.AgentFile {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return ledger.AgentFile{Path: path, Name: name, Type: kind, Size: int64(len(data))}
}

func showing(t *testing.T, files ...ledger.AgentFile) []contentBlock {
	t.Helper()
	one := &turn{session: &session{log: slog.New(slog.DiscardHandler)}, files: files}
	return one.blocks()
}
