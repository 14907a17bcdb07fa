package domain

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
	return &old
}

// Changed is what of an argument would change a field: nil when it is left out
// or already so.
func Changed[T any](old T, wanted *T) *T {
	if wanted == nil || same(old, *wanted) {
		return nil
	}
	return wanted
}
