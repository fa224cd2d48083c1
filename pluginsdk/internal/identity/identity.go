// Package identity has the certificates by which a host and a plugin know each other. It is what
// go-plugin's AutoMTLS does, on both sides, but for the curve: AutoMTLS uses P-521, for which Go has no
// assembly, and which took a fifth of the processor time of a plugin's start.
package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

const (
	// Variable is the environment variable in which a go-plugin plugin finds the certificate of its
	// host, as PEM. The plugin then makes a certificate of its own, and names it in the handshake line.
	Variable = "PLUGIN_CLIENT_CERT"
	// certHost is whom go-plugin's certificates are for.
	certHost = "localhost"
	// certLife is that of go-plugin's certificates. They live as long as the
	// process does.
	certLife = 30 * 365 * 24 * time.Hour
)

// Identity is who one side, the host or the plugin, is to the other for one start of the plugin:
// both ends of every connection show the other the certificate that was agreed on.
type Identity struct{ cert tls.Certificate }

// New makes an identity.
func New() (*Identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 128))
	if err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: certHost},
		DNSNames:     []string{certHost},
		NotBefore:    now.Add(-time.Minute),
		NotAfter:     now.Add(certLife),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		// Each end takes the other's certificate for its one authority.
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	return &Identity{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}}, nil
}

// Environment is the entry of the environment that shows the host's certificate to the plugin.
func (i *Identity) Environment() string {
	return Variable + "=" + string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.cert.Certificate[0]}))
}

// Announcement is the certificate as a plugin writes it into the last field of its handshake line.
func (i *Identity) Announcement() string {
	return base64.RawStdEncoding.EncodeToString(i.cert.Certificate[0])
}

// Config is for both ends that a side has: the host dials the plugin and serves itself to it, the plugin
// serves itself and dials the host. The authorities are the other side's certificate. The host does not
// know it before it has read the handshake line: go-plugin puts it in. Until then nobody is trusted, not
// even those whom the system trusts.
func (i *Identity) Config(authorities *x509.CertPool) *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{i.cert},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		RootCAs:      authorities,
		ClientCAs:    authorities,
		MinVersion:   tls.VersionTLS12,
		ServerName:   certHost,
	}
}
