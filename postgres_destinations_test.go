package cloudapi

import "context"

func postgresDestinationCases() []wireCase {
	const (
		location = "eu-central-h1"
		sinks    = postgresPath + "/orders-db/metric-destination"
		logs     = postgresPath + "/orders-db/log-destination"
		logID    = "1df5gj2k13va3h9qp0rkxh2hqw"
	)
	createSink := func(request *PostgresMetricDestinationCreateRequest) func(context.Context, *Client) (any, error) {
		return func(ctx context.Context, c *Client) (any, error) {
			return c.Postgres.CreateMetricDestination(ctx, location, "orders-db", request)
		}
	}
	createLog := func(request *PostgresLogDestinationCreateRequest) func(context.Context, *Client) (any, error) {
		return func(ctx context.Context, c *Client) (any, error) {
			return c.Postgres.CreateLogDestination(ctx, location, "orders-db", request)
		}
	}
	return []wireCase{
		{
			name: "create a metric destination", method: "POST", target: sinks, reply: testPgFull, want: testPostgresFull(),
			body: `{"password":"p+w/\"d","url":"https://prom.example.org/write","username":"writer"}`,
			call: func(ctx context.Context, c *Client) (any, error) {
				return c.Postgres.CreateMetricDestination(ctx, location, "orders-db", &PostgresMetricDestinationCreateRequest{
					URL: "https://prom.example.org/write", Username: "writer", Password: NewSecret(`p+w/"d`),
				})
			},
		},
		{
			name: "delete a metric destination", method: "DELETE", target: sinks + "/" + testSinkID,
			call: func(ctx context.Context, c *Client) (any, error) {
				return nothing(c.Postgres.DeleteMetricDestination(ctx, location, "orders-db", testSinkID))
			},
		},
		{
			name: "delete an old metric destination", method: "DELETE", target: sinks + "/etjkkf8b165j4krraw7xr99b53",
			call: func(ctx context.Context, c *Client) (any, error) {
				return nothing(c.Postgres.DeleteMetricDestination(ctx, location, "orders-db", "etjkkf8b165j4krraw7xr99b53"))
			},
		},
		{
			name: "create a metric destination with a token", method: "POST", target: sinks, reply: testPgFull, want: testPostgresFull(),
			body: `{"options":{"authorization":{"credentials":"t+k/\"n"}},"url":"https://prom.example.org/write"}`,
			call: createSink(&PostgresMetricDestinationCreateRequest{URL: "https://prom.example.org/write",
				Options: &PostgresMetricDestinationOptions{Authorization: &PostgresMetricAuthorization{Credentials: NewSecret(`t+k/"n`)}}}),
		},
		{
			name: "create a metric destination with a header", method: "POST", target: sinks, reply: testPgFull, want: testPostgresFull(),
			body: `{"options":{"authorization":{"credentials":"c","type":"Token"},"headers":{"x-scope":"1"}},"url":"https://prom.example.org/write"}`,
			call: createSink(&PostgresMetricDestinationCreateRequest{URL: "https://prom.example.org/write",
				Options: &PostgresMetricDestinationOptions{Headers: map[string]Secret{"x-scope": NewSecret("1")},
					Authorization: &PostgresMetricAuthorization{Type: "Token", Credentials: NewSecret("c")}}}),
		},
		{
			name: "create a metric destination with a password and a header", method: "POST", target: sinks, reply: testPgFull, want: testPostgresFull(),
			body: `{"options":{"headers":{"x-a":"b"}},"password":"p","url":"https://prom.example.org/write","username":"u"}`,
			call: createSink(&PostgresMetricDestinationCreateRequest{URL: "https://prom.example.org/write", Username: "u", Password: NewSecret("p"),
				Options: &PostgresMetricDestinationOptions{Headers: map[string]Secret{"x-a": NewSecret("b")}}}),
		},
		{
			name: "create a log destination", method: "POST", target: logs,
			body:  `{"name":"otel","type":"otlp","url":"https://logs.example.com/v1/logs"}`,
			reply: `{"id":"` + logID + `","name":"otel","type":"otlp","url":"https://logs.example.com/v1/logs"}`,
			call: createLog(&PostgresLogDestinationCreateRequest{Name: "otel", Type: PostgresLogDestinationOTLP,
				URL: "https://logs.example.com/v1/logs"}),
			want: &PostgresLogDestination{ID: logID, Name: "otel", Type: "otlp", URL: "https://logs.example.com/v1/logs"},
		},
		{
			name: "create a log destination with headers", method: "POST", target: logs,
			body:  `{"name":"otel","options":{"headers":{"authorization":"Bearer t"}},"type":"otlp","url":"https://logs.example.com/v1/logs"}`,
			reply: `{"id":"` + logID + `","name":"otel","type":"otlp","url":"https://logs.example.com/v1/logs"}`,
			call: createLog(&PostgresLogDestinationCreateRequest{Name: "otel", Type: PostgresLogDestinationOTLP,
				URL:     "https://logs.example.com/v1/logs",
				Options: &PostgresLogDestinationOptions{Headers: map[string]Secret{"authorization": NewSecret("Bearer t")}}}),
			want: &PostgresLogDestination{ID: logID, Name: "otel", Type: "otlp", URL: "https://logs.example.com/v1/logs"},
		},
		{
			name: "create a log destination with structured data", method: "POST", target: logs,
			body:  `{"name":"sys","options":{"structured_data":{"meta@1":{"env":"prod"}}},"type":"syslog","url":"tcp://logs.example.com:6514"}`,
			reply: `{"id":"` + logID + `","name":"sys","type":"syslog","url":"tcp://logs.example.com:6514"}`,
			call: createLog(&PostgresLogDestinationCreateRequest{Name: "sys", Type: PostgresLogDestinationSyslog,
				URL:     "tcp://logs.example.com:6514",
				Options: &PostgresLogDestinationOptions{StructuredData: map[string]map[string]Secret{"meta@1": {"env": NewSecret("prod")}}}}),
			want: &PostgresLogDestination{ID: logID, Name: "sys", Type: "syslog", URL: "tcp://logs.example.com:6514"},
		},
		{
			name: "delete a log destination", method: "DELETE", target: logs + "/" + logID,
			call: func(ctx context.Context, c *Client) (any, error) {
				return nothing(c.Postgres.DeleteLogDestination(ctx, location, "orders-db", logID))
			},
		},
	}
}
