package git

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
)

// patchID is the writer behind PatchID: of a diff it hashes what does not say where.
type patchID struct {
	hash   hash.Hash
	line   []byte // that has not ended yet
	header bool   // of a file: it names objects, which say more than the change
	any    bool
}

func newPatchID() *patchID { return &patchID{hash: sha256.New()} }

func (p *patchID) Write(data []byte) (int, error) {
	for rest := data; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			p.line = append(p.line, rest...)
			break
		}
		p.take(append(p.line, rest[:end+1]...))
		p.line, rest = p.line[:0], rest[end+1:]
	}
	return len(data), nil
}

// take hashes a line. Those of a change begin with a blank, a plus, a minus or a backslash,
// so that no content can be taken for a header.
func (p *patchID) take(line []byte) {
	p.any = true
	switch {
	case bytes.HasPrefix(line, []byte("diff --git ")):
		p.header = true
	case bytes.HasPrefix(line, []byte("@@ ")):
		p.header, line = false, []byte("@@\n")
	case bytes.HasPrefix(line, []byte("GIT binary patch")):
		p.header = false
	case p.header && bytes.HasPrefix(line, []byte("index ")):
		return
	}
	p.hash.Write(line)
}

func (p *patchID) sum() string {
	if !p.any {
		return ""
	}
	return hex.EncodeToString(p.hash.Sum(nil))
}
