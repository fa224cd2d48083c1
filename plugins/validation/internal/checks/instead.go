package checks

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
)

// replaces reports whether a file takes the place of another one in what checks load or look at. It is asked of new
// files alone: what the work began with was loaded before, too.
func (s *search) replaces(file string) bool {
	if stem, ok := strings.CutSuffix(file, ".pyi"); ok { // type checkers read it, and the source no more
		return s.before[stem+".py"] || s.before[strings.TrimSuffix(stem, "/__init__")+".py"]
	}
	if match := mocks.FindStringSubmatch(file); match != nil { // Jest gives every test that instead of a package of its name
		return !slices.ContainsFunc(mocked, func(ending string) bool { return s.before[match[1]+match[2]+ending] })
	}
	dir, ok := standsIn(file)
	return ok && s.onPath(dir)
}

// mocks is a file that stands in for another one in tests written with Jest: for that of its name beside its directory,
// with one of the endings of mocked, or else for a package.
var (
	mocks  = lazy.Regexp(`^((?:.*/)?)__mocks__/(.+)\.[cm]?[jt]sx?$`)
	mocked = []string{"", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".json", ".vue", ".svelte"}
)

// standsIn returns the directory that has to be on Python's path for a file to be loaded in place of a module of the
// standard library or of a tool.
func standsIn(file string) (dir string, ok bool) {
	ending := pythonModule.FindString(file)
	name := strings.TrimSuffix(strings.TrimSuffix(file, ending), "/__init__")
	return path.Dir(name), ending != "" && instead()[path.Base(name)]
}

var pythonModule = lazy.Regexp(`(\.py|(\.[\w-]+)?\.(pyc|so|pyd))$`)

// onPath reports whether Python looks into a directory for modules when tests are run: at the top, and where a
// project begins, or its sources or tests do, which are no package.
func (s *search) onPath(dir string) bool {
	above := dir
	if slices.Contains([]string{"src", "lib", "test", "tests"}, path.Base(dir)) {
		above = path.Dir(dir)
	}
	return above == "." || !s.before[dir+"/__init__.py"] && (s.project(above, python) || s.project(above, pythonTests))
}

// pythonTests are more files beside which tests in Python begin.
var pythonTests = []string{"setup.py", "conftest.py", "noxfile.py", "gnumakefile", "makefile"}

// instead are the modules that Python's tools are made of.
var instead = sync.OnceValue(func() map[string]bool {
	all := make(map[string]bool)
	for _, name := range slices.Concat(strings.Fields(library), strings.Fields(tools)) {
		all[name] = true
	}
	return all
})

// tools are modules with which tests are run, and sources linted, formatted and type-checked, and what they are made of.
const tools = `
_pytest astroid attr attrs bandit black click colorama coverage exceptiongroup execnet flake8 hypothesis iniconfig isort mccabe mypy
mypy_extensions mypyc nose nox packaging pathspec pip pkg_resources platformdirs pluggy py pycodestyle pyflakes pygments pylint pyright
pytest pytest_asyncio pytest_cov pytest_django pytest_mock pytest_timeout ruff setuptools sortedcontainers tomli tomlkit tox
typing_extensions virtualenv xdist yaml
`
