package checks

import (
	"path"
	"regexp"
	"strings"
)

// byName are the files that say what the checks of a project are, whoever calls them, by their
// base names in small letters: what is run, and by which rules.
var byName = []*regexp.Regexp{
	// What runs the checks.
	regexp.MustCompile(`^(gnu)?makefile(\..*)?$|\.(mk|mak|make)$|^\.?justfile$|\.just$|^taskfile(\.dist)?\.ya?ml$|^rakefile$|\.rake$|^magefile\.go$|^noxfile\.py$|^tox\.ini$|^(gulpfile|gruntfile)\.`),
	// What builds, and runs programs of the project while it does.
	regexp.MustCompile(`^build\.(rs|zig|sbt|xml|cake)$|\.gradle(\.kts)?$|^gradle(w|w\.bat|\.properties)$|^mvnw(\.cmd)?$|^setup\.py$|^setup\.hs$|^package\.swift$|^mix\.exs$|^rebar\.config$`),
	regexp.MustCompile(`^cmakelists\.txt$|^cmakepresets\.json$|\.cmake$|^(meson\.build|meson_options\.txt|meson\.options)$|^(sconstruct|sconscript|wscript|configure|configure\.ac)$|^(build|workspace|module)(\.bazel)?$|^\.bazelrc$|\.bzl$|^directory\.build\.(props|targets)$|^(dodo|fabfile)\.py$|\.(slnx?|runsettings)$`),
	regexp.MustCompile(`^(next|nuxt|svelte|astro|webpack|rollup|rspack|rsbuild|tsup|tsdown|vue|craco)\.config\..*$|^(angular|cypress)\.json$|^pnpm-workspace\.ya?ml$`),
	regexp.MustCompile(`^\.?(dockerfile|containerfile|docker-compose|compose)(\..*)?$|^(earthfile|tiltfile|vagrantfile|procfile|brewfile|hatch\.toml|pixi\.toml|flake\.nix|shell\.nix|default\.nix|mise\.toml|\.tool-versions|\.mise\.toml|cmakelists)$`),
	// CI.
	regexp.MustCompile(`^\.gitlab-ci.*\.ya?ml$|^\.travis\.ya?ml$|^azure-pipelines.*\.ya?ml$|^jenkinsfile(\..*)?$|^\.?appveyor\.ya?ml$|^bitbucket-pipelines\.ya?ml$|^\.?cirrus\.(ya?ml|star)$`),
	regexp.MustCompile(`^\.(drone|woodpecker)\.(ya?ml|star|jsonnet)$|^cloudbuild\.ya?ml$|^buildspec\.ya?ml$|^\.?codecov\.ya?ml$|^action\.ya?ml$`),
	// Git, and its hooks.
	regexp.MustCompile(`^\.git(attributes|ignore|modules)$|^\.pre-commit.*\.ya?ml$|^\.?lefthook.*\.(ya?ml|toml|json)$|^\.overcommit\.ya?ml$|^\.?lint-?staged(rc|\.config)?(\..*)?$|^\.huskyrc(\..*)?$`),
	// Tests.
	regexp.MustCompile(`^(jest|vitest|vite|karma|ava|cypress|playwright|wdio|mocha|nightwatch|c8|web-test-runner)[.-](config|conf|workspace|preset)(\..*)?$`),
	regexp.MustCompile(`^\.(mocharc|nycrc|c8rc|coveragerc|rspec|taprc|swcrc|babelrc)(\..*)?$|^babel\.config\..*$|^\.?pytest\.(ini|toml)$|^conftest\.py$|^(site|user)customize\.py$|^(pytest|unittest|mypy|ruff|flake8|coverage)\.py$|^phpunit.*\.xml(\.dist)?$|^nextest\.toml$|^\.?testcontainers\.properties$|^setuptests\.[jt]sx?$|^(jest|vitest)[.-]setup\.[cm]?[jt]sx?$|^(spec|rails)_helper\.rb$|^test_helper\.exs$|^junit-platform\.properties$|^\.simplecov$`),
	// Linters, formatters, types.
	regexp.MustCompile(`^\.?golangci.*\.(ya?ml|toml|json)$|^staticcheck\.conf$|^\.?revive\.toml$|^\.eslintrc(\..*)?$|^eslint\.config\..*$|^\.[a-z]+ignore$|^\.prettierrc(\..*)?$|^prettier\.config\..*$`),
	regexp.MustCompile(`^\.?biome\.jsonc?$|^\.stylelintrc(\..*)?$|^stylelint\.config\..*$|^[tj]slint\.json$|^\.jshintrc$|^[tj]sconfig.*\.json$|^\.?ox(lint|fmt)rc\.json$|^\.?dprint\.jsonc?$|^\.xo-config.*$`),
	regexp.MustCompile(`^\.?ruff\.toml$|^\.?mypy\.ini$|^\.?pyright(config)?\.json$|^pyrightconfig\.json$|^\.flake8$|^\.?pylintrc(\.toml)?$|^\.isort\.cfg$|^\.bandit.*$|^bandit\.ya?ml$|^\.style\.yapf$|^\.pydocstyle.*$|^ty\.toml$`),
	regexp.MustCompile(`^\.?rustfmt\.toml$|^\.?clippy\.toml$|^\.?deny\.toml$|^rust-toolchain(\.toml)?$|^\.rubocop.*\.ya?ml$|^\.?phpstan.*\.(neon|php)(\.dist)?$|^\.clang-(tidy|format)$|^checkstyle.*\.xml$|^detekt\.ya?ml$`),
	regexp.MustCompile(`^\.editorconfig$|^\.?markdownlint.*$|^\.yamllint(\..*)?$|^\.?hadolint\.ya?ml$|^\.shellcheckrc$|^\.?commitlint(rc|\.config)?(\..*)?$|^buf\..*yaml$|^eslint-suppressions\.json$|^analysis_options\.ya?ml$|^[._]?typos\.toml$|^cspell\.(json|ya?ml|config\..*)$|^\.(sqlfluff|importlinter)$|^\.?spectral\.ya?ml$|^\.?semgrep.*\.ya?ml$|^\.[a-z-]*(lint|spell|fmt|format|cs-fixer|coverage)[^/]*$|^\.?sonar.*\.properties$`),
	// What the programs that run them read.
	regexp.MustCompile(`^(turbo|nx|lerna|rush|deno)\.jsonc?$|^\.?bunfig\.toml$|^\.npmrc$|^\.yarnrc(\.ya?ml)?$|^\.pnpmfile\.c?js$|^go\.work$|^nodemon\.json$|^(uv|poetry|pdm)\.toml$|^\.env(rc|\..*)?$`),
}

