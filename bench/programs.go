package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// programs compares two small programs that get a VM: one with the SDK, and one
// with only net/http. Each field is the figure of the SDK's program divided by
// the figure of the other program.
type programs struct{ size, work float64 }

func measurePrograms(ctx context.Context, rounds int) (*programs, error) {
	var sizes, work []float64
	for range rounds {
		handSize, handWork, err := build(ctx, "byhand")
		if err != nil {
			return nil, err
		}
		ourSize, ourWork, err := build(ctx, "sdk")
		if err != nil {
			return nil, err
		}
		sizes, work = append(sizes, ourSize/handSize), append(work, ourWork/handWork)
	}
	return &programs{median(sizes), median(work)}, nil
}

// build returns the size of a program in bytes, and the processor time of
// building it, in seconds, with an empty build cache.
func build(ctx context.Context, name string) (size, work float64, err error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	file := dir + "/program"
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", file, "./internal/programs/"+name)
	build.Env = append(os.Environ(), "GOCACHE="+dir+"/cache")
	if output, err := build.CombinedOutput(); err != nil {
		return 0, 0, fmt.Errorf("building %s: %w\n%s", name, err, output)
	}
	info, err := os.Stat(file)
	if err != nil {
		return 0, 0, err
	}
	return float64(info.Size()), (build.ProcessState.UserTime() + build.ProcessState.SystemTime()).Seconds(), nil
}
