package wire

import (
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/seed-706843ae/harness/pluginsdk"
	pluginv1 "github.com/seed-706843ae/harness/proto/harness/plugin/v1"
)

// One Latin-1 file in the context directory must not cost the agent its whole
// context.
func TestTextThatIsNotUTF8IsRepaired(t *testing.T) {
	message := onCommandRequestTo(pluginsdk.OnCommandRequest{
		Body:       "caf\xe9",
		Message:    pluginsdk.Message{Attachments: []pluginsdk.Attachment{{Name: "\xff.txt"}}, Metadata: []byte("{}\xff")},
		Attributes: map[string]string{"k\xff": "v", "fine": "w\xff"},
	})
	data, err := newCodec().Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	var arrived pluginv1.OnCommandRequest
	if err := proto.Unmarshal(data.Materialize(), &arrived); err != nil {
		t.Fatal(err)
	}
	got := onCommandRequestFrom(&arrived)
	if got.Body != "caf\uFFFD" || got.Message.Attachments[0].Name != "\uFFFD.txt" {
		t.Errorf("arrived as %+v", got)
	}
	if want := map[string]string{"k\uFFFD": "v", "fine": "w\uFFFD"}; !reflect.DeepEqual(got.Attributes, want) {
		t.Errorf("the map arrived as %q", got.Attributes)
	}
	if string(got.Message.Metadata) != "{}\xff" {
		t.Errorf("bytes were changed to %q", got.Message.Metadata)
	}
	if message.GetBody() != "caf\xe9" {
		t.Error("the sender's own message was changed")
	}
}

func TestTextThatIsUTF8IsLeftAlone(t *testing.T) {
	want := strings.Repeat("grüße ", 100)
	data, err := newCodec().Marshal(onBeforeInvokeRequestTo(pluginsdk.OnBeforeInvokeRequest{Prompt: want}))
	if err != nil {
		t.Fatal(err)
	}
	var arrived pluginv1.OnBeforeInvokeRequest
	if err := newCodec().Unmarshal(data, &arrived); err != nil || arrived.GetPrompt() != want {
		t.Errorf("arrived as %q, %v", arrived.GetPrompt(), err)
	}
}
