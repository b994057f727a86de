package families

import (
	"regexp"
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

func postgresCertificateOperations() []api.Operation {
	const certificates = postgresDatabase + "/cert"
	pair := schema.Closed(schema.Optional("common_name", schema.Text), schema.Optional("duration", schema.Integer))
	user := nameOnly.Named("CertAuthUserRequest")
	return []api.Operation{
		api.GET("Postgres.CACertificates", postgresDatabase+"/ca-certificates", api.On(findPostgres, (*postgres).file)),
		api.POST("Postgres.CreateClientKeyPair", certificates+"/create-client-keypair", pair,
			api.On(findPostgres, (*postgres).createKeyPair)).Only(version.Service),
		api.POST("Postgres.AddCertificateUser", certificates+"/add-auth-user", user,
			api.On(findPostgres, (*postgres).addUser)).Only(version.Service),
		api.POST("Postgres.RemoveCertificateUser", certificates+"/remove-auth-user", user,
			api.On(findPostgres, (*postgres).removeUser)).Only(version.Service),
	}
}

func (p *postgres) caCertificates(now time.Time) *invented {
	if now.Before(p.running) {
		return nil
	}
	if p.certificates == "" {
		p.certificates = invented(rootCertificate(p.ID, p.running, 5) + "\n" + rootCertificate(p.ID, p.running, 10))
	}
	return &p.certificates
}

const pemType = "application/x-pem-file"

func (p *postgres) file(c *api.Call) (any, error) {
	certificates := p.caCertificates(c.Now)
	if certificates == nil {
		return nil, postgresTermsOf(c.Moment).noCertificates
	}
	return reply.File{
		ContentType: pemType, Name: p.Name + ".pem", Content: []byte(*certificates), Extended: c.Config.Version == version.Service,
	}, nil
}

var commonNameForm = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// createKeyPair fails with a 500 until the database has root certificates, as
// on the real server.
func (p *postgres) createKeyPair(c *api.Call) (any, error) {
	const longest = 366 * 24 * 60 * 60
	name, err := c.Body.NonEmpty("common_name")
	if err != nil {
		return nil, err
	}
	if !c.Body.Has("duration") {
		return nil, reply.InvalidRequest("missing parameter for duration")
	}
	duration, err := c.Body.Positive("duration")
	switch {
	case err != nil:
		return nil, err
	case !commonNameForm.MatchString(name):
		return nil, reply.InvalidRequest("Common Name must only contain alphanumeric characters, underscores, and hyphens. It must not exceed 64 characters.")
	case name == superuser || name == "ubi_replication":
		return nil, reply.InvalidRequest("Common Name must not be postgres or ubi_replication.")
	case duration > longest:
		return nil, reply.InvalidRequest("Certificate expiry should be less than 367 days.")
	case p.caCertificates(c.Now) == nil:
		return nil, reply.Unexpected()
	}
	c.Log("create_cert", p.ID)
	pair := clientKeyPair(p.ID, name, c.Now, time.Duration(duration)*time.Second)
	return reply.File{ContentType: pemType, Name: name + ".pem", Content: []byte(pair)}, nil
}

func (p *postgres) addUser(c *api.Call) (any, error) {
	name, err := c.Body.NonEmpty("name")
	switch {
	case err != nil:
		return nil, err
	case !commonNameForm.MatchString(name):
		return nil, reply.InvalidField("name", "Name must only contain alphanumeric characters, underscores, and hyphens. It must not exceed 64 characters.")
	case slices.Contains([]string{superuser, "ubi_replication", "all"}, name):
		return nil, reply.InvalidField("name", "Name must not be postgres, ubi_replication, or all.")
	}
	if !slices.Contains(p.users, name) {
		p.users = append(p.users, name)
		c.Log("add_cert_auth_user", p.ID)
	}
	return api.Items[string]{Items: p.users}, nil
}

func (p *postgres) removeUser(c *api.Call) (any, error) {
	name, err := c.Body.NonEmpty("name")
	if err != nil {
		return nil, err
	}
	if i := slices.Index(p.users, name); i >= 0 {
		p.users = slices.Delete(p.users, i, i+1)
		c.Log("remove_cert_auth_user", p.ID)
	}
	return api.Items[string]{Items: p.users}, nil
}
