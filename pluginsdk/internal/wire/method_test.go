package wire

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/seed-706843ae/harness/pluginsdk"
	pluginv1 "github.com/seed-706843ae/harness/proto/harness/plugin/v1"
)

// speechless answers every method with a message that has nothing in it.
func speechless(t *testing.T) *oldEnd {
	t.Helper()
	methods := map[string]goldenMethod{}
	eachMethod(protoregistry.GlobalFiles, func(path string, method protoreflect.MethodDescriptor) {
		if !strings.HasPrefix(path, "/harness.") {
			return
		}
		answer := []byte{}
		if method.IsStreamingServer() {
			response := method.Output().Fields().ByName("response")
			answer = protowire.AppendBytes(protowire.AppendTag(nil, response.Number(), protowire.BytesType), nil)
		}
		methods[path] = goldenMethod{Answers: [][]byte{answer}}
	})
	return newOldEnd(t, golden{methods: methods})
}

// requireNothing calls every method of a contract's value with no request, and
// fails unless each answers with a response that has nothing in it.
func requireNothing(t *testing.T, name string, side reflect.Value, methods reflect.Type) {
	t.Helper()
	for i := range methods.NumMethod() {
		method := methods.Method(i).Name
		t.Run(name+"."+method, func(t *testing.T) {
			call := side.MethodByName(method)
			results := call.Call([]reflect.Value{reflect.ValueOf(t.Context()), reflect.Zero(call.Type().In(1))})
			if err, _ := results[1].Interface().(error); err != nil {
				t.Fatal(err)
			}
			if response := results[0]; response.IsNil() || !response.Elem().IsZero() {
				t.Errorf("answered %+v", response)
			}
		})
	}
}

// No request and an empty one, no response and an empty one are the same to
// everybody: a plugin in another language cannot tell them apart.
func TestNoRequestIsTheZeroOneAndNoResponseTheZeroOne(t *testing.T) {
	client := NewPluginClient(dialled(t, speechless(t).serve(t)))
	for _, hook := range []reflect.Type{
		reflect.TypeFor[pluginsdk.BeforeRunHook](), reflect.TypeFor[pluginsdk.PipelineStartHook](), reflect.TypeFor[pluginsdk.MessageHook](),
		reflect.TypeFor[pluginsdk.BeforeInvokeHook](), reflect.TypeFor[pluginsdk.AfterInvokeHook](), reflect.TypeFor[pluginsdk.CommandHook](),
		reflect.TypeFor[pluginsdk.BeforeReplyHook](), reflect.TypeFor[pluginsdk.PipelineCompleteHook](), reflect.TypeFor[pluginsdk.TaskCreateHook](),
		reflect.TypeFor[pluginsdk.TaskCompleteHook](), reflect.TypeFor[pluginsdk.TaskValidatedHook](), reflect.TypeFor[pluginsdk.TaskFailedHook](),
		reflect.TypeFor[pluginsdk.SettingsChangeHook](), reflect.TypeFor[pluginsdk.BroadcastHook](), reflect.TypeFor[pluginsdk.CheckHook](), reflect.TypeFor[pluginsdk.CronHook](),
		reflect.TypeFor[pluginsdk.DeliverHook](), reflect.TypeFor[pluginsdk.ToolProvider](),
	} {
		requireNothing(t, "hooks", reflect.ValueOf(client), hook)
	}
	host := reflect.ValueOf(NewHost(dialled(t, speechless(t).serve(t)), slog.New(slog.DiscardHandler)))
	for i := range host.NumField() {
		if service := host.Type().Field(i); service.Type.Kind() == reflect.Interface {
			requireNothing(t, service.Name, host.Field(i).Elem(), service.Type)
		}
	}
}

// mute has nothing to say to what it is asked.
type mute struct{ asked []any }

func (*mute) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{Name: "mute", Version: "1", Commands: []pluginsdk.CommandSpec{{Name: "*"}}}
}

