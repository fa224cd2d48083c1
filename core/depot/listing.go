package depot

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// listingHead begins every listing, so that its sum can be the sum of nothing
// else, and says how the rest is to be read.
const listingHead = "harness-package 1\n"

// entry is a line of a listing: `SHA256 KIND NAME`.
type entry struct {
	name string // with slashes, relative to the package
	kind byte   // x: a file that may be executed; f: another file; l: a link, whose target is its content
	sum  string // SHA-256 of the content, hex
}

func (e entry) line() string { return e.sum + " " + string(e.kind) + " " + e.name + "\n" }

// render writes a listing in its one form: sorted by name.
func render(entries []entry) []byte {
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	var text strings.Builder
	text.WriteString(listingHead)
	for _, e := range entries {
		text.WriteString(e.line())
	}
	return []byte(text.String())
}

// parseListing reads what render wrote.
func parseListing(text []byte) (map[string]entry, error) {
	rest, ok := strings.CutPrefix(string(text), listingHead)
	if !ok {
		return nil, fmt.Errorf("it does not begin with %q", strings.TrimSpace(listingHead))
	}
	entries := make(map[string]entry)
	for line := range strings.Lines(rest) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(parts) != 3 || len(parts[1]) != 1 {
			return nil, fmt.Errorf("the line %q cannot be read", line)
		}
		entries[parts[2]] = entry{name: parts[2], kind: parts[1][0], sum: parts[0]}
	}
	return entries, nil
}

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func kindOf(mode fs.FileMode) byte {
	if mode&0o111 != 0 {
		return 'x'
	}
	return 'f'
}
