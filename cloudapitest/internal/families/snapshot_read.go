package families

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
	"github.com/cloudapi-sdk/cloudapi/internal/parallel"
	"github.com/cloudapi-sdk/cloudapi/internal/tally"
)

// ReadOptions says how [Read] reads a project.
type ReadOptions struct {
	KeepAddresses bool // whether VMs keep their public addresses
	AtOnce        int  // the number of concurrent requests
	Now           func() time.Time

	balancers []*loadBalancer // unless it's nil, all load balancers of the project
}

// ReadItself reads a project of the service at a moment. It uses a token that
// exists only for that.
func ReadItself(service *api.Service, at *api.Moment, project *api.Project) *Snapshot {
	const secret = "pat-itself"
	token := at.State.AddToken(secret, project.Account)
	project.Permissions[token] = api.Permissions{"*"}
	defer func() {
		at.State.RemoveToken(secret)
		delete(project.Permissions, token)
	}()
	client, err := cloudapi.NewClient(cloudapi.WithBaseURL("http://api.localhost"), cloudapi.WithToken(secret), cloudapi.WithProject(project.ID),
		cloudapi.WithHTTPClient(&http.Client{Transport: itself{service, at, nil}}))
	if err != nil {
		panic(err) // can't happen: the options are valid
	}
	s, err := Read(context.Background(), client, ReadOptions{
		KeepAddresses: true, AtOnce: 1, Now: func() time.Time { return at.Now },
		balancers: api.As[*loadBalancer](at.State.Index.SortedByID(api.Scope{Kind: cloudapi.KindLoadBalancer, Project: project})),
	})
	if err != nil {
		panic(fmt.Sprintf("cloudapitest: the server can't read itself: %v", err)) // only after a mistake in the test server
	}
	return s
}

// itself is a transport that executes requests at a moment.
type itself struct {
	service *api.Service
	at      *api.Moment
	body    []byte
}

func (t itself) RoundTrip(r *http.Request) (*http.Response, error) {
	op, params := t.service.Match(r.Method, r.URL.EscapedPath())
	out, _ := t.at.Execute(api.Request{Request: r, Operation: op, Params: params, Body: t.body})
	return &http.Response{
		StatusCode: out.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: out.Header.Clone(),
		Body: io.NopCloser(bytes.NewReader(out.Body)), ContentLength: int64(len(out.Body)), Request: r,
	}, nil
}

// maxReads is how often Read reads a project that keeps changing.
const maxReads = 3

// Read reads the client's project. At the end it reads those lists again that
// contain all of their records; if they have changed, it reads all again.
func Read(ctx context.Context, client *cloudapi.Client, o ReadOptions) (*Snapshot, error) {
	r := &reader{ctx: ctx, client: client, o: o}
	s := &Snapshot{Objects: map[cloudapi.Kind][]json.RawMessage{}, Gaps: []Gap{}}
	project, err := r.get(nil)
	if err == nil {
		err = json.Unmarshal(project, &s.Project)
	}
	if err != nil {
		return nil, fmt.Errorf("the project can't be read: %w", err)
	}
	var lists []list
	for n := 1; ; n++ {
		r.changed, r.portless, r.gaps = false, false, nil
		if lists, err = r.readAll(); err != nil {
			return nil, err
		}
		if err = r.checkUnchanged(lists); err != nil {
			return nil, err
		}
		if !r.changed {
			break
		}
		if n == maxReads {
			r.gap(Gap{What: "a consistent state", Reason: fmt.Sprintf("the project changed while it was read, %d times", maxReads)})
			break
		}
	}
	s.API, s.Time, s.Portless = apiOf(lists), o.Now().UTC(), r.portless
	s.decode(lists, r)
	if len(s.Objects) == 0 && slices.ContainsFunc(lists, func(l list) bool { return l.refused }) {
		return nil, fmt.Errorf("the token may see nothing in the project: %w", cloudapi.ErrForbidden)
	}
	return s, nil
}

type reader struct {
	ctx     context.Context
	client  *cloudapi.Client
	o       ReadOptions
	service bool // whether the server implements the service

	mu       sync.Mutex
	changed  bool // whether the project has changed since the beginning
	portless bool
	gaps     []Gap
}

// list is what a row's list contains.
type list struct {
	*copiedKind
	items   []json.RawMessage // as in the list
	records []map[string]json.RawMessage
	missing bool // whether the server doesn't have the list
	refused bool // whether the token may not see the list
}

// apiOf returns the API of a server: only the service has machine images, and
// only the contract has registered scripts.
func apiOf(lists []list) string {
	has := func(kind cloudapi.Kind) bool {
		return slices.ContainsFunc(lists, func(l list) bool { return l.kind == kind && !l.missing })
	}
	switch images, scripts := has(cloudapi.KindMachineImage), has(cloudapi.KindVMInitScript); {
	case images && scripts:
		return ""
	case images:
		return string(version.Service)
	}
	return string(version.Contract)
}

