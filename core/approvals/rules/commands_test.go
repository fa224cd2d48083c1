package rules

import (
	"os"
	"strings"
	"testing"
)

// harmless are commands that people want to allow by their first words.
var harmless = []string{
	"ls", "ls -la", "ls -la sub", "ls inner", "cat main.go", "cat 'main.go' \"sub/a.txt\"", "cat -- -n", "cat -n main.go", "head -n 5 main.go", "head -5 main.go",
	"tail -c +10 main.go", "wc -l main.go sub/a.txt", "pwd", "echo hello 'wor ld'", "stat main.go", "file sub/a.txt", "du -sh .", "df -h", "date", "date '+%Y-%m-%d'",
	"whoami", "uname -a", "which go", "diff -u main.go sub/a.txt", "cmp main.go sub/a.txt", "grep -rn foo .", "grep -e foo sub", "grep -A3 'a|b' main.go",
	"rg -n --hidden foo sub", "rg -e foo -g '*.go'", "sort -n main.go", "cut -d , -f 1,2 main.go", "tr a b", "nl main.go",
	"git status", "git status -sb", "git log --oneline -20", "git log -n 5 -- main.go", "git log --format='%h %s' HEAD~3", "git diff", "git diff --stat HEAD^ -- sub",
	"git diff main..topic", "git show HEAD", "git blame -L 1,5 main.go", "git ls-files -o --exclude-standard", "git rev-parse --show-toplevel", "git branch -a",
	"git add .", "git add -A", "git add main.go sub/a.txt", "git commit -m 'für dich'",
	"go build ./...", "go test ./...", "go test -race -count=1 ./sub -run '^TestX$'", "go test -run TestX -timeout 30s ./...", "go vet ./...", "go list -m", "go version",
	"gofmt -l .", "make", "make lint test", "npm test", "npm run build:all", "cargo build --release", "cargo test -p core parses::all", "cargo clippy --all-targets",
	"pytest -q tests/test_x.py::TestY::test_z", "pytest -k 'a and not b' --maxfail=1", cwdMark + "/main.go",
}

// cwdMark stands for the directory in which the agent works; alone it is `cat` of what
// follows.
const cwdMark = "CWD"

func at(cwd, command string) string {
	if strings.HasPrefix(command, cwdMark) {
		command = "cat " + command
	}
	return strings.ReplaceAll(command, cwdMark, cwd)
}

// People are offered the usual commands by their first words.
func TestHarmlessCommands(t *testing.T) {
	cwd := newTree(t)
	for _, command := range harmless {
		if !offered(KindCommand, bash(cwd, at(cwd, command))) {
			t.Errorf("%s is not offered by its first words", command)
		}
	}
}

