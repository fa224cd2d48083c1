package rules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// everyday are commands of an ordinary day that nobody may be asked about because of what they
// read. CWD stands for the directory in which the agent works.
var everyday = []string{
	"ls", "ls -la", "ls -la sub", "ls CWD/sub", "pwd", "cat main.go", "cat < main.go", "cat main.go sub/a.txt", "cat -n main.go | head -40", "head -5 main.go && tail -3 main.go",
	"tac main.go", "rev main.go", "wc -l *.go", "wc -l sub/*.txt", "cat sub/{a,b}.txt", "cat *.go", "ls *.md", "sort main.go | uniq -c | sort -rn | head", "diff sub/a.txt sub/b.txt",
	"grep -rn x .", "grep -rn '/api/tasks' .", "grep -r \"foo/bar\" sub", "grep -E 'a|b' main.go", "grep -rl x sub | xargs wc -l", "rg x", "rg -n 'func .*\\(' -g '*.go'", "rg --files | head",
	"find . -name '*.go'", "find . -type f | xargs wc -l", "find . -type f -print0 | xargs -0 grep x", "find sub -maxdepth 1", "cd sub && ls", "cd sub && cat a.txt ../main.go", "cd CWD && ls", "cd CWD/sub; cat a.txt",
	"git status", "git status --short", "git log --oneline -10", "git log -p -- main.go", "git diff", "git diff HEAD~1 --stat", "git show HEAD", "git show HEAD:main.go", "git blame main.go", "git branch -a",
	"git grep x", "git ls-files | xargs wc -l", "git remote -v", "git stash list", "cd sub && git status", "git --no-pager log -3", "git -C sub status",
	"go test ./...", "go build ./... 2>&1 | tail -20", "go vet ./... && echo ok", "CGO_ENABLED=1 go test -race ./...", "npm test", "make test", "make -j4", "node --version", "which go", "date", "uname -a", "df -h", "ps aux",
	"echo hi", "echo $HOME", "printf '%s\\n' a", "sleep 1", "true", "test -f main.go && echo yes", "[ -f /etc/hosts ] && echo yes", "ls 2>/dev/null || true", "ls 2>&1 | head", "cat main.go > /dev/null", "sed -n '1,20p' main.go", "sed -n '/foo/,/bar/p' main.go",
	"mkdir -p build/x && touch build/x/y", "rm sub/b.txt", "cp main.go copy.go", "mv main.go other.go", "echo x > new.txt", "sed -i 's/a/b/' main.go", "base64 main.go", "stat main.go", "file main.go", "du -sh .", "jq . main.go", "jq '.a | .b/2' main.go",
	"cat <<'EOF' > new.txt\n$HOME /etc/hosts\nEOF", "git commit -m \"$(cat <<'EOF'\nA message.\n\nWith two parts of $x.\nEOF\n)\"", "{ ls; pwd; }", "if test -f main.go; then cat main.go; fi", "cat \"main.go\" 'sub/a.txt'", "ls $PWD/sub", "cat ./main.go",
}

