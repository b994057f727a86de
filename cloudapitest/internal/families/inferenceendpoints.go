package families

import (
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

func inferenceEndpointOperations() []api.Operation {
	return api.AllOnly(version.Service,
		api.GET("InferenceEndpoints.List", api.ProjectRoute+"/inference-endpoint", listInferenceEndpoints))
}

type inferenceEndpointRecord struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	DisplayName string         `json:"display_name"`
	URL         string         `json:"url"`
	ModelName   string         `json:"model_name"`
	Tags        map[string]any `json:"tags"`
	Price       inferencePrice `json:"price"`
}

// inferencePrice is in dollars. A model without a price has null.
type inferencePrice struct {
	Prompt     *float64 `json:"per_million_prompt_tokens"`
	Completion *float64 `json:"per_million_completion_tokens"`
}

// listInferenceEndpoints returns the public models, whatever the token's
// permissions are: first the endpoints, then a routed model.
func listInferenceEndpoints(*api.Call) (any, error) {
	price := 0.1
	return api.Items[inferenceEndpointRecord]{Items: []inferenceEndpointRecord{
		{"1erbxmd1428y0nnchy1mccvn0r", "e5-mistral-7b-it", "e5-mistral-7b-it", "https://e5-mistral.ai.localhost", "e5-mistral-7b-it",
			map[string]any{"hf_model": "intfloat/e5-mistral-7b-instruct", "capability": "Embeddings"}, inferencePrice{&price, &price}},
		{"1es6vgxqpfgy6j2gkvy5p0de2b", "llama-3-3-70b-it", "Llama 3.3 70B", "https://llama-3-3-70b.ai.localhost", "llama-3-3-70b-it",
			map[string]any{"hf_model": "meta-llama/Llama-3.3-70B-Instruct", "capability": "Text Generation", "multimodal": false, "context_length": "128k"},
			inferencePrice{}},
		{"rmwsyd45jbwy6j8427kqks3vvp", "qwen3-32b", "Qwen 3 32B", "https://router.ai.localhost", "qwen3-32b",
			map[string]any{"capability": "Text Generation", "context_length": "32k"}, inferencePrice{}},
	}}, nil
}
