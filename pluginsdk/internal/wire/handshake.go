package wire

import (
	"path"
	"strings"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that this one wraps
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What both sides of go-plugin's handshake agree on. The cookie is no secret:
// it only tells a plugin that was started by a host from one started by hand.
const (
	ProtocolVersion = pluginsdk.ContractVersion
	CookieKey       = "HARNESS_PLUGIN"
	CookieValue     = "harness.plugin.v1"
	// DispenseName is the name that the plugin is registered under.
	DispenseName = "harness"
	// HostPIDKey names the environment variable with the host's process id,
	// so that a plugin can tell that its host is gone.
	HostPIDKey = "HARNESS_HOST_PID"
)

// codec is gRPC's own, which refuses a message for one stray byte in a text: a
// file in another encoding would cost the whole prompt it is part of. Here such
// bytes arrive as U+FFFD.
type codec struct {
	encoding.CodecV2
}

func newCodec() encoding.CodecV2 {
	return codec{encoding.GetCodecV2("proto")}
}

// encoded is a message as it is sent.
type encoded struct{ mem.BufferSlice }

// encodeRequest encodes a request before gRPC does, which would fail in the same
// way for one that is too large to be sent and for an answer that is.
func encodeRequest(method string, message any) (encoded, error) {
	data, err := newCodec().Marshal(message)
	if err != nil {
		return encoded{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "the request of %s cannot be sent: %w", path.Base(method), err)
	}
	if size := data.Len(); size > MaxMessageBytes {
		data.Free()
		return encoded{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%w: the request of %s has %d bytes, %d are the most", ErrTooLarge, path.Base(method), size, MaxMessageBytes)
	}
	return encoded{data}, nil
}

// Marshal repairs a copy of the message when it cannot be sent as it is.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if request, ok := v.(encoded); ok {
		return request.BufferSlice, nil
	}
	data, err := c.CodecV2.Marshal(v)
	message, ok := v.(proto.Message)
	if err == nil || !ok {
		return data, err
	}
	message = proto.Clone(message)
	repair(message.ProtoReflect())
	return c.CodecV2.Marshal(message)
}

// repair makes every text of a message valid UTF-8.
func repair(m protoreflect.Message) {
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsMap():
			repairMap(field, value.Map())
		case field.IsList():
			for i := range value.List().Len() {
				if fixed, changed := repairedValue(field, value.List().Get(i)); changed {
					value.List().Set(i, fixed)
				}
			}
		default:
			if fixed, changed := repairedValue(field, value); changed {
				m.Set(field, fixed)
			}
		}
		return true
	})
}

// repairMap sets every entry anew under its repaired key.
func repairMap(field protoreflect.FieldDescriptor, entries protoreflect.Map) {
	entries.Range(func(key protoreflect.MapKey, value protoreflect.Value) bool {
		fixedKey, keyChanged := repairedValue(field.MapKey(), key.Value())
		fixed, changed := repairedValue(field.MapValue(), value)
		if keyChanged {
			entries.Clear(key)
		}
		if keyChanged || changed {
			entries.Set(fixedKey.MapKey(), fixed)
		}
		return true
	})
}

// repairedValue returns a text made valid, and whether it was not; a message is
// repaired in place.
func repairedValue(field protoreflect.FieldDescriptor, value protoreflect.Value) (protoreflect.Value, bool) {
	switch field.Kind() {
	case protoreflect.StringKind:
		text := value.String()
		fixed := strings.ToValidUTF8(text, "\uFFFD")
		return protoreflect.ValueOfString(fixed), fixed != text
	case protoreflect.MessageKind:
		repair(value.Message())
	}
	return value, false
}
