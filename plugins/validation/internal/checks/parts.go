package checks

import (
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// parts are the files of which only a part says what the checks are, by their names in small
// letters: how each is taken apart. The rest, mostly what a project depends on, changes often.
var parts = map[string]func(content string) apart{
	"package.json":   inJSON,
	"go.mod":         inGoMod,
	"pyproject.toml": bySection(`^\[(project|build-system|dependency-groups|project\.[\w.-]+|tool\.poetry|tool\.poetry\.([\w.-]+\.)?dependencies|tool\.poetry\.(extras|scripts|urls))\]\s*$`),
	"cargo.toml":     bySection(`^\[(workspace\.)?((dev-|build-)?dependencies|features|target\.[^\[\]"']+\.(dev-|build-)?dependencies)(\.[\w-]+)?\]\s*$`),
	"setup.cfg":      bySection(`^\[(metadata|options|options\.[\w.-]+)\]\s*$`),
}

// apart is a file taken apart.
type apart struct {
	checks string // the part that says what the checks are
	rest   string
	// with returns the rest with the checks of another file of this kind.
	with func(checks string) string
}

// whole is a file that cannot be taken apart: all of it counts.
func whole(content string) apart {
	return apart{checks: content, with: func(checks string) string { return checks }}
}

// InParts reports whether only a part of the file of a path says what the checks are.
func InParts(file string) bool { return parts[strings.ToLower(path.Base(file))] != nil }

func takeApart(file, content string) apart {
	if of := parts[strings.ToLower(path.Base(file))]; of != nil {
		return of(content)
	}
	return whole(content)
}

// Mixed returns a file whose part that says what the checks are is as in before, and the rest as in
// after. same says that before and after do not differ in that part. An empty file stands for none.
func Mixed(file, before, after string) (content string, same bool) {
	old, young := takeApart(file, before), takeApart(file, after)
	if (before == "") != (after == "") && strings.EqualFold(path.Base(file), "go.mod") {
		return before, false // what lies below it is another module, which the checks of the one above pass over
	}
	if before == "" {
		old.rest = "none"
	}
	if old.checks == young.checks {
		return after, true
	}
	if old.rest == "" || young.rest == "" { // one of them cannot be taken apart, or is not there
		return before, false
	}
	return young.with(old.checks), false
}

// harmless are the keys of a package.json that do not say what the checks are.
var harmless = []string{
	"name", "version", "description", "keywords", "author", "contributors", "maintainers", "license", "licenses", "repository", "homepage", "bugs", "funding", "private", "publishConfig", "files",
	"dependencies", "devDependencies", "peerDependencies", "peerDependenciesMeta", "optionalDependencies", "bundledDependencies", "bundleDependencies",
	"main", "module", "browser", "types", "typings", "exports", "imports", "bin", "man", "sideEffects", "engines", "os", "cpu", "type",
}

// local is in what a project depends on that lies in it: it may be what the checks run.
var local = regexp.MustCompile(`:\s*"(file|link|portal|workspace|\.|/)[^"]*"`)

// configured is what a package.json says of the checks beside its scripts.
func configured(content string) string {
	var all map[string]json.RawMessage
	if json.Unmarshal([]byte(content), &all) != nil {
		return content
	}
	delete(all, "scripts")
	return inJSON(encoded(all)).checks
}

func inJSON(content string) apart {
	if strings.TrimSpace(content) == "" {
		content = "{}"
	}
	var all map[string]json.RawMessage
	if json.Unmarshal([]byte(content), &all) != nil {
		return whole(content)
	}
	checks, rest := maps.Clone(all), maps.Clone(all)
	for name := range all {
		if slices.Contains(harmless, name) && !local.Match(all[name]) {
			delete(checks, name)
		} else {
			delete(rest, name)
		}
	}
	return apart{checks: encoded(checks), rest: encoded(rest), with: func(other string) string {
		both := maps.Clone(rest)
		if json.Unmarshal([]byte(other), &both) != nil {
			return other
		}
		return encoded(both)
	}}
}

// encoded is an object with its keys in order, spaces left out.
func encoded(object map[string]json.RawMessage) string {
	var content strings.Builder
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(object); err != nil {
		return "" // each value was read from JSON
	}
	return strings.TrimSuffix(content.String(), "\n")
}

// goMod are the directives of a go.mod that say which programs the go command runs, and what ./... is.
var goMod = regexp.MustCompile(`^\s*(tool|ignore|replace|toolchain)(\s|\(|$)`)

func inGoMod(content string) apart {
	var checks, rest strings.Builder
	block, to := false, &rest
	for line := range strings.Lines(content) {
		bare, _, _ := strings.Cut(line, "//")
		if !block {
			if to = &rest; goMod.MatchString(bare) {
				to = &checks
			}
			block = strings.Contains(bare, "(")
		}
		block = block && !strings.Contains(bare, ")")
		to.WriteString(line)
	}
	return halves(checks.String(), rest.String())
}

// bySection takes a file apart by its sections: those whose header matches harmless do not count.
// One with texts of several lines, in which a header could stand, cannot be taken apart.
func bySection(harmless string) func(content string) apart {
	header := regexp.MustCompile(harmless)
	return func(content string) apart {
		if strings.Contains(content, `"""`) || strings.Contains(content, `'''`) {
			return whole(content)
		}
		var checks, rest strings.Builder
		counts := true
		for line := range strings.Lines(content) {
			if strings.HasPrefix(strings.TrimSpace(line), "[") {
				counts = !header.MatchString(strings.TrimRight(line, "\r\n"))
			}
			switch bare := strings.TrimSpace(line); {
			case !counts:
				rest.WriteString(line)
			case bare != "" && !strings.HasPrefix(bare, "#"):
				checks.WriteString(line)
			}
		}
		return halves(checks.String(), rest.String())
	}
}

// halves is a file in which it does not matter where either part stands: what counts comes last,
// or first where it has lines before all sections.
func halves(checks, rest string) apart {
	return apart{checks: checks, rest: rest, with: func(other string) string {
		if other != "" && !strings.HasPrefix(strings.TrimSpace(other), "[") && strings.HasPrefix(strings.TrimSpace(rest), "[") {
			return strings.TrimRight(other, "\n") + "\n" + rest
		}
		return strings.TrimRight(rest, "\n") + "\n" + other
	}}
}