// dangerous are commands that no rule may be offered for by their first words, nor be
// allowed by a rule that was offered for another command.
var dangerous = []string{
	// More than one command, in any disguise.
	"ls; rm -rf x", "ls;rm x", "ls && rm x", "ls || rm x", "ls | sh", "ls |& sh", "ls & rm x", "ls &", "ls;", "ls\nrm x", "ls\r\nrm x", "\nls\nrm x", "ls $(rm x)", "ls `rm x`",
	"ls \"$(rm x)\"", "ls \"`rm x`\"", "ls <(rm x)", "ls >(rm x)", "ls ${x:-$(rm x)}", "ls $((a[$(rm x)]))", "(ls)", "{ ls; }", "! ls", "if ls; then rm x; fi", "ls() { rm x; }; ls",
	"function ls { rm x; }", "for x in a; do ls; done", "case x in x) ls;; esac", "[[ -f x ]]", "((1))", "ls # x", "# x", "ls \\\nrm", "coproc ls", "time ls", "ls && ls", "ls\n", "ls\tsub",
	// Written elsewhere, or with other surroundings.
	"ls > x", "ls >> x", "ls 2> x", "ls >| x", "ls &> x", "ls < x", "ls << x\nx", "ls <<< x", "ls 2>&1", "PATH=. ls", "LD_PRELOAD=./x.so ls", "GIT_EXTERNAL_DIFF=./x git diff", "a=b",
	"GIT_DIR=sub git status", "env ls", "env -S 'ls' x", "sudo ls", "nice ls", "timeout 5 ls", "nohup ls", "xargs ls", "find . -exec rm {} +", "find . -delete", "command ls", "builtin ls", "exec ls", "eval ls",
	"\\ls", "ls\\", "busybox ls", "stdbuf -o0 ls", "setsid ls", "watch ls", "nocorrect ls", "noglob ls",
	// Interpreters and whatever sends or edits.
	"sh -c ls", "bash x.sh", "zsh -c ls", "python -c x", "python3 -m pytest", "node -e x", "perl -e x", "ruby x", "awk 'BEGIN{system(\"x\")}'", "sed -n '1e rm x' main.go", "sed -i s/a/b/ x", "tee x",
	"vim -c '!x' y", "ssh host ls", "curl https://example.com", "wget x", "tar xf x --to-command=sh", "dd if=x of=y", "cp a b", "mv a b", "rm x", "ln -s /etc x", "chmod +x y", "source x", ". x", "kill 1", "npx x", "uniq a b", "cd sub", "export PATH=.",
	// Patterns and expansions, of which nobody knows what they become.
	"ls *", "ls ?", "ls [a-z]*", "cat {main.go,/etc/passwd}", "cat ~/x", "cat ~root/x", "cat ~", "cat $HOME/x", "cat ${HOME}/x", "cat $x", "cat \"$x\"", "cat $'\\x2fetc/passwd'", "cat $\"x\"", "echo foo=~", "echo a:~", "ls =rm", "cat =ls", "echo !ls",
	"cat \"a!b\"", "cat 'a''b'", "cat @(a|b)", "ls +(x)", "cat \"a\\\"b\"", "git stash@{1}", "echo ^a^b", "ls sub^0~1 *",
	// Paths that lead elsewhere.
	"cat /etc/passwd", "cat ../beside/secret.txt", "cat sub/../main.go", "cat sub/../../beside/secret.txt", "cat out/secret.txt", "cat out", "cat hosts", "cat dangling", "cat dangling/x", "cat CWD/../beside/secret.txt", "cat CWD/out/secret.txt", "cat 'out'/secret.txt",
	"ls out/", "ls -R /", "ls ..", "ls ../", "ls /", "ls ''", "cat '~/x'", "cat -- ../x", "cat main.go ../beside/secret.txt", "du -sh /", "wc -l /etc/passwd", "head -5 hosts", "tail -n 5 hosts", "stat /etc", "file hosts", "df /", "sort hosts", "cut -f 1 hosts",
	"grep -r root /etc", "grep -r x out", "grep -e x hosts", "grep x -e hosts y", "grep x hosts", "rg x out", "rg x ../beside", "diff main.go hosts", "diff sub sub", "diff main.go sub", "cmp main.go out/secret.txt", "nl hosts", "gofmt -d out", "go build ../beside", "go test ./out/...",
	"go vet CWD", "git add ../beside", "git add out/secret.txt", "git add :/", "git add ':(top)x'", "git diff /etc/passwd /etc/hosts", "git diff hosts main.go", "git log -- ../x", "pytest ../x", "pytest hosts::x", "pytest @args", "cat 'ma\u0301in.go'", "cat 'a\\b'", "cat ' main.go'", "cat 'main.go '",
	// Options that write, run, or read more than the operands; also by the beginning of
	// their name, by value, and behind the operands.
	"sort -o x main.go", "sort -ox main.go", "sort -no x main.go", "sort main.go -o x", "sort --output=x main.go", "sort --outp=x main.go", "sort --output x main.go", "sort --compress-program=sh main.go", "sort --compress-prog sh main.go", "sort -T /x main.go", "sort --files0-from=x", "sort -S 1b --compress-program ./x main.go",
	"rg --pre ./x foo", "rg --pre=./x foo", "rg --pre-glob x foo", "rg --hostname-bin=./x foo", "rg -z foo", "rg -nz foo", "rg --search-zip foo", "rg -L foo", "rg --follow foo", "rg -f x", "rg -fx", "rg --files out", "rg --ignore-file=/x foo", "rg foo --pre ./x",
	"grep -f hosts main.go", "grep -fhosts main.go", "grep -rf hosts .", "grep --file=hosts .", "grep -R x .", "grep -nR x .", "grep -D read x y", "grep --dereference-recursive x .", "grep --deref x .",
	"diff -l main.go sub/a.txt", "diff --paginate a b", "diff -r sub inner", "diff -X hosts a b", "diff --to-file=hosts main.go", "diff --from-file hosts main.go", "diff -ur sub sub",
	"wc --files0-from=hosts", "du --files0-from=hosts", "du -L .", "du -X hosts .", "file -f hosts", "file -C -m x", "file -m hosts main.go", "file -z main.go", "tail -f main.go", "tail --pid=1 main.go", "date -s 0", "date --set=0", "date 01010000", "date -f hosts", "date -r hosts", "ls --hyperlink -I x", "ls -L out", "ls -LR .",
	"cat --help=x", "cat -", "cat -nq main.go", "echo -e x", "echo -en x", "which /bin/sh", "which -a ./x", "uname x", "pwd x", "whoami x",
	"git -c core.pager=x log", "git -C .. status", "git --exec-path=. status", "git -p log", "git --git-dir=sub status", "git diff --output=x", "git diff --outp=x", "git diff --output x", "git diff -ox", "git diff --ext-diff", "git diff --ext", "git diff --textconv", "git diff --no-index main.go hosts", "git diff -O hosts", "git diff -Ohosts",
	"git log --output=x", "git log --show-signature", "git log --format=%GG", "git log --format='%h %G?'", "git log --pretty=format:%GK", "git log --ext-diff -p", "git log -L :x:main.go", "git show --output=x HEAD", "git show --textconv", "git log --stdin", "git log --exclude-from x",
	"git status --ignore-sub", "git blame --contents hosts main.go", "git blame --contents=hosts main.go", "git blame -S hosts main.go", "git blame --ignore-revs-file=hosts main.go", "git ls-files -X hosts", "git ls-files --exclude-from=hosts", "git ls-files -X/etc/hosts", "git rev-parse --parseopt", "git rev-parse --git-path ../x",
	"git branch x", "git branch -D main", "git branch -d main", "git branch -m x", "git branch -f main x", "git branch --edit-description", "git branch -avD main", "git branch --del main", "git add -p", "git add -i", "git add --interactive", "git add -f x", "git add -e", "git add --pathspec-from-file=hosts", "git add --chmod=+x main.go",
	"git commit", "git commit -a", "git commit --amend -m x", "git commit -m x --amend", "git commit -F hosts", "git commit -m x -F hosts", "git commit -t hosts", "git commit -m --amend", "git commit -m x --no-verify", "git commit -nm x", "git commit -m x -S", "git commit -m x --author=y", "git commit -m", "git commit -m x main.go", "git commit -mx", "git commit --message=x",
	"git push", "git pull", "git fetch", "git checkout .", "git reset --hard", "git clean -fdx", "git config core.pager x", "git stash", "git rebase -x ls", "git bisect run x", "git submodule foreach ls", "git", "git x", "git grep -O x", "git archive -o x HEAD", "git worktree add x", "git difftool", "git log-x", "git Status",
	"go test -exec ./x ./...", "go test -exec=./x ./...", "go test --exec=./x ./...", "go test ./... -exec ./x", "go test -toolexec ./x ./...", "go build -toolexec=./x ./...", "go vet -vettool=./x ./...", "go build -o /x ./...", "go build -o x ./...", "go test -c ./...", "go test -o x ./...", "go test -coverprofile=x ./...", "go test -cpuprofile x ./...", "go test -outputdir .. ./...", "go test ./... -args -x", "go test -fuzz=F ./...",
	"go build -C .. ./...", "go build -overlay=x ./...", "go build -modfile=x ./...", "go build -mod=mod ./...", "go build -ldflags=-extld=./x ./...", "go build -gcflags=x ./...", "go build -gccgoflags x ./...", "go run .", "go generate ./...", "go install ./...", "go get x", "go env -w GOFLAGS=-toolexec=x", "go tool x", "go mod tidy", "go version hosts", "go version -m /x", "go test example.com/x", "go build all", "go vet -json=x -c=1 .", "go list -f x", "go list -toolexec ./x ./...", "go test -run -exec ./x", "go test -test.run=x ./...", "go test -- ./...",
	"gofmt -w .", "gofmt -lw .", "gofmt -cpuprofile=x .", "gofmt -l /etc", "gofmt -r 'a -> b' -w .", "gofmt -l=false -w .",
	"make SHELL=./x", "make lint SHELL=./x", "make -f hosts", "make -C .. x", "make --eval=x", "make --eval x", "make -j4", "make -e x", "make CC=x lint", "make lint 'A=b'", "make -", "make ../x", "make -- A=b", "make --makef=x",
	"npm run lint -- --fix", "npm run --script-shell=./x lint", "npm test --script-shell ./x", "npm test -- x", "npm exec x", "npm install", "npm i x", "npm --prefix .. test", "npm run -s", "npm publish", "npm t", "npm run ../x", "npm test x",
	"cargo run", "cargo install x", "cargo build --config x", "cargo --config x build", "cargo +nightly build", "cargo build --manifest-path ../x", "cargo build --target-dir /x", "cargo build -Z x", "cargo clippy --fix", "cargo test -- --nocapture", "cargo test --config=x", "cargo build x", "cargo check --out-dir=x", "cargo test -p ../x", "cargo build --manifest-p=x",
	"pytest -p x", "pytest -px", "pytest -c x", "pytest -o x=y", "pytest --basetemp=..", "pytest --basete=..", "pytest --rootdir=..", "pytest --junitxml=x", "pytest --pdb", "pytest --pdbcls=x:y", "pytest -k @x", "pytest --confcutdir=..", "pytest -n 4", "pytest --import-mode=importlib", "pytest --trace", "pytest -qp x", "pytest --pastebin=all",
	// Names that look alike, or are paths.
	"./ls", "/bin/ls", "/tmp/git status", "./go test ./...", "bin/go test ./...", "LS", "Git status", "git\u00a0status", "gıt status", "'gıt' status", "gi\u200bt status", "'gi\u200bt' status", "g\u0456t status", "\"g\u0456t\" status", "git\u2028status", "'git status'", "'git ' status", "git 'status '", "git ' status'", "'ls -la'", "ls\x00", "''", "'' ls", "ｌｓ", "git statu\u0455",
	`echo "a\"b"`, `echo "a\\b"`, `git commit -m "a\$b"`, "echo =ls", "git commit -m =ls", "grep hosts -e root", "rg hosts -e root", "echo " + strings.Repeat("x", maxCommand),
	"cat \u2010n", "ls \u00a0", "", " ", "'", "\"", "(", "$", "ls '", "\xff",
}

