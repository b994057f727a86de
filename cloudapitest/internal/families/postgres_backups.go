package families

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

func postgresBackupOperations() []api.Operation {
	return []api.Operation{
		api.GET("Postgres.ListBackups", postgresDatabase+"/backup", api.On(findPostgres, (*postgres).listBackups)).Only(version.Service),
		api.POST("Postgres.CreateBackupCredentials", postgresDatabase+"/backup-credentials", api.NoBody,
			api.On(findPostgres, (*postgres).createBackupCredentials)).Needs("Postgres:view").Only(version.Service),
	}
}

type postgresBackup struct {
	Key          string `json:"key"`
	LastModified string `json:"last_modified"`
}

type postgresBackupCredentials struct {
	Bucket          string `json:"bucket"`
	Endpoint        string `json:"endpoint"`
	Region          string `json:"region"`
	AccessKeyID     string `json:"access_key_id"`
	SecretAccessKey string `json:"secret_access_key"`
	SessionToken    string `json:"session_token"`
	Expiration      string `json:"expiration"`
}

func (p *postgres) listBackups(c *api.Call) (any, error) {
	source := p
	for !source.isPrimary(c.Now) {
		source = source.parent
	}
	backups := []postgresBackup{}
	for at := source.backup; !at.After(c.Now); at = at.Add(24 * time.Hour) {
		key := fmt.Sprintf("basebackups_005/base_%08X%016X_backup_stop_sentinel.json", 1, 2*(len(backups)+1))
		backups = append(backups, postgresBackup{key, at.UTC().Format(time.RFC3339)})
	}
	return api.Page{Items: backups, Count: len(backups)}, nil
}

// createBackupCredentials refuses replicas. It also refuses databases in public
// locations, unless the project has FeatureBackupDownloads.
func (p *postgres) createBackupCredentials(c *api.Call) (any, error) {
	const lifetime = 36 * time.Hour
	switch {
	case p.isReplica(c.Now):
		return nil, reply.InvalidRequest("Backup downloads are not supported for read replicas. Request credentials on the primary database.")
	case !p.onAWS() && !hasFeature(c.Moment, p.Project, FeatureBackupDownloads):
		return nil, reply.InvalidRequest("Backup downloads are not available for this PostgreSQL database.")
	}
	c.Log("create_backup_credentials", p.ID)
	region := cmp.Or(p.Location.Region, "us-east-1") // databases outside of AWS have their backups there
	return postgresBackupCredentials{
		Bucket:          "backups-of-" + p.ID,
		Endpoint:        "https://s3." + region + ".localhost",
		Region:          region,
		AccessKeyID:     rand.Text(),
		SecretAccessKey: rand.Text(),
		SessionToken:    rand.Text(),
		Expiration:      c.Now.Add(lifetime).UTC().Format(time.RFC3339),
	}, nil
}
