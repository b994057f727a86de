// Package oapi is what oapi-codegen makes of a description of the operations
// that the benchmarks use.
package oapi

//go:generate go tool oapi-codegen -config config.yaml api.yaml
