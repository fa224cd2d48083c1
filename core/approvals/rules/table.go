package rules

import "regexp"

// Values of options.
var (
	number = whole(`[0-9]{1,12}`)
	amount = whole(`[+-]?[0-9]{1,12}`) // of lines or bytes
	phrase = whole(`[^-@].*`)          // a message or a pattern
	name   = whole(`[A-Za-z0-9_][A-Za-z0-9_,-]*`)
)

// What git's commands that show changes take besides their own.
const (
	gitDiffOptions = `-p|-u|-w|-b|-U[0-9]+|--patch|--stat|--shortstat|--numstat|--summary|--name-only|--name-status|--no-color|--color=never|--check|` +
		`--unified=[0-9]+|--ignore-all-space|--ignore-space-change|--ignore-blank-lines|--word-diff|--minimal|--histogram|--patience|--no-renames|` +
		`--find-renames|-M|--diff-filter=[A-Za-z]+|--no-ext-diff|--no-textconv`
	gitLogOptions = gitDiffOptions + `|--oneline|--graph|--all|--branches|--tags|--decorate|--no-decorate|--follow|--reverse|--merges|--no-merges|` +
		`--first-parent|--abbrev-commit|-[0-9]+|-n[0-9]+|--max-count=[0-9]+|--skip=[0-9]+|-i|--date=(?:iso|short|relative|local|unix|raw|rfc)|` +
		`--(?:since|until|after|before|author|committer|grep)=.+|--(?:pretty|format)=(?:oneline|short|medium|full|fuller|reference)|` +
		// A placeholder %G has the signature checked, by a program that the configuration names.
		`--(?:pretty=)?format(?::|=)(?:[^%]|%[HhTtPpsbBnd]|%a[nNeEdDrtiIs]|%c[nNeEdDrtiIs])*`
	cargoOptions = `-v|-q|-r|--verbose|--quiet|--release|--workspace|--all|--all-targets|--all-features|--no-default-features|--lib|--bins|--tests|` +
		`--examples|--benches|--locked|--offline|--frozen|--keep-going|--message-format=(?:short|human|json)|-j[0-9]+`
)

var (
	cargoValues = map[string]*regexp.Regexp{"-p": name, "--package": name, "--features": name, "-F": name, "--test": name, "--bin": name, "--example": name, "-j": number}
	gitValues   = map[string]*regexp.Regexp{"-n": number, "-S": phrase, "-G": phrase, "--max-count": number}
)

const (
	withPaths    = "files in there"
	withPackages = "packages in there"
)

