// Package reliability tests the SDK under faults. It uses the SDK as a program
// does, through its exported API, and the transport as a network does, in
// bytes.
//
//	go test -v -run TestFaults ./internal/reliability         # the table: faults x an operation of each kind
//	go test -v -run TestFaults ./internal/reliability -every  # with every operation
//	go test -v -run TestCreates ./internal/reliability -every # responses lost at every byte
//	go test -v -race -run TestConcurrency ./internal/reliability
//
// docs/reliability.md describes the table's columns and the rules. The rules
// themselves are in rules_test.go.
package reliability