// prying are commands that read, or may read, outside of the directory in which the agent works.
var prying = []string{
	"cat < /etc/hosts", "cat</etc/hosts", "cat 0< /etc/hosts", "tac /etc/hosts", "rev /etc/hosts", "fold /etc/hosts", "comm /etc/hosts main.go", "pr /etc/hosts", "expand /etc/hosts", "nl /etc/hosts", "tr a b < /etc/hosts",
	"paste /etc/hosts", "strings /etc/hosts", "base64 /etc/hosts", "od -c /etc/hosts", "sed -n 1p < /etc/hosts", "sed -n 1p /etc/hosts", "wc -c < /etc/hosts", "cut -c1-9 /etc/hosts", "tsort /etc/hosts", "join /etc/hosts main.go",
	"cat ../beside/secret.txt", "cat < ../beside/secret.txt", "tac sub/../../beside/secret.txt", "tac CWD/../beside/secret.txt", "tac ~/beside/secret.txt", "tac < ~/beside/secret.txt", "tac $HOME/beside/secret.txt", "tac \"${HOME}/beside/secret.txt\"", "tac \"$PWD/../beside/secret.txt\"",
	"tac ~root/x", "tac ~+/../beside/secret.txt", "tac $OLDPWD/x", "tac $x", "tac ${x:-/etc/hosts}", "tac \"$(echo /etc/hosts)\"", "tac `echo /etc/hosts`", "tac <(cat /etc/hosts)", "tac $'/etc/hosts'", "tac $'\\x2fetc/hosts'",
	"tac /etc/host''s", "tac \"\"/etc/hosts", "tac /etc/host\\s", "tac ..\\/beside/secret.txt", "tac /e?c/hosts", "tac /etc/host*", "tac ../b*/secret.txt", "rev ../[b]eside/secret.txt", "tac /[[:alpha:]]tc/hosts", "tac /[!x]tc/hosts", "tac /[e]t[c]/hosts", "tac /etc/hos[]t]s", "tac {/etc,x}/hosts", "tac ../{beside,x}/secret.txt", "tac {1..3}", "tac =ls",
	"tac hosts", "cat < hosts", "cat out/secret.txt", "tac out/*", "cat *", "cat ./*", "cat h*", "grep root *", "tac **/*", "ls -la out/", "grep -R root .", "rg -L root", "rg -nL root", "rg --follow root", "find -L . -name x", "find . -follow", "diff -r . sub",
	"cd .. && tac beside/secret.txt", "cd ..; rev beside/secret.txt", "cd out && tac secret.txt", "cd sub && tac ../../beside/secret.txt", "cd - && ls", "cd && ls", "cd ~ && ls", "pushd .. && tac beside/secret.txt", "(cd sub); tac ../beside/secret.txt", "false && cd sub; tac ../beside/secret.txt",
	"cd sub | true; tac ../beside/secret.txt", "cd missing; tac ../beside/secret.txt", "ls && cd ..", "cd sub && cd ../..  && tac beside/secret.txt", "cd inner/.. && tac ../beside/secret.txt",
	"true && tac /etc/hosts", "ls; tac /etc/hosts", "ls\ntac /etc/hosts", "ls || tac /etc/hosts", "ls | tac /etc/hosts", "tac /etc/hosts | cat", "if true; then tac /etc/hosts; fi", "while tac /etc/hosts; do true; done", "{ tac /etc/hosts; }", "(tac /etc/hosts)", "! tac /etc/hosts", "tac /etc/hosts &", "time tac /etc/hosts",
	"for f in /etc/*; do tac $f; done", "for f in *; do tac \"$f\"; done", "case x in x) tac /etc/hosts;; esac", "f() { tac /etc/hosts; }; f", "exec tac /etc/hosts", "exec 3< /etc/hosts; tac <&3", "eval 'tac /etc/hosts'", "command tac /etc/hosts", "nice tac /etc/hosts", "read x < /etc/hosts", "source hosts", ". ./hosts",
	"x=/etc/hosts; tac $x", "HOME=/etc tac hosts", "HOME=. git log", "GIT_DIR=../beside git log", "TZ=/etc/hosts date", "cat <<EOF\n$(cat /etc/hosts)\nEOF", "cat <<< \"$(</etc/hosts)\"", "echo $(</etc/hosts)", "echo /etc/*", "printf '%s\\n' ../*",
	"strings @main.go", "strings -a @main.go", "du -a --fil=main.go", "du --fi=-", "wc --f=main.go", "sort --fil=main.go", "file -bf main.go", "sha256sum -c main.go", "md5sum --check main.go", "cksum --ch main.go",
	"find -files0-from main.go", "printf '/etc' | find -files0-from - | xargs head", "echo /etc/hosts | grep -el | xargs head", "grep -hel main.go | xargs head",
	"grep -f /etc/hosts main.go", "grep -f/etc/hosts main.go", "grep --file=/etc/hosts main.go", "date -f /etc/hosts", "file -f main.go", "sort --files0-from=main.go", "wc --files0-from=main.go", "du --files0-from=main.go", "xargs -a main.go cat", "xargs cat < main.go", "cat main.go | xargs head",
	"printf '../beside/secret.txt' | xargs wc -l", "echo hosts | xargs head", "find . -name x | xargs head", "ls | xargs head", "find . -printf '/etc/%f' | xargs head", "tac /proc/self/environ", "strings /proc/self/cwd/main.go", "tac /dev/fd/3", "tac -- /etc/hosts", "jq -n 'import \"/etc/hosts\" as $x; $x'", "sort -o x /etc/hosts",
	"git diff --no-index main.go /etc/hosts", "git -C .. log", "git -C ../beside log", "git --git-dir=../beside log", "git --work-tree=/etc grep x", "git -c core.pager=x log", "git grep --no-index x ..", "git blame --contents /etc/hosts main.go", "git log -F../beside/secret.txt",
	"ls > ../beside/secret.txt", "ls >> hosts", "ls &> /etc/hosts", "cp ../beside/secret.txt x", "ls ..", "ls /", "find / -maxdepth 1", "tac ‘/etc/hosts’ /etc/hosts", "tac /etc//hosts", "tac /etc/./hosts", "tac //etc/hosts", "coproc tac /etc/hosts", "[[ -f /etc/hosts ]]", "tac /etc/hosts #x", "tac \\\n/etc/hosts",
}

