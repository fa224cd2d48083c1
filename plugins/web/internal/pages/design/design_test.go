package design

import (
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/web/internal/charts"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
)

// Who changes a part sees it on the page.
func TestThePageHasAllParts(t *testing.T) {
	var text strings.Builder
	if err := page("").Render(t.Context(), &text); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`class="page-head"`, `class="button primary"`, `button icon-only`, `class="button working"`, `field wrong`, `type="date"`, `type="file"`,
		`<select`, `<textarea`, `type="checkbox"`, `class="tabs"`, `class="rows"`, `class="pager"`, `class="tile calls"`, `class="card"`, `<caption>`,
		`class="pairs`, `class="fold"`, `class="loading"`, `class="empty"`, `class="toast`, `class="said"`, `data-confirm`, `data-palette`, `<kbd>`,
		`<blockquote>`, `class="task"`, `class="chroma"`, `class="gi"`, `class="diff"`, `class="timeline"`, `class="bar"`, `/design/chart.svg`,
		"badge tone-" + string(ui.Bad), "alert tone-" + string(ui.Wait), "code-comment", "t-figure", " : 1",
	} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("the page lacks %s", part)
		}
	}
	if strings.Contains(text.String(), "0.00 : 1") {
		t.Error("a contrast could not be computed")
	}
	if _, err := chart().Render(charts.Dark(), 640, 260); err != nil {
		t.Error(err)
	}
}
