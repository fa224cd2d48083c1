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
	"composer.json":  inJSON,
	"pyproject.toml": bySection(`^\[(project|dependency-groups|project\.(optional-dependencies|urls)|tool\.poetry|tool\.poetry\.([\w.-]+\.)?dependencies|tool\.poetry\.(extras|urls))\]\s*$`),
	"cargo.toml":     bySection(`^\[(workspace\.)?((dev-|build-)?dependencies|features|target\.[^\[\]"']+\.(dev-|build-)?dependencies)(\.[\w-]+)?\]\s*$`),
	"setup.cfg":      bySection(`^\[(metadata|options|options\.(packages\.find|package_data|exclude_package_data|data_files|extras_require))\]\s*$`),
	"pom.xml":        inPOM,

	"package-lock.json":   inLock,
	"npm-shrinkwrap.json": inLock,
	"pnpm-lock.yaml":      inLock,
	"yarn.lock":           inLock,
	"bun.lock":            inLock,
	"cargo.lock":          inLock,
	"poetry.lock":         inLock,
	"uv.lock":             inLock,
	"pdm.lock":            inLock,
	"pipfile.lock":        inLock,
	"composer.lock":       inLock,
	"gemfile.lock":        inLock,
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

// harmless are the keys of a package.json, or of a composer.json, that do not say what the checks
// are. A name does: a package that lies in the project stands in for another one by it.
var harmless = []string{
	"version", "description", "keywords", "author", "authors", "contributors", "maintainers", "license", "licenses", "repository", "homepage", "bugs", "support", "funding", "private", "publishConfig", "files",
	"peerDependenciesMeta", "bundledDependencies", "bundleDependencies", "main", "module", "browser", "types", "typings", "exports", "man", "sideEffects", "engines", "os", "cpu", "type",
}

// needs are the keys under which stands what a package depends on.
var needs = []string{"dependencies", "devDependencies", "peerDependencies", "optionalDependencies", "require", "require-dev"}

// released is a version, or a range of them, of a package that comes from where packages come from,
// and not from the project or an address.
var released = regexp.MustCompile(`^[\w.^~<>=|*+ -]*$`)

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
		var versions map[string]string
		switch {
		case slices.Contains(harmless, name):
			delete(checks, name)
		case slices.Contains(needs, name) && json.Unmarshal(all[name], &versions) == nil:
			checks[name], rest[name] = ofVersions(versions, false), ofVersions(versions, true)
			if checks[name] == nil {
				delete(checks, name)
			}
		default:
			delete(rest, name)
		}
	}
	return apart{checks: encoded(checks), rest: encoded(rest), with: func(other string) string {
		var before map[string]json.RawMessage
		if json.Unmarshal([]byte(other), &before) != nil {
			return other
		}
		both := maps.Clone(rest)
		for name, value := range before {
			var versions, more map[string]string
			if slices.Contains(needs, name) && json.Unmarshal(value, &versions) == nil && json.Unmarshal(both[name], &more) == nil {
				maps.Copy(more, versions)
				value = ofAll(more)
			}
			both[name] = value
		}
		return encoded(both)
	}}
}

// ofVersions are the packages that are released, or those that are not; nil: there are none.
func ofVersions(versions map[string]string, wanted bool) json.RawMessage {
	those := make(map[string]string)
	for name, version := range versions {
		if released.MatchString(version) == wanted {
			those[name] = version
		}
	}
	if len(those) == 0 && !wanted {
		return nil
	}
	return ofAll(those)
}

