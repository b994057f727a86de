package cloudapi

import "net/http"

// conn is what a client's calls share: its settings, its transport and its
// headers. Services, lists and waits need no more of a [Client] than this.
type conn struct {
	config  config
	network http.RoundTripper // the transport below the middlewares
	polls   *polls            // shared by waits, also in the copies that InProject makes

	// newHeader returns the headers of a request in a new map. It is a function
	// so that printing a Client never shows the credentials.
	newHeader func(content bool) http.Header
}

// transport returns the middleware at a depth, or the network below all of them.
func (c *conn) transport(depth int) http.RoundTripper {
	if depth < len(c.config.middleware) {
		return c.config.middleware[depth]
	}
	return c.network
}

// layer is the transport that a middleware gets. It passes a request to the
// transport at its depth in the client of the call. So copies of a client can
// share a middleware and have other transports or middlewares below it.
type layer struct {
	conn  *conn // for requests whose context is not that of a call
	depth int
}

func (l *layer) RoundTrip(req *http.Request) (*http.Response, error) {
	conn := l.conn
	if cl := callOf(req.Context()); cl != nil {
		conn = cl.conn
	}
	return conn.transport(l.depth).RoundTrip(req)
}
