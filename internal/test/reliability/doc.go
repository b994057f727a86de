// Package reliability tests the SDK under faults. It calls the exported API, as
// a program does, and puts the faults into the bytes on a connection.
//
//	go test -v -run TestFaults ./internal/test/reliability         # the table of faults, for one operation of each kind
//	go test -v -run TestFaults ./internal/test/reliability -every  # with every operation
//	go test -v -run TestCreates ./internal/test/reliability -every # responses lost at every byte
//	go test -v -race -run TestConcurrency ./internal/test/reliability
//
// docs/reliability.md states the rules that calls obey under every fault. The
// code that checks them is in rules_test.go.
package reliability
