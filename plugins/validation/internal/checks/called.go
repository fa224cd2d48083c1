package checks

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
	"github.com/seed-706843ae/harness/plugins/internal/objects"
)

// Tree is a tree in which the files are looked for that say what the checks are.
type Tree struct {
	Entries map[string]objects.Entry
	// Before are the entries that the work began with: what is not among them is new, and takes the place of
	// what is loaded in its absence.
	Before map[string]objects.Entry
	// Blobs returns the contents of blobs, by their names.
	Blobs func(ids []string) (map[string]string, error)
}

// Files returns those files of the tree that say what the checks are: by their names, and those that
// these or the commands of an operator call or read by name. It looks at words and runs nothing, so
// that it finds too many of them rather than too few.
func (t Tree) Files(commands []string) (map[string]bool, error) {
	s := &search{
		Tree: t, found: map[string]bool{}, seen: map[string]bool{}, folded: map[string][]string{}, bases: map[string][]string{},
		dirs: map[string][]string{}, named: map[string]bool{}, goals: map[string]bool{"check": true}, contents: map[string]string{}, runners: map[string]bool{},
		before: map[string]bool{}, modules: map[string][]string{},
	}
	for _, target := range targets {
		for _, name := range target.names {
			s.goals[name], s.goals["pre"+name], s.goals["post"+name] = true, true, true
		}
	}
	for file := range t.Before {
		for at := file; at != "." && !s.before[at]; at = path.Dir(at) {
			s.before[at] = true
		}
	}
	var links []string
	for file, e := range t.Entries {
		if e.Mode == objects.Link && e.Size <= maxFile {
			links = append(links, e.ID)
		}
		name := path.Base(file)
		s.bases[strings.ToLower(name)] = append(s.bases[strings.ToLower(name)], file)
		s.dirs[path.Dir(file)] = append(s.dirs[path.Dir(file)], file)
		if len(s.odd) < maxOdd && word.FindString(name) != name && (e.Mode == objects.Program || !languages.MatchString(path.Ext(name))) {
			s.odd = append(s.odd, file)
		}
		for at := file; at != "."; at = path.Dir(at) {
			folded := strings.ToLower(at)
			if slices.Contains(s.folded[folded], at) {
				break
			}
			s.folded[folded] = append(s.folded[folded], at)
		}
	}
	if err := s.read(links); err != nil {
		return nil, err
	}
	for file := range t.Entries {
		if s.byName(file) || !s.before[file] && s.replaces(file) {
			s.add(file)
		}
		if dir, ok := standsIn(file); ok && !s.before[file] {
			s.modules[dir] = append(s.modules[dir], file)
		}
	}
	s.words("", strings.Join(commands, "\n"), false)
	// What is found names more: targets, scripts, files.
	for n, before := 0, -1; n < maxPasses && before != len(s.found)+len(s.goals)+len(s.named); n++ {
		before = len(s.found) + len(s.goals) + len(s.named)
		if err := s.pass(); err != nil {
			return nil, err
		}
	}
	return s.found, nil
}

// What a search takes the trouble of, whatever is written to wear it out. What is left out in the tree
// of a work was not there before, and so what names it has changed.
const (
	maxPasses   = 30
	maxPatterns = 200
	maxOdd      = 1000
	maxVariable = 64 << 10 // bytes
	maxList     = 64 << 10 // bytes
	maxRunner   = 256      // bytes
	maxPath     = 4 << 10  // bytes
)

// search is how the files of a tree are found.
type search struct {
	Tree
	found    map[string]bool
	seen     map[string]bool     // files whose words were looked at, for good
	folded   map[string][]string // files and directories, by their paths in small letters
	bases    map[string][]string // files, by their base names in small letters
	dirs     map[string][]string // files, by their directories
	before   map[string]bool     // files and directories that were there before the work
	modules  map[string][]string // new files that stand in for modules of Python's tools, by the directories that have to be on its path
	named    map[string]bool     // files that are data by their names; true: its words were looked at
	odd      []string            // programs and scripts whose names are no single word
	goals    map[string]bool     // targets of Makefiles and scripts of package.json that checks come to
	contents map[string]string   // by the names of their blobs
	runners  map[string]bool     // words, by whether they run what stands behind them
	patterns [2]int              // that were looked for: such as are run, and such as rules name
	selects  bool                // the file that is looked at says by patterns for which files it is
}

