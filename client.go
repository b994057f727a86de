package cloudapi

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/cloudapi-sdk/cloudapi/internal/call"
	"github.com/cloudapi-sdk/cloudapi/internal/exchange"
)

// Client calls one API address with one set of credentials. It can't be
// changed, and is safe for concurrent use. Share it, to reuse connections.
type Client struct {
	conn
	services service // all services below point to this

	Projects            *ProjectsService
	Firewalls           *FirewallsService
	GitHub              *GitHubService
	InferenceAPIKeys    *InferenceAPIKeysService
	Kubernetes          *KubernetesService
	LoadBalancers       *LoadBalancersService
	MachineImages       *MachineImagesService
	Postgres            *PostgresService
	PrivateLinkServices *PrivateLinkServicesService
	PrivateLocations    *PrivateLocationsService
	PrivateSubnets      *PrivateSubnetsService
	SSHPublicKeys       *SSHPublicKeysService
	VMInitScripts       *VMInitScriptsService
	VMs                 *VMsService
	AuditLog            *AuditLogService
	InferenceEndpoints  *InferenceEndpointsService
}

// NewClient returns a client of Ubicloud's service, or of the API that
// [WithBaseURL] names. It sends nothing. Nearly all operations need a token
// ([WithToken] or [WithTokenSource]) and a project ([WithProject]); [FromEnv]
// takes all three from the environment.
func NewClient(opts ...Option) (*Client, error) {
	return newClient(defaultConfig(), opts)
}

// With returns a copy of the client with changed settings, which shares the
// client's connections unless an option sets another transport.
func (c *Client) With(opts ...Option) (*Client, error) {
	return newClient(c.config, opts)
}

// InProject returns a copy of the client that is bound to the project with the
// ID. If the ID is "", operations that need a project return [ErrNoProject]; if
// it's invalid, they return an [*ArgumentError]. With the service, each token is
// for one project: set the new project's token by [Client.With].
func (c *Client) InProject(id string) *Client {
	clone := *c
	clone.config.project = id
	clone.bindServices()
	return &clone
}

// Project returns the ID of the project that the client is bound to, or "".
func (c *Client) Project() string { return c.config.project }

// BaseURL returns the address of the API.
func (c *Client) BaseURL() string { return c.config.calls.BaseURL.String() }

// CloseIdleConnections closes the connections that aren't in use.
func (c *Client) CloseIdleConnections() {
	if own := c.config.transport; own != nil {
		own.CloseIdleConnections()
	} else if t, ok := c.config.roundTripper().(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

func newClient(from config, opts []Option) (*Client, error) {
	var made struct { // one allocation for all
		Client
		budget call.Budget
		loop   call.Loop
		guard  exchange.Guard
	}
	c := &made.Client
	c.config = from
	cfg := &c.config
	for _, opt := range opts {
		if opt == nil {
			continue
		}
		if err := opt(cfg); err != nil {
			return nil, err
		}
	}
	if cfg.calls.BaseURL == nil {
		if err := WithBaseURL(DefaultBaseURL)(cfg); err != nil {
			return nil, err
		}
	}
	if cfg.calls.BaseURL.Scheme == "http" && cfg.hasCredentials() && !cfg.insecureHTTP && !exchange.IsLoopback(cfg.calls.BaseURL.Hostname()) {
		permission := "WithInsecureHTTP(true)"
		if cfg.fromEnv {
			permission += " or " + EnvInsecureHTTP + "=true"
		}
		return nil, optionError("base URL", cfg.calls.BaseURL.String(),
			"would send the credentials unencrypted: use https, or "+permission+" if the network is trusted")
	}
	if from.calls.Budget == nil || cfg.calls.BaseURL.Host != from.calls.BaseURL.Host {
		cfg.calls.Budget = &made.budget
	}
	if cfg.httpClient == nil && cfg.transport == nil {
		cfg.transport = exchange.NewTransport(cfg.changes...)
	}
	if reason := exchange.Refusal(cfg.roundTripper()); reason != "" {
		return nil, optionError("HTTP client", "", reason)
	}
	cfg.retry = cfg.retry.over(from.retry)
	made.guard = exchange.Guard{Own: cfg.transport, Current: cfg.roundTripper, MayRepeat: call.MayRepeat}
	cfg.calls.Transport = &made.guard
	for _, wrap := range slices.Backward(cfg.middleware) {
		cfg.calls.Transport = wrap(cfg.calls.Transport)
		if cfg.calls.Transport == nil {
			return nil, optionError("middleware", "", "must not return nil")
		}
		if reason := exchange.Refusal(cfg.calls.Transport); reason != "" {
			return nil, optionError("middleware", "", reason)
		}
	}
	made.loop.Init(cfg.retry.MaxAttempts, cfg.retry.MinDelay, cfg.retry.MaxDelay)
	cfg.calls.Loop = &made.loop
	c.prepareCalls()
	c.bindServices()
	return c, nil
}

func (c *Client) bindServices() {
	c.services.conn = &c.conn
	s := &c.services
	c.Projects = (*ProjectsService)(s)
	c.Firewalls = (*FirewallsService)(s)
	c.GitHub = (*GitHubService)(s)
	c.InferenceAPIKeys = (*InferenceAPIKeysService)(s)
	c.Kubernetes = (*KubernetesService)(s)
	c.LoadBalancers = (*LoadBalancersService)(s)
	c.MachineImages = (*MachineImagesService)(s)
	c.Postgres = (*PostgresService)(s)
	c.PrivateLinkServices = (*PrivateLinkServicesService)(s)
	c.PrivateLocations = (*PrivateLocationsService)(s)
	c.PrivateSubnets = (*PrivateSubnetsService)(s)
	c.SSHPublicKeys = (*SSHPublicKeysService)(s)
	c.VMInitScripts = (*VMInitScriptsService)(s)
	c.VMs = (*VMsService)(s)
	c.AuditLog = (*AuditLogService)(s)
	c.InferenceEndpoints = (*InferenceEndpointsService)(s)
}

// String describes the client without its credentials.
func (c *Client) String() string {
	if c == nil || c.config.calls.BaseURL == nil {
		return "cloudapi.Client(not created by NewClient)"
	}
	return fmt.Sprintf("cloudapi.Client(%s, project %q)", c.BaseURL(), c.config.project)
}

func (c Client) Format(f fmt.State, _ rune) { io.WriteString(f, c.String()) }

func (c *Client) LogValue() slog.Value { return slog.StringValue(c.String()) }

func (c Client) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }
