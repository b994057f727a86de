// Package attachment checks that files from a server are complete, makes their
// names harmless in any folder, and saves them.
package attachment

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"mime"
	"slices"
	"strings"
)

const maxName = 128 // bytes

// Name returns the file name in a Content-Disposition header, or "" if there is
// no name. It drops folders, and replaces characters that could be harmful.
func Name(disposition string) string {
	_, params, err := mime.ParseMediaType(disposition)
	if err != nil {
		return ""
	}
	name := params["filename"]
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.TrimLeft(name, ".-")
	name = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, name)
	return name[:min(len(name), maxName)]
}

// Kinds of PEM blocks. The type of a block can have words before its kind: an
// "EC PRIVATE KEY" block is a [PrivateKey].
const (
	Certificate = "CERTIFICATE"
	PrivateKey  = "PRIVATE KEY"
)

// CheckPEM returns an error unless content consists of complete PEM blocks of
// the given kinds, with at least one of each. Text may precede a block.
func CheckPEM(content []byte, kinds []string) error {
	var blocks []*pem.Block
	rest := content
	for {
		block, after := pem.Decode(rest)
		if block == nil {
			break
		}
		blocks, rest = append(blocks, block), after
	}
	const begin, end, dashes = "-----BEGIN ", "\n-----END ", "-----"
	begun := bytes.Count(content, []byte(begin))
	if begun == 0 {
		return errors.New("it is not PEM")
	}
	last := content[bytes.LastIndex(content, []byte(begin)):]
	if _, label, ended := bytes.Cut(last, []byte(end)); !ended || !bytes.Contains(label, []byte(dashes)) {
		return fmt.Errorf("%w in a PEM block", io.ErrUnexpectedEOF)
	}
	if len(blocks) < begun {
		return errors.New("it has a PEM block that cannot be read")
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return fmt.Errorf("%w after a PEM block", io.ErrUnexpectedEOF)
	}
	for _, block := range blocks {
		if len(block.Bytes) == 0 || !slices.ContainsFunc(kinds, func(kind string) bool { return strings.HasSuffix(block.Type, kind) }) {
			return errors.New("it has a PEM block that is empty or of another kind")
		}
	}
	for _, kind := range kinds {
		if !slices.ContainsFunc(blocks, func(block *pem.Block) bool { return strings.HasSuffix(block.Type, kind) }) {
			return errors.New("it has no " + kind)
		}
	}
	return nil
}
