package otelcloudapi_test

import (
	"context"
	"fmt"
	"net/http"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/otelcloudapi"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// A call whose first attempt fails is three spans.
func ExampleInstrument() {
	spans := tracetest.NewInMemoryExporter() // in a real program: an exporter to a collector
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))

	srv := cloudapitest.NewServer()
	defer srv.Close()
	srv.Fail(cloudapitest.Match{}, cloudapitest.Reply(http.StatusServiceUnavailable, nil, ""))
	client := srv.Client( // in a real program: cloudapi.NewClient(cloudapi.FromEnv(), …)
		otelcloudapi.Instrument(otelcloudapi.WithTracerProvider(tracers)),
		cloudapi.WithRetry(cloudapi.RetryPolicy{MinDelay: 1}),
	)
	if _, err := client.VMs.List(context.Background(), nil); err != nil {
		fmt.Println(err)
		return
	}
	for _, span := range spans.GetSpans() {
		fmt.Println(span.Name, span.Status.Code)
	}
	// Output:
	// GET /project/{project_id}/vm Error
	// GET /project/{project_id}/vm Unset
	// VMs.List Unset
}
