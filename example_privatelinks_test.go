package cloudapi_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

func ExamplePrivateLinkServicesService() {
	srv := newLaterServer()
	defer srv.Close()
	client := srv.Client()
	ctx := context.Background()
	const location, account = "aws", "arn:aws:iam::123456789012:root"
	if _, err := client.PrivateLocations.Create(ctx, location, &cloudapi.PrivateLocationCreateRequest{ProviderLocationName: cloudapi.PrivateLocationProviderLocationNameUSWest2,
		AccessKey: cloudapi.NewSecret("access"), SecretKey: cloudapi.NewSecret("secret")}); err != nil {
		log.Fatal(err)
	}
	db, err := client.Postgres.Create(ctx, location, "orders", &cloudapi.PostgresCreateRequest{Size: "m8gd.large", StorageSize: 118})
	if err != nil {
		log.Fatal(err)
	}
	request := &cloudapi.PostgresPrivateLinkServiceCreateRequest{AWS: cloudapi.PrivateLinkServiceAWSCreateRequest{AllowedPrincipals: []string{account}}}

	// Private link services are off by default.
	_, err = client.Postgres.CreatePrivateLinkService(ctx, location, db.ID, "orders-link", request)
	fmt.Println("off:", errors.Is(err, cloudapi.ErrMaybeUnsupported), cloudapi.IsGone(err))

	srv.SetFeatures(srv.ProjectID(), cloudapitest.FeaturePrivateLinkServices)
	link, err := client.Postgres.CreatePrivateLinkService(ctx, location, db.ID, "orders-link", request)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(link.Name, link.AllowedPrincipals, link.Ports)
	if link, err = client.PrivateLinkServices.WaitAvailable(ctx, location, link.ID, nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println(link.Name, link.State, link.AWS.ServiceName != "")

	// A list that the request sets replaces the current one; the others stay. The
	// service's own region isn't listed.
	link, err = client.PrivateLinkServices.Update(ctx, location, link.ID, &cloudapi.PrivateLinkServiceUpdateRequest{
		AWS: cloudapi.PrivateLinkServiceAWSUpdateRequest{SupportedRegions: []string{"us-west-2", "us-east-1"}}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(link.AllowedPrincipals, link.AWS.SupportedRegions)

	// The server deletes it with its database.
	if err := client.Postgres.Delete(ctx, location, db.ID); err != nil {
		log.Fatal(err)
	}
	fmt.Println("deleted:", client.PrivateLinkServices.WaitDeleted(ctx, location, link.ID, nil))
	// Output:
	// off: true false
	// orders-link [arn:aws:iam::123456789012:root] [{5432 5432} {6432 6432}]
	// orders-link available true
	// [arn:aws:iam::123456789012:root] [us-east-1]
	// deleted: <nil>
}
