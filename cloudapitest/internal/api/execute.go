package api

import (
	"net/http"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

// execute makes its checks in the order in which the real server makes them. The
// operation's handler checks objects and values.
func (m *Moment) execute(r Request) (result any, remarks Remarks, err error) {
	c := &Call{Moment: m, Input: Input{Header: r.Header, Params: r.Params}, beforeCount: r.BeforeCount}
	if c.Token, err = m.authenticate(r.Header.Get("Authorization")); err != nil {
		return nil, remarks, err
	}
	op := r.Operation
	if op == nil {
		return nil, remarks, reply.NotFound()
	}
	c.needed, c.page = op.Permission, op.paging.size(m.Config)
	remarks = op.remarks(r.Body)
	err = c.Run(
		func(*Call) error { return op.checkParams(r.Params, m.Config.Pattern) },
		func(*Call) (err error) {
			var unknown []string
			c.Query, unknown, err = op.readQuery(r.URL.RawQuery)
			remarks.Unknown = append(remarks.Unknown, unknown...)
			return err
		},
		func(*Call) (err error) {
			var unknown []string
			c.Body, unknown, err = op.readBody(r.Header.Get("Content-Type"), r.Body)
			remarks.Unknown = append(remarks.Unknown, unknown...)
			return err
		},
		op.enterProject, op.enterLocation, op.guard,
	)
	if err != nil {
		return nil, remarks, err
	}
	result, err = op.handle(c)
	if op.Method == http.MethodGet && (err != nil || isEmpty(result)) {
		remarks.ContractOnly = nil // shows what a program sees that skips what the service lacks, such as a call of Client.Resources
	}
	return result, remarks, err
}

func isEmpty(result any) bool {
	list, ok := result.(interface{ empty() bool })
	return ok && list.empty()
}

func (o *Operation) remarks(body []byte) Remarks {
	if o.only == version.Contract {
		return Remarks{ContractOnly: []string{o.Target()}}
	}
	return Remarks{ContractOnly: o.Body.ContractOnlyFields(body)}
}

func (o *Operation) enterProject(c *Call) error {
	id, ok := c.Params["project_id"]
	if !ok {
		return nil
	}
	p := c.State.Project(id)
	switch {
	case p != nil && p.Account == c.Token.Account:
		c.Project = p
		return nil
	case o.Method == http.MethodDelete && o.Route == ProjectRoute && ValidID(id):
		return nil // deleting a missing project succeeds
	}
	return reply.NotFound()
}

func (o *Operation) enterLocation(c *Call) error {
	if name, ok := c.Params["location"]; ok {
		return c.EnterLocation(name)
	}
	return nil
}

func (o *Operation) guard(c *Call) error {
	if o.guarded && !c.Permitted() {
		return reply.Forbidden()
	}
	return nil
}
