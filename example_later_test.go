package cloudapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

// newLaterServer returns a server that gives one answer to every request, and a
// client of it.
func newLaterServer(answer string) (*httptest.Server, *cloudapi.Client) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, answer)
	}))
	client, err := cloudapi.NewClient(cloudapi.WithBaseURL(srv.URL), cloudapi.WithProject("pjahbwgme82j3qbwnsn4b3w1e9"))
	if err != nil {
		panic(err)
	}
	return srv, client
}

func ExampleInferenceEndpointsService() {
	srv, client := newLaterServer(`{"items":[{"id":"1es6vgxqpfgy6j2gkvy5p0de2b","name":"llama-3-3-70b-it","display_name":"Llama 3.3 70B",` +
		`"url":"https://llama-3-3-70b.ai.example.com","model_name":"llama-3-3-70b-it",` +
		`"tags":{"capability":"Text Generation","context_length":"128k"},"price":{"per_million_prompt_tokens":0.55}}]}`)
	defer srv.Close()
	ctx := context.Background()

	for model, err := range client.InferenceEndpoints.All(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(model.ModelName, "at", model.URL, model.Tags["context_length"])
	}
	// Output: llama-3-3-70b-it at https://llama-3-3-70b.ai.example.com 128k
}

func ExampleAuditLogService() {
	srv, client := newLaterServer(`{"items":[{"at":"2026-08-22T03:27:26Z","action":"vm/destroy","subject_id":"actn3bfg8kfy0gbzzaxxzedqnq",` +
		`"subject_name":"ann","object_ids":["vmy9n10s8q164j473ra7pj9nqz"]}]}`)
	defer srv.Close()
	ctx := context.Background()

	// Who deleted VMs in the three months before September?
	for entry, err := range client.AuditLog.All(ctx, &cloudapi.AuditLogOptions{
		Action: "vm/destroy",
		End:    time.Date(2026, 8, 31, 0, 0, 0, 0, time.UTC),
	}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(entry.At.Format(time.DateTime), entry.SubjectName, entry.Action, entry.ObjectIDs)
	}
	// Output: 2026-08-22 03:27:26 ann vm/destroy [vmy9n10s8q164j473ra7pj9nqz]
}

func ExamplePostgresService_AllLogs() {
	srv, client := newLaterServer(`{"logs":[{"timestamp":"2026-08-22T03:27:26.25Z","stream_name":"postgres","severity_level":"ERROR",` +
		`"message":"relation \"orders\" does not exist","server_ubid":"pvjey6g253fa4n1dbgbsps0nk8","server_role":"primary",` +
		`"context":{"user":"app","dbname":"shop"}}]}`)
	defer srv.Close()
	ctx := context.Background()

	// The errors of the last hour, the newest first.
	for line, err := range client.Postgres.AllLogs(ctx, "eu-central-h1", "shop-db", &cloudapi.PostgresLogsOptions{
		Start:         time.Now().Add(-time.Hour),
		SeverityLevel: cloudapi.PostgresLogSeverityError,
	}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(line.Timestamp.Format(time.TimeOnly), line.Context["user"], line.Message)
	}
	// Output: 03:27:26 app relation "orders" does not exist
}

func ExampleMachineImagesService() {
	client, err := cloudapi.NewClient(cloudapi.FromEnv())
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	const location = "eu-central-h1"

	// Only a VM that is stopped can be copied.
	vm, err := client.VMs.Stop(ctx, location, "build-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := client.VMs.WaitStopped(ctx, location, vm.ID); err != nil {
		fmt.Println(err)
		return
	}
	image, err := client.MachineImages.Create(ctx, location, "golden", &cloudapi.MachineImageCreateRequest{VM: vm.ID, Version: "v1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := client.MachineImages.WaitVersion(ctx, location, image.ID, "v1"); err != nil {
		fmt.Println(err)
		return
	}
	// Any number of VMs can be made of it.
	copied, err := client.VMs.Create(ctx, location, "web-1", &cloudapi.VMCreateRequest{PublicKey: "laptop", BootImage: image.Name + "@v1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(copied.Name, copied.BootImage)
}

func ExampleGitHubService() {
	client, err := cloudapi.NewClient(cloudapi.FromEnv())
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()

	// How much each repository keeps.
	for installation, err := range client.GitHub.AllInstallations(ctx, nil) {
		if err != nil {
			fmt.Println(err)
			return
		}
		for repository, err := range client.GitHub.AllRepositories(ctx, installation.ID, nil) {
			if err != nil {
				fmt.Println(err)
				return
			}
			entries, err := cloudapi.Collect(client.GitHub.AllCacheEntries(ctx, installation.ID, repository.ID, nil))
			if err != nil {
				fmt.Println(err)
				return
			}
			var size int64
			for _, entry := range entries {
				size += entry.Size
			}
			fmt.Println(repository.InstallationName, repository.Name, len(entries), size)
		}
	}
}
