package wire_test

import (
	"context"

	"github.com/cloudapi-sdk/cloudapi"
)

func postgresDestinationCases() []wireCase {
	const (
		location = "eu-central-h1"
		sinks    = postgresPath + "/orders-db/metric-destination"
		logs     = postgresPath + "/orders-db/log-destination"
		logID    = "1df5gj2k13va3h9qp0rkxh2hqw"
	)
	createSink := func(request *cloudapi.PostgresMetricDestinationCreateRequest) func(context.Context, *cloudapi.Client) (any, error) {
		return calls("Postgres.CreateMetricDestination", location, "orders-db", request)
	}
	createLog := func(request *cloudapi.PostgresLogDestinationCreateRequest) func(context.Context, *cloudapi.Client) (any, error) {
		return calls("Postgres.CreateLogDestination", location, "orders-db", request)
	}
	return []wireCase{
		{
			name: "create a metric destination", method: "POST", target: sinks, reply: testPgFull, want: testPostgresFull(),
			body: `{"password":"p+w/\"d","url":"https://prom.example.org/write","username":"writer"}`,
			call: calls("Postgres.CreateMetricDestination", location, "orders-db", &cloudapi.PostgresMetricDestinationCreateRequest{
				URL: "https://prom.example.org/write", Username: "writer", Password: cloudapi.NewSecret(`p+w/"d`),
			}),
		},
		{
			name: "delete a metric destination", method: "DELETE", target: sinks + "/" + testSinkID,
			call: calls("Postgres.DeleteMetricDestination", location, "orders-db", testSinkID),
		},
		{
			name: "delete an old metric destination", method: "DELETE", target: sinks + "/etjkkf8b165j4krraw7xr99b53",
			call: calls("Postgres.DeleteMetricDestination", location, "orders-db", "etjkkf8b165j4krraw7xr99b53"),
		},
		{
			name: "create a metric destination with a token", method: "POST", target: sinks, reply: testPgFull, want: testPostgresFull(),
			body: `{"options":{"authorization":{"credentials":"t+k/\"n"}},"url":"https://prom.example.org/write"}`,
			call: createSink(&cloudapi.PostgresMetricDestinationCreateRequest{URL: "https://prom.example.org/write",
				Options: &cloudapi.PostgresMetricDestinationOptions{Authorization: &cloudapi.PostgresMetricAuthorization{Credentials: cloudapi.NewSecret(`t+k/"n`)}}}),
		},
		{
			name: "create a metric destination with a header", method: "POST", target: sinks, reply: testPgFull, want: testPostgresFull(),
			body: `{"options":{"authorization":{"credentials":"c","type":"Token"},"headers":{"x-scope":"1"}},"url":"https://prom.example.org/write"}`,
			call: createSink(&cloudapi.PostgresMetricDestinationCreateRequest{URL: "https://prom.example.org/write",
				Options: &cloudapi.PostgresMetricDestinationOptions{Headers: map[string]cloudapi.Secret{"x-scope": cloudapi.NewSecret("1")},
					Authorization: &cloudapi.PostgresMetricAuthorization{Type: "Token", Credentials: cloudapi.NewSecret("c")}}}),
		},
		{
			name: "create a metric destination with a password and a header", method: "POST", target: sinks, reply: testPgFull, want: testPostgresFull(),
			body: `{"options":{"headers":{"x-a":"b"}},"password":"p","url":"https://prom.example.org/write","username":"u"}`,
			call: createSink(&cloudapi.PostgresMetricDestinationCreateRequest{URL: "https://prom.example.org/write", Username: "u", Password: cloudapi.NewSecret("p"),
				Options: &cloudapi.PostgresMetricDestinationOptions{Headers: map[string]cloudapi.Secret{"x-a": cloudapi.NewSecret("b")}}}),
		},
		{
			name: "create a log destination", method: "POST", target: logs,
			body:  `{"name":"otel","type":"otlp","url":"https://logs.example.com/v1/logs"}`,
			reply: `{"id":"` + logID + `","name":"otel","type":"otlp","url":"https://logs.example.com/v1/logs"}`,
			call: createLog(&cloudapi.PostgresLogDestinationCreateRequest{Name: "otel", Type: cloudapi.PostgresLogDestinationOTLP,
				URL: "https://logs.example.com/v1/logs"}),
			want: &cloudapi.PostgresLogDestination{ID: logID, Name: "otel", Type: "otlp", URL: "https://logs.example.com/v1/logs"},
		},
		{
			name: "create a log destination with headers", method: "POST", target: logs,
			body:  `{"name":"otel","options":{"headers":{"authorization":"Bearer t"}},"type":"otlp","url":"https://logs.example.com/v1/logs"}`,
			reply: `{"id":"` + logID + `","name":"otel","type":"otlp","url":"https://logs.example.com/v1/logs"}`,
			call: createLog(&cloudapi.PostgresLogDestinationCreateRequest{Name: "otel", Type: cloudapi.PostgresLogDestinationOTLP,
				URL:     "https://logs.example.com/v1/logs",
				Options: &cloudapi.PostgresLogDestinationOptions{Headers: map[string]cloudapi.Secret{"authorization": cloudapi.NewSecret("Bearer t")}}}),
			want: &cloudapi.PostgresLogDestination{ID: logID, Name: "otel", Type: "otlp", URL: "https://logs.example.com/v1/logs"},
		},
		{
			name: "create a log destination with structured data", method: "POST", target: logs,
			body:  `{"name":"sys","options":{"structured_data":{"meta@1":{"env":"prod"}}},"type":"syslog","url":"tcp://logs.example.com:6514"}`,
			reply: `{"id":"` + logID + `","name":"sys","type":"syslog","url":"tcp://logs.example.com:6514"}`,
			call: createLog(&cloudapi.PostgresLogDestinationCreateRequest{Name: "sys", Type: cloudapi.PostgresLogDestinationSyslog,
				URL:     "tcp://logs.example.com:6514",
				Options: &cloudapi.PostgresLogDestinationOptions{StructuredData: map[string]map[string]cloudapi.Secret{"meta@1": {"env": cloudapi.NewSecret("prod")}}}}),
			want: &cloudapi.PostgresLogDestination{ID: logID, Name: "sys", Type: "syslog", URL: "tcp://logs.example.com:6514"},
		},
		{
			name: "delete a log destination", method: "DELETE", target: logs + "/" + logID,
			call: calls("Postgres.DeleteLogDestination", location, "orders-db", logID),
		},
	}
}
