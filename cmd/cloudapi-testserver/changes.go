package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

type failure struct {
	Operation string  `json:"operation,omitzero"`
	Method    string  `json:"method,omitzero"`
	Route     string  `json:"route,omitzero"`
	Path      string  `json:"path,omitzero"`
	Nth       int     `json:"nth,omitzero"`
	With      []fault `json:"with"`
}

func (c *failure) apply(s *server) error {
	faults := make([]cloudapitest.Fault, len(c.With))
	for i, f := range c.With {
		var err error
		if faults[i], err = f.build(); err != nil {
			return fmt.Errorf("with: fault %d: %w", i+1, err)
		}
	}
	match := cloudapitest.Match{Operation: c.Operation, Method: c.Method, Route: c.Route, Path: c.Path, Nth: c.Nth}
	return try(func() { s.scripts = append(s.scripts, script{c, s.Fail(match, faults...)}) })
}

type fault struct {
	Status   int               `json:"status,omitzero"`
	Header   map[string]string `json:"header,omitzero"`
	Body     json.RawMessage   `json:"body,omitzero"`
	Drop     string            `json:"drop,omitzero"`
	Truncate *int              `json:"truncate,omitzero"`
	Delay    duration          `json:"delay,omitzero"`
	Repeat   bool              `json:"repeat,omitzero"`
	For      duration          `json:"for,omitzero"`
}

func (f fault) build() (cloudapitest.Fault, error) {
	var effects []cloudapitest.Fault
	if f.Status != 0 {
		effects = append(effects, f.reply())
	}
	switch f.Drop {
	case "":
	case "before":
		effects = append(effects, cloudapitest.DropBefore())
	case "after":
		effects = append(effects, cloudapitest.DropAfter())
	default:
		return cloudapitest.Fault{}, fmt.Errorf("drop is %q, but must be before or after", f.Drop)
	}
	if f.Truncate != nil {
		effects = append(effects, cloudapitest.Truncate(*f.Truncate))
	}
	switch {
	case len(effects) > 1:
		return cloudapitest.Fault{}, errors.New("it has more than one of status, drop and truncate")
	case f.Status == 0 && (f.Header != nil || f.Body != nil):
		return cloudapitest.Fault{}, errors.New("a header or a body needs a status")
	case f.Delay < 0:
		return cloudapitest.Fault{}, errors.New("delay is negative")
	case f.For < 0:
		return cloudapitest.Fault{}, errors.New("for is negative")
	}
	effect := cloudapitest.Delay(time.Duration(f.Delay))
	if len(effects) > 0 {
		effect = effects[0].After(time.Duration(f.Delay))
	}
	effect = effect.Optional()
	if f.Repeat {
		effect = effect.Repeating()
	}
	if f.For > 0 {
		effect = effect.For(time.Duration(f.For))
	}
	return effect, nil
}

// reply returns a response. A body that is a JSON string is sent as plain text.
func (f fault) reply() cloudapitest.Fault {
	var header http.Header
	for name, value := range f.Header {
		if header == nil {
			header = http.Header{}
		}
		header.Set(name, value)
	}
	body := string(f.Body)
	var text string
	if json.Unmarshal(f.Body, &text) == nil {
		body = text
	}
	return cloudapitest.Reply(f.Status, header, body)
}

// delays replaces the delays of everything, of a kind, or of one resource. A
// missing field gets the value of the field all, or else of the flag -delay.
type delays struct {
	Kind      cloudapi.Kind `json:"kind"`
	Ref       string        `json:"ref"`
	All       *duration     `json:"all"`
	SerialLog *duration     `json:"serial_log"`
	Create    *duration     `json:"create"`
	Backup    *duration     `json:"backup"`
	Restart   *duration     `json:"restart"`
	Resize    *duration     `json:"resize"`
	Promote   *duration     `json:"promote"`
	Detach    *duration     `json:"detach"`
	Delete    *duration     `json:"delete"`
	Vacate    *duration     `json:"vacate"`
}

func (c *delays) apply(s *server) error {
	kind := c.Kind
	if id, err := cloudapi.ParseID(c.Ref); err == nil {
		kind = id.Kind()
	}
	if !kind.Known() && (kind != "" || c.Ref != "") {
		return noKind(kind)
	}
	d := s.options.delays()
	if c.All != nil {
		d = uniform(time.Duration(*c.All))
	}
	override(&d.Create, c.Create)
	override(&d.Backup, c.Backup)
	override(&d.Restart, c.Restart)
	override(&d.Resize, c.Resize)
	override(&d.Promote, c.Promote)
	override(&d.Detach, c.Detach)
	override(&d.Delete, c.Delete)
	override(&d.Vacate, c.Vacate)
	override(&d.SerialLog, c.SerialLog)
	return try(func() { s.SetDelays(kind, c.Ref, d) })
}

