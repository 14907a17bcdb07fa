package logtest

import (
	"fmt"
	"sync"
	"sync/atomic"

	"assent/commands"
	"assent/domain"
)

// claimCases are how addresses are kept apart with nothing but the log: a claim
// on a path is its stream's last event, whoever appends at the version they
// read has it, and a claim whose holder never came to be may be taken over. On
// a log that is not atomic others come in between a claim and the thing that
// claims; appending the two apart is just that, on any log.
var claimCases = []Case{
	{"of two who take over a dead claim with one append, in every order of their steps, one has it and the other left nothing", func(l *Log) {
		l.everyOrder(3, func(path string) *race { return &race{log: l, path: path} })
	}},
	{"of two who take over a dead claim and then make their thing, in every order, one has it and the other left nothing", func(l *Log) {
		l.everyOrder(4, func(path string) *race { return &race{log: l, path: path, apart: true} })
	}},
	{"a claim that is taken over before its thing was made is lost, and its holder is told", func(l *Log) {
		l.everyOrder(4, func(path string) *race { return &race{log: l, path: path, apart: true, slow: true} })
	}},
	{"a holder that comes to be meanwhile keeps its claim, where its stream is checked", func(l *Log) {
		l.Must(To("path", 0, "old"))
		l.Must(To("old", 0, "made"))
		l.conflict("old", 0, 1, To("old", 0), To("path", 1, "new"), To("new", 0, "made-new"))
		l.conflict("old", 0, 1, To("path", 1, "new"), To("new", 0, "made-new"), To("old", 0))
	}},
	{"a crowd that takes over one dead claim leaves one holder", func(l *Log) {
		for i := range rounds {
			path := fmt.Sprintf("path%d", i)
			l.Must(To(path, 0, path+"-dead"))
			var won atomic.Int64
			var wg sync.WaitGroup
			for w := range writers {
				wg.Go(func() {
					me := fmt.Sprintf("%s-%d", path, w)
					_, err := l.Append(l.T.Context(), To(path, 1, me), To(me, 0, "made-"+me))
					if _, conflict := isConflict(err); err == nil {
						won.Add(1)
					} else if !conflict {
						l.T.Errorf("the error is %v", err)
					}
				})
			}
			wg.Wait()
			l.Same("winners", won.Load(), int64(1))
			claims := l.Stream(Article(path))
			l.Same("claims", len(claims), 2)
			holder := string(claims[1].ID[len("ev_"):])
			l.Same("things of the holder", len(l.Stream(Article(holder))), 1)
		}
		l.Same("events", len(l.sound()), 3*rounds)
	}},
	{"a path that is freed is taken once, in the version after", func(l *Log) {
		l.Must(To("path", 0, "taken1"), To("one", 0, "made1"))
		l.Must(To("one", 1, "moved1"), To("path", 1, "freed1"))
		l.Must(To("path", 2, "taken2"), To("two", 0, "made2"))
		l.conflict("path", 2, 3, To("path", 2, "taken3"), To("three", 0, "made3"))
		l.again(l.Must(), To("three", 0))
	}},
}

// everyOrder lets two writers race in every order their steps can have, where
// one of them begins: the other way round is the same.
func (l *Log) everyOrder(steps int, start func(path string) *race) {
	l.T.Helper()
	n := 0
	var order func(done []int, left [2]int)
	order = func(done []int, left [2]int) {
		if left == [2]int{} {
			n++
			r := start(fmt.Sprintf("path%d", n))
			r.run(done)
			return
		}
		for w := range left {
			if left[w] > 0 {
				next := left
				next[w]--
				order(append(done[:len(done):len(done)], w), next)
			}
		}
	}
	order([]int{0}, [2]int{steps - 1, steps})
}

// race is two writers after the claim on one path whose holder is dead.
type race struct {
	log   *Log
	path  string
	apart bool // the claim and the thing are two appends
	slow  bool // so much time goes by between steps that a claim without its thing counts as dead
	two   [2]racer
}

type racer struct {
	step int
	at   domain.Version // of the claims as it read them
	out  bool           // it found the path taken
	has  bool           // in the end it read its own claim
}

func (r *race) thing(w int) string { return fmt.Sprintf("%s-%d", r.path, w) }

func (r *race) run(order []int) {
	l := r.log
	l.T.Helper()
	l.Must(To(r.path, 0, r.path+"-dead"))
	for _, w := range order {
		r.next(w)
	}
	holder := r.holder()
	for w, racer := range r.two {
		things := len(l.Stream(Article(r.thing(w))))
		switch holds := holder == r.thing(w); {
		case holds && (things != 1 || !racer.has):
			l.T.Errorf("in the order %v, %d holds the path with %d things and believes %v", order, w, things, racer.has)
		case !holds && !r.slow && (things != 0 || racer.has):
			l.T.Errorf("in the order %v, %d does not hold the path, has %d things and believes %v", order, w, things, racer.has)
		case !holds && racer.has && !r.tookLast(order, 1-w):
			l.T.Errorf("in the order %v, %d believes that it holds the path, and the claim was lost before it looked", order, w)
		}
	}
	if holder == r.path+"-dead" {
		l.T.Errorf("in the order %v, nobody took the path", order)
	}
}

// tookLast says that a writer took its claim after the other's last look.
func (r *race) tookLast(order []int, w int) bool {
	step, looked := [2]int{}, false
	for _, who := range order {
		step[who]++
		switch {
		case who != w && step[who] == 4:
			looked = true
		case who == w && step[who] == 2:
			return looked
		}
	}
	return false
}

// next takes one writer a step on: look, claim, make, look again.
func (r *race) next(w int) {
	me := &r.two[w]
	me.step++
	if me.out {
		return
	}
	step := me.step
	if step > 1 && !r.apart {
		step++ // claiming and making are one
	}
	claim, thing := To(r.path, me.at, r.thing(w)), To(r.thing(w), 0, r.thing(w)+"-made")
	switch {
	case step == 1:
		holder := r.holder()
		alive := len(r.log.Stream(Article(holder))) > 0
		me.out = alive || !r.slow && holder != r.path+"-dead"
		me.at = domain.Version(len(r.log.Stream(Article(r.path))))
	case step == 2:
		me.out = !r.take(claim)
	case step == 3 && r.apart:
		r.log.Must(thing)
	case step == 3:
		me.out = !r.take(claim, thing)
	case step == 4:
		me.has = r.holder() == r.thing(w)
	}
}

func (r *race) take(writes ...commands.Write) bool {
	_, err := r.log.Append(r.log.T.Context(), writes...)
	if _, conflict := isConflict(err); err != nil && !conflict {
		r.log.T.Errorf("the error is %v", err)
	}
	return err == nil
}

// holder is whom the path's last claim names.
func (r *race) holder() string {
	claims := r.log.Stream(Article(r.path))
	return string(claims[len(claims)-1].ID[len("ev_"):])
}
