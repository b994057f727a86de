package cloudapi

import (
	"cmp"
	"context"
	"iter"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/validate"
)

// SSHPublicKeysService manages the SSH public keys that are registered in a
// project. [VMCreateRequest.PublicKey] accepts their names.
type SSHPublicKeysService service

// SSHPublicKey is a registered SSH public key.
type SSHPublicKey struct {
	ID        string `json:"id"`         // prefix sk
	Name      string `json:"name"`       // unique in its project
	PublicKey string `json:"public_key"` // as in SSHPublicKeyCreateRequest; List and All don't return it
}

func (k *SSHPublicKey) Resource() Resource {
	return Resource{Kind: KindSSHPublicKey, ID: k.ID, Name: k.Name}
}

// SSHPublicKeyCreateRequest is the body of [SSHPublicKeysService.Create].
type SSHPublicKeyCreateRequest struct {
	PublicKey string `json:"public_key"` // one or more lines in the format of an authorized_keys file; required
}

// SSHPublicKeyUpdateRequest is the body of [SSHPublicKeysService.Update], which
// keeps fields that aren't set. At least one is required.
type SSHPublicKeyUpdateRequest struct {
	Name      string `json:"name,omitzero"`
	PublicKey string `json:"public_key,omitzero"`
}

// sshPublicKeyBody is the body of an SSHPublicKeyCreateRequest.
type sshPublicKeyBody struct {
	named
	SSHPublicKeyCreateRequest
}

func (r SSHPublicKeyUpdateRequest) newName() string { return r.Name }

func (r SSHPublicKeyCreateRequest) check() *ArgumentError { return checkPublicKey(r.PublicKey) }

func (r SSHPublicKeyUpdateRequest) check() *ArgumentError {
	return cmp.Or(checkOptionalName(r.Name), checkPublicKey(r.PublicKey))
}

// checkPublicKey refuses a private key in place of a public one, and a key that
// the server accepts although nobody can log in with it. The error doesn't have
// the text.
func checkPublicKey(text string) *ArgumentError {
	if reason := validate.PublicKey(text); reason != "" {
		return &ArgumentError{Name: "public_key", Reason: reason}
	}
	return nil
}

const sshPublicKeyRoute = projectRoute + "/ssh-public-key/{ssh_public_key_reference}"

var (
	opSSHPublicKeysList   = Operation{"SSHPublicKeys.List", "GET", projectRoute + "/ssh-public-key", idempotent}
	opSSHPublicKeysCreate = Operation{"SSHPublicKeys.Create", "POST", projectRoute + "/ssh-public-key", once}
	opSSHPublicKeysGet    = Operation{"SSHPublicKeys.Get", "GET", sshPublicKeyRoute, idempotent}
	opSSHPublicKeysUpdate = Operation{"SSHPublicKeys.Update", "POST", sshPublicKeyRoute, idempotent}
	opSSHPublicKeysDelete = Operation{"SSHPublicKeys.Delete", "DELETE", sshPublicKeyRoute, idempotent}

	listSSHPublicKeys  = listRoutes{project: &opSSHPublicKeysList, unpaged: true}
	sshPublicKeyFamily = family[SSHPublicKey]{lists: &listSSHPublicKeys, get: &opSSHPublicKeysGet, del: &opSSHPublicKeysDelete, pauses: &waitQuick}
)

// List returns the keys in one page, ordered by name, without PublicKey.
func (s *SSHPublicKeysService) List(ctx context.Context, opts *ListOptions) (*Page[SSHPublicKey], error) {
	return list[SSHPublicKey](ctx, s.conn, &listSSHPublicKeys, opts)
}

// All iterates over the keys, without PublicKey.
func (s *SSHPublicKeysService) All(ctx context.Context, opts *ListOptions) iter.Seq2[*SSHPublicKey, error] {
	return all[SSHPublicKey](ctx, s.conn, &listSSHPublicKeys, opts)
}

// Watch yields the keys and then their changes, except changes of PublicKey.
func (s *SSHPublicKeysService) Watch(ctx context.Context, opts *WatchOptions, known ...*SSHPublicKey) iter.Seq2[Event[SSHPublicKey], error] {
	return sshPublicKeyFamily.watch(ctx, s.conn, opts, known)
}

// Create registers a public key.
func (s *SSHPublicKeysService) Create(ctx context.Context, name string, request *SSHPublicKeyCreateRequest) (*SSHPublicKey, error) {
	return send[SSHPublicKey](ctx, s.conn, &opSSHPublicKeysCreate, sshPublicKeyBody{named{name}, orZero(request)})
}

// Get returns an SSH public key.
func (s *SSHPublicKeysService) Get(ctx context.Context, key string) (*SSHPublicKey, error) {
	return perform[SSHPublicKey](ctx, s.conn, &opSSHPublicKeysGet, key)
}

// Update changes the name of an SSH public key, the key itself, or both. VMs
// created with the old key keep it.
func (s *SSHPublicKeysService) Update(ctx context.Context, key string, request *SSHPublicKeyUpdateRequest) (*SSHPublicKey, error) {
	if request == nil || *request == (SSHPublicKeyUpdateRequest{}) {
		return nil, &ArgumentError{Operation: opSSHPublicKeysUpdate.Name, Name: "request", Reason: "must set the name or the public key"}
	}
	return send[SSHPublicKey](ctx, s.conn, &opSSHPublicKeysUpdate, request, key)
}

// Ensure registers an SSH public key unless one with the name exists. It
// compares public_key, without space around it, and can update it.
func (s *SSHPublicKeysService) Ensure(ctx context.Context, name string, request *SSHPublicKeyCreateRequest, opts *EnsureOptions) (key *SSHPublicKey, outcome EnsureOutcome, err error) {
	if request == nil {
		return nil, "", &ArgumentError{Operation: "SSHPublicKeys.Ensure", Name: "request", Reason: "must not be nil"}
	}
	return sshPublicKeyFamily.ensure(ctx, s.conn, "", name, ensureSpec[SSHPublicKey]{
		request: request,
		create:  func(ctx context.Context) (*SSHPublicKey, error) { return s.Create(ctx, name, request) },
		compare: func(_ context.Context, key *SSHPublicKey) (comparison, error) {
			return compared(request.Compare(key)), nil
		},
		update: func(ctx context.Context, key *SSHPublicKey, _ drift) (*SSHPublicKey, error) {
			return s.Update(ctx, key.ID, &SSHPublicKeyUpdateRequest{PublicKey: request.PublicKey})
		},
	}, opts)
}

// Compare returns the difference between an SSH public key and the request, in
// public_key, which an update removes. It can't compare the public_key of an item
// of a list.
func (r *SSHPublicKeyCreateRequest) Compare(key *SSHPublicKey) (differences []Drift, uncompared []string) {
	if r == nil {
		return nil, nil
	}
	var c comparison
	wantsUpdatable(&c, "public_key", strings.TrimSpace(r.PublicKey), strings.TrimSpace(key.PublicKey))
	return c.result()
}

// Delete deletes an SSH public key. VMs created with it still accept it.
func (s *SSHPublicKeysService) Delete(ctx context.Context, key string) error {
	return remove(ctx, s.conn, &opSSHPublicKeysDelete, key)
}
