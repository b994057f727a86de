package families

import (
	"crypto/rand"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
)

func inferenceAPIKeyOperations() []api.Operation {
	const (
		keys = api.ProjectRoute + "/inference-api-key"
		key  = keys + "/{inference_api_key_id}"
	)
	return []api.Operation{
		api.GET("InferenceAPIKeys.List", keys, listInferenceAPIKeys).Paged(api.Unpaged),
		api.POST("InferenceAPIKeys.Create", keys, schema.Closed(), createInferenceAPIKey).Guarded(),
		api.GET("InferenceAPIKeys.Get", key, getInferenceAPIKey),
		api.DELETE("InferenceAPIKeys.Delete", key, deleteInferenceAPIKey),
	}
}

type inferenceAPIKey struct {
	api.Object
	key string
}

type inferenceAPIKeyRecord struct {
	ID  string `json:"id"`
	Key string `json:"key"`
}

func (k *inferenceAPIKey) record(*api.Moment) inferenceAPIKeyRecord {
	return inferenceAPIKeyRecord{k.ID, k.key}
}

// findInferenceAPIKey returns the key in the path and whether it exists. A key
// that the token may not see doesn't exist. The error is nil if the ID is
// valid.
func findInferenceAPIKey(c *api.Call) (*inferenceAPIKey, bool, error) {
	id := c.Params["inference_api_key_id"]
	if !api.ValidID(id) {
		return nil, false, reply.NotFound()
	}
	k, ok := api.FindByID[*inferenceAPIKey](c, cloudapi.KindInferenceAPIKey, id)
	return k, ok && c.Permitted(), nil
}

func listInferenceAPIKeys(c *api.Call) (any, error) {
	var keys []*inferenceAPIKey
	if c.Permitted() {
		keys = api.InProject[*inferenceAPIKey](c.State, cloudapi.KindInferenceAPIKey, c.Project)
	}
	return api.Items[inferenceAPIKeyRecord]{Items: api.Records(keys, api.At(c.Moment, (*inferenceAPIKey).record))}, nil
}

func createInferenceAPIKey(c *api.Call) (any, error) {
	k := &inferenceAPIKey{c.NewObject(cloudapi.KindInferenceAPIKey, ""), rand.Text()[:16] + rand.Text()[:16]}
	c.State.Add(k)
	c.Log("create", k.ID)
	return k.record(c.Moment), nil
}

func getInferenceAPIKey(c *api.Call) (any, error) {
	k, ok, err := findInferenceAPIKey(c)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, reply.NotFound()
	}
	return k.record(c.Moment), nil
}

func deleteInferenceAPIKey(c *api.Call) (any, error) {
	k, ok, err := findInferenceAPIKey(c)
	if err != nil {
		return nil, err
	}
	if ok {
		c.Remove(k, 0, nil)
		c.Log("destroy", k.ID)
	}
	return reply.NoContent{}, nil
}
