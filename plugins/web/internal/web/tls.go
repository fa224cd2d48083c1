package web

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Where the certificate of the API lies, and its key; both or neither.
const (
	certVariable = "HARNESS_TLS_CERT"
	keyVariable  = "HARNESS_TLS_KEY"
)

// lookEvery is how often the certificate's files are looked at, when somebody connects.
const lookEvery = time.Second

// certificate is read from two files, and read again when they change. One that is broken
// is said once, and the last good one stays.
type certificate struct {
	certFile, keyFile string
	named             func(names []string) // told what names it has
	log               *slog.Logger
	now               func() time.Time

	mu     sync.Mutex
	pair   *tls.Certificate
	stamp  string // of the files when they were read last
	looked time.Time
}

// certificateOf reads the files that the environment names. Nil: there is to be no TLS.
func certificateOf(named func([]string), log *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: os.Getenv(certVariable), keyFile: os.Getenv(keyVariable), named: named, log: log, now: time.Now}
	switch {
	case c.certFile == "" && c.keyFile == "":
		return nil, nil //nolint:nilnil // no TLS is no error
	case c.certFile == "" || c.keyFile == "":
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s and %s belong together, and one of them is missing", certVariable, keyVariable)
	}
	c.stamp = c.stampOf()
	if err := c.load(); err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s, %s: %w", certVariable, keyVariable, err)
	}
	return c, nil
}

// load reads the files.
func (c *certificate) load() error {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("the certificate cannot be used: %w", err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return fmt.Errorf("the certificate cannot be read: %w", err)
	}
	if c.now().After(leaf.NotAfter) {
		c.log.Warn("the certificate of the API is over", "since", leaf.NotAfter, "file", c.certFile)
	}
	names := leaf.DNSNames
	for _, address := range leaf.IPAddresses {
		names = append(names, address.String())
	}
	c.pair = &pair
	c.named(names)
	return nil
}

// stampOf changes when a file does.
func (c *certificate) stampOf() (stamp string) {
	for _, name := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return "" // in the middle of being replaced
		}
		stamp += fmt.Sprint(info.ModTime().UnixNano(), info.Size(), ";")
	}
	return stamp
}

// get is for tls.Config.GetCertificate.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.looked) >= lookEvery || now.Before(c.looked) {
		c.looked = now
		if stamp := c.stampOf(); stamp != "" && stamp != c.stamp {
			c.stamp = stamp
			if err := c.load(); err != nil {
				c.log.Error("the new certificate of the API is not used, the one before stays", "err", err)
			} else {
				c.log.Info("the API has a new certificate", "file", c.certFile)
			}
		}
	}
	return c.pair, nil
}

// config is what connections are made with. HTTP/2 is left out: a person's browser gains
// nothing by it here, and its ways to flood a server are its own.
func (c *certificate) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get, NextProtos: []string{"http/1.1"}}
}
