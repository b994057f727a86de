package cloudapitest

import (
	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
)

// NewID returns a random ID of the kind. It panics if the kind isn't 2
// characters of the ID alphabet.
func NewID(kind cloudapi.Kind) cloudapi.ID { return api.NewID(kind) }
