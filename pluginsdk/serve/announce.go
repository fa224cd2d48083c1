package serve

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk/internal/identity"
)

// certificateField is where go-plugin's handshake line has the plugin's certificate: 1|1|unix|SOCKET|grpc|CERTIFICATE.
const certificateField = 5

// announce makes the plugin's certificate and returns how it is served with it; nil: the host has shown
// none, so that the connection is not TLS. go-plugin would make a certificate by itself, with a curve that
// is slow (see package identity), and cannot be given one: it prints the handshake line without. So that
// line goes through a pipe, which puts the certificate where go-plugin would. For the host there is no
// difference.
func announce() (func() (*tls.Config, error), error) {
	host := os.Getenv(identity.Variable)
	if host == "" {
		return nil, nil
	}
	authority := x509.NewCertPool()
	if !authority.AppendCertsFromPEM([]byte(host)) {
		return nil, fmt.Errorf("%s has no certificate", identity.Variable)
	}
	self, err := identity.New()
	if err != nil {
		return nil, err
	}
	line, printed, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe for the handshake line: %w", err)
	}
	stdout := os.Stdout
	os.Stdout = printed // until go-plugin, which has printed the line, replaces it
	go func() {
		rest := bufio.NewReader(line)
		text, err := rest.ReadString('\n')
		if fields := strings.Split(strings.TrimSuffix(text, "\n"), "|"); err == nil && len(fields) > certificateField {
			fields[certificateField] = self.Announcement()
			text = strings.Join(fields, "|") + "\n"
		}
		_, _ = io.WriteString(stdout, text)
		_, _ = io.Copy(stdout, rest)
	}()
	return func() (*tls.Config, error) { return self.Config(authority), nil }, nil
}
