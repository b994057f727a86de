package wire_test

import (
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
)

func TestInferenceEndpointsWire(t *testing.T) {
	t.Parallel()
	const reply = `{"items":[{"id":"1erbxmd1428y0nnchy1mccvn0r","name":"e5","display_name":"E5","url":"https://e5.example.com","model_name":"e5-it",` +
		`"tags":{"capability":"Embeddings","multimodal":false},"price":{"per_million_prompt_tokens":0.1,"per_million_completion_tokens":0}},` +
		`{"id":"rmwsyd45jbwy6j8427kqks3vvp","name":"qwen","display_name":"Qwen","url":"https://router.example.com","model_name":"qwen",` +
		`"tags":{},"price":{"per_million_prompt_tokens":null,"per_million_completion_tokens":null}}]}`
	items := []*cloudapi.InferenceEndpoint{
		{
			ID: "1erbxmd1428y0nnchy1mccvn0r", Name: "e5", DisplayName: "E5", URL: "https://e5.example.com", ModelName: "e5-it",
			Tags:  map[string]any{"capability": "Embeddings", "multimodal": false},
			Price: cloudapi.InferenceEndpointPrice{PerMillionPromptTokens: new(0.1), PerMillionCompletionTokens: new(0.0)},
		},
		{ID: "rmwsyd45jbwy6j8427kqks3vvp", Name: "qwen", DisplayName: "Qwen", URL: "https://router.example.com", ModelName: "qwen", Tags: map[string]any{}},
	}
	runWireCases(t, "InferenceEndpoints", []wireCase{
		{
			method: "GET", target: projectPath + "/inference-endpoint", reply: reply, want: &cloudapi.Page[cloudapi.InferenceEndpoint]{Items: items},
			call: calls("InferenceEndpoints.List"),
		},
		{
			name: "all", method: "GET", target: projectPath + "/inference-endpoint", reply: reply, want: items,
			call: calls("InferenceEndpoints.All"),
		},
	})
}
