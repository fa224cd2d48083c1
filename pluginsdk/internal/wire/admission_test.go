package wire

import (
	"context"
	"slices"
	"testing"

	"google.golang.org/grpc"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// A method that says nothing of its capability would be closed to everybody;
// one that names a right that does not exist could be granted by nobody.
func TestEveryHostMethodNeedsACapabilityThatExists(t *testing.T) {
	server := grpc.NewServer()
	t.Cleanup(server.Stop)
	RegisterHost(server, NewHost(nil, nil))
	needs := capabilities()
	for service, info := range server.GetServiceInfo() {
		for _, method := range info.Methods {
			capability, declared := needs["/"+service+"/"+method.Name]
			if !declared {
				t.Errorf("%s.%s declares no capability", service, method.Name)
			}
			if capability != "" && !slices.Contains(pluginsdk.AllCapabilities(), capability) {
				t.Errorf("%s.%s needs %q, which is no capability", service, method.Name, capability)
			}
		}
	}
}

func TestAMethodWithoutACapabilityIsRefused(t *testing.T) {
	intercept := admission(func(context.Context, pluginsdk.Capability) error { return nil })
	_, err := intercept(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/harness.host.v1.ThreadService/DropEverything"},
		func(context.Context, any) (any, error) { t.Error("it was called"); return nil, nil })
	if pluginsdk.CodeOf(err) != pluginsdk.CodeDenied {
		t.Errorf("refused with %v", err)
	}
}
