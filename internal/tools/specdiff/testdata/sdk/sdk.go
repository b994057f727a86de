// Package cloudapi is a made-up SDK of a made-up service: see openapi.yml.
package cloudapi

import (
	"context"
	"iter"
	"time"
)

type Operation struct {
	Name, Method, Route string
	flags               int
}

const (
	idempotent = 1 << iota
	contractOnly
)

type Client struct{ Kites *KitesService }

type KitesService struct{}

// Kite is a kite.
type Kite struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Color     string            `json:"color"` // never "green"
	Height    *int              `json:"height"`
	Strings   []KiteString      `json:"strings"`
	Labels    map[string]string `json:"labels"`
	Password  Secret            `json:"password"`
	CreatedAt time.Time         `json:"created_at"`
}

type KiteString struct {
	Length float64 `json:"length"`
}

const (
	StateFlying = "flying"
	ColorRed    = "red"
	ColorBlue   = "blue"
)

type KiteCreateRequest struct {
	Color  string `json:"color"`
	Height *int   `json:"height,omitzero"`
	Wind   string `json:"wind,omitzero"`
}

type ListOptions struct {
	Location string `url:"-"`
	PageSize int    `url:"page_size,omitempty"`
}

type Error struct {
	Code          int
	Type, Message string
}

type (
	Page[T any] struct{ Items []*T }
	Secret      struct{ value string }
	File        struct{ Content []byte }
)

func (s *Secret) UnmarshalText(text []byte) error { s.value = string(text); return nil }

const kiteRoute = "/project/{project_id}/kite/{kite_reference}"

var (
	opKitesList   = Operation{"Kites.List", "GET", "/project/{project_id}/kite", idempotent}
	opKitesGet    = Operation{"Kites.Get", "GET", kiteRoute, idempotent}
	opKitesCreate = Operation{Name: "Kites.Create", Method: "POST", Route: kiteRoute}
	opKitesDelete = Operation{"Kites.Delete", "DELETE", kiteRoute, idempotent}
	opKitesRename = Operation{"Kites.Rename", "POST", kiteRoute + "/rename", 0}
	opKitesPlan   = Operation{"Kites.Plan", "GET", kiteRoute + "/plan", idempotent}
	opKitesLand   = Operation{"Kites.Land", "POST", kiteRoute + "/land", idempotent | contractOnly}
)

func (*KitesService) List(context.Context, *ListOptions) (*Page[Kite], error)       { return nil, nil }
func (*KitesService) All(context.Context, *ListOptions) iter.Seq2[*Kite, error]     { return nil }
func (*KitesService) Get(ctx context.Context, kite string) (*Kite, error)           { return nil, nil }
func (*KitesService) Delete(ctx context.Context, kite string) error                 { return nil }
func (*KitesService) Rename(_ context.Context, kite, newName string) (*Kite, error) { return nil, nil }
func (*KitesService) Plan(_ context.Context, kite string) (*File, error)            { return nil, nil }

func (*KitesService) Create(_ context.Context, kite string, r *KiteCreateRequest) (*Kite, error) {
	return nil, nil
}

// Land lands a kite. ‡ Only the contract has it.
func (*KitesService) Land(ctx context.Context, kite string) (*Kite, error) { return nil, nil }