func objectionTo(cwd, command string, rules ...string) string {
	return Objection(Command{Call: bash(cwd, strings.ReplaceAll(command, cwdMark, cwd)), Rules: rules})
}

// Who works in a directory is asked no more than before.
func TestEverydayCommandsAreNotObjectedTo(t *testing.T) {
	cwd := newTree(t)
	for _, link := range []string{"out", "dangling", "hosts"} {
		must(t, os.Remove(filepath.Join(cwd, link)))
	}
	for _, command := range everyday {
		if why := objectionTo(cwd, command); why != "" {
			t.Errorf("%s: %s", command, why)
		}
	}
}

// What reads keys and transcripts outside is asked about, however it is written.
func TestPryingCommandsAreObjectedTo(t *testing.T) {
	cwd := newTree(t)
	for _, command := range prying {
		if objectionTo(cwd, command) == "" {
			t.Errorf("%s is let through", command)
		}
	}
}

// Names with spaces could be two names to xargs.
func TestNamesAtWhichXargsSplits(t *testing.T) {
	cwd := newTree(t)
	for _, link := range []string{"out", "dangling", "hosts"} {
		must(t, os.Remove(filepath.Join(cwd, link)))
	}
	must(t, os.MkdirAll(filepath.Join(cwd, "a ", "etc"), 0o700))
	if objectionTo(cwd, "find . -type f | xargs head") == "" || objectionTo(cwd, "find . -type f -print0 | xargs -0 head") != "" {
		t.Error("names with spaces are not taken for what they are")
	}
}

// A thread may read what people have sent to it.
func TestDirectoriesThatMayBeRead(t *testing.T) {
	cwd := newTree(t)
	beside := filepath.Join(filepath.Dir(cwd), "beside")
	command := Command{Call: bash(cwd, "tac < "+beside+"/secret.txt"), Readable: []string{beside}}
	if why := Objection(command); why != "" {
		t.Error(why)
	}
}