func ofAll(versions map[string]string) json.RawMessage {
	raw := make(map[string]json.RawMessage)
	for name, version := range versions {
		raw[name], _ = json.Marshal(version) //nolint:errchkjson // a string
	}
	return json.RawMessage(encoded(raw))
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

// elsewhere is in a section of what a project depends on when something comes from a path or an
// address, when a name is spelled so that it could be one, or when the section says what is run.
var elsewhere = regexp.MustCompile(`(?m)\\|@\s*[a-z+]+:|\b(path|file|url|git|registry|registry-index|workspace)["']?\s*[=:]|\b(file|git\+\w+|directory):|^\s*["']?(scripts|gui-scripts|entry-points|entry_points|plugins|build)["']?\s*[.=]`)

// bySection takes a file apart by its sections: those whose header matches harmless do not count,
// unless something in them comes from elsewhere. One with texts of several lines, in which a header could stand, cannot be taken apart.
func bySection(harmless string) func(content string) apart {
	header := regexp.MustCompile(harmless)
	return func(content string) apart {
		if strings.Contains(content, `"""`) || strings.Contains(content, `'''`) {
			return whole(content)
		}
		var checks, rest, section strings.Builder
		counts := true
		flush := func() {
			text := section.String()
			section.Reset()
			if !counts && !elsewhere.MatchString(text) {
				rest.WriteString(text)
				return
			}
			for line := range strings.Lines(text) {
				if bare := strings.TrimSpace(line); bare != "" && !strings.HasPrefix(bare, "#") {
					checks.WriteString(line)
				}
			}
		}
		for line := range strings.Lines(content) {
			if strings.HasPrefix(strings.TrimSpace(line), "[") {
				flush()
				counts = !header.MatchString(strings.TrimRight(line, "\r\n"))
			}
			section.WriteString(line)
		}
		flush()
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

// dependencies are a block of a pom.xml.
var dependencies = regexp.MustCompile(`(?s)<dependencies>.*?</dependencies>`)

// inPOM takes what a project depends on out of a pom.xml. The rest cannot be put into another file.
func inPOM(content string) apart {
	if strings.Contains(content, "<!") || strings.Contains(content, "systemPath") {
		return whole(content)
	}
	return apart{checks: dependencies.ReplaceAllString(content, ""), with: func(checks string) string { return checks }}
}

var (
	address = regexp.MustCompile(`(?i)\b[a-z][a-z+.-]*://[^\s"',;)}\]]+`)
	near    = regexp.MustCompile(`(?i)\b(file|link|portal|workspace|path|directory|editable|virtual|exec|patch)["']?\s*[:=@]\s*["']?[^\s"',)}\]]+`)
)

// locked is what is read of the lock file of npm.
type locked struct {
	Packages, Dependencies map[string]struct {
		Resolved string
		Link     bool
	}
}

// inLock is of a lock file where its packages come from: the hosts, and what comes from a path or is
// another package than its name says. A lock file cannot be taken apart.
func inLock(content string) apart {
	from := make(map[string]bool)
	if strings.Contains(content, `\`) {
		var all map[string]json.RawMessage
		if json.Unmarshal([]byte(content), &all) != nil {
			return whole(content)
		}
		content = unescaped(content)
	}
	var npm locked
	if json.Unmarshal([]byte(content), &npm) == nil {
		for place, p := range npm.Packages {
			name := place[strings.LastIndex(place, "node_modules/")+1:]
			if p.Link || p.Resolved != "" && !strings.Contains(p.Resolved, strings.TrimPrefix(name, "ode_modules")+"/-/") {
				from[place+" "+p.Resolved] = true
			}
		}
		for name, p := range npm.Dependencies { // of an old one
			if p.Resolved != "" && !strings.Contains(p.Resolved, "/"+name+"/-/") {
				from[name+" "+p.Resolved] = true
			}
		}
	}
	for _, one := range address.FindAllString(content, -1) {
		scheme, rest, _ := strings.Cut(one, "://")
		host, _, _ := strings.Cut(rest, "/")
		from[strings.ToLower(scheme+"://"+host)] = true
	}
	for _, one := range near.FindAllString(content, -1) {
		from[one] = true
	}
	return apart{checks: strings.Join(slices.Sorted(maps.Keys(from)), "\n"), with: func(string) string { return "" }}
}

// unescaped is JSON whose texts are spelled without needless escapes.
func unescaped(content string) string {
	var all any
	if json.Unmarshal([]byte(content), &all) != nil {
		return content
	}
	var plain strings.Builder
	encoder := json.NewEncoder(&plain)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(all) != nil {
		return content
	}
	return plain.String()
}
