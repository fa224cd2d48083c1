package wire

import (
	"context"
	"path"

	"google.golang.org/grpc"

	"github.com/seed-706843ae/harness/pluginsdk"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

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