// add counts a file, and what it leads to where it is a link.
func (s *search) add(file string) {
	if s.found[file] {
		return
	}
	if _, ok := s.Entries[file]; ok {
		s.found[file] = true
	}
}

// read takes in the contents of blobs.
func (s *search) read(ids []string) error {
	slices.Sort(ids)
	contents, err := s.Blobs(slices.Compact(ids))
	maps.Copy(s.contents, contents)
	return err
}

// pass looks at all that was found and was not looked at yet, and again at what depends on goals.
func (s *search) pass() error {
	var ids []string
	for file := range s.found {
		e := s.Entries[file]
		if _, known := s.contents[e.ID]; !known && e.Size >= 0 && e.Size <= maxFile {
			ids = append(ids, e.ID)
		}
	}
	for file, looked := range s.named {
		if e := s.Entries[file]; !looked && e.Size >= 0 && e.Size <= maxList {
			ids = append(ids, e.ID)
		}
	}
	if err := s.read(ids); err != nil {
		return err
	}
	for _, file := range slices.Sorted(maps.Keys(s.named)) {
		if !s.named[file] {
			s.named[file] = true
			s.list(file, s.contents[s.Entries[file].ID])
		}
	}
	for _, file := range slices.Sorted(maps.Keys(s.found)) {
		content, name := s.contents[s.Entries[file].ID], strings.ToLower(path.Base(file))
		switch {
		case s.seen[file]:
		case s.Entries[file].Mode == objects.Link:
			s.follow(path.Join(path.Dir(file), content))
		case makefile.MatchString(name):
			s.makefile(file, content)
			continue
		case name == "package.json":
			s.words(path.Dir(file), s.ofScripts(content), false)
			s.selects = true
			s.words(path.Dir(file), configured(content), true)
			s.selects = false
			continue
		case serving.MatchString(name) && !strings.Contains(name, "test"):
			content = served.ReplaceAllStringFunc(content, func(line string) string { return programs.ReplaceAllString(line, "serves") })
			s.words(path.Dir(file), content, strings.HasSuffix(name, "ml"))
		case name == "go.mod" || patterned.MatchString(name) || strings.HasSuffix(name, "ignore") || locks.MatchString(name):
		case name == "entry_points.txt":
			for _, plugin := range plugins.FindAllStringSubmatch(programsOf.ReplaceAllString(content, ""), -1) {
				s.module(".", plugin[1], nil)
			}
		default:
			if name == "cargo.toml" {
				for _, build := range cargoBuild.FindAllStringSubmatch(content, -1) {
					s.follow(path.Join(path.Dir(file), build[1]))
				}
			}
			config := s.byName(file) || !languages.MatchString(path.Ext(name)) // which says where its parts lie; a script reaches for what it tests as well
			read := config && ruled.MatchString(name) && s.Entries[file].Mode != objects.Program
			s.selects = read && selecting.MatchString(name)
			s.words(path.Dir(file), content, read)
			s.selects = false
		}
		s.seen[file] = true
	}
	return nil
}

// list counts a file of data that a check names when it names files of the tree: a list of what is run.
func (s *search) list(file, content string) {
	for _, token := range word.FindAllString(content, -1) {
		if len(token) > maxPath {
			continue
		}
		for _, candidate := range []string{path.Join(path.Dir(file), token), path.Clean(token)} {
			for _, at := range s.folded[strings.ToLower(candidate)] {
				if _, ok := s.Entries[at]; (ok || strings.Contains(token, "/") && lists.MatchString(path.Ext(file))) && at != file {
					s.add(file)
					return
				}
			}
		}
	}
}

