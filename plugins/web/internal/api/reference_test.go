package api_test

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func (f fixture) page() *httptest.ResponseRecorder {
	f.Helper()
	got := httptest.NewRecorder()
	request := httptest.NewRequest("GET", "/api/docs", nil)
	request.Host = "harness.example.org:3001"
	f.handler.ServeHTTP(got, request)
	return got
}

// A reader finds all that there is, and the page lets nothing in that somebody could have put
// there.
func TestTheReferencePageHasEveryOperation(t *testing.T) {
	f, _ := served(t)
	got := f.page()
	text := got.Body.String()
	if got.Code != 200 || got.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%d %v", got.Code, got.Header())
	}
	policy := got.Header().Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy %q", policy)
	}
	for _, foreign := range []string{"<script", "javascript:", "style=", "onclick", "<img", "<link", "@import", "url("} {
		if strings.Contains(text, foreign) {
			t.Errorf("the page has %s", foreign)
		}
	}
	for _, link := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		switch {
		case strings.HasPrefix(link[1], "#"):
			if !strings.Contains(text, `id="`+link[1][1:]+`"`) {
				t.Errorf("the link %s leads nowhere", link[1])
			}
		case link[1] != "/api/openapi.json":
			t.Errorf("a link to %s", link[1])
		}
	}
	described := f.send("GET", "/api/openapi.json", "").body
	operations := 0
	for path, methods := range described["paths"].(map[string]any) {
		for method, operation := range methods.(map[string]any) {
			operations++
			one := operation.(map[string]any)
			tags, _ := one["tags"].([]any)
			if len(tags) != 1 || tags[0] == "Other" {
				t.Errorf("%s %s has the tags %v; name its path in chapters", method, path, tags)
			}
			id := one["operationId"].(string)
			if !strings.Contains(text, `<h3 id="`+id+`"><span class="method `+strings.ToUpper(method)+`">`+strings.ToUpper(method)+`</span> <code>`+path+`</code></h3>`) {
				t.Errorf("%s is not on the page", id)
			}
		}
	}
	if shown := strings.Count(text, "<h4>Example</h4>"); shown != operations {
		t.Errorf("%d examples of %d operations", shown, operations)
	}
	for _, words := range []string{
		"curl -X POST &#39;http://harness.example.org:3001/api/chat&#39; \\\n  -H &#34;Authorization: Bearer $HARNESS_TOKEN&#34; \\\n  -H &#39;Content-Type: application/json&#39; \\\n  -d &#39;{&#34;content&#34;: &#34;...&#34;}&#39;",
		`scope admin`, `one of thread, purpose, model, task, plugin, cron, account, day, hour`, `<span class="mark must">required</span>`,
		`<p class="type"><a href="#type-Package">Package</a></p>`, `list of <a href="#type-UsageSum">UsageSum</a>`,
		"It takes two requests.",
	} {
		if !strings.Contains(text, words) {
			t.Errorf("the page lacks %s", words)
		}
	}
}
