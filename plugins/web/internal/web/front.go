package web

import (
	"html/template"
	"net/http"

	"github.com/seed-706843ae/harness/plugins/web/internal/access"
)

// frontWords are what a person sees who opens the address in a browser.
var frontWords = template.Must(template.New("front").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Harness</title>
<h1>Harness is up</h1>
<p>This is the HTTP API of a Harness daemon. There is no page to talk to the agent here yet.</p>
<ul>
{{if .Demands}}<li><a href="/login">Log in</a>: a token is demanded here</li>
{{end}}<li>Talk in a terminal: <code>harness chat --url {{.URL}}</code></li>
<li><a href="/api/health">/api/health</a>: it answers</li>
<li><a href="/api/docs">/api/docs</a>: what the API can do, for people; <a href="/api/openapi.json">/api/openapi.json</a> for machines</li>
<li><a href="/api/threads">/api/threads</a>: the conversations</li>
<li><a href="/metrics">/metrics</a>: figures for Prometheus</li>
</ul>
</html>
`))

// frontPage answers for / itself, and for nothing below it.
type frontPage struct {
	gate *access.Gate
	tls  bool
}

func (f frontPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	view := struct {
		URL     string
		Demands bool
	}{"http://" + r.Host, f.gate.Demands()}
	if f.tls {
		view.URL = "https://" + r.Host
	}
	_ = frontWords.Execute(w, view) // the client may be gone
}