// module counts the files of a module of Python, as in python -m tools.check. only, which may be nil, are those
// that count.
func (s *search) module(dir, name string, only *lazy.Pattern) {
	file := strings.ReplaceAll(strings.Trim(name, "."), ".", "/")
	if file == "" {
		return
	}
	for _, ending := range []string{".py", "/__main__.py", "/__init__.py"} {
		for _, at := range s.bases[strings.ToLower(path.Base(file+ending))] {
			near := only == nil || path.Dir(at) == dir || strings.EqualFold(at, file+ending)
			if near && strings.HasSuffix(strings.ToLower("/"+at), strings.ToLower("/"+file+ending)) && (only == nil || only.MatchString(at)) {
				s.add(at)
			}
		}
	}
}

// follow counts what a link leads to: a file, or all below a directory.
func (s *search) follow(to string) {
	for _, at := range s.resolve(to) {
		s.add(at)
		for file := range s.Entries {
			if strings.HasPrefix(file, at+"/") {
				s.add(file)
			}
		}
	}
}

// resolve is what a path leads to: links on the way are followed, and counted. Where a submodule is
// on the way, it is that. The case of letters does not matter.
func (s *search) resolve(file string) (found []string) {
	file = strings.TrimPrefix(path.Clean("/"+file), "/")
	for range 20 {
		followed := false
		for end := 1; end <= len(file) && !followed; end++ {
			if end < len(file) && file[end] != '/' {
				continue
			}
			for _, at := range s.folded[strings.ToLower(file[:end])] {
				switch e := s.Entries[at]; e.Mode {
				case objects.Submodule:
					return []string{at}
				case objects.Link:
					s.add(at)
					to := s.contents[e.ID]
					if to == "" || path.IsAbs(to) {
						return found
					}
					file, followed = strings.TrimPrefix(path.Clean("/"+path.Join(path.Dir(at), to, file[end:])), "/"), true
				}
			}
		}
		if !followed {
			break
		}
	}
	return s.folded[strings.ToLower(file)]
}

