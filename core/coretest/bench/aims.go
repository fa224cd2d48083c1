package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// The names of figures that aims are set for.
const (
	figureBoot        = "boot, p50"
	figureMemory      = "memory of all processes, PSS"
	figureIdle        = "idle, all processes, of a core"
	figureHop         = "a hook, p50"
	figureOverhead    = "overhead over the bare CLI, p50"
	figureOverheadP99 = "overhead over the bare CLI, p99"
	figureBesideTasks = "a person's turn begins beside 50 tasks, p95"
	figureSeen        = "an event reaches 100 clients, p99"
	figureSlowest     = "slowest page of the navigation, painted, cold, p50"
	figureHeaviest    = "heaviest page of the navigation"
	figureWord        = "a word of the agent in the page, p99"
	figureKey         = "a key's character while the agent talks, p99"
	figureTogether    = "what is done on one page on another, p99"
)

func figureCommitted(database string) string { return database + ": demo turn committed, p50" }
func figureCPU(database string) string       { return database + ": CPU of a demo turn" }
func figureRate(database string) string      { return database + ": demo turns, 8 threads" }
func figureBeside(database string) string    { return database + ": demo turn, to the build beside, p50" }
func figureCPUBeside(database string) string {
	return database + ": CPU of a demo turn, to the build beside"
}

func figureAnswered(database, page string) string {
	return database + ": " + page + ", answered, p99"
}
func figurePainted(page string) string { return page + ", painted, p50" }

// figure is what one measurement came to.
type figure struct {
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	More  bool    `json:"more,omitempty"` // more is better
}

// book is the figures of one run of this program.
type book struct {
	Build   string            `json:"build"`
	Machine string            `json:"machine"`
	Figures map[string]figure `json:"figures"`
}

// note keeps a figure for the end.
func (b *bench) note(name string, value float64, unit string) {
	b.noted.Figures[name] = figure{Value: round(value), Unit: unit, More: unit == "turns/s"}
}

// releaseFile has the figures of the last release.
var releaseFile = filepath.Join("docs", "figures", "release.json")

// worse is by which part of itself a figure may be worse than the last release's.
const worse = 0.1

// close says which aims are met, compares with the last release, and saves the figures
// when there is a file for them.
func (b *bench) close() error {
	var release book
	content, err := os.ReadFile(releaseFile)
	if err == nil {
		err = json.Unmarshal(content, &release)
	}
	if err != nil {
		b.row("figures of the last release", "cannot be read: %v", err)
	}
	b.aims(release)
	b.sinceRelease(release)
	if b.save == "" {
		return nil
	}
	encoded, err := json.MarshalIndent(b.noted, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(b.save, append(encoded, '\n'), 0o644)
}

// aims prints what a turn was to cost, and what it costs.
func (b *bench) aims(release book) {
	fmt.Fprintf(b.table, "\nAIMS\n")
	type aim struct {
		name string
		of   float64
	}
	aims := []aim{{figureBoot, 250}, {figureMemory, 110}, {figureIdle, 0.2}, {figureOverhead, 7}, {figureOverheadP99, 10}, {figureBesideTasks, ms(beginAim)}, {figureSeen, ms(seenAim)}}
	for _, database := range []string{"SQLite", "Postgres"} {
		aims = append(aims, aim{figureBeside(database), 0.5}, aim{figureCPUBeside(database), 0.5})
	}
	aims = append(aims, aim{figureRate("SQLite"), 400}, aim{figureRate("Postgres"), 250})
	for _, database := range []string{"SQLite", "Postgres"} {
		aims = append(aims, aim{figureSearch(database), ms(searchAim)}, aim{figureSearchP99(database), ms(searchAimP99)})
	}
	for _, database := range []string{"SQLite", "Postgres"} {
		for _, page := range []string{pageHot, pageThreads} {
			aims = append(aims, aim{figureAnswered(database, page), ms(openAim)})
		}
	}
	aims = append(aims, aim{figurePainted(pageHot), ms(openAim)}, aim{figurePainted(pageThreads), ms(openAim)},
		aim{figureSlowest, ms(openAim)}, aim{figureHeaviest, weightAim}, aim{figureWord, ms(wordAim)}, aim{figureKey, ms(wordAim)}, aim{figureTogether, ms(togetherAim)})
	for name, part := range map[string]float64{figureHop: 1} {
		if before, ok := release.Figures[name]; ok {
			aims = append(aims, aim{name, part * before.Value})
		}
	}
	for _, aim := range aims {
		found, ok := b.noted.Figures[aim.name]
		switch {
		case !ok:
			b.row(aim.name, "not measured (aim %.2f)", aim.of)
		case found.Value <= aim.of != found.More || found.Value == aim.of:
			b.row(aim.name, "%.2f %s, aim %.2f: met", found.Value, found.Unit, aim.of)
		default:
			b.row(aim.name, "%.2f %s, aim %.2f: MISSED", found.Value, found.Unit, aim.of)
		}
	}
}

// sinceRelease names the figures that are worse than the last release's.
func (b *bench) sinceRelease(release book) {
	fmt.Fprintf(b.table, "\nBESIDE THE LAST RELEASE (%s, on %s)\n", release.Build, release.Machine)
	fine := true
	for name, found := range b.noted.Figures {
		before, ok := release.Figures[name]
		if !ok || before.Value == 0 {
			continue
		}
		ratio := found.Value / before.Value
		if ratio > 1+worse && !found.More || ratio < 1-worse && found.More {
			b.row(name, "%.2f %s, was %.2f: WORSE", found.Value, found.Unit, before.Value)
			fine = false
		}
	}
	if fine {
		b.row("all that was measured", "no worse by more than %.0f %%", 100*worse)
	}
}

func newBook(bin string) book {
	return book{
		Build:   versionIn(bin) + ", measured " + time.Now().UTC().Format(time.DateOnly),
		Machine: fmt.Sprintf("%d processors, %s/%s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH), Figures: make(map[string]figure),
	}
}

// versionIn is what the program in a directory calls itself.
func versionIn(bin string) string {
	said, err := exec.Command(filepath.Join(bin, "harness"), "version").Output() //nolint:gosec // what is measured
	if err != nil {
		return "a build that does not tell its version"
	}
	version, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(said)), "harness "), " ")
	return version
}
