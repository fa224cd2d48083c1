package web

import (
	"html/template"
	"net/http"
)

// frontPage is what a person sees who opens the address in a browser.
var frontPage = template.Must(template.New("front").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Harness</title>
<h1>Harness is up</h1>
<p>This is the HTTP API of a Harness daemon. There is no page to talk to the agent here yet.</p>
<ul>
<li>Talk in a terminal: <code>harness chat --url http://{{.}}</code></li>
<li><a href="/api/health">/api/health</a>: it answers</li>
<li><a href="/api/openapi.json">/api/openapi.json</a>: what the API can do, for machines; for people it is in docs/http-api.md</li>
<li><a href="/api/threads">/api/threads</a>: the conversations</li>
<li><a href="/metrics">/metrics</a>: figures for Prometheus</li>
</ul>
</html>
`))

// front answers for / itself, and for nothing below it.
func front(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'")
	_ = frontPage.Execute(w, r.Host) // the client may be gone
}