func (m *mute) OnBeforeRun(_ context.Context, request *pluginsdk.OnBeforeRunRequest) (*pluginsdk.OnBeforeRunResponse, error) {
	m.asked = append(m.asked, *request)
	return nil, nil
}

func (m *mute) OnBeforeInvoke(_ context.Context, request *pluginsdk.OnBeforeInvokeRequest) (*pluginsdk.OnBeforeInvokeResponse, error) {
	m.asked = append(m.asked, *request)
	return nil, nil
}

func (m *mute) OnBeforeReply(_ context.Context, request *pluginsdk.OnBeforeReplyRequest) (*pluginsdk.OnBeforeReplyResponse, error) {
	m.asked = append(m.asked, *request)
	return nil, nil
}

func (m *mute) OnCommand(_ context.Context, request *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
	m.asked = append(m.asked, *request)
	return nil, nil
}

func (m *mute) OnTaskCreate(_ context.Context, request *pluginsdk.OnTaskCreateRequest) (*pluginsdk.OnTaskCreateResponse, error) {
	m.asked = append(m.asked, *request)
	return nil, nil
}

func (m *mute) OnTaskComplete(_ context.Context, request *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
	m.asked = append(m.asked, *request)
	return nil, nil
}

func (m *mute) OnTaskValidated(_ context.Context, request *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
	m.asked = append(m.asked, *request)
	return nil, nil
}

func TestAPluginThatHasNothingToSayChangesNothing(t *testing.T) {
	plugin := &mute{}
	client, ctx := hooked(t, plugin), t.Context()
	if gate, err := client.OnBeforeRun(ctx, nil); err != nil || gate.Deny || gate.Reservations != nil || gate.Effects != nil {
		t.Errorf("the gate: %+v, %v", gate, err)
	}
	if prompt, err := client.OnBeforeInvoke(ctx, nil); err != nil || prompt.Prompt != nil {
		t.Errorf("the prompt: %+v, %v", prompt, err)
	}
	if reply, err := client.OnBeforeReply(ctx, nil); err != nil || reply.Text != nil {
		t.Errorf("the reply: %+v, %v", reply, err)
	}
	if command, err := client.OnCommand(ctx, nil); err != nil || command.Handled {
		t.Errorf("the command: %+v, %v", command, err)
	}
	if create, err := client.OnTaskCreate(ctx, nil); err != nil || create.Context != nil || create.Cwd != nil || create.SetLabels != nil {
		t.Errorf("the task's context: %+v, %v", create, err)
	}
	if verdict, err := client.OnTaskComplete(ctx, nil); err != nil || verdict.Verdict != "" {
		t.Errorf("the verdict: %+v, %v", verdict, err)
	}
	if handover, err := client.OnTaskValidated(ctx, nil); err != nil || handover.Handover != "" {
		t.Errorf("the handover: %+v, %v", handover, err)
	}
	for _, request := range plugin.asked {
		if !reflect.ValueOf(request).IsZero() {
			t.Errorf("it was asked %+v", request)
		}
	}
	if len(plugin.asked) != 7 {
		t.Errorf("it was asked %d times", len(plugin.asked))
	}
}

// blank takes the whole text out.
type blank struct{ mute }

func (*blank) OnBeforeReply(context.Context, *pluginsdk.OnBeforeReplyRequest) (*pluginsdk.OnBeforeReplyResponse, error) {
	return &pluginsdk.OnBeforeReplyResponse{Text: new(string)}, nil
}

func TestAnEmptyTextIsNotNoText(t *testing.T) {
	response, err := hooked(t, &blank{}).OnBeforeReply(t.Context(), nil)
	if err != nil || response.Text == nil || *response.Text != "" {
		t.Errorf("answered %+v, %v", response, err)
	}
}

// wordy writes lists down that are empty.
type wordy struct{ mute }

