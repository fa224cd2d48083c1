package wire

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
)

// Admit says whether a plugin may make a call that needs the capability; an
// empty one is needed for what every plugin may do. The context carries the
// pluginsdk.Call that the call is made in, if it is made in one.
type Admit func(ctx context.Context, capability pluginsdk.Capability) error

// noCapability is what a method says that every plugin may call.
const noCapability = "none"

// admission asks admit before each call of the host. A method that does not
// declare what it needs is refused.
func admission(admit Admit) grpc.UnaryServerInterceptor {
	needs := capabilities()
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		capability, declared := needs[info.FullMethod]
		if !declared {
			return nil, pluginsdk.Errorf(pluginsdk.CodeDenied, "%s declares no capability; nobody may call it", info.FullMethod)
		}
		if err := admit(ctx, capability); err != nil {
			return nil, err
		}
		return next(ctx, req)
	}
}

// capabilities reads from the contract what each method of the host needs.
func capabilities() map[string]pluginsdk.Capability {
	needs := make(map[string]pluginsdk.Capability)
	protoregistry.GlobalFiles.RangeFilesByPackage(hostv1.File_harness_host_v1_capability_proto.Package(), func(file protoreflect.FileDescriptor) bool {
		for s := range file.Services().Len() {
			service := file.Services().Get(s)
			for m := range service.Methods().Len() {
				method := service.Methods().Get(m)
				if !proto.HasExtension(method.Options(), hostv1.E_Capability) {
					continue
				}
				capability := proto.GetExtension(method.Options(), hostv1.E_Capability).(string)
				if capability == noCapability {
					capability = ""
				}
				needs[fmt.Sprintf("/%s/%s", service.FullName(), method.Name())] = pluginsdk.Capability(capability)
			}
		}
		return true
	})
	return needs
}
