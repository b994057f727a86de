package wire_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

func TestPrivateLocationsWire(t *testing.T) {
	t.Parallel()
	const (
		base = projectPath + "/private-location"
		id   = "10d4d921hrsy5m9pc5f623tnyc"
		full = `{"id":"` + id + `","name":"us-east-1","ui_name":"acme-aws-east","provider":"aws","path":"/private-location/acme-aws-east"}`
	)
	record := &cloudapi.PrivateLocation{ID: id, Name: "us-east-1", UIName: "acme-aws-east", Provider: "aws", Path: "/private-location/acme-aws-east"}
	runWireCases(t, "PrivateLocations", []wireCase{
		{
			method: "GET", target: base, reply: `{"items":[` + full + `],"count":1}`,
			call: calls("PrivateLocations.List", nil),
			want: &cloudapi.Page[cloudapi.PrivateLocation]{Items: []*cloudapi.PrivateLocation{record}, Count: new(1), Next: id},
		},
		{
			name: "list by name, which is the region", method: "GET", target: base + "?order_column=name&page_size=1",
			reply: `{"items":[` + full + `],"count":2}`,
			call:  calls("PrivateLocations.List", &cloudapi.ListOptions{OrderColumn: cloudapi.OrderByName, PageSize: 1}),
			want:  &cloudapi.Page[cloudapi.PrivateLocation]{Items: []*cloudapi.PrivateLocation{record}, Count: new(2), Next: "us-east-1"},
		},
		{
			name: "all", method: "GET", target: base + "?page_size=1000", reply: `{"items":[` + full + `],"count":1}`,
			call: calls("PrivateLocations.All", nil),
			want: []*cloudapi.PrivateLocation{record},
		},
		{
			name: "create", method: "POST", target: base, reply: full,
			body: `{"access_key":"AKIAEXAMPLE","name":"acme-aws-east","provider_location_name":"us-east-1","secret_key":"inven+ed/\"secret"}`,
			call: calls("PrivateLocations.Create", &cloudapi.PrivateLocationCreateRequest{
				Name:                 "acme-aws-east",
				ProviderLocationName: cloudapi.ProviderLocationUSEast1,
				AccessKey:            cloudapi.NewSecret("AKIAEXAMPLE"),
				SecretKey:            cloudapi.NewSecret(`inven+ed/"secret`),
			}),
			want: record,
		},
		{
			method: "GET", target: base + "/acme-aws-east", reply: full,
			call: calls("PrivateLocations.Get", "acme-aws-east"),
			want: record,
		},
		{
			name: "rename", byName: true, method: "POST", target: base + "/acme-aws", body: `{"name":"acme-aws-east"}`, reply: full,
			call: calls("PrivateLocations.Rename", "acme-aws", "acme-aws-east"),
			want: record,
		},
		{
			method: "DELETE", target: base + "/acme-aws-east",
			call: calls("PrivateLocations.Delete", "acme-aws-east"),
		},
	})
}

func TestPrivateLocationSecretsStaySecret(t *testing.T) {
	t.Parallel()
	const access, secret = "AKIAEXAMPLE", "s3cr\"et/key"
	request := &cloudapi.PrivateLocationCreateRequest{
		Name: "acme", ProviderLocationName: "mars-1", AccessKey: cloudapi.NewSecret(access), SecretKey: cloudapi.NewSecret(secret),
	}
	texts := []string{fmt.Sprintf("%v %+v %#v", request, request, request), string(stub.JSON(request))}

	// The real server repeats a body that it refuses.
	client := sdktest.Answering(t, 400, "application/json",
		`{"error":{"code":400,"type":"BadRequest","message":"{\"access_key\"=>\"AKIAEXAMPLE\"} is not any of","details":{"body":"s3cr\"et/key"}}}`)
	_, err := client.PrivateLocations.Create(t.Context(), request)
	e, ok := errors.AsType[*cloudapi.Error](err)
	if !ok {
		t.Fatalf("the error is %v", err)
	}
	texts = append(texts, err.Error(), fmt.Sprintf("%+v", *e), string(e.Details))
	for _, text := range texts {
		if strings.Contains(text, access) || strings.Contains(text, "s3cr") {
			t.Errorf("a secret shows in %s", text)
		}
	}
	if want := `{"body":"[redacted]"}`; string(e.Details) != want {
		t.Errorf("details are %s, want %s", e.Details, want)
	}
}

func TestPrivateLocationWaits(t *testing.T) {
	t.Parallel()
	const record = `{"id":"10rypbds80cj7mrjh6yre7xqe8","name":"us-west-2","ui_name":"mine"}`
	deleted := calls("PrivateLocations.WaitDeleted", "mine")
	runWaitCases(t, projectPath+"/private-location/mine", []waitCase{
		{name: "deleted", wait: deleted, polls: []string{record, record, stub.Envelope(404)}},
		{name: "deleted at once", wait: deleted, polls: []string{stub.Envelope(404)}},
		{name: "deleted and made again", wait: deleted, polls: []string{record, `{"id":"10gvqwdeswre7m2ps1kfabv2x8","name":"us-west-2","ui_name":"mine"}`}},
	})
	for _, name := range []string{"10rypbds80cj7mrjh6yre7xqe8", stub.VMID} {
		if err := sdktest.SendingNothing(t).PrivateLocations.WaitDeleted(t.Context(), name, nil); !errors.Is(err, cloudapi.ErrInvalidArgument) {
			t.Errorf("the wait for %s: %v", name, err)
		}
	}
}
