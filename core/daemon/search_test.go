package daemon_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// finds are the snippets that a search through the API finds, the newest first.
func (in *installation) finds(words string) (snippets []string) {
	in.t.Helper()
	var found client.Found
	if status := in.call(http.MethodGet, "/api/search?order=newest&q="+url.QueryEscape(words), nil, &found); status != http.StatusOK {
		in.t.Fatalf("search: %d", status)
	}
	for _, hit := range found.Hits {
		snippets = append(snippets, hit.Snippet)
	}
	return snippets
}

// What was said is found by people at once and by the agent as far as its thread may see;
// the index follows by itself, and a daemon that finds it empty makes it anew.
func TestWhatWasSaidIsFoundByEverybody(t *testing.T) {
	each(t, func(t *testing.T, database func(*testing.T) string) {
		in := newInstallation(t, database(t))
		in.demo(`[{"match":"look","toolName":"core__search","toolInput":{"query":"quince"},"text":"looked"},{"text":"noted"}]`)
		stop := in.start()
		watch := in.watch()
		one, two := in.thread("one"), in.thread("two")
		in.say(watch, one, "a quince in one")
		in.say(watch, two, "a Quince in two")
		if got := in.finds("QUINCE"); !slices.Equal(got, []string{"a Quince in two", "a quince in one"}) {
			t.Errorf("people find %q", got)
		}
		told := func(thread string) string {
			accepted, _ := in.say(watch, thread, "look")
			for _, row := range in.messages(accepted.ThreadID) {
				if row.RunID == accepted.RunID && row.Kind == pluginsdk.MessageToolResult {
					return row.Content
				}
			}
			return "nothing"
		}
		if got := told(one); !strings.Contains(got, "quince in one") || strings.Contains(got, "in two") {
			t.Errorf("the agent of a thread is told %q", got)
		}
		if got := told(""); !strings.Contains(got, "quince in one") || !strings.Contains(got, "Quince in two") {
			t.Errorf("the agent of the primary thread is told %q", got)
		}
		opened := in.database()
		whole := func() bool {
			mark, err := opened.IndexMark(t.Context())
			newest, err2 := opened.NewestMessage(t.Context())
			return err == nil && err2 == nil && newest > 0 && mark.MessageID == newest
		}
		in.until("the index's following", whole)
		stop()
		if err := opened.ResetIndex(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		in.start()
		if got := in.finds("quince one"); !slices.Equal(got, []string{"a quince in one"}) {
			t.Errorf("without an index people find %q", got)
		}
		in.until("the index's being made anew", whole)
	})
}
