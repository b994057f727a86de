package families

import (
	"fmt"
	"net/http"
	"time"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
)

// serialLog is the last fetch of a VM's serial log. It is the zero value if
// there was none.
type serialLog struct {
	begun, done time.Time
	output      *string // nil if the fetch fails
}

const (
	serialLogFresh = time.Minute // a younger result isn't fetched again, even for a refresh
	serialLogValid = time.Hour   // an older result is fetched again
	serialLogBytes = 64 << 10    // maximum length of a result, taken from the end of the log
)

type serialLogRecord struct {
	Status    string    `json:"status"`
	Output    *string   `json:"output"`
	Timestamp time.Time `json:"timestamp"`
}

// showSerialLog returns the result of the last fetch. If the result is too old,
// it discards the result and starts a new fetch.
func (v *vm) showSerialLog(c *api.Call) (any, error) {
	if !v.isPlaced(c.Moment) && v.Location.Owner == nil {
		return nil, reply.InvalidRequest("VM has no assigned host")
	}
	refresh, _ := api.Last(c.Query, "refresh")
	age := c.Now.Sub(v.log.done)
	started := age >= serialLogValid || age >= serialLogFresh && (refresh == "true" || refresh == "1")
	if started {
		v.log = v.fetchSerialLog(c.Moment)
	}
	switch {
	case started || age < 0:
		return reply.JSON(http.StatusAccepted, serialLogRecord{"created", nil, seconds(v.log.begun)}), nil
	case v.log.output == nil:
		return serialLogRecord{"failed", nil, seconds(v.log.done)}, nil
	}
	return serialLogRecord{"succeeded", v.log.output, seconds(v.log.done)}, nil
}

// fetchSerialLog starts a fetch. A fetch that fails takes ten times as long,
// since it is attempted three times.
func (v *vm) fetchSerialLog(at *api.Moment) serialLog {
	delay := at.Delays(&v.Object).SerialLog
	if v.serialFails {
		return serialLog{begun: at.Now, done: at.Now.Add(10 * delay)}
	}
	output := v.serialText
	if output == nil {
		output = new(fmt.Sprintf("[    0.000000] Linux version 6.8.0\r\n[    0.512345] Run /init as init process\r\n\r\n%s login: ", v.Name))
	}
	return serialLog{at.Now, at.Now.Add(delay), output}
}

// SetSerialLog sets the text of a VM's serial log. If fails is set, fetches of
// the log fail. It reports whether there is a VM with the ID.
func SetSerialLog(at *api.Moment, id, output string, fails bool) bool {
	v, ok := at.State.ByID[id].(*vm)
	if ok {
		output = output[max(0, len(output)-serialLogBytes):]
		v.serialText, v.serialFails = new(string([]rune(output))), fails // each invalid byte becomes U+FFFD
	}
	return ok
}
