package checks

import (
	"path"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
)

// checkNames are the files that say what the checks of a project are, whoever calls them, by their
// base names in small letters: what is run, and by which rules.
var checkNames = []*lazy.Pattern{
	// What runs the checks.
	lazy.Regexp(`^(gnu)?makefile(\..*)?$|\.(mk|mak|make)$|^\.?justfile$|\.just$|^taskfile(\.dist)?\.ya?ml$|^rakefile$|\.rake$|^magefile\.go$|^noxfile\.py$|^tox\.(ini|toml)$|^pants\.toml$|^moon\.ya?ml$|^(gulpfile|gruntfile)\.`),
	// What builds, and runs programs of the project while it does.
	lazy.Regexp(`^build\.(zig|sbt|xml|cake)$|\.gradle(\.kts)?$|^gradle(w|w\.bat|\.properties)$|^mvnw(\.cmd)?$|^setup\.hs$|^package\.swift$|^mix\.exs$|^rebar\.config$`),
	lazy.Regexp(`^cmakelists\.txt$|^cmakepresets\.json$|\.cmake$|^(meson\.build|meson_options\.txt|meson\.options)$|^(sconstruct|sconscript|wscript|configure|configure\.ac)$|^(build|workspace|module)(\.bazel)?$|^\.bazelrc$|^(buck|\.buckconfig)$|\.bzl$|^directory\.build\.(props|targets)$|^(dodo|fabfile)\.py$|\.(slnx?|runsettings)$`),
	lazy.Regexp(`^(next|nuxt|svelte|astro|webpack|rollup|rspack|rsbuild|tsup|tsdown|vue|craco|postcss)\.config\..*$|^(angular|cypress)\.json$|^pnpm-workspace\.ya?ml$|^package\.(json5|ya?ml)$`),
	lazy.Regexp(`^(docker-)?compose(\.[\w-]+)*\.ya?ml$|^(earthfile|tiltfile|vagrantfile|procfile|brewfile|hatch\.toml|pixi\.toml|flake\.nix|shell\.nix|default\.nix|\.tool-versions|\.nvmrc|\.(node|python)-version|cmakelists)$|^\.?mise(\.[\w-]+)*\.toml$`),
	// CI.
	lazy.Regexp(`^\.gitlab-ci.*\.ya?ml$|^\.travis\.ya?ml$|^azure-pipelines.*\.ya?ml$|^jenkinsfile(\..*)?$|^\.?appveyor\.ya?ml$|^bitbucket-pipelines\.ya?ml$|^\.?cirrus\.(ya?ml|star)$`),
	lazy.Regexp(`^\.(drone|woodpecker)\.(ya?ml|star|jsonnet)$|^cloudbuild\.ya?ml$|^buildspec\.ya?ml$|^\.?codecov\.ya?ml$|^action\.ya?ml$`),
	// Git, and its hooks.
	lazy.Regexp(`^\.git(attributes|ignore|modules)$|^\.pre-commit.*\.ya?ml$|^\.?lefthook.*\.(ya?ml|toml|json)$|^\.overcommit\.ya?ml$|^\.?lint-?staged(rc|\.config)?(\..*)?$|^\.huskyrc(\..*)?$`),
	// Tests.
	lazy.Regexp(`^(jest|vitest|vite|karma|ava|cypress|playwright|wdio|mocha|nightwatch|c8|web-test-runner|rstest|stryker)\.(config|conf|workspace)(\..*)?$|^jest-preset\..*$|^mocha\.opts$|^jasmine\.(json|mjs)$|^\.?testem\.(json|ya?ml|c?js)$`),
	lazy.Regexp(`^\.(mocharc|nycrc|c8rc|coveragerc|rspec|taprc|swcrc|babelrc)(\..*)?$|^babel\.config\..*$|^\.?pytest\.(ini|toml)$|^conftest\.py$|^(site|user)customize\.py$|^phpunit.*\.xml(\.dist)?$|^nextest\.toml$|^\.?testcontainers\.properties$|^setuptests\.[jt]sx?$|^(jest|vitest)[.-]setup\.[cm]?[jt]sx?$|^(spec|rails)_helper\.rb$|^test_helper\.exs$|^junit-platform\.properties$|^\.simplecov$`),
	// Linters, formatters, types.
	lazy.Regexp(`^\.?golangci.*\.(ya?ml|toml|json)$|^staticcheck\.conf$|^\.?revive\.toml$|^\.eslintrc(\..*)?$|^eslint\.config\..*$|^\.[a-z]*ignore$|^\.prettierrc(\..*)?$|^prettier\.config\..*$`),
	lazy.Regexp(`^\.?biome\.jsonc?$|^\.stylelintrc(\..*)?$|^stylelint\.config\..*$|^[tj]slint\.json$|^\.jshintrc$|^[tj]sconfig.*\.json$|^\.?ox(lint|fmt)rc\.json$|^\.?dprint\.jsonc?$|^\.xo-config.*$`),
	lazy.Regexp(`^\.?ruff\.toml$|^\.?mypy\.ini$|^\.?pyright(config)?\.json$|^pyrightconfig\.json$|^\.flake8$|^\.?pylintrc(\.toml)?$|^\.isort\.cfg$|^\.bandit.*$|^bandit\.ya?ml$|^\.style\.yapf$|^\.pydocstyle.*$|^ty\.toml$`),
	lazy.Regexp(`^\.?rustfmt\.toml$|^\.?clippy\.toml$|^\.?deny\.toml$|^rust-toolchain(\.toml)?$|^\.rubocop.*\.ya?ml$|^\.?phpstan.*\.(neon|php)(\.dist)?$|^\.clang-(tidy|format)$|^checkstyle.*\.xml$|^detekt\.ya?ml$`),
	lazy.Regexp(`^\.editorconfig$|^\.?markdownlint.*$|^\.yamllint(\..*)?$|^\.?hadolint\.ya?ml$|^\.shellcheckrc$|^\.?commitlint(rc|\.config)?(\..*)?$|^buf\..*yaml$|^eslint-suppressions\.json$|^analysis_options\.ya?ml$|^[._]?typos\.toml$|^cspell\.(json|ya?ml|config\..*)$|^\.(sqlfluff|importlinter)$|^\.?spectral\.ya?ml$|^\.?semgrep.*\.ya?ml$|^\.[a-z-]*(lint|spell|fmt|format|cs-fixer|coverage)[^/]*$|^\.?sonar.*\.properties$`),
	lazy.Regexp(`^psalm\.xml(\.dist)?$|^\.?phpcs\.xml(\.dist)?$|^pint\.json$|^rector\.php$|^\.credo\.exs$|^\.dialyzer_ignore\.exs$|^\.(standard|reek)\.yml$|^\.scalafix\.conf$|^scalastyle-config\.xml$|^cpplint\.cfg$|^\.pyre_configuration(\.local)?$|^pyrefly\.toml$`),
	lazy.Regexp(`^\.?knip(\.config)?\.(jsonc?|[jt]s)$|^\.dependency-cruiser\.(json|[cm]?js)$|^\.jscpd\.json$|^\.size-limit\.(json|[cm]?[jt]s)$|^\.vale\.ini$|^\.remarkrc(\..*)?$|^\.luacheckrc$|^sgconfig\.ya?ml$`),
	// What the programs that run them read.
	lazy.Regexp(`^(turbo|nx|lerna|rush|deno)\.jsonc?$|^\.?bunfig\.toml$|^\.npmrc$|^\.yarnrc(\.ya?ml)?$|^\.pnpmfile\.[cm]?js$|^go\.work$|^nodemon\.json$|^(uv|poetry|pdm)\.toml$|^\.env(rc|\..*)?$`),
}

