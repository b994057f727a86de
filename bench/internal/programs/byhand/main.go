// Command byhand gets a VM with only net/http and encoding/json.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
)

func main() {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet,
		os.Getenv("CLOUDAPI_BASE_URL")+"/project/"+os.Getenv("CLOUDAPI_PROJECT")+"/location/eu-central-h1/vm/web-1", nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	req.Header.Set("Authorization", "Bearer "+os.Getenv("CLOUDAPI_TOKEN"))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer resp.Body.Close()
	var vm struct{ Name, State string }
	if err := json.NewDecoder(resp.Body).Decode(&vm); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(vm.Name, vm.State)
}
