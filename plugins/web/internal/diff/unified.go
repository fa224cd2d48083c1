package diff

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
)

// Patch is a diff of files.
type Patch struct {
	Files []File
	// FilesLeftOut counts the files that there was no room for.
	FilesLeftOut int
	// Rest is what of the text is no diff, such as the mark of where it was cut, or all of it.
	Rest string
	// RestLeftOut counts the bytes that Rest is without.
	RestLeftOut int
}

// Unified reads what `git diff` or `diff -u` prints. It takes any text: of a diff that was cut it has
// what is there, and what it does not understand is in Rest, so that nothing is passed over.
func Unified(text string) Patch {
	var patch Patch
	left := room{lines: mostLines, bytes: mostBytes}
	mark := ""
	if at := strings.LastIndex(text, "\n[cut: "); at >= 0 { // as the plugin worktree writes it
		text, mark = text[:at], text[at+1:]
	}
	for _, piece := range pieces(text) {
		piece, rest := whole(piece)
		files, preamble, err := gitdiff.Parse(strings.NewReader(piece))
		if err != nil {
			files, preamble = nil, piece
		}
		patch.rest(preamble)
		for _, file := range files {
			patch.add(file, &left)
		}
		patch.rest(rest)
	}
	patch.rest(mark)
	return patch
}

// pieces are the parts of a diff of one file each, with what stands before the first. In a file's
// lines nothing looks like the beginning of another, since each of them has a sign before it.
func pieces(text string) (pieces []string) {
	const begin = "diff --git "
	start := 0
	for i := 0; i < len(text); {
		end := strings.IndexByte(text[i:], '\n') + 1
		if end == 0 {
			end = len(text) - i
		}
		if i > start && strings.HasPrefix(text[i:], begin) {
			pieces = append(pieces, text[start:i])
			start = i
		}
		i += end
	}
	return append(pieces, text[start:])
}

var hunkHeader = lazy.Regexp(`^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@`)

// aboutFile is what git writes of a file before its hunks.
var aboutFile = lazy.Regexp(`^(?:(?:diff --git|old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from|rename to|similarity index|dissimilarity index|index|---|\+\+\+|Binary files) .*(?:\n|$))+`)

// whole returns a piece whose last hunk has the lines that its header says, and what follows them.
// When there are fewer, the header is made to say so.
func whole(piece string) (string, string) {
	if piece != "" && !strings.HasSuffix(piece, "\n") {
		piece += "\n"
	}
	at := strings.LastIndex("\n"+piece, "\n@@ -")
	if at < 0 {
		head := piece
		if !strings.Contains(piece, "\nGIT binary patch\n") {
			head = aboutFile.FindString(piece)
		}
		return head, piece[len(head):]
	}
	header := hunkHeader.FindStringSubmatch(piece[at:])
	if header == nil {
		return piece[:at], piece[at:]
	}
	section, body, _ := strings.Cut(piece[at+len(header[0]):], "\n")
	wanted := counts{before: number(header[2]), after: number(header[4])}
	size, found := scan(body, wanted)
	if found.before == wanted.before && found.after == wanted.after {
		end := len(piece) - len(body) + size
		return piece[:end], piece[end:]
	}
	if found.changed == 0 {
		return piece[:at], piece[at:]
	}
	mended := fmt.Sprintf("@@ -%s,%d +%s,%d @@%s\n", header[1], found.before, header[3], found.after, section)
	return piece[:at] + mended + body[:size], body[size:]
}

// number is how many lines a header says there are: one when it does not say.
func number(digits string) int {
	if n, err := strconv.Atoi(digits); err == nil {
		return n
	}
	return 1
}

// counts are of the lines of a hunk, before and after, and of those that have changed.
type counts struct{ before, after, changed int }

// scan returns how many bytes of a hunk's body there are until it has the lines that are wanted,
// or something else stands there, and how many lines it has.
func scan(body string, wanted counts) (size int, found counts) {
	for size < len(body) {
		line, _, _ := strings.Cut(body[size:], "\n")
		now := found
		switch {
		case strings.HasPrefix(line, `\ `): // says that the line before has no end
		case line == "", strings.HasPrefix(line, " "): // diff can be told to write an empty line so
			now.before, now.after = now.before+1, now.after+1
		case strings.HasPrefix(line, "-"):
			now.before, now.changed = now.before+1, now.changed+1
		case strings.HasPrefix(line, "+"):
			now.after, now.changed = now.after+1, now.changed+1
		default:
			return size, found
		}
		if now.before > wanted.before || now.after > wanted.after {
			return size, found
		}
		size, found = size+len(line)+1, now
	}
	return size, found
}

// add keeps a file, if there is room.
func (p *Patch) add(found *gitdiff.File, left *room) {
	if len(p.Files) == mostFiles {
		p.FilesLeftOut++
		return
	}
	file := File{
		Old: found.OldName, New: found.NewName, OldMode: mode(found.OldMode), NewMode: mode(found.NewMode),
		Copied: found.IsCopy, Binary: found.IsBinary,
	}
	for _, fragment := range found.TextFragments {
		hunk := Hunk{OldFrom: int(fragment.OldPosition), NewFrom: int(fragment.NewPosition), Section: fragment.Comment}
		lines := make([]Line, len(fragment.Lines))
		for i, line := range fragment.Lines {
			lines[i] = lineOf(signs[line.Op], line.Line)
		}
		file.add(hunk, lines, left)
	}
	p.Files = append(p.Files, file)
}

var signs = map[gitdiff.LineOp]Kind{gitdiff.OpContext: Same, gitdiff.OpAdd: Added, gitdiff.OpDelete: Removed}

func mode(mode fs.FileMode) string {
	if mode == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(mode), 8)
}

// rest keeps what is no diff, if there is room.
func (p *Patch) rest(text string) {
	kept := text[:min(len(text), mostBytes-len(p.Rest))]
	p.Rest += kept
	p.RestLeftOut += len(text) - len(kept)
}
