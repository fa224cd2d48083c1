package checks

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
)

// maxFile is how much of a project's file is read, in bytes.
const maxFile = 1 << 20

// Wanted is a check that an operator has set. It replaces those that are found of its
// kind; with an empty command there is none of that kind.
type Wanted struct {
	Kind    Kind
	Command string // a line for sh
}

// Find returns how the project is checked that dir, a directory in root, belongs to, in the order in which the
// checks are to be run. It looks in dir and, where there is nothing, in the directories
// above it up to root, and what it finds is run where it was found. What is set is run in
// root. It reads files that agents write: nothing in them is an error, and nothing is run.
//
// Of each kind the project's own word counts most: a target of its Makefile; then the
// scripts of its package.json, beside what is usual for its language; then what its
// workflows run.
func Find(dir, root string, set []Wanted) []Check {
	var found []Check
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if found = in(at); len(found) > 0 || at == root || at == filepath.Dir(at) {
			break
		}
	}
	return with(found, root, set)
}

// Set returns the checks that an operator has set, and looks for no others: where the worker
// has made all files, it would choose what is run.
func Set(root string, set []Wanted) []Check { return with(nil, root, set) }

// with adds what is set to what was found, in the order in which it is run.
func with(found []Check, root string, set []Wanted) []Check {
	for _, wanted := range set {
		found = slices.DeleteFunc(found, func(c Check) bool { return c.Kind == wanted.Kind && c.Source != settings })
		if wanted.Command != "" {
			found = append(found, Check{Kind: wanted.Kind, Command: wanted.Command, Dir: root, Source: settings})
		}
	}
	slices.SortStableFunc(found, func(a, b Check) int {
		return cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind))
	})
	return found
}

// settings is the source of checks that an operator has set.
const settings = "settings"

// in returns the checks of one directory.
func in(dir string) []Check {
	p := project{dir: dir, read: func(name string) string { return read(dir, name) }, has: func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}}
	all := p.described()
	if len(all) > 0 || p.has(".github/workflows") {
		all = append(all, without(p.workflows(), all)...)
	}
	for n := range all {
		all[n].Dir = dir
	}
	return all
}

// described are the checks that the files of a project describe which are named in descriptions.
func (p project) described() []Check {
	own := p.makefile()
	usual := slices.Concat(p.packageJSON(), p.golang(), p.rust(), p.python())
	return slices.Concat(own, without(usual, own))
}

// descriptions are the files of a directory by which its checks are found, those of CI left out.
var descriptions = []string{
	"GNUmakefile", "makefile", "Makefile", "package.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb", "go.mod",
	"Cargo.toml", "rustfmt.toml", ".rustfmt.toml", "clippy.toml", ".clippy.toml", "pyproject.toml", "uv.lock", "poetry.lock", "pytest.ini", "ruff.toml", "mypy.ini",
}

// without returns the checks of whose kind there is none among others.
func without(checks, others []Check) []Check {
	return slices.DeleteFunc(checks, func(c Check) bool {
		return slices.ContainsFunc(others, func(other Check) bool { return other.Kind == c.Kind })
	})
}

// project is a directory in which checks are looked for.
type project struct {
	dir  string                   // its path; empty: it is one of a tree
	has  func(name string) bool   // reports whether there is such a file or directory
	read func(name string) string // returns a file; empty when it cannot be read
}

// read returns a file; empty when it cannot be read, or is no regular file in the
// directory: an agent can make links, and pipes that block who opens them.
func read(dir, name string) string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return ""
	}
	content := make([]byte, info.Size())
	n, _ := file.Read(content)
	return string(content[:n])
}

// targets are what targets of Makefiles, and scripts of package.json, are called that are
// of each kind. Of a kind the first one that there is counts.
var targets = []struct {
	kind  Kind
	names []string
}{
	{Build, []string{"build"}},
	{Types, []string{"typecheck", "type-check", "check-types", "check:types", "types:check", "tsc"}},
	{Format, []string{"format:check", "check:format", "format-check", "check-format", "fmt:check", "fmt-check", "prettier:check"}},
	{Lint, []string{"lint"}},
	{Test, []string{"test"}},
}

var makeTarget = lazy.Regexp(`(?m)^([A-Za-z0-9_.-]+(?:[ \t]+[A-Za-z0-9_.-]+)*)[ \t]*::?(?:[^=:]|$)`)