func (w *wordy) Manifest() pluginsdk.Manifest {
	manifest := w.mute.Manifest()
	manifest.Needs = map[pluginsdk.Hook][]pluginsdk.Part{pluginsdk.HookBeforeInvoke: {}}
	manifest.OnFailure = map[pluginsdk.Hook]pluginsdk.OnFailure{}
	return manifest
}

// A plugin whose plugin.json differs from what it says when it is started is not
// started.
func TestAPluginDescribesItselfAsItArrives(t *testing.T) {
	described, err := Describe(&wordy{})
	if err != nil {
		t.Fatal(err)
	}
	arrived, err := hooked(t, &wordy{}).Describe(t.Context())
	if differ := arrived.Differences(described); err != nil || len(differ) > 0 {
		t.Errorf("they differ in %v, %v", differ, err)
	}
}

// mistaken asks for a part that its hook always has.
type mistaken struct{ mute }

func (m *mistaken) Manifest() pluginsdk.Manifest {
	manifest := m.mute.Manifest()
	manifest.Needs = map[pluginsdk.Hook][]pluginsdk.Part{pluginsdk.HookBeforeRun: {pluginsdk.PartMessage}}
	return manifest
}

// An author whose manifest asks for what has no effect learns of it at the first start: a
// daemon, which may be older than the plugin, says nothing.
func TestAnAuthorIsToldWhatHasNoEffect(t *testing.T) {
	if _, err := Describe(&mistaken{}); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), `the part "message" of OnBeforeRun`) {
		t.Errorf("error is %v", err)
	}
}

// broken returns a response beside an error: the error is what counts.
type broken struct{ mute }

func (*broken) OnBeforeRun(context.Context, *pluginsdk.OnBeforeRunRequest) (*pluginsdk.OnBeforeRunResponse, error) {
	return &pluginsdk.OnBeforeRunResponse{Reason: "half"}, errors.New("it broke")
}

func TestWithAnErrorThereIsNoResponse(t *testing.T) {
	if response, err := hooked(t, &broken{}).OnBeforeRun(t.Context(), nil); err == nil || response != nil {
		t.Errorf("answered %+v, %v", response, err)
	}
}

// prefixer puts a word in front of prompts.
type prefixer struct{ mute }

func (*prefixer) OnBeforeInvoke(context.Context, *pluginsdk.OnBeforeInvokeRequest) (*pluginsdk.OnBeforeInvokeResponse, error) {
	return &pluginsdk.OnBeforeInvokeResponse{Prefix: "word"}, nil
}

