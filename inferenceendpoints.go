package cloudapi

import (
	"context"
	"iter"
)

// InferenceEndpointsService lists the models that an inference API key gives
// access to.
type InferenceEndpointsService service

// InferenceEndpoint is a model, and where it is served.
type InferenceEndpoint struct {
	ID          string `json:"id"` // prefix 1e, or rm for a routed model
	Name        string `json:"name"`
	DisplayName string `json:"display_name"` // for people
	URL         string `json:"url"`          // of the server
	ModelName   string `json:"model_name"`   // by which requests to it name the model

	// Tags say more about the model. Values are any JSON: most are strings, such
	// as "capability": "Text Generation" or "context_length": "128k".
	Tags map[string]any `json:"tags"`

	Price InferenceEndpointPrice `json:"price"`
}

// InferenceEndpointPrice is what a million tokens cost; nil if the server does
// not tell.
type InferenceEndpointPrice struct {
	PerMillionPromptTokens     *float64 `json:"per_million_prompt_tokens"`
	PerMillionCompletionTokens *float64 `json:"per_million_completion_tokens"`
}

func (e *InferenceEndpoint) missing() string      { return missingID(e.ID) }
func (e *InferenceEndpoint) cursor(string) string { return e.ID }

var (
	opInferenceEndpointsList = Operation{"InferenceEndpoints.List", "GET", projectRoute + "/inference-endpoint", safe}

	listInferenceEndpoints = listRoutes{project: &opInferenceEndpointsList, whole: true}
)

// List returns the models that the project can use, all in one page: endpoints
// in front of routed models, each by name. It takes no permission but that to
// see the project.
//
// It is an operation of August 2026; a server of October 2025 answers
// [ErrNotFound].
//
//cloudapi:operation GET /project/{project_id}/inference-endpoint
func (s *InferenceEndpointsService) List(ctx context.Context) (*Page[InferenceEndpoint], error) {
	return list[InferenceEndpoint](ctx, s.client, &listInferenceEndpoints, nil)
}

// All returns the models that the project can use; see
// [InferenceEndpointsService.List].
//
// It is an operation of August 2026; a server of October 2025 answers
// [ErrNotFound].
//
//cloudapi:operation GET /project/{project_id}/inference-endpoint
func (s *InferenceEndpointsService) All(ctx context.Context) iter.Seq2[*InferenceEndpoint, error] {
	return all[InferenceEndpoint](ctx, s.client, &listInferenceEndpoints, nil)
}