var (
	makefile = lazy.Regexp(`^(gnu)?makefile(\..*)?$|\.(mk|mak|make)$`)
	// ruled are files that are read and not run.
	ruled     = lazy.Regexp(`\.(json|jsonc|json5|ya?ml|toml|ini|cfg|conf|xml(\.dist)?|[cm]?[jt]s)$|^\.[a-z-]+rc$`)
	selecting = lazy.Regexp(`\.(json|jsonc|json5|toml|xml(\.dist)?|[cm]?[jt]s)$|rc$`)
	// patterned are files that say by patterns for which files they are, and call nothing.
	patterned = lazy.Regexp(`^(\.gitattributes|\.editorconfig|codeowners)$`)

	word     = lazy.Regexp("[^\\s\"'`;|&()<>{}=,\\[\\]$!#:]+")
	variable = lazy.Regexp(`(?m)^[ \t]*(?:export[ \t]+|override[ \t]+)*([\w.-]+)[ \t]*(?::{0,3}|\?|\+)=[ \t]*(.*)$`)
	use      = lazy.Regexp(`\$[({]([\w.-]+)[)}]`)
	files    = lazy.Regexp(`^(test|rm|cp|mv|ln|tail|cut|touch|readlink|find)$`)
	include  = lazy.Regexp(`^[ \t]*[-s]?include[ \t]`)
	makes    = lazy.Regexp(`(?m)(?:\bg?make|\$[({]MAKE[)}])([^\n;|&]*)`)

	shells    = lazy.Regexp(`(?i)^\.(sh|bash|zsh|ksh|fish|ps1|bat|cmd|awk|sed)$`)
	languages = lazy.Regexp(`(?i)^\.(go|py|rb|pl|php|lua|bats|[cm]?[jt]s|[jt]sx|java|kts?|groovy|r|tcl|exs?)$`)
	sources   = lazy.Regexp(`(?i)^\.(c|cc|cpp|cxx|h|hpp|rs|swift|m|mm|cs|fs|vb|scala|clj|hs|ml|erl|zig|d|nim|dart|vue|svelte|css|s[ac]ss|less|html?|svg|png|jpe?g|gif|ico|webp|pdf|woff2?)$`)
	rules     = lazy.Regexp(`(?i)^\.(ya?ml|toml|ini|cfg|conf|config|rc|xml|jsonc?|json5|properties|inc|env|neon|dist|args|rules|opts)$`)
	locks     = lazy.Regexp(`(?i)^(package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|.*\.lock|go\.sum)$`)
	testFile  = lazy.Regexp(`(?i)(^|[/._-])(tests?|specs?)([._-][^/]*)?\.[a-z]+$|(^|/)(tests?|__tests__|specs?|e2e)/`)
	checkDir  = lazy.Regexp(`(?i)(^|/)(scripts?|tools?|bin|ci|build|hack|dev|qa|quality|checks?|verify|lint|tests?|__tests__|specs?|e2e|\.[^/]+)/`)
	moves     = lazy.Regexp(`(?i)\b(cd|pushd|chdir|workdir|working-directory)\b|(^|\s)(-C|--prefix|--dir|--directory|--cwd|--chdir|--project)\b`)
	framework = lazy.Regexp(`^(--test|-m)$`)
	imports   = lazy.Regexp(`^\s*(import|from)\s|pytest_plugins`)
	module    = lazy.Regexp(`^[A-Za-z_.][\w.]*$`)
	toolDir   = lazy.Regexp(`(?i)(^|/)(scripts?|tools?|bin|ci|build|hack|dev|\.[^/]+)/`)
	ownDir    = lazy.Regexp(`(?i)(^|/)(scripts?|tools?|bin|ci|build|hack|dev|\.[^/]+|qa|quality|checks?|verify|lint|[a-z]+-rules)/`) // of programs that check
	sourceDir = lazy.Regexp(`(?i)(^|/)(src|lib|app|pages|components)/`)
	// plugins are the modules that an installed package says Python's tools are to load; what it says of programs is left out.
	plugins    = lazy.Regexp(`(?m)=\s*([\w.]+)`)
	programsOf = lazy.Regexp(`(?m)^\[(console|gui)_scripts\]\s*\n([^\[\n].*\n?|\n)*`)
	// cargoBuild is where a crate has the program that Cargo runs before it builds.
	cargoBuild = lazy.Regexp(`(?m)^\s*build\s*=\s*["']([^"'\n]+)["']`)
	// aids are what tests and linters load before they begin, when their rules name it.
	aids = lazy.Regexp(`(?i)(setup|teardown|bootstrap|hooks?|helper|preset|resolver|reporter|transform|runner|matchers?)s?[^/]*$`)
	// exempt are lists of what a check passes over.
	exempt    = lazy.Regexp(`(?i)(allow|block|deny|ignore|exclu|exempt|skip|known|baseline|whitelist|blacklist|quarantine|flaky|xfail|suppress|waive)`)
	lists     = lazy.Regexp(`(?i)^(\.(txt|list|lst|in))?$`)
	compiled  = lazy.Regexp(`(?i)^\.(go|java|kts?|groovy)$`)   // which no rules load
	linted    = lazy.Regexp(`\b(shellcheck|shfmt)\b[^\n;&|]*`) // which reads scripts, and runs none
	documents = lazy.Regexp(`(?i)^(readme|licen[cs]e|copying|notice|changelog)([.-].*)?$|\.(md|rst|adoc)$`)
	// served is a line that says what a container runs when it is in use.
	served   = lazy.Regexp(`(?im)^\s*(CMD\b|ENTRYPOINT\b|[a-z]+:).*`)
	serving  = lazy.Regexp(`(?i)^\.?(dockerfile|containerfile|docker-compose|compose|procfile)(\..*)?$`)
	programs = lazy.Regexp(`\b(python[0-9.]*|node|ruby|php|bun|deno|tsx|ts-node)\b`)
	runs     = lazy.Regexp(`(?i)^(.*/)?(sh|bash|dash|zsh|ksh|fish|python[0-9.]*|pypy[0-9.]*|node|nodejs|deno|bun|tsx|ts-node|ruby|perl|php|lua|source|exec|run|env|time|xargs|bash_env|env|perl5opt|rubyopt|pythonpath|node_path|\.|-[a-z]*f|-r|-c|--[a-z-]*(file|require|config|import|loader|preload|plugins?|setup|reporter|rules-?dir))$`)
	// evaluated is a line in which the words of a file are run.
	evaluated = lazy.Regexp("\\$[({](<|shell\\b|file\\b|cat\\b)|`\\s*(<|cat\\b)|\\b(eval|xargs)\\b|\\|\\s*(ba|da|z|k)?sh\\b|\\b(ba|da|z|k)?sh\\s*<")
)

