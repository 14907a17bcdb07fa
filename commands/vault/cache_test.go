package vault

import "testing"

func TestWhatWasReadBeforeAClearDoesNotGetInAfterIt(t *testing.T) {
	c := newCache[string, int](2)
	_, epoch, _ := c.get("a")
	c.clear()
	c.put(epoch, "a", 1)
	if v, _, ok := c.get("a"); ok {
		t.Errorf("the cache has %d", v)
	}
}

func TestTheFirstOfTwoReadAtOnceIsKept(t *testing.T) {
	c := newCache[string, int](2)
	_, epoch, _ := c.get("a")
	for _, v := range []int{1, 2} {
		if got := c.put(epoch, "a", v); got != 1 {
			t.Errorf("putting %d gives %d; want 1", v, got)
		}
	}
}

func TestACacheKeepsNoMoreThanItsLimit(t *testing.T) {
	c := newCache[int, int](2)
	for i := range 10 {
		_, epoch, _ := c.get(i)
		c.put(epoch, i, i)
		if v, _, ok := c.get(i); !ok || v != i {
			t.Errorf("the newest is %d, %v; want %d", v, ok, i)
		}
	}
	if len(c.items) != 2 {
		t.Errorf("it keeps %d; want 2", len(c.items))
	}
}
