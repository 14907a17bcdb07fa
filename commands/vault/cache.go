package vault

import "sync"

// cache keeps at most limit things in memory, or nothing when that is 0. What
// is full loses any one of them: all can be had again.
//
// A value read before a clear must not get in after it, or what was revoked
// would live on. So get tells the epoch, put names the epoch its value was
// read in, and clear begins a new one.
type cache[K comparable, V any] struct {
	mu    sync.RWMutex
	limit int
	epoch uint64
	items map[K]V
}

func newCache[K comparable, V any](limit int) *cache[K, V] {
	return &cache[K, V]{limit: limit, items: map[K]V{}}
}

func (c *cache[K, V]) get(k K) (v V, epoch uint64, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	v, ok = c.items[k]
	return v, c.epoch, ok
}

// put keeps v unless there was a clear since epoch, and gives back what is
// kept: of two who read the same at once, the first one's.
func (c *cache[K, V]) put(epoch uint64, k K, v V) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	if epoch != c.epoch || c.limit == 0 {
		return v
	}
	if first, ok := c.items[k]; ok {
		return first
	}
	if len(c.items) >= c.limit {
		for any := range c.items {
			delete(c.items, any)
			break
		}
	}
	c.items[k] = v
	return v
}

func (c *cache[K, V]) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	clear(c.items)
}
