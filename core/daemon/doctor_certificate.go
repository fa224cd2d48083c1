package daemon

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// renewBefore is how long before its end a certificate is worth a word.
const renewBefore = 14 * 24 * time.Hour

// checkCertificate looks at the certificate of the API, as the plugin that serves it does. It is
// silent where none is needed: on loopback.
func checkCertificate(config Config, now time.Time) []Check {
	check := Check{Name: "certificate", Remedy: "renew " + config.TLSCert + "; the daemon reads it again by itself"}
	if config.TLSCert == "" && config.TLSKey == "" {
		if host := cmp.Or(config.Host, "127.0.0.1"); host == "localhost" || net.ParseIP(host).IsLoopback() {
			return nil
		}
		check.Optional, check.Detail = true, "the API is on a network ("+config.address()+") without TLS: whoever is on the way reads tokens and all that is said"
		check.Remedy = "set " + certVariable + " and " + keyVariable + ", or listen on loopback and let a proxy with TLS connect to that"
		return []Check{check}
	}
	leaf, err := certificateIn(config)
	if err != nil {
		check.Detail = fmt.Sprintf("%s and %s cannot be used: %s", config.TLSCert, config.TLSKey, err)
		check.Remedy = "name a certificate and its key, in PEM, which the daemon's user can read; a daemon that runs keeps the one that it has until it is started anew"
		return []Check{check}
	}
	names := leaf.DNSNames
	for _, address := range leaf.IPAddresses {
		names = append(names, address.String())
	}
	check.Detail = fmt.Sprintf("for %s, until %s", cmp.Or(strings.Join(names, ", "), "no name"), leaf.NotAfter.Local().Format(time.DateTime))
	info, err := os.Stat(config.TLSKey)
	switch {
	case now.After(leaf.NotAfter):
		check.Detail = "it is over since " + leaf.NotAfter.Local().Format(time.DateTime) + ": nobody who looks at it talks to the daemon"
	case now.Before(leaf.NotBefore):
		check.Detail = "it is not good before " + leaf.NotBefore.Local().Format(time.DateTime)
		check.Remedy = "set this machine's clock, or wait"
	case err == nil && info.Mode().Perm()&0o007 != 0:
		check.Optional = true
		check.Detail = "everybody on this machine can read its key, " + config.TLSKey
		check.Remedy = "chmod o-rwx " + config.TLSKey + ", and have another key made if somebody may have seen it"
	case len(names) == 0:
		check.Optional = true
		check.Detail = "it has no name that one could reach the daemon by"
		check.Remedy = "have it made with the daemon's names as subject alternative names"
	case leaf.NotAfter.Sub(now) < renewBefore:
		check.Optional = true
	default:
		check.OK, check.Remedy = true, ""
	}
	return []Check{check}
}

// certificateIn reads the certificate, with its key.
func certificateIn(config Config) (*x509.Certificate, error) {
	if err := config.checkTLS(); err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(config.TLSCert, config.TLSKey)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(pair.Certificate[0])
}
