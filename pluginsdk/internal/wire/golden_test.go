package wire

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"sort"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Golden frames are what a plugin or a host of an older minor version puts on
// the wire: a request and the answers of every method, with every field set,
// encoded by the contract's image of that version alone. A release adds a
// directory of them, after it has written proto/baseline.binpb anew; the
// directories of earlier releases stay as they are:
//
//	go test ./pluginsdk/internal/wire -run TestFrames -write-golden v1.1
var writeGolden = flag.String("write-golden", "", "write testdata/golden/NAME from proto/baseline.binpb first")

const (
	baseline  = "../../../proto/baseline.binpb"
	goldenDir = "testdata/golden"
)

// goldenMethod is what crosses the wire for one call.
type goldenMethod struct {
	Request []byte   `json:"request"`
	Answers [][]byte `json:"answers"` // more than one of a stream
}

// golden is a version of the contract: its image, and frames by method, such
// as /harness.host.v1.AgentService/StartTurn.
type golden struct {
	name    string
	files   *protoregistry.Files
	methods map[string]goldenMethod
}

// goldens reads every version, and writes one first when the flag says so.
func goldens(t *testing.T) []golden {
	t.Helper()
	if *writeGolden != "" {
		grow(t, filepath.Join(goldenDir, *writeGolden))
	}
	dirs, err := filepath.Glob(goldenDir + "/v*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("there are no golden frames in %s (%v)", goldenDir, err)
	}
	versions := make([]golden, len(dirs))
	for i, dir := range dirs {
		versions[i] = golden{name: filepath.Base(dir), files: image(t, filepath.Join(dir, "image.binpb"))}
		content, err := os.ReadFile(filepath.Join(dir, "frames.json"))
		if err == nil {
			err = json.Unmarshal(content, &versions[i].methods)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return versions
}

// image reads a compiled contract.
func image(t *testing.T, path string) *protoregistry.Files {
	t.Helper()
	files, err := protodesc.NewFiles(imageSet(t, path))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return files
}

func imageSet(t *testing.T, path string) *descriptorpb.FileDescriptorSet {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(content, &set); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return &set
}

// eachMethod goes through the methods of an image.
func eachMethod(files *protoregistry.Files, do func(path string, method protoreflect.MethodDescriptor)) {
	files.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for s := range file.Services().Len() {
			service := file.Services().Get(s)
			for m := range service.Methods().Len() {
				method := service.Methods().Get(m)
				do("/"+string(service.FullName())+"/"+string(method.Name()), method)
			}
		}
		return true
	})
}

// method returns the descriptor of a method in the version's own words.
func (g golden) method(path string) (found protoreflect.MethodDescriptor) {
	eachMethod(g.files, func(candidate string, method protoreflect.MethodDescriptor) {
		if candidate == path {
			found = method
		}
	})
	return found
}

// paths are the methods, sorted.
func (g golden) paths() []string {
	paths := make([]string, 0, len(g.methods))
	for path := range g.methods {
		paths = append(paths, path)
	}
	sort.Strings(paths)
	return paths
}

// read decodes a frame in the words of the version; what a newer one has added
// is left out.
func read(t *testing.T, kind protoreflect.MessageDescriptor, frame []byte) proto.Message {
	t.Helper()
	message := dynamicpb.NewMessage(kind)
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(frame, message); err != nil {
		t.Fatalf("%s: %v", kind.FullName(), err)
	}
	return message
}

// requireSame fails unless two frames say the same in the words of the version.
func requireSame(t *testing.T, what string, kind protoreflect.MessageDescriptor, got, want []byte) {
	t.Helper()
	if a, b := read(t, kind, got), read(t, kind, want); !proto.Equal(a, b) {
		t.Errorf("%s has lost something:\n got %v\nwant %v", what, a, b)
	}
}

// A plugin that was built a year ago must be understood as it was.
func TestFramesOfOlderVersionsAreReadAndWrittenWithoutLoss(t *testing.T) {
	for _, version := range goldens(t) {
		for _, path := range version.paths() {
			t.Run(version.name+path, func(t *testing.T) {
				method := version.method(path)
				roundTripFrame(t, method.Input(), version.methods[path].Request)
				for _, answer := range version.methods[path].Answers {
					roundTripFrame(t, method.Output(), answer)
				}
			})
		}
	}
}

// roundTripFrame decodes an old frame with today's code and encodes it again.
func roundTripFrame(t *testing.T, kind protoreflect.MessageDescriptor, frame []byte) {
	t.Helper()
	today, err := protoregistry.GlobalTypes.FindMessageByName(kind.FullName())
	if err != nil {
		t.Fatalf("today's contract has no %s: %v", kind.FullName(), err)
	}
	message := today.New().Interface()
	if err := proto.Unmarshal(frame, message); err != nil {
		t.Fatal(err)
	}
	requireKnown(t, message.ProtoReflect())
	again, err := proto.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	requireSame(t, string(kind.FullName()), kind, again, frame)
}

// requireKnown fails when an old frame has a field that today's code does not
// know.
func requireKnown(t *testing.T, m protoreflect.Message) {
	t.Helper()
	if unknown := m.GetUnknown(); len(unknown) > 0 {
		t.Errorf("%s: today's contract does not know % x", m.Descriptor().FullName(), unknown)
	}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsMap():
			value.Map().Range(func(_ protoreflect.MapKey, entry protoreflect.Value) bool {
				if field.MapValue().Message() != nil {
					requireKnown(t, entry.Message())
				}
				return true
			})
		case field.Message() == nil:
		case field.IsList():
			for i := range value.List().Len() {
				requireKnown(t, value.List().Get(i).Message())
			}
		default:
			requireKnown(t, value.Message())
		}
		return true
	})
}

// A release that writes the baseline anew must freeze its frames too.
func TestTheBaselineHasGoldenFrames(t *testing.T) {
	frozen := map[string]bool{}
	for _, version := range goldens(t) {
		for path, method := range version.methods {
			frozen[path] = frozen[path] || len(method.Answers) > 0
		}
	}
	eachMethod(image(t, baseline), func(path string, _ protoreflect.MethodDescriptor) {
		if !frozen[path] {
			t.Errorf("%s is in %s and has no golden frames; write them with -write-golden, see golden_test.go", path, baseline)
		}
	})
}

// Frames that were written twice must be the same, or nobody could tell a
// changed contract from a changed generator.
func TestFramesAreGrownTheSameWayEachTime(t *testing.T) {
	for range 2 {
		dir := t.TempDir()
		grow(t, dir)
		again := t.TempDir()
		grow(t, again)
		for _, name := range []string{"frames.json", "image.binpb"} {
			a, errA := os.ReadFile(filepath.Join(dir, name))
			b, errB := os.ReadFile(filepath.Join(again, name))
			if errA != nil || errB != nil || !bytes.Equal(a, b) {
				t.Errorf("%s differs from one time to the next (%v, %v)", name, errA, errB)
			}
		}
	}
}
