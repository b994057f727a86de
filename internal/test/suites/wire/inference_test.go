package wire_test

func inferenceCases() []wireCase {
	const (
		endpoints = projectPath + "/inference-endpoint"
		both      = `{"items":[{"id":"1erbxmd1428y0nnchy1mccvn0r","name":"e5","display_name":"E5","url":"https://e5.example.com","model_name":"e5-it",` +
			`"tags":{"capability":"Embeddings","multimodal":false},"price":{"per_million_prompt_tokens":0.1,"per_million_completion_tokens":0}},` +
			`{"id":"rmwsyd45jbwy6j8427kqks3vvp","name":"qwen","display_name":"Qwen","url":"https://router.example.com","model_name":"qwen",` +
			`"tags":{},"price":{"per_million_prompt_tokens":null,"per_million_completion_tokens":null}}]}`
		keys = projectPath + "/inference-api-key"
		id   = "akxwe35ezv1y7nhwwjasd540nk"
		key  = `{"id":"` + id + `","key":"hX3f0a9LQm7Tz5Vb2Kc8Rw1Ny6Dp4Sj0"}`
	)
	return []wireCase{
		{do("InferenceEndpoints.List"), "GET " + endpoints, both},
		{do("InferenceEndpoints.All"), "GET " + endpoints, both},
		{do("InferenceAPIKeys.List", nil), "GET " + keys, `{"items":[` + key + `]}`},
		{do("InferenceAPIKeys.All", nil), "GET " + keys, `{"items":[` + key + `]}`},
		{do("InferenceAPIKeys.Create"), "POST " + keys + " {}", key},
		{do("InferenceAPIKeys.Get", id), "GET " + keys + "/" + id, key},
		{do("InferenceAPIKeys.Delete", id), "DELETE " + keys + "/" + id, nil},
	}
}
