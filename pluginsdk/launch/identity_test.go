package launch_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/tls"
	"io/fs"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Any process of the same user can reach the sockets between a plugin and its
// host. Neither end may talk to it, whatever certificate it makes for itself.
func TestASocketIsOnlyForItsTwoEnds(t *testing.T) {
	dir := shortDir(t)
	cfg := config(t, "plugin")
	cfg.SocketDir = dir
	plugin := started(t, cfg)
	own, err := selfSigned()
	if err != nil {
		t.Fatal(err)
	}
	callers := map[string]credentials.TransportCredentials{
		"in clear":                     insecure.NewCredentials(),
		"without a certificate":        credentials.NewTLS(&tls.Config{InsecureSkipVerify: true}),
		"with one of the caller's own": credentials.NewTLS(&tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{own}}),
	}
	ends := socketsBelow(t, dir)
	if len(ends) != 2 {
		t.Fatalf("sockets %q; want the plugin's and the host's", ends)
	}
	for _, socket := range ends {
		for who, transport := range callers {
			conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(transport))
			if err != nil {
				t.Fatal(err)
			}
			err = conn.Invoke(t.Context(), "/any.Service/Method", &emptypb.Empty{}, &emptypb.Empty{})
			if status.Code(err) != codes.Unavailable { // Unimplemented: it was let in
				t.Errorf("%s, called %s: %v", filepath.Base(socket), who, err)
			}
			_ = conn.Close()
		}
	}
	if err := plugin.Ping(t.Context()); err != nil {
		t.Errorf("ping after that: %v", err)
	}
}

func socketsBelow(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type() == fs.ModeSocket {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// With the curve that go-plugin chooses by itself, a start of a plugin takes 20 ms of processor time more.
func TestBothEndsShowACertificateOfAFastCurve(t *testing.T) {
	cfg := config(t, "plugin")
	cfg.SocketDir = shortDir(t)
	started(t, cfg)
	for _, socket := range socketsBelow(t, cfg.SocketDir) {
		var shown any
		conn, err := (&tls.Dialer{Config: &tls.Config{
			InsecureSkipVerify: true, //nolint:gosec // it only looks
			VerifyConnection: func(state tls.ConnectionState) error {
				shown = state.PeerCertificates[0].PublicKey
				return nil
			},
		}}).DialContext(t.Context(), "unix", socket)
		if err == nil {
			_ = conn.Close()
		}
		if key, ok := shown.(*ecdsa.PublicKey); !ok || key.Curve != elliptic.P256() {
			t.Errorf("%s shows a key %T, want one of P-256 (%v)", filepath.Base(socket), shown, err)
		}
	}
}
