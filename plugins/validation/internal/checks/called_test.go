package checks_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/internal/objects"
	"github.com/seed-706843ae/harness/plugins/validation/internal/checks"
)

// tree is a tree of files: of a name that ends in * a program, of a content that begins with -> a
// link, and of the content submodule one. Those of a name that begins with = were there before.
func tree(files map[string]string) checks.Tree {
	entries, before := make(map[string]objects.Entry), make(map[string]objects.Entry)
	for name, content := range files {
		e := objects.Entry{Mode: "100644", ID: content, Size: int64(len(content))}
		switch {
		case strings.HasSuffix(name, "*"):
			name, e.Mode = strings.TrimSuffix(name, "*"), objects.Program
		case strings.HasPrefix(content, "->"):
			e.Mode, e.ID = objects.Link, content
		case content == "submodule":
			e.Mode, e.Size = objects.Submodule, -1
		}
		if old, ok := strings.CutPrefix(name, "="); ok {
			name, before[old] = old, e
		}
		entries[name] = e
	}
	return checks.Tree{Entries: entries, Before: before, Blobs: func(ids []string) (map[string]string, error) {
		contents := make(map[string]string)
		for _, id := range ids {
			contents[id] = strings.TrimPrefix(id, "->")
		}
		return contents, nil
	}}
}