// No rule for a harmless command allows a dangerous one, and no dangerous one is offered
// by its first words.
func TestDangerousCommands(t *testing.T) {
	cwd := newTree(t)
	rules := offersOfHarmless(t, cwd)
	for _, command := range dangerous {
		use := bash(cwd, at(cwd, command))
		if offered(KindCommand, use) {
			t.Errorf("%q is offered by its first words", command)
		}
		if rule, ok := Find(rules, use); ok {
			t.Errorf("%q is allowed by %s", command, rule.Text)
		}
	}
}

// A rule for some first words is for them, and for the directory that it was made in.
func TestRuleForACommand(t *testing.T) {
	cwd := newTree(t)
	rows := []struct {
		rule, use string
		allowed   bool
	}{
		{"go test ./...", "go test -race ./sub", true},
		{"go test ./...", "go  'test'  \"./sub\"", true},
		{"go test ./...", "go build ./...", false},
		{"git status", "git log", false},
		{"git log", "git log -5 --stat", true},
		{"ls", "ls -la sub", true},
		{"ls", "cat sub/a.txt", false},
		{"make lint", "make lint", true},
		{"make lint", "make deploy", false},
		{"make lint", "make lint deploy", false},
		{"make lint test", "make lint", false},
		{"make", "make lint", false},
		{"npm run lint", "npm run build", false},
		{"npm run lint", "npm run lint publish", false},
		{"npm test", "npm run test", false},
		{"git commit -m x", "git commit -m y -m z", true},
	}
	for _, row := range rows {
		rule := offer(t, KindCommand, bash(cwd, row.rule))
		if Allows(rule, bash(cwd, row.use)) != row.allowed {
			t.Errorf("%s by the rule for %s: want %v", row.use, row.rule, row.allowed)
		}
		if Allows(rule, bash(cwd+"/sub", row.use)) {
			t.Errorf("%s is allowed in another directory", row.use)
		}
	}
	rule := offer(t, KindCommand, bash(cwd, "ls"))
	must(t, os.Symlink(cwd, cwd+"-alias"))
	if !Allows(rule, bash(cwd+"-alias", "ls")) {
		t.Error("the same directory by another name is another directory")
	}
}

