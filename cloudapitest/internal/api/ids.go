package api

import (
	"fmt"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/ubid"
)

// NewID returns a random ID of the kind.
func NewID(kind cloudapi.Kind) cloudapi.ID {
	value, ok := ubid.New(string(kind))
	if !ok {
		panic(fmt.Sprintf("cloudapitest: NewID: %q cannot be the prefix of an ID", string(kind)))
	}
	return cloudapi.ID(value.String())
}

// ValidID reports whether the server accepts a string as an ID.
func ValidID(id string) bool {
	_, err := cloudapi.ParseID(id)
	return err == nil
}
