package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// foreigner speaks the wire without the SDK, which would keep it from what it
// does: stubborn ignores every request to end, oversized answers OnMessage with
// 17 MiB, brokerage leaks go-plugin's broker streams.
func foreigner(name string) {
	if name == "stubborn" {
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	}
	if err := serveForeign(name); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serveForeign(name string) error {
	certificate, err := selfSigned()
	if err != nil {
		return err
	}
	hosts := x509.NewCertPool()
	hosts.AppendCertsFromPEM([]byte(os.Getenv("PLUGIN_CLIENT_CERT")))
	listener, err := net.Listen("unix", filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "foreign"))
	if err != nil {
		return err
	}
	server := grpc.NewServer(
		grpc.Creds(credentials.NewTLS(&tls.Config{
			Certificates: []tls.Certificate{certificate}, ClientCAs: hosts,
			ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
		})),
		grpc.ForceServerCodecV2(rawCodec{proto: encoding.GetCodecV2("proto")}),
		grpc.MaxSendMsgSize(64<<20),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error { return answer(name, stream) }),
	)
	wellness := health.NewServer()
	wellness.SetServingStatus("plugin", grpc_health_v1.HealthCheckResponse_SERVING)
	grpc_health_v1.RegisterHealthServer(server, wellness)
	fmt.Printf("1|1|unix|%s|grpc|%s\n", listener.Addr(), base64.RawStdEncoding.EncodeToString(certificate.Certificate[0]))
	return server.Serve(listener)
}

func answer(name string, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	switch method {
	case "/plugin.GRPCBroker/StartStream":
		if name == "brokerage" {
			return floodBroker(stream)
		}
		fallthrough
	case "/plugin.GRPCStdio/StreamStdio":
		<-stream.Context().Done() // held open
		return nil
	case "/plugin.GRPCController/Shutdown":
		if name != "stubborn" {
			os.Exit(0)
		}
		<-stream.Context().Done()
		return nil
	case "/harness.plugin.v1.LifecycleService/Describe":
		return stream.SendMsg(describe(name))
	case "/harness.plugin.v1.PipelineService/OnMessage":
		if name == "oversized" {
			return stream.SendMsg(excess)
		}
	}
	return stream.SendMsg(raw{})
}

// excess is more than the host accepts.
var excess = field(99, make([]byte, 17<<20))

// floodBroker offers addresses to dial, as fast as it can.
func floodBroker(stream grpc.ServerStream) error {
	for id := uint64(1); ; id++ {
		offer := protowire.AppendTag(nil, 1, protowire.VarintType)
		if err := stream.SendMsg(raw(protowire.AppendVarint(offer, id))); err != nil {
			return err
		}
	}
}

// describe is a harness.plugin.v1.DescribeResponse: name, version, hooks.
func describe(name string) raw {
	manifest := append(field(1, []byte(name)), field(2, []byte("1.0.0"))...)
	for _, hook := range strings.Fields("OnPipelineStart OnMessage OnAfterInvoke OnPipelineComplete") {
		manifest = append(manifest, field(4, []byte(hook))...)
	}
	return field(1, manifest)
}

func field(number protowire.Number, content []byte) raw {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), content)
}

// raw is a message that is serialised already.
type raw []byte

// rawCodec passes raw messages and leaves the others to proto.
type rawCodec struct{ proto encoding.CodecV2 }

// Marshal passes raw messages.
func (c rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	if message, ok := v.(raw); ok {
		return mem.BufferSlice{mem.SliceBuffer(message)}, nil
	}
	return c.proto.Marshal(v)
}

// Unmarshal is proto's.
func (c rawCodec) Unmarshal(data mem.BufferSlice, v any) error { return c.proto.Unmarshal(data, v) }

// Name is what proto's codec is called.
func (rawCodec) Name() string { return "proto" }

func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