type quota struct {
	VM                   *int `json:"vm"`
	Postgres             *int `json:"postgres"`
	Kubernetes           *int `json:"kubernetes"`
	MachineImageVersions *int `json:"machine_image_versions"`
	Projects             *int `json:"projects"`
}

func (c *quota) apply(s *server) error {
	q := s.quota
	override(&q.VM, c.VM)
	override(&q.Postgres, c.Postgres)
	override(&q.Kubernetes, c.Kubernetes)
	override(&q.MachineImageVersions, c.MachineImageVersions)
	override(&q.Projects, c.Projects)
	return try(func() { s.SetQuota(q); s.quota = q })
}

func override[T, G ~int | ~int64](value *T, given *G) {
	if given != nil {
		*value = T(*given)
	}
}

type billing struct {
	Project string `json:"project"`
	Valid   *bool  `json:"valid"`
}

func (c *billing) apply(s *server) error {
	if c.Valid == nil {
		return errors.New("valid is missing")
	}
	return try(func() { s.SetBilling(s.project(c.Project), *c.Valid) })
}

type features struct {
	Project  string                 `json:"project"`
	Features []cloudapitest.Feature `json:"features"`
}

func (c *features) apply(s *server) error {
	if c.Features == nil {
		return errors.New("features are missing; [] is none")
	}
	return try(func() { s.SetFeatures(s.project(c.Project), c.Features...) })
}

type permissions struct {
	Project     string   `json:"project"`
	Token       string   `json:"token"`
	Permissions []string `json:"permissions"`
}

func (c *permissions) apply(s *server) error {
	if c.Permissions == nil {
		return errors.New("permissions are missing; [] is none")
	}
	token := c.Token
	if token == "" {
		token = s.Token()
	}
	return try(func() { s.SetPermissions(s.project(c.Project), token, c.Permissions...) })
}

type state struct {
	Kind  cloudapi.Kind `json:"kind"`
	Ref   string        `json:"ref"`
	State *string       `json:"state"`
}

func (c *state) apply(s *server) error {
	if c.State == nil {
		return errors.New(`state is missing; "" is the resource's own`)
	}
	id, err := s.find(c.Kind, c.Ref)
	if err != nil {
		return err
	}
	return try(func() { s.SetState(id, *c.State) })
}

type clusterService struct {
	Cluster string `json:"cluster"`
	SrcPort int    `json:"src_port"`
	DstPort int    `json:"dst_port"`
}

func (c *clusterService) apply(s *server) error {
	id, err := s.find(cloudapi.KindKubernetesCluster, c.Cluster)
	if err != nil {
		return err
	}
	return try(func() { s.SetClusterService(id, c.SrcPort, c.DstPort) })
}

type logLine struct {
	Database string            `json:"database"`
	Message  string            `json:"message"`
	Age      duration          `json:"age"`
	Stream   string            `json:"stream_name"`
	Severity string            `json:"severity_level"`
	Server   string            `json:"server_ubid"`
	Role     string            `json:"server_role"`
	Context  map[string]string `json:"context"`
}

func (c *logLine) apply(s *server) error {
	id, err := s.find(cloudapi.KindPostgres, c.Database)
	if err != nil {
		return err
	}
	line := cloudapi.PostgresLogEntry{
		Timestamp:  s.clock.Now().Add(-time.Duration(c.Age)),
		StreamName: c.Stream, SeverityLevel: c.Severity, Message: c.Message,
		ServerID: c.Server, ServerRole: c.Role, Context: c.Context,
	}
	return try(func() { s.AddLogLine(id, line) })
}

type serialLog struct {
	VM     string `json:"vm"`
	Output string `json:"output"`
	Fails  bool   `json:"fails"`
}

func (c *serialLog) apply(s *server) error {
	if c.Fails && c.Output != "" {
		return errors.New("it has both output and fails")
	}
	id, err := s.find(cloudapi.KindVM, c.VM)
	if err != nil {
		return err
	}
	return try(func() {
		if c.Fails {
			s.FailSerialLog(id)
		} else {
			s.SetSerialLog(id, c.Output)
		}
	})
}

type clockChange struct {
	Advance duration `json:"advance"`
	Speed   *float64 `json:"speed"`
}

func (c *clockChange) apply(s *server) error {
	if c.Advance == 0 && c.Speed == nil {
		return errors.New("it has neither advance nor speed")
	}
	return s.clock.change(time.Duration(c.Advance), c.Speed)
}

type vms struct {
	Location string `json:"location"`
	Prefix   string `json:"prefix"`
	Count    int    `json:"count"`
}

func (c *vms) apply(s *server) error {
	if c.Count < 1 || c.Count > 100_000 {
		return fmt.Errorf("count is %d, but must be from 1 to 100000", c.Count)
	}
	at, prefix := c.Location, c.Prefix
	if at == "" {
		at = location
	}
	if prefix == "" {
		prefix = "vm"
	}
	return try(func() { s.AddVMs(at, prefix, c.Count) })
}
