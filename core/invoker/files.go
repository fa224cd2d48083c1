package invoker

import (
	"bytes"
	"image"
	_ "image/gif"  // its size is read
	_ "image/jpeg" // its size is read
	_ "image/png"  // its size is read
	"os"
	"strings"

	"github.com/seed-706843ae/harness/core/ledger"
)

// What is shown to the model of the files that come with a prompt. The prompt names all
// of them by their paths, so that the agent can open what is not shown.
//
// Verified with 2.1.197: the CLI makes images of any size smaller (20 MB take it some
// seconds), and hands PDFs on as they are. The API takes requests of 32 MB, in base64 and
// with the whole conversation: of one prompt the documents stay far below that. Those of
// several can come to more; then that turn fails ("Request too large"), and the CLI sums
// the conversation up before the next one. When the API refuses a single image or
// document, the CLI asks again without it.
const (
	// imageMost and documentMost are how large one that is shown may be, in bytes;
	// documentsMost and shownMost what all documents and all files have together.
	imageMost     = 24 << 20
	documentMost  = 8 << 20
	documentsMost = 12 << 20
	shownMost     = 24 << 20
	// shownFiles is how many are shown. With more, the API takes smaller images only.
	shownFiles = 20
	// pixelsMost is how many pixels an image may have: in memory each takes four bytes,
	// however few it has in the file.
	pixelsMost = 64 << 20
)

// shownImages are the types of images that the API takes.
var shownImages = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

const typePDF = "application/pdf"

// blocks returns the files of the prompt that are shown to the model.
func (t *turn) blocks() (shown []contentBlock) {
	var all, documents int64
	for _, file := range t.files {
		document := file.Type == typePDF
		switch {
		case !document && !shownImages[file.Type], file.Size == 0, len(shown) == shownFiles, all+file.Size > shownMost:
			continue
		case document && (file.Size > documentMost || documents+file.Size > documentsMost), !document && file.Size > imageMost:
			continue
		}
		data, err := os.ReadFile(file.Path)
		if err != nil {
			t.session.log.Warn("a file of the prompt cannot be shown to the agent", "path", file.Path, "err", err)
			continue
		}
		if int64(len(data)) != file.Size || !document && !boundedImage(file.Type, data) {
			continue
		}
		block := contentBlock{Type: "image", Source: &blockSource{Type: "base64", MediaType: file.Type, Data: data}}
		if document {
			block.Type, block.Title = "document", file.Name
			documents += file.Size
		}
		all += file.Size
		shown = append(shown, block)
	}
	return shown
}

// boundedImage reports whether an image is no larger than can be unpacked. One whose size
// cannot be read is not: it may be too large to be said. Of WebP the format bounds it
// (16383 by 16383), and the CLI.
func boundedImage(kind string, data []byte) bool {
	if kind == "image/webp" {
		return true
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(data))
	return err == nil && int64(config.Width)*int64(config.Height) <= pixelsMost
}

// deskRules are the rules by which the agent may read what lies ready for it, and write
// to its outbox, without being asked. In the permission mode plan it writes nothing.
// (--add-dir would say the same in one flag, and let the CLI take plugins and skills from
// that directory.)
func deskRules(request ledger.AgentRequest, mode string) (rules []string) {
	for _, dir := range []string{request.In, request.Out} {
		if rulePath(dir) {
			rules = append(rules, "Read(/"+dir+"/**)")
		}
	}
	if rulePath(request.Out) && mode != "plan" {
		rules = append(rules, "Edit(/"+request.Out+"/**)")
	}
	return rules
}

// rulePath reports whether a rule with this path means this path: some characters mean
// more in a rule.
func rulePath(dir string) bool {
	return strings.HasPrefix(dir, "/") && !strings.ContainsAny(dir, "*?[]{}()!#\\,\n\r")
}

// outboxManual tells the agent where files for people go.
func outboxManual(dir string) string {
	if dir == "" {
		return ""
	}
	return "# Files for the person\n\nTo send files with your reply, write them to " + dir + " (create it if it is gone): " +
		"what is there when your turn ends goes with the reply and is then removed from there, at most 20 files. " +
		"Files that the person sends lie where the message says; to change one, copy it first.\n\n"
}
