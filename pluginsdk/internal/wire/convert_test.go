package wire

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// trip is the round trip of one type.
type trip struct {
	name string
	run  func(t *testing.T)
}

// roundTrip sends a value with every field set through the wire's bytes, and
// the zero value too.
func roundTrip[V any, M proto.Message](to func(V) M, from func(M) V) trip {
	return trip{name: reflect.TypeFor[V]().Name(), run: func(t *testing.T) {
		value := filled[V](t)
		requireFilled(t, reflect.ValueOf(value), reflect.TypeFor[V]().Name())
		for _, want := range []V{value, *new(V)} {
			data, err := proto.Marshal(to(want))
			if err != nil {
				t.Fatalf("marshal: %v", err)
			}
			message := reflect.New(reflect.TypeFor[M]().Elem()).Interface().(M)
			if err := proto.Unmarshal(data, message); err != nil {
				t.Fatalf("unmarshal: %v", err)
			}
			if got := from(message); !reflect.DeepEqual(got, want) {
				t.Errorf("a field is lost on the wire:\n got %+v\nwant %+v", got, want)
			}
		}
		if got := from(*new(M)); !reflect.DeepEqual(got, *new(V)) {
			t.Errorf("an absent message is %+v, want the zero value", got)
		}
	}}
}

// A field that is lost on the wire is a plugin that silently sees half of what
// happened.
func TestEveryFieldSurvivesTheWire(t *testing.T) {
	for _, trip := range trips() {
		t.Run(trip.name, trip.run)
	}
}

// offTheWire lists the structs of the contract that no message carries.
func offTheWire() map[string]string {
	return map[string]string{
		"Error":    "travels as a gRPC status: errors_test.go",
		"Host":     "is what the host services are",
		"HookSpec": "a row of the table of hooks, which both sides have",
		"Retry":    "JSON in Message.Metadata",

		"SummaryMetadata": "JSON in Message.Metadata",
		"RowMetadata":     "JSON in Message.Metadata",
		"RowAction":       "JSON in Message.Metadata",

		"Label": "is what the fields of what it is of say, and their Origin",

		"ChatMessage":        "payload of an event: JSON in Event.Data",
		"RunRef":             "payload of an event: JSON in Event.Data",
		"StepEvent":          "payload of an event: JSON in Event.Data",
		"StreamPayload":      "payload of an event: JSON in Event.Data",
		"CompletePayload":    "payload of an event: JSON in Event.Data",
		"ErrorPayload":       "payload of an event: JSON in Event.Data",
		"RetryPayload":       "payload of an event: JSON in Event.Data",
		"MergedPayload":      "payload of an event: JSON in Event.Data",
		"WaitingPayload":     "payload of an event: JSON in Event.Data",
		"ParkedPayload":      "payload of an event: JSON in Event.Data",
		"CronPayload":        "payload of an event: JSON in Event.Data",
		"PlanPayload":        "payload of an event: JSON in Event.Data",
		"DeliveryPayload":    "payload of an event: JSON in Event.Data",
		"ThreadPayload":      "payload of an event: JSON in Event.Data",
		"MessagePayload":     "payload of an event: JSON in Event.Data",
		"TaskPayload":        "payload of an event: JSON in Event.Data",
		"PluginStatePayload": "payload of an event: JSON in Event.Data",
		"ApprovalPayload":    "payload of an event: JSON in Event.Data",
		"TokenPayload":       "payload of an event: JSON in Event.Data",
	}
}

// A type added to the contract must not be forgotten here.
func TestEveryTypeOfTheContractHasARoundTrip(t *testing.T) {
	known := offTheWire()
	for _, trip := range trips() {
		known[trip.name] = "has a round trip"
	}
	for _, name := range contractStructs(t) {
		if known[name] == "" {
			t.Errorf("pluginsdk.%s has no round trip in trips(), and no reason in offTheWire()", name)
		}
	}
}

// contractStructs returns the names of the exported structs of pluginsdk.
func contractStructs(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../*.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("parse the contract: %v", err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if spec, ok := node.(*ast.TypeSpec); ok && spec.Name.IsExported() {
				if _, ok := spec.Type.(*ast.StructType); ok {
					names = append(names, spec.Name.Name)
				}
			}
			return true
		})
	}
	if len(names) < 30 {
		t.Fatalf("found only %d structs in the contract: %v", len(names), names)
	}
	return names
}

// A hook that the client does not have is one that no host can fire.
func TestTheClientHasEveryHook(t *testing.T) {
	if got, want := pluginsdk.HooksOf(&forwarder{}), pluginsdk.AllHooks(); !slices.Equal(got, want) {
		t.Errorf("the client has %v, the contract has %v", got, want)
	}
}
