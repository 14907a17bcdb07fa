package projections

import (
	"fmt"
	"math"
	"slices"
	"time"

	"assent/domain"
	"assent/domain/agent"
)

// The audit is asked by any of its filters at once. One index for every set of
// them would be a thousand; one index for each filter alone lets a database
// begin with the wrong one and look through most of the audit. So there is an
// index for each filter, and for pairs of the ones with few values, each in the
// order of positions; where several are needed for a question, they are walked
// together, and whatever the rarest leaves out is jumped over in all the others.

// auditFilters are the columns that the audit is filtered by, with what a
// question says of each.
var auditFilters = []struct {
	column string
	sparse bool // most lines have none: those are not in its index
	of     func(AuditArgs) string
}{
	{"agent", false, func(a AuditArgs) string { return a.Agent }},
	{"person", false, func(a AuditArgs) string { return a.Person }},
	{"action", false, func(a AuditArgs) string { return a.Action }},
	{"target", false, func(a AuditArgs) string { return a.Target }},
	{"outcome", false, func(a AuditArgs) string { return a.Outcome }},
	{"via_key", true, func(a AuditArgs) string { return a.Key }},
	{"session", true, func(a AuditArgs) string { return a.Session }},
	{"cause", true, func(a AuditArgs) string { return a.Cause }},
	{"skill", true, func(a AuditArgs) string { return a.Skill }},
	{"proposal", true, func(a AuditArgs) string { return a.Proposal }},
}

// auditPairs are filters that have an index together: each alone fits so many
// lines that to walk two of them would take long.
var auditPairs = [][2]string{{"agent", "outcome"}, {"agent", "action"}, {"action", "outcome"}, {"person", "outcome"}, {"person", "action"}}

// auditIndexes are the indexes of the filters.
func auditIndexes() []string {
	var list []string
	for _, f := range auditFilters {
		index := fmt.Sprintf("workspace, %s, position", f.column)
		if f.sparse {
			index += fmt.Sprintf(" WHERE %s <> ''", f.column)
		}
		list = append(list, index)
	}
	for _, p := range auditPairs {
		list = append(list, fmt.Sprintf("workspace, %s, %s, position", p[0], p[1]))
	}
	return list
}

// window is between which positions lines are looked for, and in which order.
type window struct {
	first, last domain.Position // both are in it
	up          bool            // oldest first
}

// skewed is how far log time may run backwards along positions: not at all
// where one program gives out both, and by as much as the clocks of several
// instances differ where each gives its own time.
const skewed = time.Minute

// settled leaves out of a question what follows from the rest of it: a key
// belongs to one agent and an agent acts for one person, for ever. Walking
// their indexes together would find nothing new where they fit, and look
// through all of both where they do not. False: they do not.
func (a asking) settled(workspace string, args AuditArgs) (AuditArgs, bool, error) {
	var by AuditArgs
	switch {
	case args.Key != "" && (args.Agent != "" || args.Person != ""):
		by = AuditArgs{Key: args.Key}
	case domain.ID(args.Agent).Kind() == agent.Kind.Prefix && args.Person != "":
		by = AuditArgs{Agent: args.Agent}
	default:
		return args, true, nil
	}
	f := auditQuery(workspace, by, window{first: 1, last: math.MaxInt64})
	f.add(` LIMIT 1`)
	r, found, err := one[auditRow](a, f)
	if err != nil || !found {
		return args, false, err
	}
	for _, same := range []struct {
		asked *string
		is    string
	}{{&args.Agent, r.agent()}, {&args.Person, r.person()}} {
		switch *same.asked {
		case "", by.Agent: // not asked, or what the row was found by
		case same.is:
			*same.asked = ""
		default:
			if same.is != "" {
				return args, false, nil
			}
		}
	}
	return args, true, nil
}

// window finds between which positions a question's times lie, give or take;
// false when nothing does.
func (a asking) window(workspace string, args AuditArgs) (window, bool, error) {
	w := window{first: 1, last: math.MaxInt64}
	if t := args.Since; !t.IsZero() {
		found, err := rowsOf[int64](a.ctx, a.tx, a.rows.sql(`SELECT position FROM {audit} WHERE workspace = $1 AND at >= $2 ORDER BY at, position LIMIT 1`), storable(workspace), t.Add(-skewed).UnixMicro())
		if err != nil || len(found) == 0 {
			return w, false, err
		}
		w.first = domain.Position(found[0])
	}
	if t := args.Until; !t.IsZero() {
		found, err := rowsOf[int64](a.ctx, a.tx, a.rows.sql(`SELECT position FROM {audit} WHERE workspace = $1 AND at < $2 ORDER BY at DESC, position DESC LIMIT 1`), storable(workspace), t.Add(skewed).UnixMicro())
		if err != nil || len(found) == 0 {
			return w, false, err
		}
		w.last = domain.Position(found[0])
	}
	return w, true, nil
}