// table has the programs that may be allowed by their first words: by program and
// subcommand, or under "" when the program has none. A program is in it when someone has
// read its manual for every option that is listed here: none writes a file that the agent
// names, runs a program that it names, reads a file's list of files, or follows symlinks
// on its own. Interpreters, shells, editors, programs that start others (find, xargs, env,
// sudo, timeout, ssh, ...) and those that send are not for this table.
var table = map[string]map[string]form{
	"ls": {"": {one: whole(`-[1aAbcCdfFghiklmnopqQrRsStuUvxX]+|--(?:all|almost-all|human-readable|recursive|reverse|directory|size|inode|color=never|full-time)`),
		operand: paths, dashes: true, with: withPaths}},
	"cat":  {"": {one: whole(`-[AbeEnstTv]+|--number|--show-all`), operand: paths, dashes: true, with: withPaths}},
	"head": {"": {one: whole(`-[qv]+|-[0-9]+|-[nc][+-]?[0-9]+|--(?:lines|bytes)=[+-]?[0-9]+`), two: map[string]*regexp.Regexp{"-n": amount, "-c": amount}, operand: paths, dashes: true, with: withPaths}},
	"tail": {"": {one: whole(`-[qv]+|-[0-9]+|-[nc][+-]?[0-9]+|--(?:lines|bytes)=[+-]?[0-9]+`), two: map[string]*regexp.Regexp{"-n": amount, "-c": amount}, operand: paths, dashes: true, with: withPaths}},
	"wc":   {"": {one: whole(`-[lwcmL]+|--(?:lines|words|bytes|chars)`), operand: paths, dashes: true, with: withPaths}},
	"stat": {"": {one: whole(`-[Lft]+|--format=.*`), two: map[string]*regexp.Regexp{"-c": phrase}, operand: paths, dashes: true, with: withPaths}},
	"file": {"": {one: whole(`-[bi]+|--brief|--mime|--mime-type`), operand: paths, dashes: true, with: withPaths}},
	"du":   {"": {one: whole(`-[achkms]+|-d[0-9]+|--max-depth=[0-9]+|--summarize|--human-readable|--total|--all`), two: map[string]*regexp.Regexp{"-d": number}, operand: paths, dashes: true, with: withPaths}},
	"df":   {"": {one: whole(`-[hikT]+|--human-readable`), operand: paths, dashes: true, with: withPaths}},
	"nl":   {"": {one: whole(`-b[atn]|-w[0-9]+`), operand: paths, dashes: true, with: withPaths}},
	"cut": {"": {one: whole(`-s|-d.|-[bcf][0-9,-]+`), two: map[string]*regexp.Regexp{"-d": whole(`[^-]`), "-f": whole(`[0-9][0-9,-]*`), "-c": whole(`[0-9][0-9,-]*`), "-b": whole(`[0-9][0-9,-]*`)},
		operand: paths, dashes: true, with: withPaths}},
	// Not -o (writes), -T, --compress-program (runs), --files0-from.
	"sort": {"": {one: whole(`-[bcfghMnrsuV]+|-k[0-9.,bdfghinMrRV]+|-t.`), two: map[string]*regexp.Regexp{"-k": whole(`[0-9][0-9.,bdfghinMrRV]*`), "-t": whole(`[^-]`)},
		operand: paths, dashes: true, with: withPaths}},
	// Not -l (runs pr), -X, --from-file; -r and directories would follow symlinks.
	"diff": {"": {one: whole(`-[abBEiNquwyZ]+|-U[0-9]+|--(?:brief|unified|side-by-side|ignore-all-space|ignore-case|color=never)|--unified=[0-9]+`),
		two: map[string]*regexp.Regexp{"-U": number}, operand: files, dashes: true, with: withPaths}},
	"cmp": {"": {one: whole(`-[bls]+`), operand: files, dashes: true, with: withPaths}},
	// Not -f (reads patterns), -R (follows symlinks), -D, -d.
	"grep": {"": {one: whole(`-[abcEFGhHiIlLnoPqrsvwx]+|-[ABCm][0-9]+|-[0-9]+|--(?:include|exclude|exclude-dir)=.+|` +
		`--(?:ignore-case|line-number|recursive|files-with-matches|count|invert-match|word-regexp|extended-regexp|fixed-strings|only-matching|color=never)`),
		two:     map[string]*regexp.Regexp{"-e": phrase, "-A": number, "-B": number, "-C": number, "-m": number},
		operand: paths, pattern: true, dashes: true, with: withPaths}},
	// Not --pre, --hostname-bin (run), -z (runs what unpacks), -f, -L (follows symlinks),
	// --files (then there is no pattern).
	"rg": {"": {one: whole(`-[aciFHIlnNopPqsSuUvwx.]+|-[ABCmM][0-9]+|-t[a-z0-9]+|--(?:glob|iglob)=.+|--type(?:-not)?=[a-z0-9]+|--(?:max-count|max-depth|max-columns|context)=[0-9]+|` +
		`--(?:hidden|no-ignore|no-heading|heading|count|json|stats|multiline|ignore-case|smart-case|fixed-strings|word-regexp|line-number|no-line-number|` +
		`files-with-matches|only-matching|color=never|sort=path)`),
		two: map[string]*regexp.Regexp{"-e": phrase, "-g": phrase, "--glob": phrase, "-t": name, "-T": name, "--type": name,
			"-A": number, "-B": number, "-C": number, "-m": number},
		operand: paths, pattern: true, dashes: true, with: withPaths}},

	"echo":   {"": {one: whole(`-n`), operand: anything, with: "any words"}},
	"tr":     {"": {one: whole(`-[cdsC]+`), operand: anything, with: "any words"}},
	"pwd":    {"": {one: whole(`-[LP]`)}},
	"whoami": {"": {}},
	"uname":  {"": {one: whole(`-[amnorsv]+`), with: "options"}},
	"which":  {"": {one: whole(`-a`), operand: shaped(`[A-Za-z0-9_][A-Za-z0-9_.+-]*`), with: "names of programs"}},
	// An operand without + would set the clock.
	"date": {"": {one: whole(`-u|-R|-I(?:date|hours|minutes|seconds)?|--utc`), operand: shaped(`\+.*`), with: "any format"}},

	// Not -c, -C, --exec-path; none of the options by which a subcommand writes a file
	// (--output), runs a program (--ext-diff, --textconv, --show-signature) or compares any
	// two files (--no-index). What runs by the repository's configuration runs all the same.
	"git": {
		"status": {one: whole(`-[sbvz]+|--short|--branch|--porcelain(?:=v[12])?|--long|-u(?:no|normal|all)|--untracked-files=(?:no|normal|all)|--ignored|--show-stash`),
			operand: paths, dashes: true, repository: true, mixed: true, with: withPaths},
		"log":   {one: whole(gitLogOptions), two: gitValues, operand: paths, dashes: true, repository: true, mixed: true, with: "any revisions and files"},
		"show":  {one: whole(gitLogOptions), two: gitValues, operand: paths, dashes: true, repository: true, mixed: true, with: "any revisions and files"},
		"diff":  {one: whole(gitDiffOptions + `|--cached|--staged|--merge-base|--exit-code|--quiet`), operand: paths, dashes: true, repository: true, mixed: true, with: "any revisions and files"},
		"blame": {one: whole(`-w|-s|-e|-l|-t|-M|-C|--date=(?:iso|short|relative)|-L[0-9]+,\+?[0-9]+`), two: map[string]*regexp.Regexp{"-L": whole(`[0-9]+,\+?[0-9]+`)}, operand: paths, dashes: true, repository: true, mixed: true, with: withPaths},
		"ls-files": {one: whole(`-[cdmostz]+|--cached|--deleted|--modified|--others|--exclude-standard|--stage`),
			operand: paths, dashes: true, repository: true, mixed: true, with: withPaths},
		"rev-parse": {one: whole(`-q|--verify|--short(?:=[0-9]+)?|--abbrev-ref|--show-toplevel|--show-prefix|--git-dir|--git-common-dir|--is-inside-work-tree`),
			operand: paths, repository: true, mixed: true, with: "any revisions"},
		"branch": {one: whole(`-[arv]+|--all|--remotes|--list|--show-current|--no-color`), repository: true, mixed: true, with: "options that list"},
		"add":    {one: whole(`-A|-u|-v|-n|--all|--update|--verbose|--dry-run`), operand: paths, dashes: true, repository: true, mixed: true, with: withPaths},
		"commit": {two: map[string]*regexp.Regexp{"-m": phrase}, needs: "-m", repository: true, mixed: true, with: "any message"},
	},

	// Not -exec, -toolexec, -vettool, -o, -C, -overlay, -modfile, -args, nor the profiles.
	"go": {
		"build": {one: whole(`-v|-x|-n|-a|-race|-trimpath|-p=[0-9]+`), two: map[string]*regexp.Regexp{"-p": number, "-tags": name}, operand: packages, mixed: true, with: withPackages},
		"vet":   {one: whole(`-v|-json`), two: map[string]*regexp.Regexp{"-tags": name}, operand: packages, mixed: true, with: withPackages},
		"list":  {one: whole(`-m|-json|-deps|-test|-e`), operand: packages, mixed: true, with: withPackages},
		"test": {one: whole(`-v|-race|-short|-failfast|-json|-cover|-benchmem|-trimpath|-p=[0-9]+|-count=[0-9]+|-cpu=[0-9,]+|-parallel=[0-9]+|-timeout=[0-9a-z]+|-shuffle=(?:on|off|[0-9]+)|-vet=off|-(?:run|skip|bench|tags|benchtime)=.+`),
			two: map[string]*regexp.Regexp{"-run": phrase, "-skip": phrase, "-bench": phrase, "-count": number, "-p": number, "-parallel": number,
				"-timeout": whole(`[0-9][0-9a-z]*`), "-tags": name, "-benchtime": whole(`[0-9][0-9a-z]*`), "-shuffle": whole(`on|off|[0-9]+`)},
			operand: packages, mixed: true, with: withPackages},
		"version": {},
	},
	"gofmt": {"": {one: whole(`-l|-d|-s|-e`), operand: paths, with: withPaths}},

	// What these do is written in files of the directory, under the names that are given
	// here: so a rule is for these names.
	"make": {"": {operand: shaped(`[A-Za-z0-9_][A-Za-z0-9_.-]*`), remember: true}},
	"npm": {
		"test": {},
		"run":  {operand: shaped(`[A-Za-z0-9_][A-Za-z0-9_:.-]*`), remember: true},
	},

	// Not --config, --manifest-path, --target-dir, -Z, --fix.
	"cargo": {
		"build":  {one: whole(cargoOptions), two: cargoValues, mixed: true, with: "harmless options"},
		"check":  {one: whole(cargoOptions), two: cargoValues, mixed: true, with: "harmless options"},
		"clippy": {one: whole(cargoOptions), two: cargoValues, mixed: true, with: "harmless options"},
		"test":   {one: whole(cargoOptions + `|--doc|--no-run|--no-fail-fast`), two: cargoValues, operand: shaped(`[A-Za-z0-9_][A-Za-z0-9_:]*`), mixed: true, with: "names of tests"},
	},
	// Not -p, -c, -o, --rootdir, --basetemp (deletes), --junitxml, nor a file of arguments
	// (@FILE).
	"pytest": {"": {one: whole(`-[qvxsl]+|-r[A-Za-z]+|--lf|--ff|--last-failed|--failed-first|--collect-only|--no-header|--tb=(?:auto|long|short|line|native|no)|--maxfail=[0-9]+|--durations=[0-9]+`),
		two: map[string]*regexp.Regexp{"-k": phrase, "-m": phrase}, operand: testNodes, mixed: true, with: "tests in there"}},
}
