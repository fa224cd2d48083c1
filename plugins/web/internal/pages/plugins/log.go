package plugins

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
)

// How many lines of a log are shown, and among how many of the newest they are looked for.
const (
	shownLines    = 200
	searchedLines = "2000"
)

// levels are those of a log's lines, the least first.
var levels = []string{"debug", "info", "warn", "error"}

// logged is what the tab of the log shows: the newest lines that were selected, the newest first.
type logged struct {
	name, level, words string
	lines              []api.LogLine
}

// asked is the query that selects the same lines.
func (l logged) asked() string { return query("level", l.level, "words", l.words) }

func (p pages) logBody(r *http.Request, name string) (templ.Component, error) {
	log, err := p.log(r, name)
	return logTab(log), err
}

func (p pages) logPart(r *http.Request) (templ.Component, error) {
	log, err := p.log(r, r.PathValue("name"))
	return logLines(log), err
}

func (p pages) log(r *http.Request, name string) (log logged, err error) {
	asked := r.URL.Query()
	log = logged{name: name, level: asked.Get("level"), words: asked.Get("words")}
	limit := url.Values{}
	if log.level != "" || log.words != "" {
		limit.Set("limit", searchedLines)
	}
	var answer struct {
		Lines []api.LogLine `json:"lines"`
	}
	if err = p.Get(r.Context(), "/api"+path(name, "logs"), limit, &answer); err != nil {
		return log, err
	}
	least, words := slices.Index(levels, log.level), strings.ToLower(log.words)
	for _, line := range slices.Backward(answer.Lines) {
		if slices.Index(levels, line.Level) >= least && strings.Contains(strings.ToLower(line.Text), words) && len(log.lines) < shownLines {
			log.lines = append(log.lines, line)
		}
	}
	return log, nil
}

func toneOfLevel(level string) ui.Tone {
	switch level {
	case "error":
		return ui.Bad
	case "warn":
		return ui.Wait
	}
	return ui.Plain
}

func levelOptions() []ui.Option {
	return []ui.Option{{Value: "", Label: "Everything"}, {Value: "info", Label: "Information and worse"}, {Value: "warn", Label: "Warnings and errors"}, {Value: "error", Label: "Errors"}}
}
