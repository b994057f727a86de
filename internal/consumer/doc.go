// Package consumer tests the SDK as its users get it: as a module from a proxy,
// in a module of their own.
package consumer
