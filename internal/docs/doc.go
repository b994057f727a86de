// Package docs holds the tests of what is written about the SDK: every block of
// Go code in a document or a comment compiles, commands name what exists, links
// lead somewhere, and tables say what the contract says.
package docs
