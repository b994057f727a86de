package cloudapi

import (
	"context"
	"iter"
)

// InferenceEndpointsService lists the models that inference API keys can use.
//
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

// InferenceEndpointPrice is the price of a million tokens. A field is nil if
// the server doesn't send the price.
type InferenceEndpointPrice struct {
	PerMillionPromptTokens     *float64 `json:"per_million_prompt_tokens"`
	PerMillionCompletionTokens *float64 `json:"per_million_completion_tokens"`
}

func (e *InferenceEndpoint) lacks() string        { return lacksID(e.ID) }
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
