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

// rootCertificate returns a certificate of the owner's own authority that is valid
// for some years, as PEM.
func rootCertificate(owner string, from time.Time, years int) string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err) // crypto/rand does not fail
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(int64(years)),
		Subject:               pkix.Name{CommonName: owner + " Root Certificate Authority"},
		NotBefore:             from,
		NotAfter:              from.AddDate(years, 0, 0),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err) // the template is right for every owner
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}
