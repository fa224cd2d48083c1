package checks

import (
	"cmp"
	"encoding/json"
	"go/version"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
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
	"pipfile":        bySection(`^\[(packages|dev-packages|requires)\]\s*$`),

	"gemfile":          byLine(`^\s*gem\s+["'][\w.-]+["']\s*(,\s*["'][\w.~<>=! -]+["']\s*)*(,\s*(require:\s*(true|false|nil)|(groups?|platforms?):\s*(:\w+|\[[:\w, ]*\]|%i\[[\w ]*\]))\s*)*(#.*)?$`, "", ""),
	"build.gradle":     byLine(plainGradle, "\ndependencies {\n", "}\n"),
	"build.gradle.kts": byLine(plainGradle, "\ndependencies {\n", "}\n"),

	"package-lock.json":   inSources,
	"npm-shrinkwrap.json": inSources,
	"pnpm-lock.yaml":      inLock,
	"yarn.lock":           inLock,
	"bun.lock":            inLock,
	"cargo.lock":          inLock,
	"poetry.lock":         inLock,
	"uv.lock":             inLock,
	"pdm.lock":            inLock,
	"pipfile.lock":        inLock,
	"composer.lock":       inSources,
	"gemfile.lock":        inLock,
}

// plainGradle is a line with which a project of Gradle's depends on a package that is released.
const plainGradle = `^\s*(api|implementation|compileOnly|runtimeOnly|annotationProcessor|kapt|ksp|test(Implementation|CompileOnly|RuntimeOnly)|androidTestImplementation|debugImplementation)\s*\(?\s*(platform\()?(["'][\w.-]+:[\w.-]+(:[\w.+-]+)?["']|libs\.[\w.]+)\)*\s*(//.*)?$`

// pins are files of pip that name what is installed.
var pins = lazy.Regexp(`(^|/)(requirements/[\w.-]+|[\w.-]*(requirements|constraints)[\w.-]*)\.(txt|in)$`)

var inPins = byLine(`^\s*([A-Za-z0-9][\w.-]*(\[[\w., -]*\])?\s*([~<>=!]=[^;@/\\]*|[<>][^;@/\\]*)?(;[^@/\\]*)?|(--hash=\w+:[0-9a-f]+\s*)+|#.*)?\\?\s*$`, "", "")

// apart is a file taken apart.
type apart struct {
	checks string // the part that says what the checks are
	// told is what of that part is compared, where that is less than what is put into another file;
	// empty: all of it.
	told string
	rest string
	// with returns the rest with the checks of another file of this kind.
	with func(checks string) string
}

// whole is a file that cannot be taken apart: all of it counts.
func whole(content string) apart {
	return apart{checks: content, with: func(checks string) string { return checks }}
}

// InParts reports whether only a part of the file of a path says what the checks are.
func InParts(file string) bool { return partsOf(file) != nil }

func partsOf(file string) func(content string) apart {
	file = strings.ToLower(file)
	if pins.MatchString(file) {
		return inPins
	}
	return parts[path.Base(file)]
}

func takeApart(file, content string) apart {
	taken := whole(content)
	if of := partsOf(file); of != nil {
		taken = of(content)
	}
	taken.told = cmp.Or(taken.told, taken.checks)
	return taken
}

