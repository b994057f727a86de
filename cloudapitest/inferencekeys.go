package cloudapitest

import (
	"crypto/rand"
	"net/http"

	"github.com/cloudapi-sdk/cloudapi"
)

func inferenceAPIKeyOperations() []operation {
	const (
		keys = projectRoute + "/inference-api-key"
		key  = keys + "/{inference_api_key_id}"
	)
	return []operation{
		{name: "InferenceAPIKeys.List", method: http.MethodGet, route: keys, list: unpaged, handle: listInferenceAPIKeys},
		{name: "InferenceAPIKeys.Create", method: http.MethodPost, route: keys, body: closed(), guarded: true, handle: createInferenceAPIKey},
		{name: "InferenceAPIKeys.Get", method: http.MethodGet, route: key, handle: getInferenceAPIKey},
		{name: "InferenceAPIKeys.Delete", method: http.MethodDelete, route: key, handle: deleteInferenceAPIKey},
	}
}

type inferenceAPIKey struct {
	object
	key string
}

type inferenceAPIKeyRecord struct {
	ID  string `json:"id"`
	Key string `json:"key"`
}

func recordInferenceAPIKey(k *inferenceAPIKey) inferenceAPIKeyRecord {
	return inferenceAPIKeyRecord{k.id, k.key}
}

// findInferenceAPIKey knows no key that the token may not see. The error is nil
// if the ID is one, whether there is a key or not.
func findInferenceAPIKey(c *call) (*inferenceAPIKey, bool, error) {
	id := c.params["inference_api_key_id"]
	if !validID(id) {
		return nil, false, notFound()
	}
	k, ok := findByID[*inferenceAPIKey](c, cloudapi.KindInferenceAPIKey, id)
	return k, ok && c.permitted(), nil
}

func listInferenceAPIKeys(c *call) (any, error) {
	var keys []*inferenceAPIKey
	if c.permitted() {
		keys = inProject[*inferenceAPIKey](c.state, cloudapi.KindInferenceAPIKey, c.project)
	}
	return items[inferenceAPIKeyRecord]{records(keys, recordInferenceAPIKey)}, nil
}

func createInferenceAPIKey(c *call) (any, error) {
	k := &inferenceAPIKey{c.newObject(cloudapi.KindInferenceAPIKey, ""), rand.Text()[:16] + rand.Text()[:16]}
	c.state.add(k)
	return recordInferenceAPIKey(k), nil
}

func getInferenceAPIKey(c *call) (any, error) {
	k, ok, err := findInferenceAPIKey(c)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, notFound()
	}
	return recordInferenceAPIKey(k), nil
}

func deleteInferenceAPIKey(c *call) (any, error) {
	k, ok, err := findInferenceAPIKey(c)
	if err != nil {
		return nil, err
	}
	if ok {
		c.remove(k, 0, nil)
	}
	return noContent{}, nil
}
