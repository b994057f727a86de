package attachment

import (
	"bytes"
	"errors"
	"mime"
	"net/http"
	"regexp"
	"strings"
)

// Check returns an error if a response is recognizably not a complete file.
func Check(status int, header http.Header, body []byte) error {
	mediaType, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	trimmed := bytes.TrimSpace(body)
	switch {
	case len(trimmed) == 0:
		return errors.New("it is empty")
	case mediaType == "text/html" || trimmed[0] == '<':
		return errors.New("it is a page, not a file")
	case mediaType == "application/json" || strings.HasSuffix(mediaType, "+json"):
		return errors.New("it is JSON, not a file")
	case status == http.StatusPartialContent:
		return errors.New("it is a part of the file")
	}
	return nil
}

var kubeconfig = regexp.MustCompile(`(?m)(?:^|[{,])\s*["']?kind["']?\s*:\s*["']?Config\b`)

// CheckKubeconfig returns an error unless content says, in YAML or JSON, that
// it's a kubeconfig.
func CheckKubeconfig(content []byte) error {
	if !kubeconfig.Match(content) {
		return errors.New("it is not a kubeconfig")
	}
	return nil
}
