package cloudapi

import (
	"fmt"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/ubid"
)

// CheckName returns an [*ArgumentError] if no resource of the kind can have the
// name. It sends nothing: the name can still be taken.
func CheckName(kind Kind, name string) error {
	longest, capitals := 63, false
	switch kind {
	case KindFirewall, KindLoadBalancer, KindMachineImage, KindPostgres, KindPrivateLinkService, KindPrivateLocation, KindPrivateSubnet, KindSSHPublicKey, KindVM, KindVMInitScript:
	case KindKubernetesCluster, KindKubernetesNodePool:
		longest = 40
	case KindProject:
		capitals = true
	case KindMachineImageVersion:
		return checkVersionName(name)
	default:
		return argumentError("", "kind", kind.String(), "is not the kind of resources that you name")
	}
	for i := range len(name) {
		if c := name[i]; !isLowerOrDigit(c) && c != '-' && !(capitals && 'A' <= c && c <= 'Z') {
			letters := "lower-case letters"
			if capitals {
				letters = "ASCII letters"
			}
			return argumentError("", "name", name, "may only contain "+letters+", digits and hyphens")
		}
	}
	switch {
	case name == "" || len(name) > longest:
		return argumentError("", "name", name, fmt.Sprintf("must have 1 to %d characters", longest))
	case strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-"):
		return argumentError("", "name", name, "must not begin or end with a hyphen")
	case kind != KindPrivateLocation && len(name) == ubid.Length && strings.HasPrefix(name, string(kind)) && !strings.Contains(name, "-"):
		return argumentError("", "name", name, fmt.Sprintf("has the form of an ID: %s and %d letters and digits", string(kind), ubid.Length-ubid.PrefixLength))
	}
	return nil
}

// checkVersionName is CheckName for a version of a machine image.
func checkVersionName(name string) error {
	const longest = 64
	for i := range len(name) {
		if c := name[i]; !isLowerOrDigit(c) && !('A' <= c && c <= 'Z') && (i == 0 || !strings.ContainsRune("._-", rune(c))) {
			return argumentError("", "name", name, "may only contain letters, digits, dots, hyphens and underscores, and must begin with a letter or digit")
		}
	}
	if name == "" || len(name) > longest {
		return argumentError("", "name", name, fmt.Sprintf("must have 1 to %d characters", longest))
	}
	return nil
}

func isLowerOrDigit(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

// namer is a request that contains a name. The resource in the response must
// have this name. An idempotent operation with such a request renames the
// resource in the path, and any other operation creates a resource.
type namer interface {
	newName() string // "" if the resource keeps its name
}

// newNameOf returns the new name in a request, or "".
func newNameOf(request any) string {
	if r, ok := request.(namer); ok && !isNil(request) {
		return r.newName()
	}
	return ""
}

// named is the name in the body of a create, which has no name in its path.
type named struct {
	Name string `json:"name"`
}

func (r named) newName() string { return r.Name }

// renameRequest is the body of the rename operations.
type renameRequest struct {
	Name string `json:"name"`
}

func (r renameRequest) newName() string { return r.Name }

func (r renameRequest) check() *ArgumentError { return checkNewName(r.Name) }

// checkNewName checks the name that a rename or an update gives to a resource.
// For an SSH public key, the server keeps the old name if the new one is blank,
// but responds as if it had changed.
func checkNewName(name string) *ArgumentError {
	if strings.TrimSpace(name) == "" {
		return argumentError("", "name", name, "must not be blank")
	}
	return nil
}

// checkOptionalName is [checkNewName] for a request in which the name is
// optional.
func checkOptionalName(name string) *ArgumentError {
	if name == "" {
		return nil
	}
	return checkNewName(name)
}
