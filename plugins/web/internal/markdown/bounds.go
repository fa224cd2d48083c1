package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
)

// What a reader of Markdown does can grow with the square of what it reads: with how deep quotes
// and lists are in each other, with the marks in a paragraph that may belong together, with the
// cells that a table's rows lack. Each is bounded here, far beyond what people write.
const (
	mostText  = 256 << 10 // bytes of a message
	mostDepth = 50        // quotes and lists in each other
	mostMarks = 3000      // in a paragraph or heading
	mostLines = 5000      // of a paragraph
)

// mostOutput is how much HTML there may be of so many bytes: a definition can be repeated by each
// reference to it.
func mostOutput(text int) int { return 64<<10 + 32*text }

// marks are the characters that may begin or end something in a line.
const marks = "[]*_~`!<&"

// tooDeep reports whether a line begins with more quotes and lists than are read, or is a heading
// with more marks than are. Lines of code are held to it too.
func tooDeep(message string) bool {
	for line := range strings.Lines(message) {
		depth, columns := 0, 0
	prefix:
		for i := 0; i < len(line); i++ {
			switch c := line[i]; {
			case c == ' ':
				columns++
			case c == '\t':
				columns += 4
			case c == '>':
				depth++
			case strings.IndexByte("-+*", c) >= 0, strings.IndexByte(".)", c) >= 0 && i > 0 && isDigit(line[i-1]):
				if i+1 < len(line) && strings.IndexByte(" \t\r\n", line[i+1]) < 0 {
					break prefix
				}
				depth++
			case isDigit(c):
			case c == '#':
				if marksIn(line[i:]) > mostMarks {
					return true
				}
				break prefix
			default:
				break prefix
			}
			// A list in a list is two columns further to the right, whatever opened the outer.
			if depth > mostDepth || depth > 0 && columns/2 > mostDepth {
				return true
			}
		}
	}
	return false
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func marksIn(text string) (n int) {
	for i := range len(text) {
		if strings.IndexByte(marks, text[i]) >= 0 {
			n++
		}
	}
	return n
}

// intricate makes a paragraph plain, before it is read, that would take too long to read, or of
// which a table would show less than there is.
type intricate struct{}

// Transform is called with each paragraph, which may be a table.
func (intricate) Transform(paragraph *ast.Paragraph, reader text.Reader, _ parser.Context) {
	lines, source := paragraph.Lines(), reader.Source()
	found, bytes, widest, columns := 0, 0, 0, 0
	for i := range lines.Len() {
		line := lines.At(i)
		value := string(line.Value(source))
		found, bytes, widest = found+marksIn(value), bytes+len(value), max(widest, cells(value))
		if columns == 0 && i > 0 && ruler.MatchString(value) {
			columns = cells(value)
		}
	}
	// A table has as many cells in each row as in its first: rows that lack most of theirs are
	// much from little, and of rows that have more the rest would not be seen.
	cut := columns > 0 && (widest > columns || columns*lines.Len() > bytes)
	if found <= mostMarks && lines.Len() <= mostLines && !cut {
		return
	}
	block := &plainBlock{}
	block.SetLines(lines)
	block.SetBlankPreviousLines(paragraph.HasBlankPreviousLines())
	paragraph.Parent().ReplaceChild(paragraph.Parent(), paragraph, block)
}

// ruler is the line below the first row of a table.
var ruler = lazy.Regexp(`^\s*[|:-][-|:\s]*$`)

// cells is how many cells a line would have in a table, without empty ones at its end.
func cells(line string) int {
	line = strings.TrimPrefix(strings.TrimRight(line, "| \t\r\n"), "|")
	return strings.Count(line, "|") - strings.Count(line, `\|`) + 1
}

// plainBlock is a paragraph that is shown as it is.
type plainBlock struct{ ast.BaseBlock }

var kindPlain = ast.NewNodeKind("Plain")

// Kind says what node it is.
func (*plainBlock) Kind() ast.NodeKind { return kindPlain }

// IsRaw says that nothing in it is read.
func (*plainBlock) IsRaw() bool { return true }

// Dump shows it to who looks for a fault.
func (b *plainBlock) Dump(source []byte, level int) { ast.DumpHelper(b, source, level, nil, nil) }
