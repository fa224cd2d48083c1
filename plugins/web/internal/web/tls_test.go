package web

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// writeCertificate makes a certificate of these names, valid for a day, and its key.
func writeCertificate(t *testing.T, cert, key string, serial int64, names ...string) *x509.CertPool {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, secret.Public(), secret)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return pool
}

// overTLS is a client that trusts a pool and takes the server for that name.
func overTLS(s *instance, pool *x509.CertPool, name string) *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: name}, DisableKeepAlives: true} //nolint:gosec // the default version
	s.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: stay}
}

// Over TLS a person and a program do all that they do on loopback, under the names of the
// certificate.
func TestOverTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	pool := writeCertificate(t, cert, key, 1, "harness.example.org", "*.wild.example.org")
	t.Setenv(certVariable, cert)
	t.Setenv(keyVariable, key)
	s := demanding(t)
	if !strings.HasPrefix(s.server.url(), "https://") {
		t.Fatal(s.server.url())
	}
	client := overTLS(s, pool, "harness.example.org")
	request := func(method, path, host, body string, headers ...string) *http.Request {
		r, err := http.NewRequest(method, s.server.url()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		for n := 0; n < len(headers); n += 2 {
			r.Header.Set(headers[n], headers[n+1])
		}
		return r
	}
	_, secret := s.host.MakeToken(pluginsdk.CreateTokenRequest{Name: "Ann", Scope: pluginsdk.ScopeChat})
	for host, want := range map[string]int{
		"harness.example.org": 200, "HARNESS.example.org:3001": 200, "a.wild.example.org": 200, "localhost": 200,
		"wild.example.org": 403, "a.b.wild.example.org": 403, "evil.example": 403,
	} {
		s.expect(host, s.do(client, request("GET", "/api/me", host, "", "Authorization", "Bearer "+secret)), want)
	}
	form := url.Values{"token": {secret}}.Encode()
	in := s.expect("login", s.do(client, request("POST", "/login", "harness.example.org", form,
		"Content-Type", "application/x-www-form-urlencoded", "Origin", "https://harness.example.org")), 303)
	cookie := in.header.Get("Set-Cookie")
	if !strings.HasPrefix(cookie, "__Host-harness_session_") || !strings.Contains(cookie, "Secure") {
		t.Errorf("cookie %q", cookie)
	}
	session, _, _ := strings.Cut(cookie, ";")
	s.expect("chat", s.do(client, request("POST", "/api/chat", "harness.example.org", `{"content":"hi"}`,
		"Content-Type", "application/json", "Origin", "https://harness.example.org", "Cookie", session)), 202)
	s.expect("a page that came without TLS", s.do(client, request("POST", "/api/chat", "harness.example.org", `{"content":"hi"}`,
		"Content-Type", "application/json", "Origin", "http://harness.example.org", "Cookie", session)), 403)

	plain, err := http.Get("http://" + s.Addr().String() + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Body.Close()
	words, err := io.ReadAll(plain.Body)
	if err != nil || plain.StatusCode != http.StatusBadRequest || !strings.Contains(string(words), "HTTPS") {
		t.Errorf("without TLS: %d %q %v", plain.StatusCode, words, err)
	}
	old, err := tls.Dial("tcp", s.Addr().String(), &tls.Config{RootCAs: pool, ServerName: "harness.example.org", MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}) //nolint:gosec // what is to be refused
	if err == nil {
		_ = old.Close()
		t.Error("TLS 1.1 is spoken")
	}
}

// A certificate is renewed under a server that goes on; one that is broken is not taken.
func TestTheCertificateIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, cert, key, 1, "one.example.org")
	t.Setenv(certVariable, cert)
	t.Setenv(keyVariable, key)
	var names []string
	clock, log := time.Now(), new(bytes.Buffer)
	c, err := certificateOf(func(told []string) { names = told }, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	c.now = func() time.Time { return clock }
	serial := func() int64 {
		clock = clock.Add(lookEvery)
		pair, err := c.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(pair.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return leaf.SerialNumber.Int64()
	}
	if serial() != 1 || len(names) != 1 || names[0] != "one.example.org" {
		t.Errorf("%v", names)
	}
	writeCertificate(t, cert, key, 2, "two.example.org", "three.example.org")
	if serial() != 2 || len(names) != 2 {
		t.Errorf("%v", names)
	}
	if err := os.WriteFile(cert, []byte("half of a cert"), 0o600); err != nil {
		t.Fatal(err)
	}
	again := serial()
	if serial() != 2 || again != 2 || strings.Count(log.String(), "the one before stays") != 1 {
		t.Errorf("log: %s", log)
	}
	if err := os.Remove(cert); err != nil {
		t.Fatal(err)
	}
	if serial() != 2 {
		t.Error("a file that is away counts")
	}
	writeCertificate(t, cert, key, 3, "one.example.org")
	if serial() != 3 {
		t.Error("the good one is not taken")
	}
}

// A wrong certificate stops the start, and says which file.
func TestWrongCertificates(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, cert, key, 1, "x.example.org")
	for _, c := range []struct{ cert, key, want string }{
		{cert, "", keyVariable}, {"", key, certVariable}, {cert, cert, "private key"}, {filepath.Join(dir, "none"), key, "none"},
	} {
		t.Setenv(addressVariable, "127.0.0.1:0")
		t.Setenv(certVariable, c.cert)
		t.Setenv(keyVariable, c.key)
		plugin := new(Plugin)
		if err := plugin.Start(t.Context(), plugintest.NewHost().As(plugin.Manifest())); err != nil {
			t.Fatal(err)
		}
		if err := plugin.Activate(t.Context()); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v", err)
		}
	}
}
