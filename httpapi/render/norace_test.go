//go:build !race

package render

// raceEnabled makes bounds on time as generous as the race detector is slow.
const raceEnabled = false
