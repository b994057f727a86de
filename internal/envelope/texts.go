package envelope

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Some errors have no type of their own. The texts below identify them.

// takenSuffixes are the endings of messages that say that something already
// exists: a name or another unique value, a machine image, an image version, or
// a node pool.
var takenSuffixes = []string{"is already taken", "already exists in this location", "already exists for this machine image",
	"already exists in this cluster"}

// vmTaken is the message if a load balancer has just got the VM. It doesn't say
// whether that is the one of the request.
const vmTaken = "vm_id is already taken"

// SaysTaken reports whether the error, sent with the given HTTP status, says
// that a name or another value that must be unique is taken.
func (e *Error) SaysTaken(status int) bool {
	switch status {
	case http.StatusBadRequest:
		fields := Fields(e.Details)
		if slices.ContainsFunc(fields["name"], isLinkTaken) {
			return true
		}
		texts := append([]string{e.Message}, fields["name"]...)
		return e.Message != vmTaken && (slices.ContainsFunc(texts, func(text string) bool { return hasAny(strings.HasSuffix, text, takenSuffixes) }) ||
			slices.ContainsFunc(strings.Split(e.Message, ", "), isTaken))
	case http.StatusConflict:
		return strings.Contains(e.Type, "AlreadyExists") ||
			strings.Contains(e.Message, "already taken") || strings.Contains(e.Message, "already exists")
	}
	return false
}

// isTaken reports whether a problem in a message is that a value is taken, such
// as "project_id and name is already taken". Only names of database columns may
// precede "is already taken": any other text may come from the request.
func isTaken(problem string) bool {
	columns, found := strings.CutSuffix(problem, " is already taken")
	return found && !strings.Contains(strings.ReplaceAll(columns, " and ", ""), " ")
}

// isLinkTaken reports whether a problem with the name of a private link service
// is that the name is taken. The text ends with the location, so it must be
// complete, and neither the name nor the location may contain any of it.
func isLinkTaken(problem string) bool {
	rest, begun := strings.CutPrefix(problem, "A private link service named '")
	name, rest, found := strings.Cut(rest, "' already exists in location '")
	location, ended := strings.CutSuffix(rest, "'")
	return begun && found && ended && !strings.ContainsAny(name+location, " '")
}

var quotaFields = []string{"size", "worker_nodes", "node_count", "version"}

var quotaPrefixes = []string{"Insufficient quota for requested size.", "Insufficient quota for machine image versions."}

// SaysQuota reports whether the error, sent with the given HTTP status, says
// that the request exceeds a quota. It compares only beginnings of messages,
// and only for certain fields: the messages of other fields may begin with text
// from the request.
func (e *Error) SaysQuota(status int) bool {
	if status != http.StatusBadRequest || e.Type != "InvalidRequest" {
		return false
	}
	return strings.HasPrefix(e.Message, "Project limit exceeded.") || e.quotaText() != ""
}

// quotaText returns the text that says that the request exceeds a quota, or "".
func (e *Error) quotaText() string {
	fields := Fields(e.Details)
	for _, name := range quotaFields {
		for _, text := range fields[name] {
			if hasAny(strings.HasPrefix, text, quotaPrefixes) {
				return text
			}
		}
	}
	return ""
}

// quotaForms are the texts with the numbers of a quota, of which the first two
// or three are requested, used and allowed.
var quotaForms = []string{
	"Insufficient quota for requested size. Requested vCPU count: %d, currently used vCPU count: %d, maximum allowed vCPU count: %d",
	"Insufficient quota for machine image versions. Requested: %d, maximum allowed: %d",
}

// Quota returns the numbers in the text of an error for which SaysQuota returns
// true. used is -1 if the text doesn't have it. ok is false if the text has no
// numbers.
func (e *Error) Quota() (requested, used, allowed int, ok bool) {
	text := e.quotaText()
	if n, _ := fmt.Sscanf(text, quotaForms[0], &requested, &used, &allowed); n == 3 {
		return requested, used, allowed, true
	}
	if n, _ := fmt.Sscanf(text, quotaForms[1], &requested, &allowed); n == 2 {
		return requested, -1, allowed, true
	}
	return 0, 0, 0, false
}

func hasAny(match func(text, end string) bool, text string, ends []string) bool {
	return slices.ContainsFunc(ends, func(end string) bool { return match(text, end) })
}

// Locations returns the locations that an error about an unknown location
// lists, or nil if it lists none.
func (e *Error) Locations() []string {
	var locations []string
	for _, text := range Fields(e.Details)["location"] {
		if _, list, found := strings.Cut(text, "Available locations: "); found {
			locations = append(locations, strings.Split(list, ", ")...)
		}
	}
	return locations
}
