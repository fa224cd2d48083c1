package schedules_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/internal/schedules"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A job that is read by way of the API has the version that it has in the plugin, and no field can be changed without
// another version.
func TestVersion(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	spec := pluginsdk.CronSpec{Name: "tea", Timezone: "Europe/Berlin", FireAt: time.Date(2026, 12, 24, 17, 0, 0, 0, berlin), Tools: []string{}}
	var read pluginsdk.CronSpec
	encoded, err := json.Marshal(spec)
	if err != nil || json.Unmarshal(encoded, &read) != nil {
		t.Fatal(err)
	}
	read.FireAt = read.FireAt.UTC()
	if schedules.Version(spec) != schedules.Version(read) {
		t.Errorf("%+v and %+v", spec, read)
	}
	seen := map[string]string{schedules.Version(pluginsdk.CronSpec{}): "nothing"}
	of := reflect.TypeFor[pluginsdk.CronSpec]()
	for i := range of.NumField() {
		var changed pluginsdk.CronSpec
		switch field := reflect.ValueOf(&changed).Elem().Field(i); field.Interface().(type) {
		case time.Time:
			field.Set(reflect.ValueOf(time.Unix(int64(i), 0)))
		case pluginsdk.Target:
			field.Set(reflect.ValueOf(pluginsdk.Target{Plugin: "discord", Place: "1"}))
		case []string:
			field.Set(reflect.ValueOf([]string{"x"}))
		case float64:
			field.SetFloat(1)
		case bool:
			field.SetBool(true)
		case time.Duration:
			field.SetInt(1)
		default:
			field.SetString("x")
		}
		version := schedules.Version(changed)
		if other, doubled := seen[version]; doubled {
			t.Errorf("%s and %s have the same version", of.Field(i).Name, other)
		}
		seen[version] = of.Field(i).Name
	}
}