// A daemon that does not know of prefixes sends the prompt, and gets a whole one back.
func TestAPrefixForADaemonThatKnowsNone(t *testing.T) {
	client := hooked(t, &prefixer{})
	got, err := client.OnBeforeInvoke(t.Context(), &pluginsdk.OnBeforeInvokeRequest{Prompt: "hello"})
	if err != nil || got.Prefix != "" || got.Prompt == nil || *got.Prompt != "word"+pluginsdk.PromptSeparator+"hello" {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = client.OnBeforeInvoke(t.Context(), &pluginsdk.OnBeforeInvokeRequest{})
	if err != nil || got.Prefix != "word" || got.Prompt != nil {
		t.Errorf("without a prompt: %+v, %v", got, err)
	}
}

// echo is a state service and a plugin whose values are as large as they are
// asked for, and which count how often they were asked.
type echo struct {
	mute
	pluginsdk.State
	size  int
	asked int
}

func (e *echo) OnBeforeInvoke(context.Context, *pluginsdk.OnBeforeInvokeRequest) (*pluginsdk.OnBeforeInvokeResponse, error) {
	e.asked++
	text := strings.Repeat("x", e.size)
	return &pluginsdk.OnBeforeInvokeResponse{Prompt: &text}, nil
}

func (e *echo) OnTaskComplete(context.Context, *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
	e.asked++
	return &pluginsdk.OnTaskCompleteResponse{Feedback: strings.Repeat("x", e.size)}, nil
}

func (e *echo) Put(context.Context, *pluginsdk.PutStateRequest) (*pluginsdk.PutStateResponse, error) {
	e.asked++
	return nil, nil
}

func (e *echo) Get(context.Context, *pluginsdk.GetStateRequest) (*pluginsdk.GetStateResponse, error) {
	e.asked++
	return &pluginsdk.GetStateResponse{Entry: pluginsdk.StateEntry{Value: make([]byte, e.size)}}, nil
}

// hosted serves a host in memory and returns it as a plugin sees it.
func hosted(t *testing.T, host pluginsdk.Host) pluginsdk.Host {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	admitAll := func(context.Context, pluginsdk.Capability) error { return nil }
	listener := served(t, HostOptions(log, admitAll), func(r grpc.ServiceRegistrar) { RegisterHost(r, host) })
	return NewHost(dialled(t, listener), log)
}

// A person's 17 MiB would be charged to the plugin that cannot be told of them,
// until it is in quarantine.
func TestARequestThatIsTooLargeIsItsSendersFault(t *testing.T) {
	other := &echo{}
	client, host := hooked(t, other), hosted(t, pluginsdk.Host{State: other})
	large := strings.Repeat("x", MaxMessageBytes)
	for name, ask := range map[string]func() error{
		"a hook": func() error {
			_, err := client.OnBeforeInvoke(t.Context(), &pluginsdk.OnBeforeInvokeRequest{Prompt: large})
			return err
		},
		"a hook that reports progress": func() error {
			_, err := client.OnTaskComplete(t.Context(), &pluginsdk.OnTaskCompleteRequest{Result: pluginsdk.InvokeResult{Text: large}})
			return err
		},
		"a call of the host": func() error {
			_, err := host.State.Put(t.Context(), &pluginsdk.PutStateRequest{Value: []byte(large)})
			return err
		},
		"one that grows when it is made valid": func() error {
			_, err := client.OnBeforeInvoke(t.Context(), &pluginsdk.OnBeforeInvokeRequest{Prompt: strings.Repeat("a\xff", MaxMessageBytes/3)})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := ask()
			if !errors.Is(err, ErrTooLarge) || pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), "bytes, 16777216 are the most") {
				t.Errorf("error is %s %v", pluginsdk.CodeOf(err), err)
			}
			if other.asked != 0 {
				t.Error("the other side was asked")
			}
		})
	}
}

func TestARequestThatJustFitsIsSent(t *testing.T) {
	other := &echo{size: 1}
	request := pluginsdk.OnBeforeInvokeRequest{Prompt: strings.Repeat("x", MaxMessageBytes-100)}
	rest := MaxMessageBytes - newSize(t, onBeforeInvokeRequestTo(request))
	request.Prompt += strings.Repeat("x", rest)
	if _, err := hooked(t, other).OnBeforeInvoke(t.Context(), &request); err != nil || other.asked != 1 {
		t.Errorf("%v, asked %d times", err, other.asked)
	}
}

func newSize(t *testing.T, m *pluginv1.OnBeforeInvokeRequest) int {
	t.Helper()
	data, err := newCodec().Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return data.Len()
}

func TestAnAnswerThatIsTooLargeIsItsGiversFault(t *testing.T) {
	other := &echo{size: MaxMessageBytes}
	client, host := hooked(t, other), hosted(t, pluginsdk.Host{State: other})
	_, hook := client.OnBeforeInvoke(t.Context(), nil)
	_, work := client.OnTaskComplete(t.Context(), nil)
	_, call := host.State.Get(t.Context(), nil)
	for name, err := range map[string]error{"a hook": hook, "a hook that reports progress": work, "a call of the host": call} {
		if errors.Is(err, ErrTooLarge) || pluginsdk.CodeOf(err) != pluginsdk.CodeExhausted {
			t.Errorf("%s: error is %s %v", name, pluginsdk.CodeOf(err), err)
		}
	}
	if other.asked != 3 {
		t.Errorf("%d of 3 were asked", other.asked)
	}
}
