package wire

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// grow writes an image and frames of proto/baseline.binpb into a directory.
func grow(t *testing.T, dir string) {
	t.Helper()
	set := imageSet(t, baseline)
	for _, file := range set.GetFile() {
		file.SourceCodeInfo = nil // comments: most of its size
	}
	content, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	methods := map[string]goldenMethod{}
	eachMethod(image(t, baseline), func(path string, method protoreflect.MethodDescriptor) {
		methods[path] = goldenMethod{Request: frames(t, method.Input())[0], Answers: frames(t, method.Output())}
	})
	frames, err := json.MarshalIndent(methods, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"image.binpb": content, "frames.json": append(frames, '\n')} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// frames returns a message of a kind with every field set; one for each
// member of its oneof, if it has one.
func frames(t *testing.T, kind protoreflect.MessageDescriptor) (encoded [][]byte) {
	t.Helper()
	for variant := range variants(kind) {
		grower := &grower{variant: variant}
		message := dynamicpb.NewMessage(kind)
		grower.message(message)
		frame, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		encoded = append(encoded, frame)
	}
	return encoded
}

func variants(kind protoreflect.MessageDescriptor) int {
	most := 1
	for i := range kind.Oneofs().Len() {
		if oneof := kind.Oneofs().Get(i); !oneof.IsSynthetic() {
			most = max(most, oneof.Fields().Len())
		}
	}
	return most
}

// grower sets fields to values that are all different.
type grower struct{ n, variant int }

func (g *grower) message(m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	switch m.Descriptor().FullName() {
	case "google.protobuf.Timestamp": // far ahead: some are deadlines
		g.n++
		m.Set(fields.ByName("seconds"), protoreflect.ValueOfInt64(4_900_000_000+int64(g.n)))
		return
	case "google.protobuf.Duration":
		g.n++
		m.Set(fields.ByName("seconds"), protoreflect.ValueOfInt64(int64(g.n)))
		return
	}
	for i := range fields.Len() {
		field := fields.Get(i)
		if oneof := field.ContainingOneof(); oneof != nil && !oneof.IsSynthetic() && oneof.Fields().Get(g.variant) != field {
			continue
		}
		switch {
		case field.IsMap():
			for range 2 {
				key := g.scalar(field.MapKey()).MapKey()
				entry := m.Mutable(field).Map().NewValue()
				m.Mutable(field).Map().Set(key, g.value(field.MapValue(), entry))
			}
		case field.IsList():
			list := m.Mutable(field).List()
			for range 2 {
				list.Append(g.value(field, list.NewElement()))
			}
		default:
			m.Set(field, g.value(field, m.NewField(field)))
		}
	}
}

// value fills fresh, a value for the field, when it is a message.
func (g *grower) value(field protoreflect.FieldDescriptor, fresh protoreflect.Value) protoreflect.Value {
	if field.Message() == nil {
		return g.scalar(field)
	}
	g.message(fresh.Message())
	return fresh
}

func (g *grower) scalar(field protoreflect.FieldDescriptor) protoreflect.Value {
	g.n++
	switch field.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(fmt.Sprintf("%s-%d", field.Name(), g.n))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(fmt.Appendf(nil, `{"n":%d}`, g.n))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(int64(g.n))
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(uint64(g.n))
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(uint32(g.n))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(float64(g.n) + 0.5)
	}
	panic(fmt.Sprintf("%s: the grower does not know the kind %s; teach it", field.FullName(), field.Kind()))
}