func (r *reader) gap(g Gap) { r.gaps = append(r.gaps, g) }

// locked calls f while no other goroutine changes the reader.
func (r *reader) locked(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// do calls f for 0 to n-1, until a call fails.
func (r *reader) do(n int, f func(int) error) (failure error) {
	parallel.Do(n, r.o.AtOnce, func(i int) {
		var failed bool
		if r.locked(func() { failed = failure != nil }); failed {
			return
		}
		if err := f(i); err != nil {
			r.locked(func() { failure = cmp.Or(failure, err) })
		}
	})
	return failure
}

func (r *reader) get(query url.Values, segments ...string) (json.RawMessage, error) {
	var body []byte
	err := r.client.Do(r.ctx, http.MethodGet, append([]string{"project", r.client.Project()}, segments...), query, nil, &body)
	return body, err
}

// getList reads all pages of a list, as the SDK's lists do: the cursor is the
// last item's ID, and an item that comes twice counts once. If the server counts
// more items than it shows, the project has changed.
func (r *reader) getList(form listForm, segments ...string) ([]json.RawMessage, error) {
	const most = 1000
	items, query := []json.RawMessage{}, url.Values{}
	if form == paged {
		query.Set("page_size", strconv.Itoa(most))
	}
	seen, asked := tally.New(true, 2*most), map[string]bool{"": true}
	for seen.Begin(); ; {
		raw, err := r.get(query, segments...)
		if err != nil {
			return nil, err
		}
		var page struct {
			Items []json.RawMessage
			Count *int
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, fmt.Errorf("%s: %w", strings.Join(segments, "/"), err)
		}
		for _, item := range page.Items {
			if id := headOf(item).ID; id == "" || seen.Add(id) { // decode reports one without an ID
				items = append(items, item)
			}
		}
		seen.EndPage(page.Count)
		if n := len(page.Items); form == unpaged || n == 0 || page.Count == nil || *page.Count == n && n == len(items) {
			if form == paged && !seen.IsComplete() {
				r.locked(func() { r.changed = true })
			}
			return items, nil
		}
		cursor := headOf(page.Items[len(page.Items)-1]).ID
		if asked[cursor] {
			return nil, fmt.Errorf("%s: %w: the page after %q was already read", strings.Join(segments, "/"), cloudapi.ErrPaginationStalled, cursor)
		}
		asked[cursor] = true
		query.Set("start_after", cursor)
	}
}

type head struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	UIName   string `json:"ui_name"` // the name of a private location
	Location string `json:"location"`
}

// resource returns the resource of a record, for texts: its String quotes what a
// terminal would interpret.
func (h head) resource(kind cloudapi.Kind) cloudapi.Resource {
	return cloudapi.Resource{Kind: kind, ID: h.ID, Location: h.Location, Name: cmp.Or(h.UIName, h.Name)}
}

func headOf(record json.RawMessage) (h head) {
	json.Unmarshal(record, &h) // a record that isn't an object has no ID, which decode reports
	return h
}

// listPortBalancers returns the load balancers that the server can list, with
// only their IDs and locations.
func listPortBalancers(r *reader) (items []json.RawMessage, err error) {
	add := func(id, location string) {
		item, _ := json.Marshal(map[string]string{"id": id, "location": location})
		items = append(items, item)
	}
	for _, l := range r.o.balancers {
		if r.portless = r.portless || l.portless(); !l.portless() {
			add(l.ID, l.Location.Name)
		}
	}
	if r.o.balancers != nil {
		return items, nil
	}
	for l, err := range r.client.LoadBalancers.All(r.ctx, nil) {
		if errors.As(err, new(*cloudapi.UnlistedError)) {
			r.locked(func() { r.portless = true })
			break
		}
		if err != nil {
			return nil, err
		}
		add(l.ID, l.Location)
	}
	return items, nil
}

func (r *reader) readAll() ([]list, error) {
	lists := make([]list, len(copied))
	err := r.do(len(copied), func(i int) (err error) {
		lists[i].copiedKind = &copied[i]
		return r.readList(&lists[i])
	})
	if err != nil {
		return nil, err
	}
	r.service = apiOf(lists) != string(version.Contract)
	type place struct{ list, item int }
	var places []place
	for i := range lists {
		lists[i].records = make([]map[string]json.RawMessage, len(lists[i].items))
		for n := range lists[i].items {
			places = append(places, place{i, n})
		}
	}
	return lists, r.do(len(places), func(i int) (err error) {
		l := &lists[places[i].list]
		item := l.items[places[i].item]
		path := []string{l.path, headOf(item).ID}
		if at := headOf(item).Location; at != "" {
			path = append([]string{"location", at}, path...)
		}
		record, err := r.readMore(item, l.more, path)
		if errors.Is(err, cloudapi.ErrNotFound) || errors.Is(err, cloudapi.ErrForbidden) { // it is being deleted, or the token may not see all of it
			r.locked(func() {
				r.changed = r.changed || errors.Is(err, cloudapi.ErrNotFound)
				r.gap(l.gap(item, err.Error()))
			})
			return nil
		}
		l.records[places[i].item] = record
		return err
	})
}

