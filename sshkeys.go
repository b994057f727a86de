package cloudapi

import (
	"context"
	"iter"
	"strings"
)

// SSHPublicKeysService works with the SSH public keys that are registered in a
// project. A VM can be created with the name of one.
//
// A reference is the ID (prefix sk) or the name.
type SSHPublicKeysService service

// SSHPublicKey is a registered SSH public key.
type SSHPublicKey struct {
	ID   string `json:"id"`   // prefix sk
	Name string `json:"name"` // unique in its project

	// PublicKey is one or more lines as in an authorized_keys file. List and
	// All do not return it.
	PublicKey string `json:"public_key"`
}

func (k *SSHPublicKey) lacks() string               { return lacksID(k.ID) }
func (k *SSHPublicKey) cursor(column string) string { return idOrName(column, k.ID, k.Name) }
func (k *SSHPublicKey) identity() Resource {
	return Resource{Kind: KindSSHPublicKey, ID: k.ID, Name: k.Name}
}

// SSHPublicKeyCreateRequest is the body of [SSHPublicKeysService.Create].
type SSHPublicKeyCreateRequest struct {
	// Name is 1 to 63 lower-case letters, digits and hyphens, with no hyphen at
	// either end. Required.
	Name string `json:"name"`

	// PublicKey is one or more lines as in an authorized_keys file. Required.
	PublicKey string `json:"public_key"`
}

// SSHPublicKeyUpdateRequest is the body of [SSHPublicKeysService.Update]. An
// empty field stays unchanged; at least one must be set.
type SSHPublicKeyUpdateRequest struct {
	Name      string `json:"name,omitzero"`
	PublicKey string `json:"public_key,omitzero"`
}

func (r *SSHPublicKeyCreateRequest) newName() string {
	if r == nil {
		return ""
	}
	return r.Name
}

func (r *SSHPublicKeyUpdateRequest) newName() string {
	if r == nil {
		return ""
	}
	return r.Name
}

const sshPublicKeyRoute = projectRoute + "/ssh-public-key/{ssh_public_key_reference}"

var (
	opSSHPublicKeysList   = Operation{"SSHPublicKeys.List", "GET", projectRoute + "/ssh-public-key", idempotent}
	opSSHPublicKeysCreate = Operation{"SSHPublicKeys.Create", "POST", projectRoute + "/ssh-public-key", once}
	opSSHPublicKeysGet    = Operation{"SSHPublicKeys.Get", "GET", sshPublicKeyRoute, idempotent}
	opSSHPublicKeysUpdate = Operation{"SSHPublicKeys.Update", "POST", sshPublicKeyRoute, idempotent}
	opSSHPublicKeysDelete = Operation{"SSHPublicKeys.Delete", "DELETE", sshPublicKeyRoute, idempotent}

	listSSHPublicKeys  = listRoutes{project: &opSSHPublicKeysList, unpaged: true}
	sshPublicKeyFamily = family[SSHPublicKey, *SSHPublicKey]{lists: &listSSHPublicKeys, get: &opSSHPublicKeysGet, del: &opSSHPublicKeysDelete, pauses: waitQuick}
)

// List returns the project's SSH public keys, without the keys themselves. The
// real server sends all of them at once, in the order of their names, without a
// count.
func (s *SSHPublicKeysService) List(ctx context.Context, opts *ListOptions) (*Page[SSHPublicKey], error) {
	return list[SSHPublicKey](ctx, s.conn, &listSSHPublicKeys, opts)
}

// All returns the project's SSH public keys, without the keys themselves.
func (s *SSHPublicKeysService) All(ctx context.Context, opts *ListOptions) iter.Seq2[*SSHPublicKey, error] {
	return all[SSHPublicKey](ctx, s.conn, &listSSHPublicKeys, opts)
}

// Watch yields the project's SSH public keys, and then their changes, until the
// context ends. Records lack the key itself, so a changed key is not an event.
func (s *SSHPublicKeysService) Watch(ctx context.Context, opts *WatchOptions) iter.Seq2[Event[SSHPublicKey], error] {
	return sshPublicKeyFamily.watch(ctx, s.conn, opts)
}

// Create registers an SSH public key, at once. If the name is taken the error
// is [ErrAlreadyExists]. If the response is lost it is [ErrOutcomeUnknown]: look
// the name up with Get.
func (s *SSHPublicKeysService) Create(ctx context.Context, request *SSHPublicKeyCreateRequest) (*SSHPublicKey, error) {
	return send[SSHPublicKey](ctx, s.conn, &opSSHPublicKeysCreate, request)
}

// Get returns an SSH public key, or [ErrNotFound] if it does not exist.
func (s *SSHPublicKeysService) Get(ctx context.Context, key string) (*SSHPublicKey, error) {
	return fetch[SSHPublicKey](ctx, s.conn, &opSSHPublicKeysGet, key)
}

// Update changes the name or the key or both, at once. VMs that were created
// with the key keep it. If the name is taken the error is [ErrAlreadyExists]. A
// request that sets nothing is an [*ArgumentError]. To change the name, pass
// the ID: only then is the call idempotent.
func (s *SSHPublicKeysService) Update(ctx context.Context, key string, request *SSHPublicKeyUpdateRequest) (*SSHPublicKey, error) {
	if request == nil || *request == (SSHPublicKeyUpdateRequest{}) {
		return nil, &ArgumentError{Operation: opSSHPublicKeysUpdate.Name, Name: "request", Reason: "must set the name or the public key"}
	}
	return send[SSHPublicKey](ctx, s.conn, &opSSHPublicKeysUpdate, request, key)
}

// Ensure registers a key unless there is one of that name; see [EnsureOptions].
// The name must not be an ID. Ensure compares the public_key, without white
// space around it, and Update changes it.
func (s *SSHPublicKeysService) Ensure(ctx context.Context, request *SSHPublicKeyCreateRequest, opts *EnsureOptions) (key *SSHPublicKey, outcome EnsureOutcome, err error) {
	return s.ensurer(request).ensure(ctx, "SSHPublicKeys.Ensure", opts)
}

// ensurer returns what Ensure needs to know about keys.
func (s *SSHPublicKeysService) ensurer(request *SSHPublicKeyCreateRequest) ensureSpec[SSHPublicKey] {
	if request == nil {
		return ensureSpec[SSHPublicKey]{invalid: &ArgumentError{Name: "request", Reason: "must not be nil"}}
	}
	return ensureSpec[SSHPublicKey]{
		location: "",
		name:     request.Name,
		pauses:   sshPublicKeyFamily.pauses,
		find:     func(ctx context.Context) (*SSHPublicKey, error) { return s.Get(ctx, request.Name) },
		create:   func(ctx context.Context) (*SSHPublicKey, error) { return s.Create(ctx, request) },
		compare: func(_ context.Context, key *SSHPublicKey) (d drift, err error) {
			wantsUpdatable(&d, "public_key", strings.TrimSpace(request.PublicKey), strings.TrimSpace(key.PublicKey))
			return d, nil
		},
		update: func(ctx context.Context, key *SSHPublicKey, _ drift) (*SSHPublicKey, error) {
			return s.Update(ctx, key.ID, &SSHPublicKeyUpdateRequest{PublicKey: request.PublicKey})
		},
	}
}

// Delete deletes an SSH public key, at once; VMs that were created with it keep
// it. Deleting one that does not exist is not an error. Pass the ID: a delete
// is retried after a lost response, and by name it could delete another key
// that has taken the name meanwhile.
func (s *SSHPublicKeysService) Delete(ctx context.Context, key string) error {
	return remove(ctx, s.conn, &opSSHPublicKeysDelete, key)
}
