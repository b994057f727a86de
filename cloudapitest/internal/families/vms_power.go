package families

import (
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
)

// power is the last restart, start or stop of a VM. It is the zero value if
// there was none.
type power struct {
	during string    // the state during the action
	after  string    // the state after it; "" means the state of a VM that was never stopped
	done   time.Time // the end of the action
}

func (p power) state(now time.Time) string {
	if now.Before(p.done) {
		return p.during
	}
	return p.after
}

func (v *vm) restartAlways(c *api.Call) (any, error) {
	v.turn(c.Moment, "restarting", "")
	c.Log("restart", v.ID)
	return v.details(c.Moment), nil
}

func (v *vm) restart(c *api.Call) (any, error) {
	before := v.details(c.Moment)
	if err := v.allow(c.Moment, "restart", "running"); err != nil {
		return nil, err
	}
	v.turn(c.Moment, "restarting", "")
	c.Log("restart", v.ID)
	return before, nil
}

// stop has no effect on a VM that is starting.
func (v *vm) stop(c *api.Call) (any, error) {
	before := v.details(c.Moment)
	if err := v.allow(c.Moment, "stop", "running", "starting", "restarting", "unavailable", "rebooting"); err != nil {
		return nil, err
	}
	switch before.State {
	case "starting":
	case "restarting": // the VM is stopping, but its state stays "restarting"
		v.turn(c.Moment, "restarting", "stopped")
	default:
		v.turn(c.Moment, "stopping", "stopped")
	}
	c.Log("stop", v.ID)
	return before, nil
}

func (v *vm) start(c *api.Call) (any, error) {
	if v.isBeingCaptured(c.Moment) {
		return nil, reply.InvalidRequest("Cannot start VM while it is being captured as a machine image version")
	}
	if err := v.allow(c.Moment, "start", "stopped", "unavailable"); err != nil {
		return nil, err
	}
	v.turn(c.Moment, "starting", "")
	c.Log("start", v.ID)
	return v.details(c.Moment), nil
}

func (v *vm) turn(at *api.Moment, during, after string) {
	v.power = power{during, after, at.Now.Add(at.Delays(&v.Object).Restart)}
}

func (v *vm) allow(at *api.Moment, action string, states ...string) error {
	if !slices.Contains(states, v.Shown(v.state(at))) {
		return reply.InvalidRequest("The %s action is not supported in the VM's current state", action)
	}
	return nil
}