// Mixed returns a file whose part that says what the checks are is as in before, and the rest as in
// after. same says that before and after do not differ in that part. An empty file stands for none.
func Mixed(file, before, after string) (content string, same bool) {
	if strings.EqualFold(path.Base(file), "go.mod") {
		if (before == "") != (after == "") {
			return before, false // what lies below it is another module, which the checks of the one above pass over
		}
		if raised, lowered := withGo(before, after); lowered {
			content, _ = Mixed(file, before, raised)
			return content, false
		}
	}
	old, young := takeApart(file, before), takeApart(file, after)
	if before == "" {
		old.rest = "none"
	}
	if old.told == young.told {
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
var released = lazy.Regexp(`^[\w.^~<>=|*+ -]*$`)

// configured is what a package.json says of the checks beside its scripts.
func configured(content string) string {
	var all map[string]json.RawMessage
	if json.Unmarshal([]byte(content), &all) != nil {
		return content
	}
	for _, name := range []string{"scripts", "bin", "directories", "imports"} { // what it offers to others is the work
		delete(all, name)
	}
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
var goMod = lazy.Regexp(`^\s*(tool|ignore|replace|toolchain)(\s|\(|$)`)

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

// goLine says which version of the language a module is written in: newer ones are checked for more by go vet.
var goLine = lazy.Regexp(`(?m)^[ \t]*go[ \t]+(\d[\w.]*).*\n?`)

// withGo is a go.mod with the version of the language that it had before, where that has been lowered.
func withGo(before, after string) (content string, lowered bool) {
	old, young := goLine.FindStringSubmatch(before), goLine.FindStringSubmatch(after)
	if old == nil || young != nil && version.Compare("go"+young[1], "go"+old[1]) >= 0 {
		return after, false
	}
	return goLine.ReplaceAllString(after, "") + "\n" + old[0], true
}

// elsewhere is in a section of what a project depends on when something comes from a path or an
// address, when a name is spelled so that it could be one, or when the section says what is run.
var elsewhere = lazy.Regexp(`(?m)\\|@\s*[a-z+]+:|\b(path|file|url|git|registry|registry-index|workspace|package)["']?\s*[=:]|\b(file|git\+\w+|directory):|^\s*["']?(scripts|gui-scripts|entry-points|entry_points|plugins|build)["']?\s*[.=]`)

// inherited is what a crate takes from the description of its workspace, which is looked at itself.
var inherited = lazy.Regexp(`\bworkspace\s*=\s*true\b`)

// described are the lines of a crate that say nothing of how it is checked.
var described = lazy.Regexp(`^\s*(version|description|authors|license|readme|homepage|repository|documentation|keywords|categories)\s*=`)

// balanced reports whether what a line begins ends on it.
func balanced(line string) bool {
	return strings.Count(line, "[")+strings.Count(line, "{") == strings.Count(line, "]")+strings.Count(line, "}") && !strings.HasSuffix(strings.TrimSpace(line), "=")
}

// fromElsewhere are the lines of a section that say that something comes from elsewhere, with its
// header; all of it where that takes several lines.
func fromElsewhere(section string) string {
	var lines strings.Builder
	found := 0
	for line := range strings.Lines(section) {
		bare := inherited.ReplaceAllString(line, "")
		here := len(elsewhere.FindAllString(bare, -1))
		if here > 0 && !balanced(line) {
			return section
		}
		if found += here; here > 0 || lines.Len() == 0 {
			lines.WriteString(line)
		}
	}
	if found != len(elsewhere.FindAllString(inherited.ReplaceAllString(section, ""), -1)) {
		return section
	}
	return lines.String()
}

// bySection takes a file apart by its sections: those whose header matches harmless do not count,
// unless something in them comes from elsewhere; then the lines are compared that say so. One with texts of several lines, in which a header could stand, cannot be taken apart.
func bySection(harmless string) func(content string) apart {
	header := lazy.Regexp(harmless)
	return func(content string) apart {
		if strings.Contains(content, `"""`) || strings.Contains(content, `'''`) {
			return whole(content)
		}
		var checks, told, rest, section strings.Builder
		counts := true
		flush := func() {
			text := section.String()
			section.Reset()
			if !counts && !elsewhere.MatchString(inherited.ReplaceAllString(text, "")) {
				rest.WriteString(text)
				return
			}
			lines := text
			if !counts {
				lines = fromElsewhere(text)
			}
			of := strings.TrimSpace(text[:strings.IndexByte(text+"\n", '\n')])
			crate := of == "[package]" || of == "[workspace.package]"
			for _, to := range []struct {
				text string
				*strings.Builder
			}{{text, &checks}, {lines, &told}} {
				for line := range strings.Lines(to.text) {
					bare := strings.TrimSpace(line)
					metadata := to.Builder == &told && crate && described.MatchString(line) && balanced(line)
					if bare != "" && !strings.HasPrefix(bare, "#") && !metadata {
						to.WriteString(line)
					}
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
		taken := halves(checks.String(), rest.String())
		taken.told = told.String()
		return taken
	}
}

// byLine takes a file apart by its lines: those that match plain do not count. Put into another file
// they stand at its end, between two texts.
func byLine(plain, before, after string) func(content string) apart {
	line := lazy.Regexp(plain)
	return func(content string) apart {
		if strings.Contains(content, `"""`) || strings.Contains(content, `'''`) {
			return whole(content)
		}
		var checks, rest strings.Builder
		for one := range strings.Lines(content) {
			if line.MatchString(strings.TrimRight(one, "\r\n")) {
				rest.WriteString(strings.TrimRight(one, "\r\n") + "\n")
			} else if strings.TrimSpace(one) != "" {
				checks.WriteString(strings.TrimRight(one, "\r\n") + "\n")
			}
		}
		if content == "" {
			return apart{with: func(other string) string { return other }}
		}
		return apart{checks: checks.String(), rest: cmp.Or(rest.String(), "none"), with: func(other string) string {
			if rest.Len() == 0 {
				return other
			}
			return strings.TrimRight(other, "\n") + "\n" + before + rest.String() + after
		}}
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

// dependencies are a block of a pom.xml, and comment is what nobody reads of it.
var comment, dependencies = lazy.Regexp(`(?s)<!--.*?-->`), lazy.Regexp(`(?s)<dependencies>.*?</dependencies>`)

// inPOM takes what a project depends on out of a pom.xml. The rest cannot be put into another file.
func inPOM(content string) apart {
	if content = comment.ReplaceAllString(content, ""); strings.Contains(content, "<!") || strings.Contains(content, "systemPath") {
		return whole(content)
	}
	return apart{checks: dependencies.ReplaceAllString(content, ""), with: func(checks string) string { return checks }}
}

var (
	address = lazy.Regexp(`(?i)\b[a-z][a-z+.-]*://[^\s"',;)}\]]+`)
	near    = lazy.Regexp(`(?i)(?:^|[\s"'{(,@:])(?:(?:link|portal|workspace|path|directory|editable|virtual|exec|patch|remote)["']?\s*[:=@]|file["']?\s*[:@])\s*["']?[^\s"',)}\]]+|type = "(?:file|directory|git|url)"(?:\nurl = .*)?`)
	builtin = lazy.Regexp(`patch:\w+@[^#&]*#(optional!|~)?builtin<compat/\w+>(::[\w=&%.-]*)?:?$`) // which come with yarn
	// another is a package under the name of another one, as pnpm writes it down.
	another = lazy.Regexp(`(?m)^\s+version: ['"]?/?@?[a-zA-Z][^\s('":]*@.*$`)
	// ofYarn is where a package comes from, after the names that it goes by.
	ofYarn = lazy.Regexp(`(?m)^"?(@?[^@\s"]+)@[^\n]*:\n(?:  .*\n)*?  resol(?:ved|ution:) "([^"\n]*)"`)
)

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
	for _, one := range address.FindAllString(content, -1) {
		from[host(one)] = true
	}
	for _, one := range near.FindAllString(content, -1) {
		if !builtin.MatchString(one) {
			from[one] = true
		}
	}
	for _, one := range another.FindAllString(content, -1) {
		from[one] = true
	}
	for _, one := range ofYarn.FindAllStringSubmatch(content, -1) {
		name, at, called := one[1], one[2], false
		for _, name := range []string{name, strings.TrimSuffix(name, "-cjs")} {
			called = called || strings.Contains(at, "/"+name+"/-/") || strings.HasPrefix(at, name+"@")
		}
		if !called {
			from[name+" "+at] = true
		}
	}
	return locked(from)
}

// locked is a lock file whose packages come from these places.
func locked(from map[string]bool) apart {
	return apart{checks: strings.Join(slices.Sorted(maps.Keys(from)), "\n"), with: func(string) string { return "" }}
}

// inSources is inLock of npm and composer: what else stands there are addresses of who made a package.
func inSources(content string) apart {
	var all map[string]any
	if content != "" && json.Unmarshal([]byte(content), &all) != nil {
		return whole(content)
	}
	from := make(map[string]bool)
	sourcesIn("", all, from)
	return locked(from)
}

func host(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	name, _, _ := strings.Cut(rest, "/")
	return strings.ToLower(scheme + "://" + name)
}

// sourcesIn finds where the packages come from that a lock file of npm or composer names.
func sourcesIn(key string, in any, from map[string]bool) {
	switch one := in.(type) {
	case []any:
		for _, each := range one {
			sourcesIn(key, each, from)
		}
	case map[string]any:
		name := key[strings.LastIndex("/"+key, "/node_modules/")+1:]
		name = strings.TrimPrefix(name, "ode_modules/")
		resolved, _ := one["resolved"].(string)
		version, _ := one["version"].(string)
		link, _ := one["link"].(bool)
		if resolved != "" {
			from[host(resolved)] = true
			if real := strings.TrimSuffix(name, "-cjs"); !strings.Contains(resolved, "/"+real+"/-/") && !strings.Contains(resolved, "/"+name+"/-/") {
				from[key+" "+resolved] = true
			}
		}
		if called, _ := one["name"].(string); called != "" && strings.Contains(key, "node_modules/") && called != name && called != strings.TrimSuffix(name, "-cjs") {
			from[key+" "+called] = true
		}
		if link || strings.Contains(version, ":") {
			from[key+" "+version+" "+resolved] = true
		}
		if at, ok := one["url"].(string); ok && (key == "dist" || key == "source") {
			from[host(at)] = true
			if !strings.Contains(at, "://") || one["type"] == "path" {
				from[at] = true
			}
		}
		for name, each := range one {
			sourcesIn(name, each, from)
		}
	}
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