// An operator's rule allows a program with harmless words behind its first ones.
func TestWordsBehindAPrefix(t *testing.T) {
	cwd := newTree(t)
	for rule, commands := range map[string]struct{ harmless, asked []string }{
		"Bash(npm test:*)": {
			[]string{"npm test", "npm test unit", "npm test --silent"},
			[]string{"npm test --script-shell=./x", "npm test --script-shell ./x", "npm test --prefix ../beside", "npm test --prefix=x", "npm test -C x", "npm test --node-options=--require=./x", "npm test --userconfig=x", "npm test $(x)"},
		},
		"Bash(yarn:*)":      {[]string{"yarn test"}, []string{"yarn --cwd ../beside test", "yarn --use-yarnrc x test", "yarn test --script-shell=x"}},
		"Bash(git log:*)":   {[]string{"git log", "git log --oneline -5", "git log --format='%h %s' main.go", "git log -p"}, []string{"git log --output=x", "git log --output x", "git log --outp=x", "git log --ext-diff -p", "git log --textconv", "git log -Ox", "git log --no-index", "git log --show-signature", "git log --format=%G?x --output=y"}},
		"Bash(git diff *)":  {[]string{"git diff HEAD", "git diff --stat"}, []string{"git diff --output=x", "git diff --ext-diff", "git diff -Oorder", "git diff --no-index a b"}},
		"Bash(git:*)":       {[]string{"git push origin main", "git log -3", "git commit -m 'a b'", "git checkout -b x", "git commit -m \"$(cat <<'EOF'\na\nEOF\n)\""}, []string{"git -c core.sshCommand=x fetch", "git -C .. log", "git push ext::sh main", "git fetch --upload-pack=x", "git grep -Ox y", "git rebase -x y", "git bisect run x", "git submodule foreach x", "git config core.pager x", "git difftool", "git --exec-path=x log", "git clone x y"}},
		"Bash(find:*)":      {[]string{"find . -name '*.go'", "find /etc -type f", "find . -maxdepth 2 -print0"}, []string{"find . -delete", "find . -exec rm {} +", "find . -execdir x ;", "find . -ok x", "find . -okdir x", "find . -fprint x", "find . -fprintf x y", "find . -fls x", "find . -fprint0 x", "find . -files0-from x"}},
		"Bash(make:*)":      {[]string{"make", "make test lint", "make -j4 test"}, []string{"make -f x", "make -fx", "make -C ..", "make test SHELL=./x", "make --eval='x:' x", "make -I x", "make --file=x", "make -E x"}},
		"Bash(make test:*)": {[]string{"make test"}, []string{"make test SHELL=x", "make test -f x"}},
		"Bash(go test:*)":   {[]string{"go test ./...", "go test -run TestX -count=1 ./..."}, []string{"go test -exec ./x ./...", "go test -exec=./x", "go test -toolexec=x ./...", "go test -o x", "go test -C ..", "go test -modfile=x", "go test -overlay=x", "go test -cpuprofile=x", "go test --exec x"}},
		"Bash(go build:*)":  {[]string{"go build ./...", "go build -o /dev/null ./...", "go build -o bin/app ./cmd/app"}, []string{"go build -o Makefile .", "go build -o ../bin/x .", "go build -o bin/../../x .", "go build -o .git/hooks/pre-commit .", "go build -o=x .", "go build -o"}},
		"Bash(go:*)":        {[]string{"go version", "go vet ./..."}, []string{"go run x.go", "go generate", "go env -w X=y", "go vet -vettool=x ./...", "go tool x"}},
		"Bash(rg:*)":        {[]string{"rg x", "rg -n x sub", "rg -e x -g '*.go'"}, []string{"rg --pre ./x y", "rg --pre=./x y", "rg --hostname-bin=x y", "rg -z x", "rg --search-zip x"}},
		"Bash(sort:*)":      {[]string{"sort -rn main.go"}, []string{"sort -o x main.go", "sort -ox main.go", "sort --output=x main.go", "sort --compress-program=x main.go", "sort --compress-prog=x main.go", "sort -T x y"}},
		"Bash(tar:*)":       {[]string{"tar -tf x.tar", "tar xzf x.tgz"}, []string{"tar xf x --to-command=sh", "tar -I x -cf y z", "tar cf x --checkpoint-action=exec=x y", "tar --use-compress-program=x -xf y", "tar -C / -xf y", "tar -xPf y"}},
		"Bash(rsync:*)":     {[]string{"rsync -av sub copy"}, []string{"rsync -e sh a b", "rsync --rsh=sh a b", "rsync --rsync-path=x a b", "rsync a host:b", "rsync -ave sh a b"}},
		"Bash(sed:*)":       {[]string{"sed -n 1,5p main.go", "sed 's/a/b/g' main.go", "sed -n '/x/p' main.go", "sed -E 's|a|b|' main.go"}, []string{"sed -i s/a/b/ main.go", "sed 'w x' main.go", "sed -n '1w x' main.go", "sed '1e x' main.go", "sed 's/a/b/w x' main.go", "sed 's/a/b/e' main.go", "sed -f x main.go", "sed --in-place s/a/b/ x", "sed -n -e '1w x' main.go", "sed -s 'r x' main.go", "sed 's/a/b/;w x' main.go"}},
		"Bash(awk:*)":       {[]string{"awk '{print $1}' main.go", "awk -F: '{print $1}' main.go"}, []string{"awk 'BEGIN{system(\"x\")}'", "awk '{print > \"x\"}' main.go", "awk '{print | \"sh\"}' main.go", "awk -f x main.go", "awk '{getline l < \"x\"}' main.go", "awk -i inplace '{}' x", "awk -F : 'BEGIN{system(\"x\")}'", "awk -F: 'BEGIN{system(\"x\")}'"}},
		"Bash(curl:*)":      {[]string{"curl -sSL https://example.com/x", "curl -H 'A: b' https://example.com"}, []string{"curl -o x https://example.com", "curl -O https://example.com/x", "curl -K x", "curl --config x", "curl -T x https://e.com", "curl file:///etc/hosts", "curl -d @x https://e.com", "curl -sox https://e.com", "curl -x http://p https://e.com", "curl -H @x https://e.com"}},
		"Bash(wget:*)":      {[]string{"wget -qO- https://example.com"}, []string{"wget -O x https://e.com", "wget --use-askpass=x y", "wget -i x", "wget -e x y", "wget --post-file=x y"}},
		"Bash(ssh host:*)":  {[]string{"ssh host ls"}, []string{"ssh host -o ProxyCommand=x", "ssh host -F x", "ssh host -E x"}},
		"Bash(cat:*)":       {[]string{"cat /etc/hosts"}, []string{"cat /etc/hosts; tac /etc/hosts", "cat < /etc/hosts", "tac /etc/hosts"}},
		"Bash(python3:*)":   {[]string{"python3 /etc/x.py --output=y"}, []string{"python3 $(x)", "python3 x; tac /etc/hosts"}},
	} {
		for _, command := range commands.harmless {
			if why := objectionTo(cwd, command, rule); why != "" {
				t.Errorf("%s, %s: %s", rule, command, why)
			}
		}
		for _, command := range commands.asked {
			if objectionTo(cwd, command, rule) == "" {
				t.Errorf("%s lets %s through", rule, command)
			}
		}
	}
	for _, rule := range []string{"Bash", "Bash(*)", "Bash(:*)", "*"} {
		if why := objectionTo(cwd, "tac $(x) /etc/hosts", rule); why != "" {
			t.Errorf("%s: %s", rule, why)
		}
	}
	if why := objectionTo(cwd, "tac /etc/hosts", "Bash(tac /etc/hosts)"); why != "" {
		t.Error(why)
	}
}

