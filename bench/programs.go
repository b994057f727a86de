package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// program is a built program.
type program struct {
	size    int64
	took    time.Duration // elapsed
	work    time.Duration // processor time
	modules int
}

// measurePrograms builds the smallest program with the SDK and without it, each
// with an empty build cache.
func measurePrograms(ctx context.Context, r *report, rounds int) error {
	var sizes, times, work []float64
	var ours program
	for range rounds {
		byHand, err := buildProgram(ctx, "byhand")
		if err != nil {
			return err
		}
		if ours, err = buildProgram(ctx, "sdk"); err != nil {
			return err
		}
		sizes = append(sizes, float64(ours.size)/float64(byHand.size))
		times = append(times, float64(ours.took)/float64(byHand.took))
		work = append(work, float64(ours.work)/float64(byHand.work))
	}
	r.targets = append(r.targets,
		target{"smallest program, beside net/http alone: size", "1.06", fmt.Sprintf("%.3f", median(sizes))},
		target{"smallest program, beside net/http alone: cold build", "1.15", fmt.Sprintf("%.2f, %.2f in processor time", median(times), median(work))},
		target{"modules linked beside the SDK's own", "3", fmt.Sprint(ours.modules - 1)},
	)
	return nil
}

func buildProgram(ctx context.Context, name string) (p program, err error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return p, err
	}
	defer os.RemoveAll(dir)
	file := dir + "/program"
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", file, "./internal/programs/"+name)
	build.Env = append(os.Environ(), "GOCACHE="+dir+"/cache")
	start := time.Now()
	if output, err := build.CombinedOutput(); err != nil {
		return p, fmt.Errorf("building %s: %w\n%s", name, err, output)
	}
	p.took = time.Since(start)
	p.work = build.ProcessState.UserTime() + build.ProcessState.SystemTime()
	info, err := os.Stat(file)
	if err != nil {
		return p, err
	}
	built, err := buildinfo.ReadFile(file)
	if err != nil {
		return p, err
	}
	p.size, p.modules = info.Size(), len(built.Deps)
	return p, nil
}
