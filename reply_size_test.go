package cloudapi

import (
	"errors"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// TestEmptyObjects: a record takes more than a hundred times the memory of {},.
func TestEmptyObjects(t *testing.T) {
	t.Parallel()
	objects := strings.Repeat("{},", 1<<20) + "{}"
	bodies := map[string]string{
		"items":           `{"items":[` + objects + `]}`,
		"items of a page": `{"count":1,"ITEMS":[` + objects + `]}`,
		"escaped":         `{"\u0069tems":[` + objects + `]}`,
		"a bare list":     `[` + objects + `]`,
	}
	record := `{"id":"` + stub.VMID + `","firewalls":[` + objects + `]}`
	if strconv.IntSize == 64 { // otherwise a firewall takes too little
		bodies["a field of an item"] = `{"items":[` + record + `]}`
		_, err := answering(t, 200, "application/json", record).VMs.Get(t.Context(), "eu-central-h1", "web-1")
		if !errors.Is(err, ErrInvalidResponse) || !strings.Contains(err.Error(), " MiB of memory") {
			t.Errorf("a field of a record: %v", err)
		}
	}
	for name, body := range bodies {
		_, err := answering(t, 200, "application/json", body).VMs.List(t.Context(), nil)
		if !errors.Is(err, ErrInvalidResponse) || !strings.Contains(err.Error(), " MiB of memory") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestObjectsUnderUnknownKeys: values that the SDK does not decode take no
// memory, so they may be anything.
func TestObjectsUnderUnknownKeys(t *testing.T) {
	t.Parallel()
	for name, unknown := range map[string]string{
		"some empty objects": strings.Repeat("{},", 1000) + "{}",
		"small objects":      strings.Repeat(`{"a":1},`, 1<<16) + "{}",
		"objects in objects": strings.Repeat(`{"firewalls":[{},{}]},`, 1<<15) + "{}",
		"numbers":            strings.Repeat("1,", 1<<19) + "-1.5e3",
		"texts":              strings.Repeat(`"{\"",`, 1<<16) + "null",
	} {
		vm := `{"id":"` + stub.VMID + `","later":[` + unknown + `],"name":"web-1","` + name + `":{"x":[` + unknown + `]}}`
		got, err := answering(t, 200, "application/json", vm).VMs.Get(t.Context(), "eu-central-h1", "web-1")
		if err != nil || got.Name != "web-1" {
			t.Errorf("%s in a record: %v", name, err)
		}
		page, err := answering(t, 200, "application/json", `{"later":[`+unknown+`],"items":[`+vm+`],"count":1}`).VMs.List(t.Context(), nil)
		if err != nil || len(page.Items) != 1 || page.Items[0].Name != "web-1" {
			t.Errorf("%s in a list: %v", name, err)
		}
	}
}

// TestDoBoundsMemory: {} takes thirty times its size as a map.
func TestDoBoundsMemory(t *testing.T) {
	// Not parallel: other tests would be counted too.
	for name, body := range map[string]string{
		"empty objects": "[" + strings.Repeat("{},", 14<<20/3) + "{}]",
		"small objects": "[" + strings.Repeat(`{"a":1},`, 14<<20/8) + "{}]",
		"empty arrays":  "[" + strings.Repeat("[],", 14<<20/3) + "[]]",
		"numbers":       "[" + strings.Repeat("1,", 28<<20/2) + "1]",
	} {
		client := answering(t, 200, "application/json", body)
		var before, after runtime.MemStats
		var out any
		runtime.ReadMemStats(&before)
		err := client.Do(t.Context(), "GET", []string{"x"}, nil, nil, &out)
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; err == nil || grown > 200<<20 {
			t.Errorf("%s: %d MiB of memory were allocated for %d bytes, %v", name, grown>>20, len(body), err)
		}
	}
	var out any
	usual := "[" + strings.Repeat(`{"id":"vmy9n10s8q164j473ra7pj9nqz","count":1.5,"tags":["a","b"],"more":{"x":null}},`, 10_000) + "{}]"
	if err := answering(t, 200, "application/json", usual).Do(t.Context(), "GET", []string{"x"}, nil, nil, &out); err != nil || len(out.([]any)) != 10_001 {
		t.Errorf("a usual reply: %v", err)
	}
}

// TestBracesAreNoObjects: a script full of braces, and series without values.
func TestBracesAreNoObjects(t *testing.T) {
	t.Parallel()
	script := strings.Repeat(`{"\\`, 5000) + strings.Repeat("}", 5000)
	reply := stub.JSON(map[string]string{"id": NewID(KindVMInitScript).String(), "name": "x", "script": script})
	network := stub.Recorder{Answer: stub.Always(200, string(reply))}
	got, err := recorded(t, &network).VMInitScripts.Get(t.Context(), "x")
	if err != nil || got.Script != script {
		t.Errorf("a script of braces: %v", err)
	}
	series := `{"labels":{},"values":[]}`
	network.Answer = stub.Always(200, `{"metrics":[{"name":"x","unit":null,"series":[`+strings.Repeat(series+",", 5000)+series+`]}]}`)
	metrics, err := recorded(t, &network).Postgres.Metrics(t.Context(), "eu-central-h1", "pg-1", nil)
	if err != nil || len(metrics.Metrics[0].Series) != 5001 {
		t.Errorf("empty series: %v", err)
	}
}