// words counts the files that the words of a text name, relative to the top or to a directory. ruled
// says that it is a file of rules, and not of commands.
func (s *search) words(dir, text string, ruled bool) {
	for _, line := range makes.FindAllStringSubmatch(text, -1) {
		for _, goal := range strings.Fields(line[1]) {
			s.goals[goal] = true
		}
	}
	text = linted.ReplaceAllString(text, "")
	elsewhere := moves.MatchString(text)
	for line := range strings.Lines(text) {
		before, run, imported := "", include.MatchString(line) || evaluated.MatchString(line), imports.MatchString(line)
		for _, at := range word.FindAllStringIndex(line, -1) {
			token := line[at[0]:at[1]]
			if len(token) > maxPath {
				continue
			}
			joined := at[0] > 0 && strings.ContainsRune("$)}>", rune(line[at[0]-1]))
			s.word(dir, token, run || s.runs(before), elsewhere || joined, ruled, ruled && joined)
			if before == "-m" || before == "-p" && strings.Contains(line, "pytest") {
				s.module(dir, token, nil)
			} else if imported && module.MatchString(token) {
				s.module(dir, token, checkDir)
			}
			option := strings.HasPrefix(token, "-")
			asks := strings.HasSuffix(strings.TrimRight(line[:at[0]], " "), "[") || files.MatchString(before) // such as [ -f FILE ], rm -f FILE
			if !option || framework.MatchString(token) || token == "-p" || s.runs(token) && !asks {
				before = strings.TrimLeft(token, "@+")
			}
		}
	}
	for _, file := range s.odd {
		if strings.Contains(text, path.Base(file)) {
			s.add(file)
		}
	}
}

// runs reports whether a word is a program or an option behind which stands what is run.
func (s *search) runs(word string) bool {
	is, known := s.runners[word]
	if !known {
		is = len(word) <= maxRunner && runs.MatchString(word)
		s.runners[word] = is
	}
	return is
}

// endings are what may be left out of the name of a file that is named, or that is run.
var (
	endings    = []string{"", ".json", ".js", ".mk"}
	runEndings = []string{"", ".json", ".js", ".mk", ".mjs", ".cjs", ".ts", ".mts", ".py", ".rb", ".sh"}

	ruledEndings = []string{"", ".json", ".js", ".mjs", ".cjs", ".ts", ".mts", "/index.js", "/index.mjs", "/index.cjs", "/index.ts"}
)

// word counts the files that one word names. loose: what stands before it, or in which directory it is
// said, is not known, so that any file of its base name will do.
func (s *search) word(dir, token string, run, loose, ruled, near bool) {
	token = strings.TrimLeft(token, "@+")
	if len(token) > 2 && token[0] == '-' && token[1] != '-' {
		token = token[2:]
	}
	plain := !strings.ContainsAny(token, "/.")
	near = near || strings.HasPrefix(token, "./") || strings.HasPrefix(token, "../")
	without := endings
	if run {
		without = runEndings
	} else if ruled && near {
		without = ruledEndings
	}
	for _, ending := range without {
		if ending != "" && plain && !run {
			break
		}
		s.path(path.Join(dir, token)+ending, run, near, ruled)
		if !strings.HasPrefix(token, "..") {
			s.path(path.Clean(token)+ending, run, near, ruled)
		}
		base := path.Base(token)
		if len(base) < 2 {
			continue
		}
		for _, file := range s.bases[strings.ToLower(base+ending)] {
			switch {
			case loose && (run || strings.Contains(token, "/")):
				s.consider(file, run, near, ruled)
			case s.Entries[file].Mode == objects.Program, shells.MatchString(path.Ext(file)):
				s.add(file) // wherever it lies, a word may be all that names it
			}
		}
	}
}

