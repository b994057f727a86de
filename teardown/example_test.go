package teardown_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
	"github.com/cloudapi-sdk/cloudapi/teardown"
)

// Create a plan, show it, and run it.
func Example() {
	srv := cloudapitest.NewServer(cloudapitest.WithDelays(cloudapitest.Delays{}))
	defer srv.Close()
	client := srv.Client()
	ctx := context.Background()
	srv.AddVMs("eu-central-h1", "web", 2)
	if _, err := client.SSHPublicKeys.Create(ctx, "laptop", &cloudapi.SSHPublicKeyCreateRequest{PublicKey: stub.PublicKey}); err != nil {
		fmt.Println(err)
		return
	}

	plan, err := teardown.NewPlan(ctx, client, &teardown.Options{
		Keep: func(r cloudapi.Resource) bool { return r.Kind == cloudapi.KindSSHPublicKey },
		Progress: func(p cloudapi.Progress) {
			if p.State == "deleted" {
				fmt.Printf("%d of %d\n", p.Done, p.Total)
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, stage := range plan.Stages() { // or fmt.Print(plan), which also shows the IDs
		for _, r := range stage {
			fmt.Println(i+1, r.Kind, r.Name)
		}
	}
	err = plan.Run(ctx)
	if report, ok := errors.AsType[*teardown.Error](err); ok {
		for _, failure := range report.Failed {
			fmt.Println(failure)
		}
	}
	fmt.Println("kept:", plan.Kept()[0].Name)
	// Output:
	// 1 VM web-1
	// 1 VM web-2
	// 2 private subnet web-net-1
	// 3 firewall web-net-1-default
	// 1 of 4
	// 2 of 4
	// 3 of 4
	// 4 of 4
	// kept: laptop
}
