package launch_test

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
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// serveForeign is a plugin without this SDK and without go-plugin: what one in
// another language has to do, written down once. A stubborn one ignores every
// request to end; an oversized one sends more than the host accepts; one serves
// in clear; one names a certificate that is not its own.
func serveForeign(mode string) {
	if mode == "stubborn" {
		signal.Ignore(syscall.SIGTERM)
	}
	if os.Getenv("HARNESS_PLUGIN") != "harness.plugin.v1" {
		fmt.Fprintln(os.Stderr, "not started by Harness")
		os.Exit(1)
	}
	certificate, err := selfSigned()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	named := base64.RawStdEncoding.EncodeToString(certificate.Certificate[0])
	hosts := x509.NewCertPool()
	hosts.AppendCertsFromPEM([]byte(os.Getenv("PLUGIN_CLIENT_CERT")))
	transport := credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{certificate}, ClientCAs: hosts,
		ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	})
	switch mode {
	case "in-clear":
		transport, named = insecure.NewCredentials(), ""
	case "names-another":
		another, err := selfSigned()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		named = base64.RawStdEncoding.EncodeToString(another.Certificate[0])
	}
	listener := unixSocket(filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "foreign"))
	server := grpc.NewServer(
		grpc.Creds(transport),
		grpc.ForceServerCodecV2(rawCodec{proto: encoding.GetCodecV2("proto")}),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error { return answerForeign(mode, stream) }),
	)
	healthServer := health.NewServer()
	healthServer.SetServingStatus("plugin", grpc_health_v1.HealthCheckResponse_SERVING)
	grpc_health_v1.RegisterHealthServer(server, healthServer)
	fmt.Printf("1|1|unix|%s|grpc|%s\n", listener.Addr(), named)
	if err := server.Serve(listener); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answerForeign(mode string, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	if strings.HasSuffix(method, floodedBy[mode]) {
		return floodStream(mode, stream)
	}
	switch method {
	case "/plugin.GRPCStdio/StreamStdio", "/plugin.GRPCBroker/StartStream":
		<-stream.Context().Done() // held open
		return nil
	case "/plugin.GRPCController/Shutdown":
		if mode != "stubborn" {
			os.Exit(0)
		}
	case "/harness.plugin.v1.LifecycleService/Describe":
		return stream.SendMsg(describeResponse(mode))
	}
	return stream.SendMsg(raw{})
}

// floodedBy is the stream that a mode writes to as fast as it can.
var floodedBy = map[string]string{
	"foreign": "none", "stubborn": "none", "oversized": "none", "in-clear": "none", "names-another": "none",
	"floods-broker": "/StartStream", "floods-stdio": "/StreamStdio",
}

// floodStream sends addresses to go-plugin's broker, each with an id of its
// own, or output that is of no known channel.
func floodStream(mode string, stream grpc.ServerStream) error {
	for id := uint64(1); ; id++ {
		message := protowire.AppendTag(nil, 1, protowire.VarintType)
		if mode == "floods-broker" {
			message = protowire.AppendVarint(message, id)
		} else {
			message = protowire.AppendVarint(message, 7)
		}
		if err := stream.SendMsg(raw(message)); err != nil {
			return err
		}
	}
}

// describeResponse is a serialised harness.plugin.v1.DescribeResponse.
func describeResponse(mode string) raw {
	var manifest []byte
	manifest = protowire.AppendTag(manifest, 1, protowire.BytesType)
	manifest = protowire.AppendString(manifest, "foreign")
	manifest = protowire.AppendTag(manifest, 2, protowire.BytesType)
	manifest = protowire.AppendString(manifest, "0.1")
	if mode == "oversized" {
		manifest = protowire.AppendTag(manifest, 3, protowire.BytesType)
		manifest = protowire.AppendBytes(manifest, make([]byte, 17<<20))
	}
	response := protowire.AppendTag(nil, 1, protowire.BytesType)
	return protowire.AppendBytes(response, manifest)
}

// raw is a message that is serialised already.
type raw []byte

// rawCodec passes raw messages and leaves the others to proto.
type rawCodec struct{ proto encoding.CodecV2 }

func (c rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	if message, ok := v.(raw); ok {
		return mem.BufferSlice{mem.SliceBuffer(message)}, nil
	}
	return c.proto.Marshal(v)
}

func (c rawCodec) Unmarshal(data mem.BufferSlice, v any) error { return c.proto.Unmarshal(data, v) }

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