// path counts the files that a path names, or a pattern of paths.
func (s *search) path(candidate string, run, near, ruled bool) {
	if strings.ContainsAny(candidate, "*?") {
		// Rules say for which files they are by patterns: those are the work, but for what commands in them run.
		count := &s.patterns[map[bool]int{true: 1}[ruled]]
		if *count++; *count > maxPatterns || s.selects && !run {
			return
		}
		for file, e := range s.Entries {
			if ok, err := path.Match(candidate, file); !ok || err != nil {
				continue
			}
			if !ruled || run || e.Mode == objects.Program || shells.MatchString(path.Ext(file)) || ownDir.MatchString(file) {
				s.consider(file, run, near, ruled)
			}
		}
		return
	}
	for _, file := range s.resolve(candidate) {
		s.consider(file, run, near, ruled)
		s.directory(file, run)
	}
}

// directory counts the files of a directory that is named which can be run, and, where it is run as
// by go run ./tools/lint, its sources. A setup.py is run where the directory is installed. Where it is no package, it may be put on Python's path.
func (s *search) directory(dir string, run bool) {
	if !s.before[dir+"/__init__.py"] {
		for _, file := range s.modules[dir] {
			s.add(file)
		}
	}
	for _, file := range s.dirs[dir] {
		switch e, ending := s.Entries[file], path.Ext(file); {
		case testFile.MatchString(path.Base(file)):
		case e.Mode == objects.Program, shells.MatchString(ending), strings.EqualFold(path.Base(file), "setup.py"), run && languages.MatchString(ending) && ownDir.MatchString(file):
			s.add(file)
		}
	}
}

// consider counts a file that is named, if it is one that can be run or read by a check, and no
// source or test of the project's: those are the work.
func (s *search) consider(file string, run, near, ruled bool) {
	e, ok := s.Entries[file]
	if !ok {
		return
	}
	name, ending := path.Base(file), path.Ext(file)
	language := languages.MatchString(ending)
	switch {
	case locks.MatchString(name):
	case documents.MatchString(name) && !run && e.Mode != objects.Program && e.Mode != objects.Link:
	case language && ruled && !compiled.MatchString(ending) && aids.MatchString(file):
		s.add(file)
	case language && testFile.MatchString(file) && !toolDir.MatchString(file) && !run:
	case e.Mode == objects.Program, e.Mode == objects.Link, e.Mode == objects.Submodule,
		run, ending == "", ending == name, shells.MatchString(ending), rules.MatchString(ending),
		language && (ownDir.MatchString(file) || ruled && near && !compiled.MatchString(ending) && !sourceDir.MatchString(file)):
		s.add(file)
	case language || sources.MatchString(ending):
	default:
		if exempt.MatchString(name) {
			s.add(file)
		} else if _, ok := s.named[file]; !ok {
			s.named[file] = false
		}
	}
}

// ofScripts are the scripts of a package.json that checks come to.
func (s *search) ofScripts(content string) string {
	var described struct {
		Scripts map[string]string `json:"scripts"`
	}
	_ = json.Unmarshal([]byte(content), &described) // one that cannot be read has no scripts
	var text strings.Builder
	for name, script := range described.Scripts {
		if s.goals[name] {
			text.WriteString(script + "\n")
			for called := range described.Scripts {
				calls := func(word string) bool { // such as test, or test:*
					ok, err := path.Match(strings.TrimPrefix(strings.Trim(word, `"'`), "npm:"), called)
					return ok && err == nil
				}
				if slices.ContainsFunc(strings.Fields(script), calls) {
					s.goals[called], s.goals["pre"+called], s.goals["post"+called] = true, true, true
				}
			}
		}
	}
	return text.String()
}
