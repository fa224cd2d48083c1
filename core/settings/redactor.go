package settings

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Redacted stands in a text in the place of a secret.
const Redacted = "[secret]"

const (
	minRedacted = 4 // a shorter value would take ordinary words with it
	minLine     = 8 // a shorter line of a secret of several lines says nothing
)

// Redactor returns a function that replaces secrets in a text by Redacted. It
// finds values of at least four bytes: as they are, as they stand in JSON, in a
// quoted Go string, in a URL and in base64 (also in the middle of what was
// encoded); of a value of several lines, each line too, because logs are cut
// into lines. What it returns may be called concurrently. A text must be
// redacted before it is cut: half of a secret is not found.
func Redactor(values []string) func(string) string {
	var forms []string
	for _, value := range values {
		if len(value) < minRedacted {
			continue
		}
		forms = append(forms, formsOf(value)...)
		for line := range strings.Lines(value) {
			if line = strings.TrimSpace(line); len(line) >= minLine && line != value {
				forms = append(forms, formsOf(line)...)
			}
		}
	}
	if len(forms) == 0 {
		return func(text string) string { return text }
	}
	// Where several match, strings.Replacer takes the first of its list.
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	pairs := make([]string, 0, 2*len(forms))
	for _, form := range slices.Compact(forms) {
		pairs = append(pairs, form, Redacted)
	}
	return strings.NewReplacer(pairs...).Replace
}

// formsOf are the ways in which a value can stand in a text.
func formsOf(value string) []string {
	quoted := strconv.Quote(value)
	forms := []string{
		value, jsonInside(value, true), jsonInside(value, false), quoted[1 : len(quoted)-1],
		url.QueryEscape(value), url.PathEscape(value),
		// Quoted once more, as a JSON body in a log line.
		jsonInside(jsonInside(value, true), false), jsonInside(jsonInside(value, false), false),
	}
	return append(forms, base64Forms(value)...)
}

// jsonInside is a value inside of the quotes of a JSON string.
func jsonInside(value string, html bool) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(html)
	if encoder.Encode(value) != nil {
		return value // not reached: it is a string
	}
	text := strings.TrimSuffix(b.String(), "\n")
	return text[1 : len(text)-1]
}

// base64Forms are a value encoded by itself and, with what its neighbours have
// a part in cut off, at each of the three places it can have in something
// longer: the password in the header of a request, say.
func base64Forms(value string) (forms []string) {
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		forms = append(forms, encoding.EncodeToString([]byte(value)), encoding.WithPadding(base64.NoPadding).EncodeToString([]byte(value)))
		for before := range 3 {
			encoded := encoding.EncodeToString(append(make([]byte, before), value...))
			from := (before*8 + 5) / 6
			to := (before + len(value)) * 8 / 6
			if to-from >= minLine {
				forms = append(forms, encoded[from:to])
			}
		}
	}
	return forms
}
