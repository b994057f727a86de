package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"regexp"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// decode reads a YAML file. It refuses what YAML would take for something else
// than its author meant: it reads 0443 as the number 291, and 17.10 as 17.1.
func decode(name string, data []byte, env *environment) error {
	file, err := parser.ParseBytes(bytes.TrimPrefix(data, []byte("\ufeff")), 0) // a byte order mark, which editors don't show
	if err != nil {
		return fmt.Errorf("%s: %s", name, yaml.FormatError(err, false, true)) // shows the line of the error
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return fmt.Errorf("%s: the file is empty", name)
	}
	for _, second := range file.Docs[1:] { // even if it's empty: the parser can lose what follows it
		begin := second.Start // "---", or nil
		if begin == nil && second.Body != nil {
			begin = second.Body.GetToken()
		}
		if begin != nil {
			return fmt.Errorf("%s:%d: a second document begins: write one file for each", name, begin.Position.Line)
		}
	}
	if err := yaml.NodeToValue(file.Docs[0].Body, env, yaml.Strict()); err != nil {
		return fmt.Errorf("%s: %s", name, yaml.FormatError(err, false, true))
	}
	c := &checker{name: name, anchors: map[string]ast.Node{}}
	c.check("the file", file.Docs[0].Body, reflect.ValueOf(*env))
	return errors.Join(c.errs...)
}

// checker compares the nodes of a file with the values that they were decoded
// into.
type checker struct {
	name    string
	anchors map[string]ast.Node
	errs    []error
}

func (c *checker) failf(at ast.Node, format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%s:%d: %s", c.name, at.GetToken().Position.Line, fmt.Sprintf(format, args...)))
}

// decimal matches a whole number that everybody reads as the same number.
var decimal = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// check checks the value of a key, which was decoded into v.
func (c *checker) check(key string, node ast.Node, v reflect.Value) {
	switch n := node.(type) {
	case *ast.AnchorNode:
		c.check(key, n.Value, v)
		c.anchors[n.Name.GetToken().Value] = n.Value
		return
	case *ast.AliasNode:
		if value := c.anchors[n.Value.GetToken().Value]; value != nil {
			c.check(key, value, v)
		}
		return
	case *ast.TagNode:
		c.failf(n, "%s has the tag %s: remove it", key, n.Start.Value)
		return
	case *ast.NullNode:
		if v.Kind() != reflect.Slice {
			c.failf(n, "%s has no value", key)
		}
		return
	}
	written := node.GetToken().Value
	switch v.Kind() {
	case reflect.Struct:
		c.checkFields(node, v)
	case reflect.Slice:
		c.checkItems(key, node, v)
	case reflect.String:
		switch node.(type) {
		case *ast.StringNode, *ast.LiteralNode:
		default:
			c.failf(node, "%s: %s is no text in YAML: write it in quotes", key, written)
			return
		}
		var err error
		switch key {
		case "from", "allow":
			err = checkRange(v.String())
		case "ports":
			_, err = cloudapi.ParsePortRange(v.String())
		}
		if err != nil {
			c.failf(node, "%s: %v", key, err)
		}
	case reflect.Int:
		if !decimal.MatchString(written) {
			c.failf(node, "%s: %s is no decimal number", key, written)
		}
	}
}

// checkRange refuses what the server would take for a larger range: it opens a
// whole /64 for an IPv6 address without a length, and clears host bits.
func checkRange(text string) error {
	prefix, err := netip.ParsePrefix(text)
	address := prefix.Addr()
	if err != nil {
		if address, err = netip.ParseAddr(text); err != nil {
			return fmt.Errorf("%q isn't a range of addresses, such as 203.0.113.0/24 or 2001:db8::/32", text)
		}
	}
	one := netip.PrefixFrom(address, address.BitLen())
	switch {
	case !prefix.IsValid() && address.Is6():
		return fmt.Errorf("the server takes %s for %v: write %v for the one address", text, netip.PrefixFrom(address, 64).Masked(), one)
	case prefix.IsValid() && prefix != prefix.Masked():
		return fmt.Errorf("the server takes %s for %v: write that, or %v for the one address", text, prefix.Masked(), one)
	}
	_, err = cloudapi.ParseCIDR(text)
	return err
}

func (c *checker) checkFields(node ast.Node, v reflect.Value) {
	fields, ok := node.(ast.MapNode)
	if !ok {
		return
	}
	for i := fields.MapRange(); i.Next(); {
		if _, merged := i.Key().(*ast.MergeKeyNode); merged {
			c.check("<<", i.Value(), v)
			continue
		}
		key := i.Key().GetToken().Value
		for f, value := range v.Fields() {
			if f.Tag.Get("yaml") == key {
				c.check(key, i.Value(), value)
			}
		}
	}
}

// checkItems also finds two items of a list with one name: each run would
// change the resource to the one and then to the other.
func (c *checker) checkItems(key string, node ast.Node, v reflect.Value) {
	list, ok := node.(*ast.SequenceNode)
	if !ok {
		return
	}
	lines := map[string]int{} // by name
	for i, item := range list.Values {
		c.check(key, item, v.Index(i))
		if v.Index(i).Kind() != reflect.Struct {
			continue
		}
		if name := v.Index(i).FieldByName("Name"); name.IsValid() && name.String() != "" { // a rule has no name
			if before := lines[name.String()]; before != 0 {
				c.failf(item, "%s has the name %s again, after line %d", key, name, before)
			}
			lines[name.String()] = item.GetToken().Position.Line
		}
	}
}