// readList leaves out a list that the server doesn't have, or that the token
// may not see.
func (r *reader) readList(l *list) (err error) {
	if l.read != nil {
		l.items, err = l.read(r)
	} else {
		l.items, err = r.getList(paged, l.path)
	}
	switch {
	case (l.only || l.needs != "") && errors.Is(err, cloudapi.ErrNotFound):
		l.missing = true
		return nil
	case errors.Is(err, cloudapi.ErrForbidden):
		l.refused = true
		r.locked(func() {
			r.gap(Gap{What: "every " + l.kind.String(), Reason: "the token may not list them", Kind: l.kind})
		})
		return nil
	}
	return err
}

// gap is the gap of an object that the list contains.
func (k *copiedKind) gap(item json.RawMessage, reason string) Gap {
	h := headOf(item)
	return Gap{What: h.resource(k.kind).String(), Reason: reason, Kind: k.kind, ID: h.ID}
}

// readMore returns the members of a record, with those that other GETs show.
func (r *reader) readMore(item json.RawMessage, more []moreReads, path []string) (map[string]json.RawMessage, error) {
	var record map[string]json.RawMessage
	if err := json.Unmarshal(item, &record); err != nil {
		return nil, err
	}
	for _, m := range more {
		if m.only == version.Service && !r.service {
			continue
		}
		below := path
		if m.path != "" {
			below = append(slices.Clip(path), m.path)
		}
		if m.list == notAList {
			raw, err := r.get(nil, below...)
			if err != nil {
				return nil, err
			}
			if m.member == "" {
				err = json.Unmarshal(raw, &record)
			} else {
				record[m.member] = raw
			}
			if err != nil {
				return nil, err
			}
			continue
		}
		items, err := r.getList(m.list, below...)
		if err != nil {
			return nil, err
		}
		nested := make([]map[string]json.RawMessage, len(items))
		for i, item := range items {
			if nested[i], err = r.readMore(item, m.more, append(slices.Clip(below), headOf(item).ID)); err != nil {
				return nil, err
			}
		}
		if record[m.member], err = json.Marshal(nested); err != nil {
			return nil, err
		}
	}
	return record, nil
}

// checkUnchanged reads the lists again that contain all of their records.
func (r *reader) checkUnchanged(lists []list) error {
	return r.do(len(lists), func(i int) error {
		again := list{copiedKind: lists[i].copiedKind}
		if again.read != nil || again.more != nil || lists[i].missing || lists[i].refused {
			return nil
		}
		err := r.readList(&again)
		if !slices.EqualFunc(lists[i].items, again.items, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			r.locked(func() { r.changed = true })
		}
		return err
	})
}

// decode adds the records of the lists to the snapshot, and what they lack to
// its gaps.
func (s *Snapshot) decode(lists []list, r *reader) {
	c := &cleaner{keep: r.o.KeepAddresses, found: map[string]bool{}}
	for _, l := range lists {
		if l.needs != "" && !l.missing {
			s.Features = append(s.Features, l.needs)
		}
		for i, members := range l.records {
			if members == nil {
				continue // a gap says why
			}
			raw, err := json.Marshal(members)
			var record loadable
			if err == nil {
				record, err = l.decode(raw, c)
			}
			var encoded []byte
			if err == nil {
				encoded, err = json.Marshal(record)
			}
			if err != nil {
				r.gap(l.gap(l.items[i], err.Error()))
				continue
			}
			s.Objects[l.kind] = append(s.Objects[l.kind], encoded)
			var tree any
			json.Unmarshal(raw, &tree) // raw is valid
			unknownFields(l.kind.String(), tree, reflect.TypeOf(record), c.found)
		}
	}
	for _, f := range slices.Backward(s.check()) {
		id := headOf(s.Objects[f.kind][f.index]).ID
		s.Objects[f.kind] = slices.Delete(s.Objects[f.kind], f.index, f.index+1)
		r.gap(Gap{What: f.Error(), Reason: "the test server can't have it", Kind: f.kind, ID: id})
	}
	for _, path := range slices.Sorted(maps.Keys(c.found)) {
		r.gap(Gap{What: path, Reason: "the test server doesn't know this field"})
	}
	slices.SortStableFunc(r.gaps, func(a, b Gap) int { return strings.Compare(a.What, b.What) })
	s.Gaps = append(s.Gaps, r.gaps...)
}
