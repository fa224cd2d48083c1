package ui

import (
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/web/internal/diff"
)

func drawn(t *testing.T, file diff.File) string {
	t.Helper()
	var out strings.Builder
	if err := Diff(`the "shop"`, file).Render(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Who reads a difference sees what was there and what is there now, with its numbers and
// signs, as text.
func TestADifferenceIsShown(t *testing.T) {
	before := strings.Repeat("same\n", 9) + "<b>old</b>\n"
	shown := drawn(t, diff.Of(before, strings.Repeat("same\n", 9)+"<i>new</i>\r\nlast"))
	for _, want := range []string{
		`aria-label="Changes of the &#34;shop&#34;"`,
		`<tr class="hunk">`,
		`<tr class="same"><td class="at">7</td><td class="at">7</td><td class="sign"></td><td class="line">same</td></tr>`,
		`<tr class="removed"><td class="at">10</td><td class="at"></td><td class="sign">−</td><td class="line">&lt;b&gt;old&lt;/b&gt;</td></tr>`,
		`<tr class="added"><td class="at"></td><td class="at">10</td><td class="sign">+</td><td class="line">&lt;i&gt;new&lt;/i&gt;␍</td></tr>`,
		`<td class="unended">last</td>`,
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%s is missing in\n%s", want, shown)
		}
	}
	if strings.Contains(shown, ">1<") {
		t.Errorf("it has lines that are far from the change:\n%s", shown)
	}
}

func TestADifferenceSaysWhatItDoesNotShow(t *testing.T) {
	if shown := drawn(t, diff.File{Binary: true}); !strings.Contains(shown, "It is no text") {
		t.Error(shown)
	}
	if shown := drawn(t, diff.File{LeftOut: 3}); !strings.Contains(shown, "3 lines more") {
		t.Error(shown)
	}
	if shown := drawn(t, diff.Of("a\n", "a\n")); strings.TrimSpace(shown) != "" {
		t.Errorf("of what is the same there is %q", shown)
	}
}