// A rule for a path is for that path, as the file system tells paths apart.
func TestPathsOfRulesTellCapitals(t *testing.T) {
	cwd := newTree(t)
	must(t, os.Mkdir(filepath.Join(cwd, "allow"), 0o700))
	must(t, os.Mkdir(filepath.Join(cwd, "Real"), 0o700))
	if _, err := os.Stat(filepath.Join(cwd, "ALLOW")); err == nil {
		t.Skip("this file system does not tell capitals")
	}
	rule := "Edit(/" + cwd + "/allow/**)"
	for path, objects := range map[string]bool{
		cwd + "/allow/ok.txt": false, cwd + "/Allow/ok.txt": true, cwd + "/ALLOW/a/b": true, cwd + "/other/ok.txt": false,
		strings.ToUpper(cwd) + "/allow/ok.txt": true, cwd + "/x/../Allow/y": true,
	} {
		write := Command{Call: call(cwd, "Write", "file_path", path, "content", "x"), Rules: []string{rule}}
		if got := Objection(write) != ""; got != objects {
			t.Errorf("%s: objection %t", path, got)
		}
		write.Rules = append(write.Rules, "Write")
		if why := Objection(write); why != "" {
			t.Errorf("%s, and everything is allowed: %s", path, why)
		}
	}
}

// FuzzObjection looks for a line that makes the reader panic, and for one that names a file
// outside in plain words and is let through.
func FuzzObjection(f *testing.F) {
	for _, command := range append(append([]string{}, everyday...), prying...) {
		f.Add(command)
	}
	f.Fuzz(func(t *testing.T, before string) {
		cwd := t.TempDir()
		Objection(Command{Call: bash(cwd, before)})
		Objection(Command{Call: bash(cwd, before), Rules: []string{"Bash(git log:*)", "Bash(sed:*)"}})
		if line := before + "\ntac /etc/hosts"; Objection(Command{Call: bash(cwd, line)}) == "" && !strings.ContainsAny(before, "#\\'\"`<\n\r\x00") {
			t.Errorf("%q is let through", line)
		}
	})
}