// A field that the package does not know can change what a command does.
func TestFieldsOfACommand(t *testing.T) {
	cwd := newTree(t)
	rule := offer(t, KindCommand, bash(cwd, "ls"))
	rows := map[string]bool{
		`{"command":"ls","description":"x","timeout":5}`:                               true,
		`{"command":"ls","run_in_background":false,"dangerouslyDisableSandbox":false}`: true,
		`{"command":"\u006c\u0073"}`:                                                   true,
		`{"command":"rm x","command":"ls"}`:                                            true,
		`{"command":"ls","command":"rm x"}`:                                            false,
		`{"command":"rm x","Command":"ls"}`:                                            false,
		`{"command":"ls","Command":"rm x"}`:                                            false,
		`{"COMMAND":"ls"}`:                                                             false,
		`{"command":"ls","run_in_background":true}`:                                    false,
		`{"command":"ls","run_in_background":"false"}`:                                 false,
		`{"command":"ls","dangerouslyDisableSandbox":true}`:                            false,
		`{"command":"ls","dangerouslyDisableSandbox":0}`:                               false,
		`{"command":"ls","timeout":"5"}`:                                               false,
		`{"command":"ls","timeout":{}}`:                                                false,
		`{"command":"ls","shell":"/tmp/sh"}`:                                           false,
		`{"command":"ls","env":{"PATH":"."}}`:                                          false,
		`{"command":["ls"]}`:                                                           false,
		`{"command":"ls '\ud800'"}`:                                                    false,
		`{"command":"ls","__proto__":{"command":"rm x"}}`:                              false,
	}
	for input, want := range rows {
		if Allows(rule, Call{Tool: "Bash", Cwd: cwd, Input: []byte(input)}) != want {
			t.Errorf("%s: want %v", input, want)
		}
	}
}