// below are directories all of whose files say what the checks are, or are programs that run them, in
// small letters.
var below = regexp.MustCompile(`(^|/)(\.github|\.gitlab|\.circleci|\.ci|\.buildkite|\.husky|\.githooks|\.git-hooks|git-?hooks|\.teamcity|\.woodpecker|\.semaphore|\.forgejo|\.gitea|\.cargo|\.config/nextest[^/]*|\.yarn/(plugins|releases)|gradle/wrapper|buildsrc|build-logic|\.mvn|magefiles|__pycache__|node_modules|\.?venv|\.tox|\.nox|_?vendor|pods|carthage)(/|$)|^(ci|_?pytest)(/|$)|^patches/[^/]+[@+][^/]+\.patch$`)

// instead are files at the top of a project, or where its sources or tests begin, that Python loads in place of what its test
// tools are made of.
var instead = regexp.MustCompile(`^(src/|lib/|tests?/)?(pluggy|iniconfig|packaging|exceptiongroup|tomli|tomllib|colorama|pygments|attrs?|abc|argparse|ast|asyncio|builtins|codecs|collections|contextlib|copy|dataclasses|datetime|difflib|doctest|enum|fnmatch|functools|getopt|glob|importlib|inspect|io|json|linecache|locale|bdb|bisect|concurrent|configparser|contextvars|faulthandler|getpass|heapq|itertools|keyword|reprlib|xml|_pytest|pytest_cov|pytest_mock|pytest_asyncio|pytest_django|pytest_timeout|xdist|hypothesis|logging|math|optparse|os|pathlib|pdb|pkgutil|platform|pprint|random|re|runpy|select|shlex|shutil|signal|site|socket|stat|string|struct|subprocess|sysconfig|tempfile|textwrap|threading|time|token|tokenize|traceback|types|typing|unittest|uuid|warnings|weakref|zipfile|pytest|mypy|ruff|flake8|coverage|tox|nox|black|isort|pylint)(\.py|/__init__\.py|(/__init__)?(\.[\w-]+)?\.(pyc|so|pyd))$`)

// Named reports whether the file of a path says what the checks are by its name alone. Of some,
// such as package.json, only a part does.
func Named(file string) bool {
	file = strings.ToLower(file)
	name := path.Base(file)
	if path.Ext(name) == ".md" {
		return false
	}
	if below.MatchString(file) || instead.MatchString(file) || InParts(file) {
		return true
	}
	for _, one := range byName {
		if one.MatchString(name) {
			return true
		}
	}
	return false
}
