// Package recordings contains exchanges with real servers of this API. Tests
// compare the SDK and package cloudapitest with them.
//
// The files in testdata contain all recorded exchanges, compressed. To search
// them:
//
//	zgrep createVM internal/test/recordings/testdata/story.jsonl.gz
//
// To create the files again from the folder of the original recordings:
//
//	go run ./internal/test/recordings/pack ../shared
//
// With -check, that command writes nothing, and reports the files that differ.
package recordings

import (
	"compress/gzip"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// The files of exchanges with the service of October 2025, which the contract
// describes.
const (
	Story     = "story"     // all operations, one after another on one growing project
	Lifecycle = "lifecycle" // the life of resources: creation, running, resizing, promotion and deletion
	Matrix    = "matrix"    // every operation, called in the same wrong ways, such as without a token
	HTTP      = "http"      // authentication, odd paths, methods and bodies
)

// The files of exchanges with the service of 2026. They consist of stories,
// which are sequences of requests.
const (
	August2026     = "2026/api-2026"   // all stories begin with the same projects
	ClusterNetwork = "cluster-network" // August 2026: a cluster's subnet and load balancers, and lists that fail because of them

	// Autumn2026 has the changes since August. It was recorded with the service of
	// August, which was changed to match the API description of autumn.
	Autumn2026 = "autumn-2026/exchanges"
)

// Service returns the files of exchanges with the service of 2026.
func Service() []string { return []string{August2026, ClusterNetwork, Autumn2026} }

// Contract returns the files of exchanges with the service that the contract
// describes.
func Contract() []string { return []string{Story, Lifecycle, Matrix, HTTP} }

// An Exchange is a request and the server's response.
type Exchange struct {
	Story     string // "" in the files of [Contract]
	Seq       int    // unique among all files of [Contract]; in other files, within its story
	Operation string // the server's name for the operation, such as "createVM"
	Case      string // what was tried
	Request   struct {
		Method, Path, Query string
		Headers             map[string]string
		Body                *string
		BodyBase64          string `json:"body_base64"` // a body that isn't UTF-8
		BodyTruncated       bool   `json:"body_truncated"`
	}
	Response struct {
		Status        int
		Headers       map[string]string
		Body          string
		BodyTruncated bool `json:"body_truncated"`
	}
	Note string // a remark of whoever recorded it, such as "stand-in: no metrics store"
}

//go:embed testdata
var files embed.FS

// Read returns the exchanges of a file in the order in which they happened.
func Read(name string) ([]Exchange, error) {
	f, err := files.Open(file(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return Decode(lines)
}

// Stories returns the exchanges of each story.
func Stories(all []Exchange) map[string][]Exchange {
	stories := map[string][]Exchange{}
	for _, x := range all {
		stories[x.Story] = append(stories[x.Story], x)
	}
	return stories
}

func file(name string) string { return "testdata/" + name + ".jsonl.gz" }

// Decode decodes exchanges, one JSON object each.
func Decode(r io.Reader) ([]Exchange, error) {
	var exchanges []Exchange
	for d := json.NewDecoder(r); ; {
		d.DisallowUnknownFields()
		var x Exchange
		switch err := d.Decode(&x); {
		case errors.Is(err, io.EOF):
			return exchanges, nil
		case err != nil:
			return nil, fmt.Errorf("exchange %d: %w", len(exchanges)+1, err)
		}
		exchanges = append(exchanges, x)
	}
}
