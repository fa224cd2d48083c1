package files

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"
)

// maxName is how long a name may be, in bytes: what file systems take.
const maxName = 240

// CleanName returns the name that a file is kept under: the last part of a path of
// whatever system, without what could be more than a name where it is shown or stored.
// What is left of nothing is "file".
func CleanName(name string) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	name = path.Base(strings.TrimRight(strings.ReplaceAll(name, `\`, "/"), "/"))
	name = strings.Map(func(r rune) rune {
		// Cf are marks that are not seen, among them those that turn the direction of
		// writing around, so that gpj.exe reads exe.jpg.
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '/' || r == '\u2028' || r == '\u2029' {
			return -1
		}
		return r
	}, name)
	name = strings.TrimSpace(name)
	if strings.Trim(name, ". ") == "" {
		return "file"
	}
	return shortened(name)
}

// shortened cuts a name that is too long in the middle, so that its ending stays.
func shortened(name string) string {
	if len(name) <= maxName {
		return name
	}
	ending := path.Ext(name)
	if len(ending) > 20 {
		ending = ""
	}
	head := name[:maxName-len(ending)]
	for !utf8.ValidString(head) {
		head = head[:len(head)-1]
	}
	return strings.TrimRight(head, " ") + ending
}

// typeOf returns the media type that the bytes of a file are of, without parameters.
func typeOf(location string) (string, error) {
	found, err := mimetype.DetectFile(location)
	if err != nil {
		return "", err
	}
	media, _, _ := strings.Cut(found.String(), ";")
	return media, nil
}