// Whatever a check is made of is found: by its name, or because one names it.
func TestFilesOfTheChecks(t *testing.T) {
	for name, row := range map[string]struct {
		files    map[string]string
		commands []string
		want     string // without those that are found by their name in each row: Makefile, package.json
	}{
		"by their names": {map[string]string{
			".github/workflows/CI.yml": "", ".golangci.yaml": "", "sub/.eslintrc.cjs": "", "eslint.config.mjs": "", "ruff.toml": "", "tox.ini": "", "x/conftest.py": "", "tsconfig.build.json": "", "jest.config.ts": "",
			"vitest.config.ts": "", "pytest.ini": "", ".husky/pre-commit": "", ".pre-commit-config.yaml": "", "rules.mk": "", ".gitattributes": "", ".ci/run": "", "src/main.go": "", "docs/ci.md": "", "hooks/useX.ts": "", "config.yml": "", "ci.go": "",
		}, nil, ".ci/run .eslintrc.cjs .gitattributes .github/workflows/CI.yml .golangci.yaml .husky/pre-commit .pre-commit-config.yaml eslint.config.mjs jest.config.ts pytest.ini rules.mk ruff.toml sub/.eslintrc.cjs tox.ini tsconfig.build.json vitest.config.ts x/conftest.py"},
		"in capitals":                      {map[string]string{"MAKEFILE": "", ".GITHUB/Workflows/x": "", "Ruff.TOML": "", "PyTest.ini": "", ".CI/x": ""}, nil, ".CI/x .GITHUB/Workflows/x MAKEFILE PyTest.ini Ruff.TOML"},
		"named in capitals":                {map[string]string{"Makefile": "test:\n\tsh Scripts/TEST.sh\n", "scripts/test.sh": ""}, nil, "scripts/test.sh"},
		"called by the operator":           {map[string]string{"tools/all": "sh tools/one.sh\n", "tools/one.sh": "", "other.sh": ""}, []string{"cd x; tools/all --fast"}, "tools/all tools/one.sh"},
		"scripts of a package":             {map[string]string{"package.json": `{"scripts":{"pretest":"node p.js","test":"npm run unit","unit":"node tools/unit.mjs","start":"node app.js"}}`, "p.js": "", "tools/unit.mjs": "", "app.js": ""}, nil, "p.js tools/unit.mjs"},
		"what a package configures":        {map[string]string{"package.json": `{"jest":{"setupFiles":["<rootDir>/setup.js"]},"eslintConfig":{"extends":"./base"},"main":"./index.js"}`, "setup.js": "", "base.json": "", "index.js": ""}, nil, "base.json setup.js"},
		"what a configuration extends":     {map[string]string{"tsconfig.json": `{"extends":"./config/base.json"}`, "config/base.json": `{"extends":"./strict"}`, "config/strict.json": ""}, nil, "config/base.json config/strict.json tsconfig.json"},
		"what a workflow calls":            {map[string]string{".github/workflows/x.yml": "run: ./go.sh\n", "go.sh*": "exec tools/deep", "tools/deep": "", "other": ""}, nil, ".github/workflows/x.yml go.sh tools/deep"},
		"a program in Go":                  {map[string]string{"Makefile": "lint:\n\tgo run -race ./tools/lint ./...\n\tgo run tools/one.go\n", "tools/lint/main.go": "", "tools/one.go": "", "tools/two.go": "", "main.go": ""}, nil, "tools/lint/main.go tools/one.go"},
		"a module file of its tools":       {map[string]string{"Makefile": "lint:\n\tgo tool -modfile=tools/lint.conf golangci-lint run\n", "tools/lint.conf": "", "go.mod": ""}, nil, "go.mod tools/lint.conf"},
		"other targets":                    {map[string]string{"Makefile": "test: one\none:\n\t$(MAKE) two\ntwo:\n\tsh two.sh\nserve:\n\tsh serve.sh\n.PHONY: serve\n", "two.sh": "", "serve.sh": ""}, nil, "two.sh"},
		"continued":                        {map[string]string{"Makefile": "test:\n\tcd x && \\\n\tsh ../t.sh\n", "t.sh": ""}, nil, "t.sh"},
		"variables":                        {map[string]string{"Makefile": "A=x\nB:=$(A)/y\nC?=${B}/z.yml\ntest:\n\tlint -c$(C) $(UNKNOWN)/w.toml\n", "x/y/z.yml": "", "q/w.toml": "", "q/v.toml": ""}, nil, "q/w.toml x/y/z.yml"},
		"links":                            {map[string]string{"Makefile": "test:\n\t./a/run\n", "a": "->b", "b": "->c/d", "c/d/run": "->../../e.sh", "e.sh": ""}, nil, "a b c/d/run e.sh"},
		"links in a circle":                {map[string]string{"Makefile": "test:\n\t./a/run ./c\n", "a": "->b", "b": "->a", "c": "->/etc/passwd"}, nil, "a b c"},
		"a link to all":                    {map[string]string{".github": "->meta", "meta/workflows/x.yml": "", "meta/y": ""}, nil, ".github meta/workflows/x.yml meta/y"},
		"a submodule":                      {map[string]string{"Makefile": "include common/rules.inc\n", "common": "submodule", "other": "submodule"}, nil, "common"},
		"words with spaces":                {map[string]string{"Makefile": "test:\n\tsh \"the tests.sh\" 'prüfe alles'\n", "the tests.sh": "", "prüfe alles*": "", "no tests.sh": ""}, nil, "prüfe alles the tests.sh"},
		"included, whatever its name":      {map[string]string{"Makefile": "-include $(wildcard conf/*) a.txt b.dat\ntest:\n\tgrep -qf w.txt x.txt\n", "conf/c.txt": "", "a.txt": "", "b.dat": "", "w.txt": "", "x.txt": ""}, nil, "a.txt b.dat conf/c.txt w.txt"},
		"in place of its program":          {map[string]string{"package.json": `{"scripts":{"test":"jest"}}`, "node_modules/.bin/jest*": "", "node_modules/jest/x.js": "", "pytest.py": "", "sub/.venv/bin/python*": ""}, nil, "node_modules/.bin/jest node_modules/jest/x.js pytest.py sub/.venv/bin/python"},
		"that wears out":                   {map[string]string{"Makefile": "A = " + strings.Repeat("x", 2000) + "\ntest:\n\t" + strings.Repeat("$(A)", 1000) + strings.Repeat(" *", 500) + "\n\tsh t.sh\n" + strings.Repeat("A += y\n", 1000), "t.sh": ""}, nil, "t.sh"},
		"no sources, no data":              {map[string]string{"Makefile": "SRC = main.c lib/x.c\ntest:\n\tcc $(SRC) && ./a.out <in.txt | diff out.txt -\n\tnode --test test.js && pytest tests/a.py && python3 -m unittest tests/a.py\n\trm -rf in.txt; [ -f out.txt ] && test -f in.txt\n", "main.c": "", "lib/x.c": "", "in.txt": "", "out.txt": "", "test.js": "", "tests/a.py": ""}, nil, ""},
		"tests that are run as a program":  {map[string]string{"Makefile": "test:\n\tnode test\n\tpython3 tests/run_all.py\n", "test.js": "require('./app')", "app.js": "", "tests/run_all.py": "import app, lib\nfrom more import x\n", "tests/lib.py": "", "tests/more.py": "", "app.py": "", "tests/test_a.py": ""}, nil, "test.js tests/lib.py tests/more.py tests/run_all.py"},
		"in another directory":             {map[string]string{"Makefile": "test:\n\tcd qa && ./run && node all && pytest qa/test_x.py\nlint:\n\t$(MAKE) -C more\n", "qa/run": "sh deep/er", "qa/all.js": "", "qa/deep/er": "", "qa/x.js": "", "qa/test_x.py": "", "more/Makefile": ""}, nil, "more/Makefile qa/all.js qa/deep/er qa/run"},
		"modules":                          {map[string]string{"Makefile": "test:\n\tpython -m tools.check src\n\tpython3 -m qa && pytest -p plug.strict\n", "tools/check.py": "from tools.deep import x\n", "tools/deep.py": "", "tools/other.py": "", "qa/__main__.py": "from . import more\nfrom .less import x\nimport app\n", "qa/less.py": "", "app.py": "", "plug/strict.py": "", "src/check.py": ""}, nil, "plug/strict.py qa/__main__.py qa/less.py tools/check.py tools/deep.py"},
		"a list of what is run":            {map[string]string{"Makefile": "test:\n\twhile read t; do sh $$t; done <tests.list\n\tcat notes.txt\n", "tests.list": "one\ntwo\n", "one": "", "two": "", "three": "", "notes.txt": "one or two words"}, nil, "notes.txt one tests.list two"},
		"words that are run":               {map[string]string{"Makefile": "test:\n\tbash -c \"$$(cat qa.txt)\"\n\tsh <more.txt\n\tcat only.txt\n", "qa.txt": "true", "more.txt": "true", "only.txt": "true"}, nil, "more.txt qa.txt"},
		"put together":                     {map[string]string{"Makefile": "test: ; for f in $(addprefix deep/,a.sh b); do $$f; done\n", "deep/a.sh": "", "deep/b": "", "deep/c.sh": ""}, nil, "deep/a.sh deep/c.sh"},
		"by a setting":                     {map[string]string{"Makefile": "test:\n\tBASH_ENV=x.txt NODE_OPTIONS=--import=./y.txt node --test\n", "x.txt": "", "y.txt": ""}, nil, "x.txt y.txt"},
		"plugins of pytest":                {map[string]string{"conftest.py": "pytest_plugins = ['tests.strict']\nimport app\n", "tests/strict.py": "", "app.py": ""}, nil, "conftest.py tests/strict.py"},
		"in place of a module":             {map[string]string{"pluggy.py": "", "src/unittest/__init__.py": "", "app/types.py": "", "vendor/testify/assert.go": "", "operator.py": "", "urllib/__init__.py": "", "py.py": "", "_csv.py": "", "__future__.py": "", "=sub/pyproject.toml": "[tool.x]\n", "sub/csv.py": "", "sub/src/email.py": "", "sub/deep/email.py": ""}, nil, "__future__.py _csv.py operator.py pluggy.py py.py src/unittest/__init__.py sub/csv.py sub/pyproject.toml sub/src/email.py urllib/__init__.py vendor/testify/assert.go"},
		"on Python's path":                 {map[string]string{"Makefile": "test:\n\tPYTHONPATH=$(CURDIR)/py python -m pytest\n\tcd qa; python -m unittest\n\tmypy app\n", "py/code.py": "", "qa/gettext/__init__.py": "", "=app/__init__.py": "", "app/types.py": "", "other/code.py": ""}, nil, "py/code.py qa/gettext/__init__.py"},
		"installed from there":             {map[string]string{"=Makefile": "test:\n\tpip install -e svc/a\n", "=svc/a/setup.py": "", "=svc/b/setup.py": ""}, nil, "svc/a/setup.py"},
		"modules that were there":          {map[string]string{"=src/types.py": "", "=src/logging.py": "", "=token.py": "", "=lib/uuid.py": "", "=coverage.py": "", "=foo.pyi": "", "=foo.py": "", "=__mocks__/a.js": ""}, nil, ""},
		"plugins that lie there":           {map[string]string{"evil-1.0.dist-info/entry_points.txt": "[console_scripts]\nx = app.main:run\n\ny = more:run\n[pytest11]\nevil = plug.in\n", "evil-1.0.dist-info/METADATA": "", "src/x.egg-info/PKG-INFO": "", "sub/EGG-INFO/entry_points.txt": "", "plug/in.py": "", "app/main.py": "", "more.py": "", "info/x.txt": ""}, nil, "evil-1.0.dist-info/METADATA evil-1.0.dist-info/entry_points.txt plug/in.py src/x.egg-info/PKG-INFO sub/EGG-INFO/entry_points.txt"},
		"in place of a package of Jest":    {map[string]string{"__mocks__/expectlib.js": "", "src/deep/__mocks__/@a/b.ts": "", "=src/api.ts": "", "src/__mocks__/api.ts": "", "=src/more/index.js": "", "src/__mocks__/more.js": "", "src/new.js": "", "src/__mocks__/new.js": "", "src/__mocks__/users.json": "{}"}, nil, "__mocks__/expectlib.js src/__mocks__/new.js src/deep/__mocks__/@a/b.ts"},
		"in place of types":                {map[string]string{"=foo.py": "", "foo.pyi": "", "=bar.py": "", "bar/__init__.pyi": "", "=baz/__init__.py": "", "baz/__init__.pyi": "", "new.py": "", "new.pyi": "", "=c.pyi": ""}, nil, "bar/__init__.pyi baz/__init__.pyi foo.pyi"},
		"of a crate":                       {map[string]string{"=Cargo.toml": "[package]\nbuild = \"gen/main.rs\"\n", "=gen/main.rs": "", "=sub/Cargo.toml": "", "=sub/build.rs": "", "=src/build.rs": ""}, nil, "Cargo.toml gen/main.rs sub/Cargo.toml sub/build.rs"},
		"where a project begins":           {map[string]string{"=sub/go.mod": "", "=sub/vendor/modules.txt": "", "=php/composer.json": "", "=php/vendor/bin/x": "", "=ios/Podfile": "", "=ios/Pods/x": "", "=py/pyproject.toml": "", "=py/setup.py": "", "=py/venv/bin/x": "", "=j/settings.gradle": "", "=j/build-logic/x.kt": "", "=setup.py": ""}, nil, "ios/Pods/x j/build-logic/x.kt j/settings.gradle php/composer.json php/vendor/bin/x py/pyproject.toml py/setup.py py/venv/bin/x setup.py sub/go.mod sub/vendor/modules.txt"},
		"sources that are called so":       {map[string]string{"=app/vendor/models.py": "", "app/vendor/new.py": "", "=app/commands/setup.py": "", "=insurance/coverage.py": "", "pkg/coverage.py": "", "=pkg/compose.go": "", "src/compose.js": "", "lib/compose.py": "", "pkg/pods/handler.go": "", "src/pods/list.tsx": "", "src/carthage/x.py": "", "ci/client.go": "", "ci/ui/x.tsx": "", "src/cmd/build.rs": "", "internal/build-logic/x.go": "", "pkg/dockerfile.go": "", "src/containerfile.ts": "", "src/mocha-config.ts": "", "src/vite-config.ts": "", "src/pip/_vendor/x.py": "", "src/venv/x.py": ""}, nil, ""},
		"containers and CI":                {map[string]string{"Dockerfile": "", "Dockerfile.dev": "", "sub/.dockerfile": "", "compose.override.yml": "", "docker-compose.yaml": "", "ci/pipeline.yml": "", "ci/run.sh": "", "ci/run": ""}, nil, "Dockerfile Dockerfile.dev ci/pipeline.yml ci/run ci/run.sh compose.override.yml docker-compose.yaml sub/.dockerfile"},
		"of package managers":              {map[string]string{"packages/a/package.yaml": "", "packages/b/package.json5": "", ".pnpmfile.mjs": "", ".nvmrc": "", ".node-version": "", ".python-version": "", "mise.local.toml": "", ".mise/config.toml": "", ".config/mise/config.toml": "", ".moon/tasks.yml": "", "pants.toml": "", "BUCK": "", "postcss.config.js": ""}, nil, ".config/mise/config.toml .mise/config.toml .moon/tasks.yml .node-version .nvmrc .pnpmfile.mjs .python-version BUCK mise.local.toml packages/a/package.yaml packages/b/package.json5 pants.toml postcss.config.js"},
		"of more test tools":               {map[string]string{"test/mocha.opts": "", "spec/support/jasmine.json": "", "testem.js": "", "tests/Pest.php": "", "rstest.config.ts": "", "stryker.config.mjs": "", "tox.toml": "", "app/Pest.php": "", "lib/jasmine.js": ""}, nil, "rstest.config.ts spec/support/jasmine.json stryker.config.mjs test/mocha.opts testem.js tests/Pest.php tox.toml"},
		"of more linters":                  {map[string]string{".ignore": "", "psalm.xml": "", "phpcs.xml.dist": "", "pint.json": "", "rector.php": "", ".credo.exs": "", ".dialyzer_ignore.exs": "", ".standard.yml": "", ".reek.yml": "", ".scalafix.conf": "", "scalastyle-config.xml": "", "CPPLINT.cfg": "", ".pyre_configuration": "", "pyrefly.toml": "", "knip.json": "", ".dependency-cruiser.js": "", ".jscpd.json": "", ".size-limit.json": "", ".vale.ini": "", ".remarkrc": "", ".luacheckrc": "", "sgconfig.yml": ""}, nil, ".credo.exs .dependency-cruiser.js .dialyzer_ignore.exs .ignore .jscpd.json .luacheckrc .pyre_configuration .reek.yml .remarkrc .scalafix.conf .size-limit.json .standard.yml .vale.ini CPPLINT.cfg knip.json phpcs.xml.dist pint.json psalm.xml pyrefly.toml rector.php scalastyle-config.xml sgconfig.yml"},
		"on the path":                      {map[string]string{"Makefile": "export PATH := $(CURDIR)/tooling:$(PATH)\ntest:\n\tgrep -q two a.txt\n", "tooling/grep*": "", "tooling/x.py": ""}, nil, "tooling/grep"},
		"what builds":                      {map[string]string{"build.rs": "", "sub/pom.xml": "", "setup.py": "", "Taskfile.dist.yml": "", "app/build.gradle.kts": "", "CMakeLists.txt": "", "gradle/wrapper/x.jar": "", "src/build.go": ""}, nil, "CMakeLists.txt Taskfile.dist.yml app/build.gradle.kts build.rs gradle/wrapper/x.jar setup.py sub/pom.xml"},
		"of other tools":                   {map[string]string{"pytest.toml": "", "uv.toml": "", "eslint-suppressions.json": "", "next.config.mjs": "", "pnpm-workspace.yaml": "", "src/setupTests.ts": "", "jest.setup.js": "", "spec/spec_helper.rb": "", "lib/tasks/x.rake": "", "gradle/quality.gradle": "", "build-logic/x.kt": "", ".mvn/maven.config": "", "magefiles/x.go": "", "patches/jest@1.patch": "", ".swiftlint.yml": "", ".testcoverage.yml": "", "requirements/dev.in": "", "sub/requirements-test.txt": "", "Pipfile": "", "Gemfile": "", "app.config.ts": "", "tailwind.config.js": "", "debian/patches/x.patch": "", ".env": "", "docs/requirements.md": "", "test/helper.js": ""}, nil, ".env .mvn/maven.config .swiftlint.yml .testcoverage.yml Gemfile Pipfile build-logic/x.kt eslint-suppressions.json gradle/quality.gradle jest.setup.js lib/tasks/x.rake magefiles/x.go next.config.mjs patches/jest@1.patch pnpm-workspace.yaml pytest.toml requirements/dev.in spec/spec_helper.rb src/setupTests.ts sub/requirements-test.txt uv.toml"},
		"what tests load before":           {map[string]string{"vitest.config.ts": "setupFiles: ['./src/test/setup.ts', 'more.setup.ts'], globalSetup: require.resolve('./global'), include: ['./src/**/*.ts'], entry: './src/main.ts', r: './my-rules'", "src/test/setup.ts": "", "more.setup.ts": "", "global.ts": "", "src/main.ts": "", "src/a/b.ts": "", "my-rules/index.js": "", "phpunit.xml": "<phpunit bootstrap=\"tests/bootstrap.php\"/>", "tests/bootstrap.php": "", "tests/a.php": ""}, nil, "global.ts more.setup.ts my-rules/index.js phpunit.xml src/test/setup.ts tests/bootstrap.php vitest.config.ts"},
		"patterns of rules":                {map[string]string{"tsconfig.json": `{"compilerOptions":{"paths":{"@/*":["./src/*"]}},"include":["./src/**/*"]}`, "eslint.config.js": "files: ['**/*.json', '**/*.js', '<rootDir>/src/*']", ".gitattributes": "* text=auto\n", ".github/CODEOWNERS": "* @a\n", ".github/x.yml": "for f in qa/*; do sh $f", "src/a.ts": "", "src/a/b.ts": "", "locales/en.json": "", "LICENSE": "", "tool*": "", "bin/x.js*": "", "x.yml": "", "qa/one": ""}, nil, ".gitattributes .github/CODEOWNERS .github/x.yml eslint.config.js qa/one tsconfig.json"},
		"sources that rules name":          {map[string]string{".golangci.yml": "# cd x\npath: core/a.go ${base}/core/a.go\n", "core/a.go": ""}, nil, ".golangci.yml"},
		"what a package offers":            {map[string]string{"package.json": `{"bin":{"x":"./src/cli.js"},"imports":{"#a/*":"./src/*.js"},"jest":{"runner":"./r.js"}}`, "src/cli.js": "", "r.js": ""}, nil, "r.js"},
		"what a container serves":          {map[string]string{"Dockerfile": "RUN sh prepare.sh\nCMD [\"python\", \"app.py\"]\n", "compose.yaml": "    command: python app.py\n", "Procfile": "web: node server.js\n", "compose.test.yml": "    command: python all.py\n", "app.py": "", "server.js": "", "prepare.sh": "", "all.py": ""}, nil, "Dockerfile Procfile all.py compose.test.yml compose.yaml prepare.sh"},
		"documents":                        {map[string]string{"pyproject.toml": "[project]\nreadme = \"README.md\"\nlicense = {file = \"LICENSE\"}\n[tool.x]\na = 1\n", "README.md": "see app.py", "LICENSE": "", "app.py": ""}, nil, "pyproject.toml"},
		"scripts that are linted":          {map[string]string{"Makefile": "lint:\n\tshellcheck -x x.sh && sh y.sh\n", "x.sh": "", "y.sh": ""}, nil, "y.sh"},
		"tests of bats":                    {map[string]string{"Makefile": "test:\n\tbats tests tests/*.bats\n", "tests/a.bats": "run bin/x\n", "bin/x*": ""}, nil, ""},
		"what is passed over":              {map[string]string{"Makefile": "test:\n\tpython tools/run.py\n\twhile read p; do go test $$p; done <packages.txt\n", "tools/run.py": "open('tools/known_failures.txt'), open('tools/data.txt')", "tools/known_failures.txt": "test_a", "tools/data.txt": "test_a", "packages.txt": "./a\n", "a/a.go": ""}, nil, "packages.txt tools/known_failures.txt tools/run.py"},
		"a tool in Go":                     {map[string]string{"Makefile": "lint:\n\tgo run ./cmd/lint ./...\ntest:\n\tgo run ./cmd/x\n", "cmd/lint/main.go": "", "cmd/x/main.go": ""}, nil, "cmd/lint/main.go"},
		"scripts by a pattern":             {map[string]string{"package.json": `{"scripts":{"test":"run-s test:* 'npm:more:*'","test:unit":"node u.js","more:x":"node m.js","other":"node o.js"}}`, "u.js": "", "m.js": "", "o.js": ""}, nil, "m.js u.js"},
		"a directory in place of a target": {map[string]string{"Makefile": "test:\n\ttrue\nlint: x\n\ttrue\nbuild:\n\ttrue\ntypecheck: x\n\ttrue\n.PHONY: build\n", "test/a/b.txt": "", "lint/a.txt": "", "build/a.txt": "", "serve/a.txt": "", "=typecheck/a": "", "typecheck/b": ""}, nil, "lint/a.txt test/a/b.txt"},
		"what make would have made":        {map[string]string{"Makefile": "OUT = out\ntest:tested.txt out/x $(OUT)/y src.c old.txt\ntested.txt $(OUT)/y: a.txt\n\tsh t.sh\nout/%: a.txt\n\tfalse\nold.txt:\n\tfalse\nother.txt:\n\tfalse\n", "tested.txt": "", "out/x": "", "out/y": "", "=old.txt": "", "src.c": "", "other.txt": "", "a.txt": "", "t.sh": ""}, nil, "out/x out/y t.sh tested.txt"},
		"what make makes a script from":    {map[string]string{"=Makefile": "-include conf/vars\ntest: bin/run check own.conf made other\n\tbin/run\n%.conf: %.conf.in\n\tcp $< $@\nmade:\n\ttrue\n", "=bin/run*": "", "bin/run.sh": "", "bin/RCS/run,v": "", "=check*": "", "check.c": "", "s.check": "", "=own.conf": "", "own.conf.in": "", "=made": "", "made.sh": "", "other.sh": "", "=conf/vars": "", "conf/vars.o": "", "s.Makefile": "", "test.sh": ""}, nil, "bin/RCS/run,v bin/run bin/run.sh check check.c conf/vars conf/vars.o made own.conf own.conf.in s.Makefile s.check"},
		"compiled, in place of a source":   {map[string]string{"__pycache__/app.cpython-313.pyc": "", "pluggy.pyc": "", "unittest.abi3.so": "", "src/json/__init__.py": "", "tests/json/test_a.py": "", "app.so": ""}, nil, "__pycache__/app.cpython-313.pyc pluggy.pyc src/json/__init__.py unittest.abi3.so"},
	} {
		found, err := tree(row.files).Files(row.commands)
		if err != nil {
			t.Fatal(err)
		}
		delete(found, "Makefile")
		delete(found, "package.json")
		want := slices.Sorted(slices.Values(strings.Fields(row.want)))
		got := slices.Sorted(slices.Values(strings.Fields(strings.Join(slices.Collect(maps.Keys(found)), " "))))
		if name == "by their names" {
			delete(found, "x")
			want = slices.DeleteFunc(want, func(file string) bool { return file == ".eslintrc.cjs" })
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%q, want\n%q", name, got, want)
		}
	}
}

