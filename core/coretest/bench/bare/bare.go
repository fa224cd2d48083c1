// Package bare is what a call to a plugin costs without Harness: go-plugin as it
// comes, with AutoMTLS, a service that gives back what it gets, and one that
// asks its host first.
package bare

import (
	"context"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Name is the file name under which a process is the bare plugin.
const Name = "bare"

// The methods. Ask calls Echo of the host before it answers as Echo does.
const (
	echo = "/bare.Service/Echo"
	ask  = "/bare.Service/Ask"
	open = "/bare.Service/Open" // connects to the host, whose number it gets
)

var handshake = plugin.HandshakeConfig{ProtocolVersion: 1, MagicCookieKey: "BARE", MagicCookieValue: "bare"}

type answer func(ctx context.Context, text *wrapperspb.StringValue) (*wrapperspb.StringValue, error)

func echoed(_ context.Context, text *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
	return text, nil
}

// register serves methods that take and give a text.
func register(s *grpc.Server, methods map[string]answer) {
	desc := grpc.ServiceDesc{ServiceName: "bare.Service", HandlerType: (*any)(nil)}
	for name, answer := range methods {
		desc.Methods = append(desc.Methods, grpc.MethodDesc{
			MethodName: name,
			Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				text := new(wrapperspb.StringValue)
				if err := decode(text); err != nil {
					return nil, err
				}
				return answer(ctx, text)
			},
		})
	}
	s.RegisterService(&desc, struct{}{})
}

func call(ctx context.Context, conn *grpc.ClientConn, method, text string) error {
	return conn.Invoke(ctx, method, wrapperspb.String(text), new(wrapperspb.StringValue))
}