// In the home directory, above it and at the root, first words would reach everything.
func TestCommandsInWideDirectories(t *testing.T) {
	cwd := newTree(t)
	home := strings.TrimSuffix(cwd, "/project")
	for _, wide := range []string{home, home + "/.", home + "/", strings.TrimSuffix(home, "/"+lastPart(home)), "/"} {
		if offered(KindCommand, bash(wide, "cat x")) {
			t.Errorf("in %s, cat is offered by its first word", wide)
		}
	}
}

func lastPart(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// Files that are not hidden can make a directory look like a bare repository, whose
// configuration names programs that git runs.
func TestCommandsInAPosingRepository(t *testing.T) {
	cwd := newTree(t)
	rule := offer(t, KindCommand, bash(cwd+"/sub", "git status"))
	must(t, os.WriteFile(cwd+"/sub/HEAD", []byte("ref: refs/heads/main\n"), 0o600))
	if Allows(rule, bash(cwd+"/sub", "git status")) {
		t.Error("git runs in a directory that the agent has made a repository of")
	}
	must(t, os.Mkdir(cwd+"/sub/.git", 0o700))
	if !Allows(rule, bash(cwd+"/sub", "git status")) {
		t.Error("a file named HEAD in a real checkout stops git")
	}
}

// A symlink that is put in a path's place after the rule was made is seen.
func TestCommandsWithASwappedSymlink(t *testing.T) {
	cwd := newTree(t)
	rule := offer(t, KindCommand, bash(cwd, "cat inner/a.txt"))
	must(t, os.Remove(cwd+"/inner"))
	must(t, os.Symlink("../beside", cwd+"/inner"))
	if Allows(rule, bash(cwd, "cat inner/secret.txt")) {
		t.Error("cat reads through a symlink that leads out")
	}
	// Where options end at the first operand, an option is a file.
	head := offer(t, KindCommand, bash(cwd, "head -n 5 main.go"))
	if !Allows(head, bash(cwd, "head main.go -n 5")) {
		t.Error("options behind operands are not allowed")
	}
	for _, file := range []string{"-n", "5"} {
		must(t, os.Symlink("/etc/hosts", cwd+"/"+file))
		for _, command := range []string{"head main.go -n 5", "cat -- " + file, "cat ./" + file} {
			if Allows(head, bash(cwd, command)) || Allows(rule, bash(cwd, command)) {
				t.Errorf("%s reads a file outside", command)
			}
		}
		must(t, os.Remove(cwd+"/"+file))
	}
}
