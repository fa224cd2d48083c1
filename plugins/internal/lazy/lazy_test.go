package lazy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A pattern that is wrong panics at its first use, which may be far from a test: all that are
// written as texts or constants are compiled here.
func TestAllPatternsAreRight(t *testing.T) {
	found := 0
	err := filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			of, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || of.Sel.Name != "Regexp" || len(call.Args) != 1 {
				return true
			}
			if from, ok := of.X.(*ast.Ident); !ok || from.Name != "lazy" {
				return true
			}
			text, ok := textOf(call.Args[0])
			if !ok {
				return true // a function's parameter
			}
			found++
			if _, err := regexp.Compile(text); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			return true
		})
		return nil
	})
	if err != nil || found < 50 {
		t.Errorf("%d patterns are found: %v", found, err)
	}
}

// textOf returns the text of an expression of literals and of constants of the same file.
func textOf(expression ast.Expr) (text string, ok bool) {
	switch e := expression.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		x, one := textOf(e.X)
		y, other := textOf(e.Y)
		return x + y, one && other && e.Op == token.ADD
	case *ast.Ident:
		if e.Obj != nil && e.Obj.Kind == ast.Con {
			if spec, is := e.Obj.Decl.(*ast.ValueSpec); is && len(spec.Values) == 1 {
				return textOf(spec.Values[0])
			}
		}
	}
	return "", false
}

func TestAPatternIsCompiledAtItsFirstUse(t *testing.T) {
	if wrong := Regexp("("); wrong == nil {
		t.Error("it was compiled")
	}
	right := Regexp("(a+)b")
	if !right.MatchString("aab") || right.FindStringSubmatch("caab")[1] != "aa" || right.ReplaceAllString("abc", "x") != "xc" {
		t.Error("it is another pattern than its text")
	}
}
