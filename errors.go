package cloudapi

import "errors"

var ErrInvalidArgument = errors.New("cloudapi: invalid argument")

type ArgumentError struct{ Name, Value, Reason string }

func (e *ArgumentError) Error() string   { return e.Name + e.Reason }
func (e *ArgumentError) Is(t error) bool { return t == ErrInvalidArgument }