func (p project) makefile() (found []Check) {
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		var there []string
		for _, match := range makeTarget.FindAllStringSubmatch(p.read(name), -1) {
			there = append(there, strings.Fields(match[1])...)
		}
		for _, target := range targets {
			if i := slices.IndexFunc(target.names, func(n string) bool { return slices.Contains(there, n) }); i >= 0 {
				found = append(found, program(target.kind, name, "make", target.names[i]))
			}
		}
		if slices.Contains(there, "check") {
			found = append(found, program(All, name, "make", "check"))
		}
		if len(there) > 0 {
			return found
		}
	}
	return nil
}

// noTests is the script that npm writes into a new package.json.
const noTests = "no test specified"

func (p project) packageJSON() (found []Check) {
	var described struct {
		PackageManager string            `json:"packageManager"`
		Scripts        map[string]string `json:"scripts"`
	}
	if json.Unmarshal([]byte(p.read("package.json")), &described) != nil {
		return nil
	}
	manager, _, _ := strings.Cut(described.PackageManager, "@")
	if !slices.Contains([]string{"npm", "pnpm", "yarn", "bun"}, manager) {
		manager = "npm"
	}
	for _, lock := range [][2]string{{"package-lock.json", "npm"}, {"pnpm-lock.yaml", "pnpm"}, {"yarn.lock", "yarn"}, {"bun.lock", "bun"}, {"bun.lockb", "bun"}} {
		if p.has(lock[0]) {
			manager = lock[1]
			break
		}
	}
	for _, target := range targets {
		for _, name := range target.names {
			if script := described.Scripts[name]; script != "" && !strings.Contains(script, noTests) {
				found = append(found, program(target.kind, "package.json", manager, "run", name))
				break
			}
		}
	}
	return found
}

func (p project) golang() []Check {
	if !p.has("go.mod") {
		return nil
	}
	const source = "go.mod"
	found := []Check{
		// Without -o a project with one program has it written into its directory.
		program(Build, source, "go", "build", "-o", os.DevNull, "./..."),
		program(Lint, source, "go", "vet", "./..."),
		program(Test, source, "go", "test", "./..."),
	}
	if p.dir == "" {
		return found
	}
	if paths := p.goPaths(); len(paths) > 0 && len(paths) <= maxGoPaths {
		format := program(Format, source, append([]string{"gofmt", "-l"}, paths...)...)
		format.Silent = true
		found = append(found, format)
	}
	return found
}

// maxGoPaths is how many paths gofmt is given, and maxWalk how many files are looked at
// to find them.
const (
	maxGoPaths = 100
	maxWalk    = 100_000
)

// goPaths are the fewest paths with all Go files but those that the go command passes
// over too: of vendor, testdata, and of names that begin with an underscore or a dot.
func (p project) goPaths() []string {
	files := make(map[string][]string) // by their directory
	spoilt := make(map[string]bool)    // directories with Go files below that are passed over
	walked := 0
	err := filepath.WalkDir(p.dir, func(path string, entry fs.DirEntry, err error) error {
		inside, _ := filepath.Rel(p.dir, path)
		walked++
		switch name := entry.Name(); {
		case walked > maxWalk:
			return fs.SkipAll
		case err != nil || inside != "." && entry.IsDir() && (name[0] == '.' || name == "node_modules"):
			return fs.SkipDir
		case !entry.Type().IsRegular() || filepath.Ext(name) != ".go":
			return nil
		}
		dir := filepath.Dir(inside)
		above, passed := ".", false
		for _, part := range strings.Split(dir, "/") {
			if passed = part == "vendor" || part == "testdata" || part[0] == '_'; passed {
				break
			}
			above = filepath.Join(above, part)
		}
		if !passed {
			files[dir] = append(files[dir], inside)
			return nil
		}
		for ; above != "."; above = filepath.Dir(above) {
			spoilt[above] = true
		}
		spoilt["."] = true
		return nil
	})
	if err != nil || walked > maxWalk {
		return nil
	}
	var paths []string
	for _, dir := range slices.Sorted(maps.Keys(files)) {
		switch {
		case spoilt[dir]:
			paths = append(paths, files[dir]...)
		case dir == ".":
			return []string{"."}
		case !slices.ContainsFunc(paths, func(above string) bool { return strings.HasPrefix(dir+"/", above+"/") }):
			paths = append(paths, topmost(dir, spoilt))
		}
	}
	return slices.Compact(paths)
}

