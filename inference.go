package cloudapi

import (
	"context"
	"iter"
)

// InferenceEndpointsService lists the models that inference API keys can use.
// † Only the service has these.
type InferenceEndpointsService service

// InferenceEndpoint is a model and the server that serves it.
type InferenceEndpoint struct {
	ID          string                 `json:"id"` // prefix 1e, or rm for a routed model
	Name        string                 `json:"name"`
	DisplayName string                 `json:"display_name"` // for people
	URL         string                 `json:"url"`          // of the server
	ModelName   string                 `json:"model_name"`   // the model's name in requests to that server
	Tags        map[string]any         `json:"tags"`         // mostly strings, such as "context_length": "128k"
	Price       InferenceEndpointPrice `json:"price"`
}

// InferenceEndpointPrice has prices of a million tokens; nil means unknown.
type InferenceEndpointPrice struct {
	PerMillionPromptTokens     *float64 `json:"per_million_prompt_tokens"`
	PerMillionCompletionTokens *float64 `json:"per_million_completion_tokens"`
}

func (e *InferenceEndpoint) lacks() string        { return missing("id", e.ID == "") }
func (e *InferenceEndpoint) cursor(string) string { return e.ID }

var (
	opInferenceEndpointsList = Operation{"InferenceEndpoints.List", "GET", projectRoute + "/inference-endpoint", idempotent | serviceOnly}

	listInferenceEndpoints = listRoutes{project: &opInferenceEndpointsList, unpaged: true}
)

// List returns the models that the project can use, in one page: endpoints and
// then routed models, by name. The token needs only to see the project.
func (s *InferenceEndpointsService) List(ctx context.Context) (*Page[InferenceEndpoint], error) {
	return list[InferenceEndpoint](ctx, s.conn, &listInferenceEndpoints, nil)
}

// All iterates over the models that the project can use.
func (s *InferenceEndpointsService) All(ctx context.Context) iter.Seq2[*InferenceEndpoint, error] {
	return all[InferenceEndpoint](ctx, s.conn, &listInferenceEndpoints, nil)
}

// InferenceAPIKeysService manages the keys for the inference endpoints.
type InferenceAPIKeysService service

// InferenceAPIKey is a key for the inference endpoints.
type InferenceAPIKey struct {
	ID  string `json:"id"`  // prefix ak
	Key Secret `json:"key"` // the key itself; all responses contain it, even lists
}

func (k *InferenceAPIKey) Resource() Resource { return Resource{Kind: KindInferenceAPIKey, ID: k.ID} }

const inferenceAPIKeyRoute = projectRoute + "/inference-api-key/{inference_api_key_id}"

var (
	opInferenceAPIKeysList   = Operation{"InferenceAPIKeys.List", "GET", projectRoute + "/inference-api-key", idempotent}
	opInferenceAPIKeysCreate = Operation{"InferenceAPIKeys.Create", "POST", projectRoute + "/inference-api-key", once}
	opInferenceAPIKeysGet    = Operation{"InferenceAPIKeys.Get", "GET", inferenceAPIKeyRoute, idempotent}
	opInferenceAPIKeysDelete = Operation{"InferenceAPIKeys.Delete", "DELETE", inferenceAPIKeyRoute, idempotent}

	listInferenceAPIKeys  = listRoutes{project: &opInferenceAPIKeysList, unpaged: true}
	inferenceAPIKeyFamily = family[InferenceAPIKey]{lists: &listInferenceAPIKeys, get: &opInferenceAPIKeysGet, del: &opInferenceAPIKeysDelete, hidden: true}
)

// List returns the valid keys that the token can see: one page, oldest first.
func (s *InferenceAPIKeysService) List(ctx context.Context, opts *ListOptions) (*Page[InferenceAPIKey], error) {
	return list[InferenceAPIKey](ctx, s.conn, &listInferenceAPIKeys, opts)
}

// All iterates over the valid keys that the token can see.
func (s *InferenceAPIKeysService) All(ctx context.Context, opts *ListOptions) iter.Seq2[*InferenceAPIKey, error] {
	return all[InferenceAPIKey](ctx, s.conn, &listInferenceAPIKeys, opts)
}

// Watch yields the keys and then their changes; see [WatchOptions]. A key that
// the token may no longer see is also yielded as deleted.
func (s *InferenceAPIKeysService) Watch(ctx context.Context, opts *WatchOptions, known ...*InferenceAPIKey) iter.Seq2[Event[InferenceAPIKey], error] {
	return inferenceAPIKeyFamily.watch(ctx, s.conn, opts, known)
}

// Create creates another key with each call. The endpoints may take minutes to
// accept the key. After [ErrOutcomeUnknown], use List to look for a new key.
func (s *InferenceAPIKeysService) Create(ctx context.Context) (*InferenceAPIKey, error) {
	return send[InferenceAPIKey](ctx, s.conn, &opInferenceAPIKeysCreate, struct{}{})
}

// Get returns a key.
func (s *InferenceAPIKeysService) Get(ctx context.Context, keyID string) (*InferenceAPIKey, error) {
	return perform[InferenceAPIKey](ctx, s.conn, &opInferenceAPIKeysGet, keyID)
}

// Delete deletes a key, or does nothing if the token can't see the key.
func (s *InferenceAPIKeysService) Delete(ctx context.Context, keyID string) error {
	return remove(ctx, s.conn, &opInferenceAPIKeysDelete, keyID)
}
