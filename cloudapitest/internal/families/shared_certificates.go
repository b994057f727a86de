package families

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"
)

// rootCertificate returns, as PEM, the certificate of a new certificate
// authority.
func rootCertificate(owner string, from time.Time, years int) string {
	key := newKey()
	template := authority(owner+" Root Certificate Authority", from, from.AddDate(years, 0, 0))
	return certificate(template, template, key, key)
}

// clientKeyPair returns, as PEM, a client certificate and its private key.
func clientKeyPair(owner, name string, from time.Time, lifetime time.Duration) string {
	key, until := newKey(), from.Add(lifetime)
	template := &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes([]byte(rand.Text()[:16])),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    from,
		NotAfter:     until,
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		panic(err) // can't happen: x509 supports the curve P-256
	}
	return certificate(template, authority(owner+" Client Certificate Authority", from, until), key, newKey()) +
		string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}

func newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err) // can't happen: crypto/rand doesn't fail
	}
	return key
}

// lastEnd is the latest end of a certificate.
var lastEnd = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

func authority(name string, from, until time.Time) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber:          big.NewInt(int64(until.Year() - from.Year())),
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             from,
		NotAfter:              until,
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
}

func certificate(template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) string {
	if template.NotAfter.After(lastEnd) {
		template.NotAfter = lastEnd
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		panic(err) // can't happen: every template is valid
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}
