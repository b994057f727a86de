package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// changeFlags defines flags such as -fail. Each adds a change to o.steps.
func (o *options) changeFlags(flags *flag.FlagSet) {
	add := func(name string, value any) error {
		text, err := json.Marshal(map[string]any{name: value})
		if err != nil {
			return err
		}
		s, err := parseStep(text)
		o.steps = append(o.steps, s)
		return err
	}
	flags.Func("vms", "`number` of running VMs to add, \"vm-1\" and so on, in "+location, func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return errors.New("not a number of VMs")
		}
		if n == 0 {
			return nil
		}
		return add("vms", map[string]int{"count": n})
	})
	flags.Func("quota", "`quotas` of the project, such as vm=200,kubernetes=64\n(default as for a new project)", func(text string) error {
		quotas := map[string]int{}
		for part := range strings.SplitSeq(text, ",") {
			name, value, _ := strings.Cut(part, "=")
			n, err := strconv.Atoi(value)
			if err != nil {
				return fmt.Errorf("%q is not a quota, such as vm=200", part)
			}
			quotas[name] = n
		}
		return add("quota", quotas)
	})
	flags.Func("features", "`features` of the project, such as private-link-services,lantern\n(default none)", func(text string) error {
		return add("features", map[string]any{"features": strings.Split(text, ",")})
	})
	flags.Func("fail", "`faults` for the requests of an operation, one for each request,\nsuch as VMs.Create=503,drop-after: statuses,\n"+
		"drop-before or drop-after; can be repeated", func(text string) error {
		operation, list, found := strings.Cut(text, "=")
		if !found {
			return errors.New("not the faults of an operation, such as VMs.Create=503")
		}
		var faults []map[string]any
		for part := range strings.SplitSeq(list, ",") {
			status, err := strconv.Atoi(part)
			when, isDrop := strings.CutPrefix(part, "drop-")
			switch {
			case isDrop:
				faults = append(faults, map[string]any{"drop": when})
			case err == nil:
				faults = append(faults, map[string]any{"status": status})
			default:
				return fmt.Errorf("%q is not a fault, such as 503 or drop-after", part)
			}
		}
		return add("fail", map[string]any{"operation": operation, "with": faults})
	})
	flags.BoolFunc("no-permission", "give the token no permission in the project", func(text string) error {
		if none, err := strconv.ParseBool(text); err != nil || !none {
			return err
		}
		return add("permissions", map[string]any{"permissions": []string{}})
	})
}

// start returns the changes that flags ask for, then the scenario's changes.
func (o options) start() ([]step, error) {
	if o.scenario == "" {
		return o.steps, nil
	}
	text, err := os.ReadFile(o.scenario)
	if err != nil {
		return nil, err
	}
	more, err := parseScenario(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.scenario, err)
	}
	return append(o.steps, more...), nil
}
