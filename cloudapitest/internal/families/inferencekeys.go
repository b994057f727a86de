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
		api.GET("InferenceAPIKeys.Get", key, api.Show(findInferenceAPIKey, (*inferenceAPIKey).record)),
		api.DELETE("InferenceAPIKeys.Delete", key, deleteInferenceAPIKey),
	}
}

type inferenceAPIKey struct {
	api.Object
	key string
}

type inferenceAPIKeyRecord struct {
	ID  string   `json:"id"`
	Key invented `json:"key"`
}

func (k *inferenceAPIKey) record(*api.Moment) inferenceAPIKeyRecord {
	return inferenceAPIKeyRecord{k.ID, invented(k.key)}
}

func (r *inferenceAPIKeyRecord) load(l *loader) error {
	o, err := l.object(r.ID, "")
	if err == nil {
		l.State.Add(&inferenceAPIKey{o, newInferenceKey()})
	}
	return err
}

func newInferenceKey() string { return rand.Text()[:16] + rand.Text()[:16] }

// findInferenceAPIKey returns a 404 for a key that the token may not view.
func findInferenceAPIKey(c *api.Call) (*inferenceAPIKey, error) {
	k, ok := api.FindByID[*inferenceAPIKey](c, cloudapi.KindInferenceAPIKey, c.Params["inference_api_key_id"])
	return k, c.Admit(k, ok)
}

func listInferenceAPIKeys(c *api.Call) (any, error) {
	keys := api.Where(c.State, cloudapi.KindInferenceAPIKey, c.Project, func(k *inferenceAPIKey) bool { return c.PermittedOn(k) })
	return api.Items[inferenceAPIKeyRecord]{Items: api.Records(keys, api.At(c.Moment, (*inferenceAPIKey).record))}, nil
}

func createInferenceAPIKey(c *api.Call) (any, error) {
	k := &inferenceAPIKey{c.NewObject(cloudapi.KindInferenceAPIKey, ""), newInferenceKey()}
	c.State.Add(k)
	c.Log("create", k.ID)
	return k.record(c.Moment), nil
}

// deleteInferenceAPIKey succeeds if the key doesn't exist, but fails if the
// text in the path isn't an ID.
func deleteInferenceAPIKey(c *api.Call) (any, error) {
	if !api.ValidID(c.Params["inference_api_key_id"]) {
		return nil, reply.NotFound()
	}
	return api.Delete(findInferenceAPIKey, func(k *inferenceAPIKey, c *api.Call) error {
		c.Remove(k, 0)
		c.Log("destroy", k.ID)
		return nil
	})(c)
}
