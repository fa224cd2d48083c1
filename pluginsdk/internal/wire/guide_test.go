package wire

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Who writes a plugin has the guide, and no need of the source: each hook is there as
// the contract has it, with all that it is asked and may answer.
func TestGuideHasEveryHook(t *testing.T) {
	for _, spec := range pluginsdk.Hooks() {
		rows := guideRows(t, string(spec.Hook))
		if len(rows) < 2 {
			t.Errorf("%s is in %d tables of the guide: want when it is asked, and what it gets and answers", spec.Hook, len(rows))
			continue
		}
		asked, said := rows[0], rows[1]
		if want := ending(spec); !strings.HasSuffix(spaced(asked), want) {
			t.Errorf("want the row to end with %q:\n%s", want, asked)
		}
		if got, want := strings.Contains(said, "`*"), len(spec.Parts) > 0; got != want {
			t.Errorf("the row says that parts are left out: %v, want %v:\n%s", got, want, said)
		}
		for _, field := range hookFields(t, spec.Hook) {
			if !strings.Contains(folded(said), folded(field)) {
				t.Errorf("the row lacks the field %s:\n%s", field, said)
			}
		}
	}
}

// A plugin whose call is refused for want of a capability was not warned by the guide.
func TestGuideHasEveryMethodOfTheHost(t *testing.T) {
	for method, needs := range capabilities() {
		name := "`" + path.Base(method) + "`"
		want := cmp.Or(needs, noCapability)
		if !slices.ContainsFunc(guideRows(t, ""), func(row string) bool {
			return strings.Contains(row, name) && strings.Contains(strings.ReplaceAll(row, "`", ""), fmt.Sprintf("| %s |", want))
		}) {
			t.Errorf("the guide has no row with %s and the capability %s", name, want)
		}
	}
}

// guideRows returns the rows of the guide's tables, those that begin with a name.
func guideRows(t *testing.T, name string) (rows []string) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/writing-a-plugin.md")
	if err != nil {
		t.Fatal(err)
	}
	for row := range strings.Lines(string(page)) {
		if name == "" && strings.HasPrefix(row, "| `") || strings.HasPrefix(row, "| `"+name+"` |") {
			rows = append(rows, strings.TrimSpace(row))
		}
	}
	return rows
}

// ending is how a row of the table of the hooks ends: runner, failure mode, deadline.
func ending(spec pluginsdk.HookSpec) string {
	fails, deadline := string(spec.OnFailure), fmt.Sprintf("%d s", spec.Class.Limit()/time.Second)
	if spec.Runner == pluginsdk.RunOne {
		fails = ""
	}
	switch {
	case spec.Class == pluginsdk.ClassWork:
		deadline = "work"
	case spec.Class.Limit() >= time.Minute:
		deadline = fmt.Sprintf("%d min", spec.Class.Limit()/time.Minute)
	}
	needs := ""
	if spec.Capability != "" {
		needs = "`" + string(spec.Capability) + "`"
	}
	return spaced(fmt.Sprintf("| %s | %s | %s | %s |", spec.Runner, fails, deadline, needs))
}

// spaced writes each run of spaces as one.
func spaced(row string) string { return strings.Join(strings.Fields(row), " ") }

// folded writes a name as both Go and the wire have it.
func folded(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// hookFields are the fields of a hook's request, but for the call that every one has,
// and of its response.
func hookFields(t *testing.T, hook pluginsdk.Hook) (names []string) {
	t.Helper()
	var found protoreflect.MethodDescriptor
	eachMethod(protoregistry.GlobalFiles, func(path string, method protoreflect.MethodDescriptor) {
		if strings.HasPrefix(path, "/harness.plugin.v1.") && strings.HasSuffix(path, "/"+string(hook)) {
			found = method
		}
	})
	if found == nil {
		t.Fatalf("the wire has no method %s", hook)
	}
	answer := found.Output()
	if response := answer.Fields().ByName("response"); response != nil {
		answer = response.Message()
	}
	for _, message := range []protoreflect.MessageDescriptor{found.Input(), answer} {
		for i := range message.Fields().Len() {
			if name := message.Fields().Get(i).Name(); name != "call" {
				names = append(names, string(name))
			}
		}
	}
	return names
}
