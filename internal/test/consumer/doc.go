// Package consumer tests the SDK as users get it: a module proxy serves it, and
// the user's module requires it.
package consumer