// Of files that say more, the part is told apart that says what the checks are.
func TestPartsThatAreOfTheChecks(t *testing.T) {
	const project = "[project]\nversion = '1'\n"
	for name, row := range map[string]struct {
		file, before, after string
		same                bool
		has, not            string // of what the checks of before are put into
	}{
		"only a dependency":            {"package.json", `{"scripts":{"test":"a"},"dependencies":{"x":"1"}}`, `{"dependencies":{"x":"2"},"scripts":{"test":"a"}}`, true, "", ""},
		"only a script":                {"package.json", `{"scripts":{"test":"strong"},"dependencies":{"x":"1"}}`, `{"scripts":{"test":"weak"},"dependencies":{"x":"2"}}`, false, `{"dependencies":{"x":"2"},"scripts":{"test":"strong"}}`, "weak"},
		"a script by another spelling": {"Package.JSON", `{"scripts":{"test":"strong"}}`, `{"\u0073cripts":{"test":"weak"},"name":"x"}`, false, "strong", "weak"},
		"twice":                        {"package.json", `{"scripts":{"test":"strong"}}`, `{"scripts":{"test":"strong"},"scripts":{"test":"weak"}}`, false, "strong", "weak"},
		"a configuration":              {"package.json", `{"name":"x"}`, `{"name":"x","jest":{"testPathIgnorePatterns":["."]}}`, false, `{"name":"x"}`, "jest"},
		"unreadable":                   {"package.json", `{"scripts":{"test":"strong"}}`, `{"scripts":`, false, "strong", ""},
		"new":                          {"package.json", "", `{"version":"1","scripts":{"test":"weak"}}`, false, `{"version":"1"}`, "weak"},
		"new, without any":             {"package.json", "", `{"version":"1"}`, true, "", ""},
		"a name":                       {"package.json", `{"version":"1"}`, `{"version":"1","name":"jest"}`, false, "{", "jest"},
		"a tool":                       {"go.mod", "module x\ntool a\n", "module x\nrequire b v1\ntool (\n\tevil\n)\n", false, "tool a", "evil"},
		"what is passed over":          {"go.mod", "module x\n", "module x\nignore (\n\t./core\n)\n", false, "module x", "core"},
		"an older language":            {"go.mod", "module x\ngo 1.24\nrequire a v1\n", "module x\n\ngo 1.9 // go\nrequire b v1\n", false, "b v1\n\ngo 1.24\n", "1.9"},
		"no language":                  {"go.mod", "module x\ngo 1.24\n", "module x\n", false, "go 1.24", ""},
		"an older one and a tool":      {"go.mod", "module x\ngo 1.24.0\ntool a\n", "module x\ngo 1.24rc1\ntool evil\n", false, "tool a", "rc1"},
		"a newer language":             {"go.mod", "module x\ngo 1.9\n", "module x\ngo 1.24\n", true, "", ""},
		"a first language":             {"go.mod", "module x\n", "module x\ngo 1.15\n", true, "", ""},
		"a requirement":                {"go.mod", "module x\ntool a\nrequire b v1\n", "module x\nrequire (\n\tb v2 // tool x\n\ttool v3\n)\ntool a\n", true, "", ""},
		"a module in the project":      {"core/go.mod", "", "module x\n", false, "", "module"},
		"no module any more":           {"go.mod", "module x\n", "", false, "module x", ""},
		"a package in its place":       {"package.json", `{"devDependencies":{"jest":"1"},"name":"x"}`, `{"devDependencies":{"jest": "file:./fake"},"name":"x"}`, false, `"name":"x"`, "fake"},
		"a package by an alias":        {"package.json", `{"devDependencies":{"jest":"1","b":"1"}}`, `{"devDependencies":{"jest":"npm:fake@1","b":"2"}}`, false, `"b":"2"`, "fake"},
		"by an escape":                 {"package.json", `{"devDependencies":{"jest":"1"}}`, `{"devDependencies":{"jest":"\u0066ile:fake"}}`, false, "{", "ile:fake"},
		"one that always was":          {"package.json", `{"dependencies":{"a":"workspace:*","b":"1"}}`, `{"dependencies":{"a":"workspace:*","b":"2"}}`, true, "", ""},
		"one that was, and a script":   {"package.json", `{"dependencies":{"a":"workspace:*","b":"1"},"scripts":{"test":"x"}}`, `{"dependencies":{"a":"workspace:*","b":"2"}}`, false, `{"dependencies":{"a":"workspace:*","b":"2"},"scripts"`, ""},
		"an entry point":               {"pyproject.toml", project, project + "[project.entry-points.pytest11]\na = 'fake'\n", false, project, "fake"},
		"an entry point in a line":     {"pyproject.toml", project, project + "entry-points.pytest11.a = 'fake'\n", false, project, "fake"},
		"a script in a line":           {"pyproject.toml", project, project + "scripts = {pytest = 'fake:main'}\n", false, project, "fake"},
		"a path":                       {"pyproject.toml", "[tool.poetry.dependencies]\npytest = '8'\n", "[tool.poetry.dependencies]\npytest = {path='fake'}\n", false, "8", "fake"},
		"a path in a section":          {"pyproject.toml", "[tool.poetry.dependencies]\na = '8'\n", "[tool.poetry.dependencies]\na = '8'\n[tool.poetry.dependencies.pytest]\n\"path\"= 'fake'\n", false, "8", "fake"},
		"an escaped path":              {"pyproject.toml", "[tool.poetry.dependencies]\na = '8'\n", "[tool.poetry.dependencies]\na = {\"p\\u0061th\" = 'fake'}\n", false, "8", "fake"},
		"an address":                   {"pyproject.toml", project, project + "dependencies = ['pytest @ file:///fake']\n", false, project, "fake"},
		"an address, close":            {"pyproject.toml", project, project + "dependencies = ['pytest@https://fake']\n", false, project, "fake"},
		"authors":                      {"pyproject.toml", project, project + "authors = [{name = 'A', email = 'a@b.example'}]\ndependencies = ['a>=2']\n", true, "", ""},
		"a backend":                    {"pyproject.toml", project, project + "[build-system]\nbackend-path = ['fake']\n", false, project, "fake"},
		"entry points of old":          {"setup.cfg", "[metadata]\nname = x\n", "[metadata]\nname = x\n[options.entry_points]\npytest11 = a = fake\n", false, "name = x", "fake"},
		"a crate in its place":         {"Cargo.toml", "[package]\nname = 'x'\n[dev-dependencies]\na = '1'\n", "[package]\nname = 'x'\n[dev-dependencies]\na = {path = 'fake'}\n", false, "'1'", "fake"},
		"a dependency of Maven":        {"pom.xml", "<project><dependencies><a/></dependencies></project>", "<project><dependencies><b/></dependencies></project>", true, "", ""},
		"tests that Maven skips":       {"pom.xml", "<project></project>", "<project><properties><skipTests>true</skipTests></properties></project>", false, "<project></project>", "skip"},
		"a lock":                       {"package-lock.json", `{"packages":{"node_modules/@a/b":{"resolved":"https://r.example/@a/b/-/b-1.tgz"}}}`, `{"packages":{"node_modules/@a/b":{"resolved":"https://r.example/@a/b/-/b-2.tgz"},"node_modules/x/node_modules/c":{"resolved":"https://r.example/c/-/c-1.tgz"}}}`, true, "", ""},
		"a lock of another":            {"package-lock.json", `{"packages":{"node_modules/b":{"resolved":"https://r.example/b/-/b-1.tgz"}}}`, `{"packages":{"node_modules/b":{"resolved":"https://r.example/fake/-/fake-1.tgz"}}}`, false, "b-1", "fake"},
		"a lock of a path":             {"package-lock.json", `{"packages":{}}`, `{"packages":{"node_modules/b":{"resolved":"\u0066ake","link":true}}}`, false, "{}", "ake"},
		"a lock of another host":       {"yarn.lock", "resolved \"https://r.example/a.tgz\"\n", "resolved \"https://fake.example/a.tgz\"\n", false, "r.example", "fake"},
		"a lock of a directory":        {"uv.lock", "source = { registry = \"https://r.example/simple\" }\n", "source = { registry = \"https://r.example/simple\" }\nsource = { editable = \"fake\" }\n", false, "simple", "fake"},
		"a lock of more":               {"uv.lock", "source = { registry = \"https://r.example/simple\" }\nversion = 1", "version = 2\nsource = { registry = \"https://r.example/simple\" }\n", true, "", ""},
		"a replacement":                {"go.mod", "module x\n", "module x\nreplace(\n lint => ./fake\n)\n", false, "module x", "fake"},
		"a section":                    {"pyproject.toml", project + "[tool.pytest.ini_options]\naddopts = 'strict'\n", "[project]\nversion = '2'\n[tool.pytest.ini_options]\naddopts = '--ignore=.'\n", false, "version = '2'\n[tool.pytest.ini_options]\naddopts = 'strict'", "ignore"},
		"before all sections":          {"pyproject.toml", project, "tool.pytest.ini_options.addopts = '--ignore=.'\n" + project, false, project, "ignore"},
		"in a text":                    {"pyproject.toml", project + "[tool.x]\na = 1\n", project + "[tool.x]\na = 1\nb = \"\"\"\n[project]\n\"\"\"\naddopts = 'weak'\n", false, "a = 1", "weak"},
		"a quoted header":              {"pyproject.toml", project, project + "[\"tool\".pytest]\na = 'weak'\n", false, project, "weak"},
		"a header with spaces":         {"pyproject.toml", project, project + "[ tool . pytest ]\na = 'weak'\n", false, project, "weak"},
		"a comment":                    {"pyproject.toml", project + "[tool.x]\n# one\na = 1\n", project + "[tool.x]\n# two\na = 1\n", true, "", ""},
		"tests of a crate":             {"Cargo.toml", "[package]\nname = 'x'\n[dependencies]\na = '1'\n", "[package]\nname = 'x'\nautotests = false\n[dependencies]\na = '2'\n", false, "a = '2'", "autotests"},
		"lints of a crate":             {"Cargo.toml", "[dependencies]\na = '1'\n[lints.rust]\nunsafe_code = 'deny'\n", "[dependencies]\na = '2'\n", false, "deny", "'1'"},
		"an indented header":           {"setup.cfg", "[metadata]\nname = x\n[tool:pytest]\naddopts = strict\n", "[metadata]\nname = x\n[tool:pytest]\nx =\n  a\n  [metadata]\naddopts = weak\n", false, "strict", "weak"},
		"pins":                         {"requirements-dev.txt", "a==1\n", "a==2 \\\n    --hash=sha256:ab\nb[x]>=2,<3 ; python_version < '4'\n# c\n", true, "", ""},
		"a pin of a path":              {"requirements.txt", "-r more.txt\npytest==8\n", "-r more.txt\npytest @ file:./fake\nb==2\n", false, "b==2", "fake"},
		"an editable one":              {"requirements/dev.txt", "pytest==8\n", "-e ./fake\n", false, "", "fake"},
		"a gem":                        {"Gemfile", "source 'https://r.example'\ngem 'a'\n", "source 'https://r.example'\ngem 'a'\ngem \"b\", '~> 2.1', require: false, group: :test # why\n", true, "", ""},
		"a gem of a path":              {"Gemfile", "gem 'rspec'\n", "gem 'b'\ngem 'rspec', path: 'fake'\n", false, "gem 'b'", "fake"},
		"a gem that exits":             {"Gemfile", "gem 'a'\n", "gem 'a'\nexit! 0\n", false, "", "exit"},
		"a dependency of Gradle":       {"build.gradle.kts", "plugins { java }\ndependencies {\n    implementation(\"a:b:1\")\n}\n", "plugins { java }\ndependencies {\n    implementation(\"a:b:1\")\n    testImplementation(libs.c.d)\n}\n", true, "", ""},
		"a test of Gradle":             {"build.gradle", "plugins { id 'java' }\n", "plugins { id 'java' }\ndependencies {\n  implementation 'a:b:1'\n}\ntest.enabled = false\n", false, "implementation 'a:b:1'", "enabled"},
		"a project of Gradle":          {"build.gradle", "dependencies {\n}\n", "dependencies {\n  testImplementation files('fake.jar')\n}\n", false, "dependencies", "fake"},
		"a Pipfile":                    {"Pipfile", "[packages]\na = '*'\n", "[packages]\na = '*'\nb = '*'\n", true, "", ""},
		"a path in a Pipfile":          {"Pipfile", "[dev-packages]\npytest = '*'\n", "[dev-packages]\npytest = {path = 'fake'}\n", false, "'*'", "fake"},
		"beside a path":                {"Cargo.toml", "[dependencies]\ncore = { path = '../core' }\na = '1'\n", "[dependencies]\ncore = { path = '../core' }\na = '2'\nb.workspace = true\n", true, "", ""},
		"another path beside a path":   {"Cargo.toml", "[dependencies]\ncore = { path = '../core' }\n", "[dependencies]\ncore = { path = '../fake' }\n", false, "../core", "fake"},
		"a path in another section":    {"Cargo.toml", "[dependencies]\na = { path = 'x' }\n[dev-dependencies]\na = '1'\n", "[dependencies]\n[dev-dependencies]\na = { path = 'x' }\n", false, "[dependencies]\na", ""},
		"in several lines":             {"pyproject.toml", "[project]\nscripts = [\n 'a',\n]\n", "[project]\nscripts = [\n 'fake',\n]\n", false, "'a'", "fake"},
		"a crate by another name":      {"Cargo.toml", "[dev-dependencies]\na = '1'\n", "[dev-dependencies]\na = { package = 'fake', version = '1' }\n", false, "'1'", "fake"},
		"a version of a crate":         {"Cargo.toml", "[package]\nname = 'x'\nversion = '1'\n", "[package]\nname = 'x'\nversion = '2'\nauthors = ['a']\n", true, "", ""},
		"a license file":               {"pyproject.toml", project + "license = {file = 'LICENSE'}\ndependencies = ['a']\n", project + "license = {file = 'LICENSE'}\ndependencies = ['a', 'b']\n", true, "", ""},
		"an address of a project":      {"setup.cfg", "[metadata]\nversion = 1\nurl = https://x.example\n", "[metadata]\nversion = 2\nurl = https://x.example\n", true, "", ""},
		"entry points in lines":        {"setup.cfg", "[metadata]\nscripts =\n  a\n", "[metadata]\nscripts =\n  fake\n", false, " a", "fake"},
		"a comment of Maven":           {"pom.xml", "<project><!-- x --><dependencies><a/></dependencies></project>", "<project><!-- x --><dependencies><a/><b/></dependencies></project>", true, "", ""},
		"who made a package":           {"package-lock.json", `{"packages":{"node_modules/a":{"resolved":"https://r.example/a/-/a-1.tgz"}}}`, `{"packages":{"node_modules/a":{"resolved":"https://r.example/a/-/a-1.tgz"},"node_modules/b":{"resolved":"https://r.example/b/-/b-1.tgz","funding":{"url":"https://f.example"},"dependencies":{"locate-path":"^1"},"deprecated":"see https://v.example"},"node_modules/b-cjs":{"resolved":"https://r.example/b/-/b-1.tgz"}}}`, true, "", ""},
		"an old lock of a path":        {"package-lock.json", `{"dependencies":{"a":{"dependencies":{"b":{"version":"1"}}}}}`, `{"dependencies":{"a":{"dependencies":{"b":{"version":"file:fake"}}}}}`, false, `"1"`, "fake"},
		"who made a package of PHP":    {"composer.lock", `{"packages":[{"name":"a","dist":{"url":"https://r.example/a"}}]}`, `{"packages":[{"name":"a","dist":{"url":"https://r.example/b"}},{"name":"b","homepage":"https://b.example","funding":[{"url":"https://f.example"}]}]}`, true, "", ""},
		"a path of PHP":                {"composer.lock", `{"packages":[]}`, `{"packages":[{"name":"a","dist":{"type":"path","url":"fake"}}]}`, false, "[]", "fake"},
		"files of Poetry":              {"poetry.lock", "[[package]]\nname = \"a\"\n", "[[package]]\nname = \"a\"\nfiles = [\n    {file = \"a-1.whl\", hash = \"sha256:1\"},\n]\n", true, "", ""},
		"a directory of Poetry":        {"poetry.lock", "[[package]]\nname = \"a\"\n", "[[package]]\nname = \"a\"\n[package.source]\ntype = \"directory\"\nurl = \"fake\"\n", false, "name", "fake"},
		"a name that ends in path":     {"yarn.lock", "a@^1:\n  resolved \"https://r.example/a/-/a-1.tgz\"\n", "a@^1:\n  resolved \"https://r.example/a/-/a-1.tgz\"\nlocate-path@^1:\n  resolved \"https://r.example/locate-path/-/locate-path-1.tgz\"\n", true, "", ""},
		"another name in a lock":       {"yarn.lock", "a@^1:\n  version \"1\"\n  resolved \"https://r.example/a/-/a-1.tgz\"\n", "a@^1:\n  version \"1\"\n  resolved \"https://r.example/fake/-/fake-1.tgz\"\n", false, "a-1", "fake"},
		"patches of yarn's own":        {"yarn.lock", "\"a@npm:^1\":\n  resolution: \"a@npm:1\"\n", "\"a@npm:^1\":\n  resolution: \"a@npm:1\"\n\"fsevents@patch:fsevents@~2#~builtin<compat/fsevents>\":\n  resolution: \"fsevents@patch:fsevents@npm%3A2#~builtin<compat/fsevents>::version=2&hash=df\"\n", true, "", ""},
		"a patch beside one of those":  {"yarn.lock", "", "\"a@patch:a@~2#~builtin<compat/a>&./fake.patch\":\n", false, "", "fake"},
		"a resolution of another":      {"yarn.lock", "\"a@npm:^1\":\n  resolution: \"a@npm:1\"\n", "\"a@npm:^1\":\n  resolution: \"fake@npm:1\"\n", false, "a@npm:1", "fake"},
		"a version of another":         {"pnpm-lock.yaml", "      a:\n        version: 1.0.0(b@2)\n", "      a:\n        version: fake@1.0.0\n", false, "1.0.0", "fake"},
		"a version with its peers":     {"pnpm-lock.yaml", "      a:\n        version: 1.0.0\n", "      a:\n        version: 1.0.1(b@2)\n  locate-path@6.0.0:\n", true, "", ""},
		"a gem's lock of a path":       {"Gemfile.lock", "GEM\n  remote: https://r.example/\n", "PATH\n  remote: fake\nGEM\n  remote: https://r.example/\n", false, "r.example", "fake"},
		"a Pipfile.lock that is npm's": {"Pipfile.lock", `{"default":{}}`, `{"packages":{},"default":{"pytest":{"path":"./fake"}}}`, false, "default", "fake"},
		"a whole file":                 {"ruff.toml", "select = ['ALL']\n", "select = []\n", false, "ALL", ""},
	} {
		content, same := checks.Mixed(row.file, row.before, row.after)
		if same != row.same || !same && (!strings.Contains(content, row.has) || row.not != "" && strings.Contains(content, row.not)) {
			t.Errorf("%s: %q, %t", name, content, same)
		}
	}
}

// Checks of before that are not found any more are told by the files that hide them.
func TestHiddenChecks(t *testing.T) {
	root := map[string]string{"Makefile": "test:\n\tstrict\n", "sub/a.py": ""}
	with := func(more map[string]string) map[string]string {
		all := maps.Clone(root)
		maps.Copy(all, more)
		return all
	}
	for name, row := range map[string]struct {
		before, after map[string]string
		want          string
	}{
		"as before":       {root, with(map[string]string{"b.py": ""}), ""},
		"one nearer":      {root, with(map[string]string{"sub/pyproject.toml": "[project]\ndependencies = [\"pytest\"]\n"}), "sub/pyproject.toml"},
		"none any more":   {map[string]string{"pyproject.toml": "[project]\ndependencies = [\"pytest>=8\"]\n"}, map[string]string{"pyproject.toml": "[project]\n"}, "pyproject.toml"},
		"the nearer went": {with(map[string]string{"sub/package.json": `{"scripts":{"test":"x"}}`}), root, "sub/package.json"},
		"one more":        {root, with(map[string]string{"go.mod": "module x\n"}), ""},
	} {
		got, err := checks.Hidden(tree(row.before), tree(row.after), "sub")
		if err != nil || strings.Join(got, " ") != row.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
