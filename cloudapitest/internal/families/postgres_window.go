package families

import (
	"math"
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
)

// weekdays is indexed by [time.Weekday].
var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// maintenanceWindow is the time in which the servers of a database may be
// replaced. It takes two hours and, without days, recurs every day.
type maintenanceWindow struct {
	hour int // at which the window opens, in UTC
	days []time.Weekday
}

func windowHour(c *api.Call) (*int, error) {
	hour := c.Body.Number("maintenance_window_start_at")
	if hour < 0 || hour > 23 {
		var problems []string
		if hour > math.MaxInt32 || hour == math.MaxInt { // on a 32-bit platform, Number returns MaxInt for a larger value
			problems = append(problems, "maintenance_window_start_at is greater than maximum allowed value")
		}
		return nil, reply.InvalidRecord(append(problems, "maintenance_window_start_at must be between 0 and 23")...)
	}
	if !c.Body.Has("maintenance_window_start_at") {
		return nil, nil
	}
	return &hour, nil
}

func (p *postgres) setWindow(c *api.Call) (any, error) {
	hour, err := windowHour(c)
	if err != nil {
		return nil, err
	}
	if c.Body.Has("maintenance_window_days") && !hasFeature(c.Moment, p.Project, FeatureMaintenanceWindowDays) {
		return nil, reply.InvalidRequest("Maintenance window days are not enabled for this project.")
	}
	p.window = windowOf(hour, api.Records(c.Body.List("maintenance_window_days"), func(day any) string { return day.(string) }))
	p.reschedule(c.Now)
	c.Log("set_maintenance_window", p.ID)
	return p.details(c.Moment), nil
}

func (p *postgres) shownHour() *int {
	if p.window == nil {
		return nil
	}
	return &p.window.hour
}

// shownDays returns each day once, Monday first.
func (p *postgres) shownDays(at *api.Moment) *[]string {
	if !hasFeature(at, p.Project, FeatureMaintenanceWindowDays) {
		return nil
	}
	days := []string{}
	for i := range weekdays {
		day := (time.Monday + time.Weekday(i)) % 7
		if p.window != nil && slices.Contains(p.window.days, day) {
			days = append(days, weekdays[day])
		}
	}
	return &days
}

// reschedule moves a pending replacement of servers into the maintenance
// window.
func (p *postgres) reschedule(now time.Time) {
	if now.Before(p.due) && !p.ready.IsZero() {
		p.due = p.inWindow(latest(now, p.ready))
	}
}

// inWindow returns when a change that is ready at t can happen: at t without a
// maintenance window or during one, and otherwise when the window opens next.
func (p *postgres) inWindow(t time.Time) time.Time {
	const open = 2 * time.Hour
	if p.window == nil {
		return t
	}
	opens := midnight(t).AddDate(0, 0, -1).Add(time.Duration(p.window.hour) * time.Hour) // yesterday's window may still be open
	for !p.window.isOn(opens.Weekday()) || !t.Before(opens.Add(open)) {
		opens = opens.AddDate(0, 0, 1)
	}
	return latest(t, opens)
}

func (w *maintenanceWindow) isOn(day time.Weekday) bool {
	return len(w.days) == 0 || slices.Contains(w.days, day)
}

// windowOf returns nil without a valid hour.
func windowOf(hour *int, days []string) *maintenanceWindow {
	if hour == nil || *hour < 0 || *hour > 23 {
		return nil
	}
	w := &maintenanceWindow{hour: *hour}
	for _, day := range days {
		if i := slices.Index(weekdays, day); i >= 0 {
			w.days = append(w.days, time.Weekday(i))
		}
	}
	return w
}
