package launch

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

const (
	// clientCertKey is the variable in which a go-plugin plugin finds the
	// certificate of its host. It makes one of its own then, and names it in the
	// handshake line.
	clientCertKey = "PLUGIN_CLIENT_CERT"
	// certHost is whom go-plugin's certificates are for.
	certHost = "localhost"
	// certLife is that of go-plugin's certificates. They live as long as the
	// process does.
	certLife = 30 * 365 * 24 * time.Hour
)

// identity is who the host is to one plugin for one start: both ends of every
// connection show the other the certificate that was agreed on.
//
// It is what go-plugin's AutoMTLS does, but for the curve: P-521, which that
// uses, is not one that Go's assembly covers, and took a fifth of the processor
// time in which many plugins start.
type identity struct {
	pem  []byte // the certificate, which the plugin is given
	cert tls.Certificate
}

func newIdentity() (*identity, error) {
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
	return &identity{
		pem:  pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		cert: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
	}, nil
}

// variable is what tells the plugin.
func (i *identity) variable() string { return clientCertKey + "=" + string(i.pem) }

// config is for both ends that the host has: it dials the plugin, and serves
// itself to it. go-plugin puts the plugin's certificate in as the authority.
// Until then nobody is trusted: not even those the system trusts.
func (i *identity) config() *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{i.cert},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		RootCAs:      x509.NewCertPool(),
		ClientCAs:    x509.NewCertPool(),
		MinVersion:   tls.VersionTLS12,
		ServerName:   certHost,
	}
}
