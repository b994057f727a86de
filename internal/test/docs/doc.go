// Package docs tests the documentation of the SDK: every block of Go code in a
// document or a comment compiles, programs and the commands of the examples print
// the output shown below them, the folders, packages and tests in commands exist,
// links work, and tables match the contract.
package docs
