package conform

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk/internal/wire"
)

const handshakeAdvice = "print nothing to stdout before the handshake line 1|1|unix|SOCKET|grpc|CERTIFICATE; log to stderr instead"

// checkHandshake starts the process without go-plugin, to see exactly what it
// prints.
func (x *exam) checkHandshake(ctx context.Context) error {
	certificate, err := hostCertificate()
	if err != nil {
		return err
	}
	cmd := x.command(wire.CookieKey+"="+wire.CookieValue, wire.HostPIDKey+"="+strconv.Itoa(os.Getpid()),
		"PLUGIN_MIN_PORT=10000", "PLUGIN_MAX_PORT=25000", "PLUGIN_PROTOCOL_VERSIONS="+strconv.Itoa(wire.ProtocolVersion),
		"PLUGIN_CLIENT_CERT="+certificate, "PLUGIN_UNIX_SOCKET_DIR="+x.temp())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		x.block("handshake", "it cannot be started")
		return faultf("make it an executable file for this machine; a script needs a first line such as #!/usr/bin/env node", "it cannot be started: %v", err)
	}
	// The group is killed before the wait: a child that holds stderr would
	// keep Wait from returning.
	kill := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	timer := time.AfterFunc(x.cfg.Patience, kill)
	stop := context.AfterFunc(ctx, kill)
	line, readErr := bufio.NewReader(io.LimitReader(stdout, 64<<10)).ReadString('\n')
	late := !timer.Stop()
	fault := handshakeFault(line)
	kill()
	stop()
	_ = cmd.Wait()
	killMarked(x.mark)
	switch {
	case late:
		fault = fmt.Sprintf("there was no handshake line within %s", x.cfg.Patience)
	case readErr != nil && line == "":
		fault = "it ended without a handshake line"
	}
	if fault == "" {
		return nil
	}
	x.block("handshake", "the handshake failed")
	return faultf(handshakeAdvice, "%s%s", fault, lastWords(strings.Split(strings.TrimSpace(stderr.String()), "\n")))
}

// handshakeFault says what is wrong with a handshake line, or nothing.
func handshakeFault(line string) string {
	parts := strings.Split(strings.TrimSpace(line), "|")
	if len(parts) < 6 {
		return fmt.Sprintf("the first line on stdout is %q, not the handshake", clipped(strings.TrimSpace(line)))
	}
	if parts[0] != "1" || parts[1] != strconv.Itoa(wire.ProtocolVersion) {
		return fmt.Sprintf("the handshake begins with %s|%s: want go-plugin's version 1 and the contract's version %d", parts[0], parts[1], wire.ProtocolVersion)
	}
	if parts[2] != "unix" {
		return fmt.Sprintf("the handshake offers %s: want a unix socket, which no other user can reach", parts[2])
	}
	if info, err := os.Stat(parts[3]); err != nil || info.Mode()&os.ModeSocket == 0 {
		return fmt.Sprintf("the handshake names the socket %s, where there is none yet: listen first, then print the line", parts[3])
	}
	if parts[4] != "grpc" {
		return fmt.Sprintf("the handshake offers the protocol %s: want grpc", parts[4])
	}
	der, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(parts[5], "="))
	if err == nil {
		_, err = x509.ParseCertificate(der)
	}
	if err != nil {
		return "the handshake's certificate is not the base64 of a DER certificate: the connection must be TLS, with the client checked against PLUGIN_CLIENT_CERT"
	}
	return ""
}

func clipped(text string) string {
	if len(text) > 120 {
		return text[:120] + "..."
	}
	return text
}

// checkCookie starts the process as a person would.
func (x *exam) checkCookie(ctx context.Context) error {
	cmd := x.command()
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return skipped("it cannot be started: " + err.Error())
	}
	kill := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	timer := time.AfterFunc(x.cfg.Patience, kill)
	stop := context.AfterFunc(ctx, kill)
	err := cmd.Wait()
	late := !timer.Stop()
	stop()
	kill()
	const advice = "without " + wire.CookieKey + "=" + wire.CookieValue + " in the environment, print a sentence that says what this is and exit with a status other than 0"
	var exit *exec.ExitError
	switch {
	case late:
		return faultf(advice, "started without a host, it was still there after %s", x.cfg.Patience)
	case err == nil:
		return faultf(advice, "started without a host, it ended with exit status 0, as if all were well")
	case !errors.As(err, &exit) || exit.ExitCode() < 0:
		return faultf(advice, "started without a host, it ended with %v", err)
	case len(bytes.TrimSpace(said.Bytes())) == 0:
		return faultf(advice, "started without a host, it said nothing")
	}
	return nil
}

// command is the process without what go-plugin would add.
func (x *exam) command(env ...string) *exec.Cmd {
	cmd := exec.Command(x.cfg.Path, x.cfg.Args...)
	cmd.Dir = x.cfg.Dir
	cmd.Env = append(x.environment(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second // for a child that left the group with the pipes
	return cmd
}

// hostCertificate is a certificate as a host gives its plugins, in PEM.
func hostCertificate() (string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", fmt.Errorf("make the host's key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return "", fmt.Errorf("make the host's certificate: %w", err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), nil
}