// topmost is the highest directory above dir, or dir itself, below which nothing is
// passed over.
func topmost(dir string, spoilt map[string]bool) string {
	for above := filepath.Dir(dir); !spoilt[above]; above = filepath.Dir(above) {
		if dir = above; above == "." {
			break
		}
	}
	return dir
}

func (p project) rust() []Check {
	if !p.has("Cargo.toml") {
		return nil
	}
	const source = "Cargo.toml"
	found := []Check{
		program(Build, source, "cargo", "build", "--all-targets"),
		program(Test, source, "cargo", "test"),
	}
	if p.has("rustfmt.toml") || p.has(".rustfmt.toml") {
		found = append(found, program(Format, source, "cargo", "fmt", "--check"))
	}
	if p.has("clippy.toml") || p.has(".clippy.toml") || strings.Contains(p.read(source), "lints.clippy]") {
		found = append(found, program(Lint, source, "cargo", "clippy", "--all-targets"))
	}
	return found
}

func (p project) python() (found []Check) {
	const source = "pyproject.toml"
	described := p.read(source)
	if described == "" {
		return nil
	}
	var by []string // what knows the project's environment
	switch {
	case p.has("uv.lock"):
		by = []string{"uv", "run"}
	case p.has("poetry.lock"):
		by = []string{"poetry", "run"}
	}
	add := func(kind Kind, args ...string) {
		found = append(found, program(kind, source, slices.Concat(by, args)...))
	}
	if strings.Contains(described, "[tool.pytest") || strings.Contains(described, `"pytest`) || p.has("pytest.ini") {
		add(Test, "pytest")
	}
	if strings.Contains(described, "[tool.ruff") || p.has("ruff.toml") {
		add(Lint, "ruff", "check", ".")
	}
	if strings.Contains(described, "[tool.ruff.format") {
		add(Format, "ruff", "format", "--check", ".")
	}
	if strings.Contains(described, "[tool.mypy") || p.has("mypy.ini") {
		add(Types, "mypy", ".")
	}
	return found
}

// known are commands that workflows run, by their kind. Those with anything that a shell
// would read are left out.
var known = []struct {
	kind    Kind
	command *lazy.Pattern
}{
	{Build, lazy.Regexp(`^(go build|cargo build|make build|(npm|pnpm|yarn|bun) run build)( [\w./:=@,+-]+)*$`)},
	{Types, lazy.Regexp(`^(mypy|pyright|npx tsc|(npm|pnpm|yarn|bun) run type-?check)( [\w./:=@,+-]+)*$`)},
	{Format, lazy.Regexp(`^(cargo fmt|ruff format|black|npx prettier) (.* )?--check( [\w./:=@,+-]+)*$`)},
	{Lint, lazy.Regexp(`^(go vet|golangci-lint run|staticcheck|cargo clippy|ruff check|make lint|(npm|pnpm|yarn|bun) run lint)( [\w./:=@,+-]+)*$`)},
	{Test, lazy.Regexp(`^(go test|cargo test|pytest|tox|make test|npm test|(npm|pnpm|yarn|bun) (run )?test)( [\w./:=@,+-]+)*$`)},
}

// workflows are checks that the project's workflows run, the first one of each kind.
func (p project) workflows() (found []Check) {
	files, err := filepath.Glob(filepath.Join(p.dir, ".github", "workflows", "*.y*ml"))
	if err != nil {
		return nil
	}
	for _, file := range files {
		name := filepath.Join(".github", "workflows", filepath.Base(file))
		lines := bufio.NewScanner(strings.NewReader(p.read(name)))
		for lines.Scan() {
			line := strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(lines.Text()), "- "), "run:"))
			for _, one := range known {
				taken := slices.ContainsFunc(found, func(c Check) bool { return c.Kind == one.kind })
				if !taken && one.command.MatchString(line) && !strings.ContainsAny(line, "$;&|<>`(){}*?\"'\\") {
					found = append(found, program(one.kind, name, strings.Fields(line)...))
				}
			}
		}
	}
	return found
}