// below are directories all of whose files say what the checks are, or are programs that run them, in
// small letters.
var below = lazy.Regexp(`(^|/)(\.github|\.gitlab|\.circleci|\.ci|\.buildkite|\.husky|\.githooks|\.git-hooks|git-?hooks|\.teamcity|\.woodpecker|\.semaphore|\.forgejo|\.gitea|\.cargo|\.config/(nextest|mise)[^/]*|\.mise|\.moon|\.yarn/(plugins|releases)|gradle/wrapper|buildsrc|\.mvn|magefiles|__pycache__|node_modules|\.venv|\.tox|\.nox|[^/]+\.(dist|egg)-info|egg-info)(/|$)|^patches/[^/]+[@+][^/]+\.patch$|(^|/)tests?/pest\.php$`)

// unlessCode are files that say what the checks are unless they are written in a language of sources, in small letters.
var unlessCode = lazy.Regexp(`(^|/)\.?(dockerfile|containerfile)(\.[^/]*)?$|^ci(/|$)`)

// begins are files and directories that say what the checks are where a project begins, in small letters: at the top of
// the tree, or beside one of these files. Elsewhere they are sources of such a name.
var begins = map[string][]string{
	"setup.py": python, "venv": python, "_vendor": nil,
	"vendor":      {"go.mod", "composer.json", "gemfile"},
	"pods":        {"podfile"},
	"carthage":    {"cartfile"},
	"build.rs":    {"cargo.toml"},
	"build-logic": {"settings.gradle", "settings.gradle.kts"},
}

// python are files beside which a project in Python begins.
var python = []string{"pyproject.toml", "setup.cfg", "manifest.in", "tox.ini", "pytest.ini", "requirements.txt", "pipfile"}

// byName reports whether the file of a path says what the checks are by its name and its place alone. Of some,
// such as package.json, only a part does.
func (s *search) byName(file string) bool {
	file = strings.ToLower(file)
	name, ending := path.Base(file), path.Ext(file)
	if ending == ".md" {
		return false
	}
	code := languages.MatchString(ending) || sources.MatchString(ending)
	if below.MatchString(file) || !code && unlessCode.MatchString(file) || InParts(file) {
		return true
	}
	for at := file; at != "."; at = path.Dir(at) {
		if beside, ok := begins[path.Base(at)]; ok && s.project(path.Dir(at), beside) {
			return true
		}
	}
	return slices.ContainsFunc(checkNames, func(one *lazy.Pattern) bool { return one.MatchString(name) })
}

// project reports whether a project begins in a directory: at the top, and beside such files.
func (s *search) project(dir string, beside []string) bool {
	return dir == "." || slices.ContainsFunc(beside, func(name string) bool { return len(s.folded[strings.ToLower(path.Join(dir, name))]) > 0 })
}
