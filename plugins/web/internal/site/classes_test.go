package site

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// unstyled are classes that only scripts and tests look for, and such as stand there for the
// sake of what is inside of them.
var unstyled = []string{"script", "code-lang"}

var (
	attribute  = regexp.MustCompile(`class="([^"{]+)"`)
	expression = regexp.MustCompile(`class=\{([^}]+)\}`)
	inScript   = regexp.MustCompile(`(?:className = |classList\.(?:add|remove|toggle)\()"([^"]+)"`)
	quoted     = regexp.MustCompile(`"([^"]*)"`)
	compared   = regexp.MustCompile(`[!=]= "[^"]*"`) // a value, no class
	name       = regexp.MustCompile(`^[a-zA-Z]([\w-]*\w)?$`)
	word       = regexp.MustCompile(`[a-zA-Z][\w-]*`)
	selector   = regexp.MustCompile(`\.([a-zA-Z][\w-]*)`)
)

// A class that no stylesheet knows is a slip of a page; one that no page has is a rule that
// everybody loads for nothing.
func TestClassesAreStyledAndUsed(t *testing.T) {
	styled := make(map[string]bool)
	sheets, err := fs.Glob(embedded, "assets/style/*.css")
	if err != nil {
		t.Fatal(err)
	}
	for _, sheet := range sheets {
		text := comments.ReplaceAllString(Style(strings.TrimPrefix(sheet, "assets/style/")), "")
		for _, part := range strings.Split(text, "{") {
			part = part[strings.LastIndexAny(part, ";}")+1:]
			for _, class := range selector.FindAllStringSubmatch(part, -1) {
				styled[class[1]] = true
			}
		}
	}
	words, used := sources(t)
	for class, file := range used {
		if !styled[class] && !slices.Contains(unstyled, class) {
			t.Errorf("%s has the class %s, which no stylesheet knows", file, class)
		}
	}
	for class := range styled {
		made := class[:strings.LastIndexByte(class, '-')+1] // as in "tone-" + tone
		if !words[class] && (made == "" || !words[made]) {
			t.Errorf("the stylesheets have the class %s, which nothing has", class)
		}
	}
}

// sources are all words of what pages are written in, and the classes in it with a file of
// each.
func sources(t *testing.T) (words map[string]bool, used map[string]string) {
	t.Helper()
	words, used = make(map[string]bool), make(map[string]string)
	inside := os.DirFS("..")
	err := fs.WalkDir(inside, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		templ, script := strings.HasSuffix(file, ".templ"), strings.HasSuffix(file, ".js") && !strings.Contains(file, "vendor")
		if !templ && !script && !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_templ.go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		raw, err := fs.ReadFile(inside, file)
		if err != nil {
			return err
		}
		text := string(raw)
		for _, one := range word.FindAllString(text, -1) {
			words[one] = true
		}
		found := attribute.FindAllStringSubmatch(text, -1)
		if script {
			found = append(found, inScript.FindAllStringSubmatch(text, -1)...)
		}
		for _, one := range expression.FindAllStringSubmatch(text, -1) {
			found = append(found, quoted.FindAllStringSubmatch(compared.ReplaceAllString(one[1], ""), -1)...)
		}
		for _, list := range found {
			for _, class := range strings.Fields(list[1]) {
				if name.MatchString(class) {
					used[class] = file
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return words, used
}
