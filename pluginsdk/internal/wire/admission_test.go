package wire

import (
	"context"
	"fmt"
	"slices"
	"strings"
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
			if method.IsServerStream || method.IsClientStream {
				t.Errorf("%s.%s is a stream, which admission does not look at", service, method.Name)
			}
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

// A refusal keeps the call from the service, and what is asked for is what the
// contract says that the method needs.
func TestARefusedCallDoesNotReachTheService(t *testing.T) {
	var asked []pluginsdk.Capability
	refuse := true
	intercept := admission(func(_ context.Context, capability pluginsdk.Capability) error {
		asked = append(asked, capability)
		if refuse {
			return pluginsdk.Errorf(pluginsdk.CodeDenied, "not granted")
		}
		return nil
	})
	served := 0
	call := func(method string) error {
		_, err := intercept(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/harness.host.v1." + method},
			func(context.Context, any) (any, error) { served++; return nil, nil })
		return err
	}
	if err := call("ThreadService/UpdateThread"); pluginsdk.CodeOf(err) != pluginsdk.CodeDenied || served != 0 {
		t.Errorf("refused: %v, served %d times", err, served)
	}
	refuse = false
	if err := call("SettingsService/GetSettings"); err != nil || served != 1 {
		t.Errorf("admitted: %v, served %d times", err, served)
	}
	if want := []pluginsdk.Capability{pluginsdk.CapThreadsWrite, ""}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}

// Who may hold back what plugins start was not thereby trusted with whose account the agent is
// billed to.
func TestWhoMayPauseMayNotChangeAccounts(t *testing.T) {
	intercept := admission(func(_ context.Context, capability pluginsdk.Capability) error {
		if capability != pluginsdk.CapInstallationControl {
			return pluginsdk.Errorf(pluginsdk.CodeDenied, "the plugin lacks the capability %s", capability)
		}
		return nil
	})
	for _, method := range []string{"AddAccount", "UpdateAccount", "RemoveAccount"} {
		_, err := intercept(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/harness.host.v1.AccountService/" + method},
			func(context.Context, any) (any, error) { t.Errorf("%s was called", method); return nil, nil })
		if pluginsdk.CodeOf(err) != pluginsdk.CodeDenied || !strings.Contains(fmt.Sprint(err), "lacks the capability accounts.write") {
			t.Errorf("%s: %v", method, err)
		}
	}
}
