package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"
)

// filler sets every exported field of a value to something that is not zero
// and not what another field has, so that a field that is lost or swapped
// shows.
type filler struct {
	t *testing.T
	n int
}

// filled returns a value of V with every field set.
func filled[V any](t *testing.T) V {
	t.Helper()
	var value V
	(&filler{t: t}).fill(reflect.ValueOf(&value).Elem(), reflect.TypeFor[V]().Name())
	return value
}

func (f *filler) fill(v reflect.Value, path string) {
	f.n++
	switch value := v.Addr().Interface().(type) {
	case *time.Time:
		*value = time.Date(2026, 3, 4, 5, 6, 7, f.n, time.UTC)
		return
	case *json.RawMessage:
		*value = json.RawMessage(fmt.Sprintf(`{"n":%d}`, f.n))
		return
	case *[]byte:
		*value = fmt.Appendf(nil, "bytes-%d", f.n)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("%s-%d", path, f.n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(f.n) + 1<<33)
	case reflect.Uint64:
		v.SetUint(uint64(f.n) + 1<<63)
	case reflect.Float64:
		v.SetFloat(float64(f.n) + 0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), path)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			f.fill(v.Index(i), path)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			key, element := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key, path)
			f.fill(element, path)
			v.SetMapIndex(key, element)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	default:
		f.t.Fatalf("%s: the filler does not know the kind %s; teach it", path, v.Kind())
	}
}

// requireFilled fails when a field that can be sent is zero, so that the
// filler cannot make the round trip pass by leaving one out.
func requireFilled(t *testing.T, v reflect.Value, path string) {
	t.Helper()
	if v.Kind() == reflect.Struct && v.NumField() == 0 {
		return
	}
	if v.IsZero() {
		t.Errorf("%s is zero", path)
		return
	}
	if v.Type() == reflect.TypeFor[time.Time]() || v.Type() == reflect.TypeFor[[]byte]() {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		requireFilled(t, v.Elem(), path)
	case reflect.Slice:
		for i := range v.Len() {
			requireFilled(t, v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			requireFilled(t, v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	}
}
