package client

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// Misled says that somebody answers at the daemon's address who is not to be trusted or
// understood as it is written. What to do is part of the words.
type Misled struct {
	Base, Words string
}

// Error returns the words.
func (m *Misled) Error() string { return m.Base + ": " + m.Words }

// exposed reports whether others can read what is sent to an address: it leaves this machine
// without TLS.
func exposed(address *url.URL) bool {
	ip := net.ParseIP(address.Hostname())
	return address.Scheme == "http" && address.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}

// trusting returns whom the client trusts: the certificates of a file, or the authorities of
// this machine.
func trusting(file string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if file == "" {
		return config, nil
	}
	text, err := os.ReadFile(file) //nolint:gosec // the person names it
	if err != nil {
		return nil, fmt.Errorf("the certificate: %w", err)
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("the certificate: %s has none in PEM (a block BEGIN CERTIFICATE)", file)
	}
	return config, nil
}

// elsewhere refuses redirects: a token is for the address that was named, and a request that
// changes something becomes another on its way.
func elsewhere(request *http.Request, _ []*http.Request) error {
	return &Misled{Words: "sends on to " + request.URL.Scheme + "://" + request.URL.Host + "; name that address, if it is the daemon's"}
}

func (c *Client) credentials() http.Header {
	token := c.keys.get()
	if token == "" {
		return nil
	}
	return http.Header{"Authorization": {"Bearer " + token}}
}

// misled is what is wrong with who answers, or nil: nobody does.
func (c *Client) misled(err error) error {
	var (
		unknown   x509.UnknownAuthorityError
		named     x509.HostnameError
		invalid   x509.CertificateInvalidError
		plaintext tls.RecordHeaderError
		sent      *Misled
	)
	words := ""
	switch {
	case errors.As(err, &sent):
		words = sent.Words
	case errors.As(err, &unknown):
		words = "nobody whom this machine trusts has signed its certificate; name the certificate, or that of who has signed it, with --ca FILE"
	case errors.As(err, &named):
		words = "its certificate is for another name (" + namesOf(named.Certificate) + "); use that name, or have the certificate made for this one"
	case errors.As(err, &invalid):
		words = "its certificate is not good: " + invalid.Error()
	case errors.As(err, &plaintext), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		words = "speaks http without TLS; name it as http://" + c.base.Host
	default:
		return nil
	}
	return &Misled{Base: c.Base(), Words: words}
}

func namesOf(certificate *x509.Certificate) string {
	names := certificate.DNSNames
	for _, ip := range certificate.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// refused is the error of an answer that is not a success.
func (c *Client) refused(response *http.Response, content []byte) error {
	if response.StatusCode == http.StatusBadRequest && bytes.Contains(content, []byte("HTTP request to an HTTPS server")) {
		return &Misled{Base: c.Base(), Words: "speaks https; name it as https://" + c.base.Host}
	}
	return problemOf(response.StatusCode, response.Header.Get("Content-Type"), content)
}
