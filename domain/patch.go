package domain

import "reflect"

// Set gives a field what an event names, and leaves it when it names nothing.
func Set[T any](field *T, named *T) {
	if named != nil {
		*field = *named
	}
}

// Was is the old value of a field an event names, and nothing for the others.
func Was[T any](named *T, old T) *T {
	if named == nil {
		return nil
	}
	return naming(old)
}

// Changed is what of an argument would change a field: nil when it is left out
// or already so.
func Changed[T any](old T, wanted *T) *T {
	if wanted == nil || same(old, *wanted) {
		return nil
	}
	return naming(*wanted)
}

// naming is a value as an event names it. A nil list or map becomes an empty
// one: in the log it would be null, which reads back as a field not named.
func naming[T any](value T) *T {
	switch v := reflect.ValueOf(&value).Elem(); {
	case v.Kind() == reflect.Slice && v.IsNil():
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	case v.Kind() == reflect.Map && v.IsNil():
		v.Set(reflect.MakeMap(v.Type()))
	}
	return &value
}
