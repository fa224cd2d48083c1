package wire

import (
	"context"
	"io"
	"log/slog"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/seed-706843ae/harness/pluginsdk"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

// callMetadataKey carries the hook call that a host call is made in. Its value
// is a serialised harness.types.v1.Call: -bin values may hold any bytes.
const callMetadataKey = "harness-call-bin"

// personMetadataKey carries the person in whose name a host call is made, as UTF-8.
const personMetadataKey = "harness-person-bin"

// tokenMetadataKey carries the id of the token by which a host call is made.
const tokenMetadataKey = "harness-token-id"

// maxToken bounds the id of a token, in bytes.
const maxToken = 64

// maxPerson bounds a person's name, in bytes.
const maxPerson = 100

// callConn sends the Call, the person and the token that a context carries along with every call.
type callConn struct {
	grpc.ClientConnInterface
}

// Invoke calls a method with the context's Call and person in the metadata.
func (c callConn) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	if call, ok := pluginsdk.CallFrom(ctx); ok {
		value, err := proto.Marshal(callTo(call))
		if err != nil {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "the context's Call cannot be sent: %w", err)
		}
		ctx = metadata.AppendToOutgoingContext(ctx, callMetadataKey, string(value))
	}
	if person := pluginsdk.PersonFrom(ctx); person != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, personMetadataKey, person)
	}
	if token := pluginsdk.TokenFrom(ctx); token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, tokenMetadataKey, strings.ToValidUTF8(token, ""))
	}
	return c.ClientConnInterface.Invoke(ctx, method, args, reply, opts...)
}

// withIncomingCall puts the Call and the person that a plugin sent into the context.
func withIncomingCall(ctx context.Context) (context.Context, error) {
	if names := metadata.ValueFromIncomingContext(ctx, personMetadataKey); len(names) > 0 {
		ctx = pluginsdk.WithPerson(ctx, personName(names[0]))
	}
	if tokens := metadata.ValueFromIncomingContext(ctx, tokenMetadataKey); len(tokens) > 0 {
		if len(tokens) > 1 || len(tokens[0]) > maxToken {
			return ctx, pluginsdk.Errorf(pluginsdk.CodeInvalid, "metadata %s: want the id of one token", tokenMetadataKey)
		}
		ctx = pluginsdk.WithToken(ctx, tokens[0])
	}
	values := metadata.ValueFromIncomingContext(ctx, callMetadataKey)
	if len(values) == 0 {
		return ctx, nil
	}
	var call typesv1.Call
	if err := proto.Unmarshal([]byte(values[0]), &call); err != nil {
		return ctx, pluginsdk.Errorf(pluginsdk.CodeInvalid, "metadata %s is not a harness.types.v1.Call: %w", callMetadataKey, err)
	}
	return pluginsdk.WithCall(ctx, callFrom(&call)), nil
}

// personName returns a person's name as it may stand in a log and a page: one line of
// UTF-8, bounded, and nothing in it that is not seen.
func personName(sent string) string {
	var name strings.Builder
	for _, r := range sent {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			continue
		}
		if name.Len()+utf8.RuneLen(r) > maxPerson {
			break
		}
		name.WriteRune(r)
	}
	return strings.TrimSpace(name.String())
}

// complete fills in what the caller left out of a hook's Call: all of it from
// the context's Call, and the deadline from the context's.
func complete(ctx context.Context, m *typesv1.Call) {
	if call, ok := pluginsdk.CallFrom(ctx); ok && callFrom(m) == (pluginsdk.Call{}) {
		proto.Merge(m, callTo(call))
	}
	if deadline, ok := ctx.Deadline(); ok && m.GetDeadline() == nil {
		m.Deadline = timeTo(deadline)
	}
}

// Every method of the contract, hook or host service, takes one request and
// gives one response, and is served by answer and called by ask (those that
// report progress: by answerInUpdates and askForUpdates). A request or a response
// that is nil means the zero one, and arrives as that; with an error there is
// none.

