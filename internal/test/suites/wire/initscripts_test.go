package wire_test

import "github.com/cloudapi-sdk/cloudapi"

func initScriptCases() []wireCase {
	const (
		base = projectPath + "/vm-init-script"
		id   = "1ny350r73gma5hpsted9dg8xrf"
		item = `{"id":"` + id + `","name":"bootstrap"}`
		full = `{"id":"` + id + `","name":"bootstrap","script":"#!/bin/sh\napt-get update\n"}`
	)
	return []wireCase{
		{do("VMInitScripts.List", nil), "GET " + base, `{"items":[` + item + `]}`},
		{do("VMInitScripts.All", nil), "GET " + base, `{"items":[` + item + `]}`},
		{do("VMInitScripts.Create", "bootstrap", &cloudapi.VMInitScriptCreateRequest{Script: "#!/bin/sh\napt-get update\n"}),
			"POST " + base + ` {"name":"bootstrap","script":"#!/bin/sh\napt-get update\n"}`, full},
		{do("VMInitScripts.Get", "bootstrap"), "GET " + base + "/bootstrap", full},
		{do("VMInitScripts.Update", id, &cloudapi.VMInitScriptUpdateRequest{Name: "bootstrap"}), "POST " + base + "/" + id + ` {"name":"bootstrap"}`, full},
		{do("VMInitScripts.Update", "startup", &cloudapi.VMInitScriptUpdateRequest{Name: "bootstrap"}), "POST " + base + `/startup {"name":"bootstrap"}`, full},
		{do("VMInitScripts.Update", "bootstrap", &cloudapi.VMInitScriptUpdateRequest{Script: "true"}), "POST " + base + `/bootstrap {"script":"true"}`, full},
		{do("VMInitScripts.Delete", "bootstrap"), "DELETE " + base + "/bootstrap", nil},
	}
}