// auditQuery is the query of the documents that a question is about, in order.
func auditQuery(workspace string, args AuditArgs, w window) filter {
	walked := walkedBy(args)
	if len(walked) > 1 || len(walked) == 1 && (w.first > 1 || w.up) {
		return together(workspace, args, w, walked) // with two ends to a range SQLite takes it for the rarest
	}
	f := query(`SELECT doc FROM {audit} WHERE workspace = ?`, workspace)
	for _, list := range walked {
		f.add(`?`, list)
	}
	if w.first > 1 {
		f.add(` AND position >= ?`, int64(w.first))
	}
	f.add(` AND position <= ?`, int64(w.last))
	for _, c := range args.times() {
		f.add(` AND +at `+c.is+` ?`, c.than) // + keeps databases from beginning with the time
	}
	f.add(` ORDER BY position` + w.order())
	return f
}

func (w window) order() string {
	if w.up {
		return ""
	}
	return " DESC"
}

// compared is a condition on the time of a line.
type compared struct {
	is   string
	than int64
}

func (args AuditArgs) times() (list []compared) {
	if !args.Since.IsZero() {
		list = append(list, compared{">=", args.Since.UnixMicro()})
	}
	if !args.Until.IsZero() {
		list = append(list, compared{"<", args.Until.UnixMicro()})
	}
	return list
}

// walkedBy is which indexes a question needs, each as the conditions it
// answers: pairs where there are, and single filters for the rest.
func walkedBy(args AuditArgs) []filter {
	asked := map[string]string{}
	for _, f := range auditFilters {
		if v := f.of(args); v != "" {
			asked[f.column] = v
		}
	}
	var lists []filter
	done := map[string]bool{}
	for _, p := range auditPairs {
		if asked[p[0]] != "" && asked[p[1]] != "" && !(done[p[0]] && done[p[1]]) {
			lists = append(lists, query(` AND `+p[0]+` = ? AND `+p[1]+` = ?`, asked[p[0]], asked[p[1]]))
			done[p[0]], done[p[1]] = true, true
		}
	}
	for _, f := range auditFilters {
		if asked[f.column] == "" || done[f.column] {
			continue
		}
		list := query(` AND `+f.column+` = ?`, asked[f.column])
		if f.sparse {
			list.add(` AND ` + f.column + ` <> ''`)
		}
		lists = append(lists, list)
	}
	slices.Reverse(lists) // the rarer ones first
	return lists
}

// together walks several indexes at once, one step of one of them at a time.
// A step finds the nearest position in the next list (turn) at or behind a
// bound. When that is the bound itself, one more list has it; a line that as
// many in a row have as there are is one of the answer, and the walk goes on
// behind it. Otherwise what was found is the next bound: nothing between the
// two is in all of them.
func together(workspace string, args AuditArgs, w window, lists []filter) filter {
	beside, next := "<=", "- 1"
	from := w.last
	if w.up {
		beside, next, from = ">=", "+ 1", w.first
	}
	const agree = `CASE WHEN found = bound THEN agreed + 1 ELSE 1 END`
	n := len(lists)
	bound := fmt.Sprintf(`CASE WHEN (%s) = %d THEN found %s ELSE found END`, agree, n, next)
	seek := func(list filter, bound string, args ...any) filter {
		f := query(`(SELECT position FROM {audit} WHERE workspace = ??`, workspace, list)
		f.add(` AND position `+beside+` `+bound, args...)
		f.add(` ORDER BY position` + w.order() + ` LIMIT 1)`)
		return f
	}
	f := query(fmt.Sprintf(`WITH RECURSIVE walk(turn, found, bound, agreed) AS (SELECT %d, ?, CAST(? AS BIGINT), 0`, 1%n), seek(lists[0], `CAST(? AS BIGINT)`, int64(from)), int64(from))
	f.add(fmt.Sprintf(` UNION ALL SELECT (turn + 1) %% %d, CASE turn`, n))
	for i, list := range lists {
		f.add(fmt.Sprintf(` WHEN %d THEN ?`, i), seek(list, bound))
	}
	f.add(fmt.Sprintf(` END, %s, CASE WHEN (%s) = %d THEN 0 ELSE %s END FROM walk WHERE found >= ? AND found <= ?)`, bound, agree, n, agree), int64(w.first), int64(w.last))
	f.add(` SELECT doc FROM (SELECT (SELECT doc FROM {audit} WHERE workspace = ? AND position = found`, workspace)
	for _, c := range args.times() {
		f.add(` AND +at `+c.is+` ?`, c.than)
	}
	f.add(fmt.Sprintf(`) AS doc FROM walk WHERE (%s) = %d AND found >= ? AND found <= ?) line WHERE doc IS NOT NULL`, agree, n), int64(w.first), int64(w.last))
	return f
}