// answer serves a call: do gets the request, and what it returns is sent.
func answer[Q, R, QM, RM any](ctx context.Context, m *QM, from func(*QM) Q, do func(context.Context, *Q) (*R, error), to func(R) *RM) (*RM, error) {
	request := from(m)
	response, err := do(ctx, &request)
	if err != nil {
		return nil, err
	}
	return to(orZero(response)), nil
}

// ask makes a call: do sends the request, and what it returns is the response.
func ask[Q, R, QM, RM any](ctx context.Context, request *Q, to func(Q) *QM, do func(context.Context, *QM, ...grpc.CallOption) (*RM, error), from func(*RM) R) (*R, error) {
	m, err := do(ctx, requestTo(ctx, request, to))
	if err != nil {
		return nil, err
	}
	response := from(m)
	return &response, nil
}

// requestTo converts a request; the Call of a hook's is completed.
func requestTo[Q, QM any](ctx context.Context, request *Q, to func(Q) *QM) *QM {
	m := to(orZero(request))
	if hook, ok := any(m).(interface{ GetCall() *typesv1.Call }); ok {
		complete(ctx, hook.GetCall())
	}
	return m
}

func orZero[V any](value *V) V {
	if value == nil {
		value = new(V)
	}
	return *value
}

// answering is the method of a hook as the plugin implements it. Called on a
// plugin that does not, it is CodeUnimplemented.
func answering[H, Q, R any](plugin pluginsdk.Plugin, method func(H, context.Context, *Q) (*R, error)) func(context.Context, *Q) (*R, error) {
	return func(ctx context.Context, request *Q) (*R, error) {
		hook, ok := plugin.(H)
		if !ok {
			return nil, pluginsdk.Errorf(pluginsdk.CodeUnimplemented, "the plugin does not answer %s", methodName(ctx))
		}
		return method(hook, ctx, request)
	}
}

// methodName is the name of the method that is served; of a hook's the hook's.
func methodName(ctx context.Context) string {
	method, _ := grpc.Method(ctx)
	return path.Base(method)
}

// A call whose metadata has timingKey is answered with tookKey in the trailer: how
// long the plugin had it, in nanoseconds.
const (
	timingKey = "harness-timing"
	tookKey   = "harness-took"
)

// AskTiming has a call say how long the plugin had it: see Took.
func AskTiming(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, timingKey, "1")
}

// Took is how long the plugin had a call, by the call's trailer; 0: it does not say.
func Took(trailer metadata.MD) time.Duration {
	values := trailer.Get(tookKey)
	if len(values) == 0 {
		return 0
	}
	ns, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(ns)
}

// tellTiming answers a call that asks for it with how long it took. An error means
// that the answer has been sent already, which is nothing to act on.
func tellTiming(ctx context.Context, began time.Time) {
	if len(metadata.ValueFromIncomingContext(ctx, timingKey)) > 0 {
		_ = grpc.SetTrailer(ctx, metadata.Pairs(tookKey, strconv.FormatInt(int64(time.Since(began)), 10)))
	}
}

// logTimeLayout is the one that hclog writes and reads.
const logTimeLayout = "2006-01-02T15:04:05.000000Z07:00"

// NewLogger returns the logger that a plugin gets as Host.Log. It writes lines
// of JSON in hclog's form (@level, @message, @timestamp), which the host reads
// from the process's stderr and hands on with their level. w must be file
// descriptor 2 itself: lines that go through what go-plugin puts in os.Stderr
// are lost when the process ends right after.
func NewLogger(w io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level:       slog.LevelDebug,
		ReplaceAttr: hclogAttr,
	}))
}

func hclogAttr(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.TimeKey:
		if t, ok := a.Value.Any().(time.Time); ok {
			return slog.String("@timestamp", t.Format(logTimeLayout))
		}
	case slog.LevelKey:
		if level, ok := a.Value.Any().(slog.Level); ok {
			return slog.String("@level", strings.ToLower(level.String()))
		}
	case slog.MessageKey:
		return slog.Attr{Key: "@message", Value: a.Value}
	}
	return a
}
