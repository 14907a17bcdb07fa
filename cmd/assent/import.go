package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"assent/cmd/assent/folder"
	"assent/commands"
	"assent/domain"
	"assent/domain/action"
	"assent/domain/article"
	"assent/domain/page"
	"assent/domain/site"
)

// importCmd takes a folder into a site's draft: one action a file. Nothing is
// published, and a second run changes only what changed.
type importCmd struct {
	Dir  string `arg:"" help:"Folder of Markdown or HTML." type:"existingdir"`
	Site string `help:"The site's handle." default:"main"`
	As   string `help:"Email of the person who does it; the owner when left out."`
	stores
}

// Run imports and says what became of each kind of file.
func (c *importCmd) Run(e *env) error {
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	at, err := enter(e.ctx, e.Data, c.stores, true)
	if err != nil {
		return err
	}
	report, err := importFolder(e.ctx, at, localCaller{As: c.As}, c.Site, root.FS(), progressOn(e.err, "imported"))
	err = errors.Join(err, at.Close())
	if err != nil {
		return err
	}
	if e.JSON {
		err = json.NewEncoder(e.out).Encode(report)
	} else {
		_, err = io.WriteString(e.out, report.String())
	}
	if err == nil && len(report.Refused) > 0 {
		return ended{exitRefused, fmt.Sprintf("%d files were refused", len(report.Refused))}
	}
	return err
}

// report is what an import did.
type report struct {
	Site     string         `json:"site"`
	Articles int            `json:"articles"`
	Pages    int            `json:"pages"`
	Created  int            `json:"created"`
	Changed  int            `json:"changed"`
	Same     int            `json:"same"`
	Ignored  int            `json:"ignored"`
	Skipped  []folder.Skip  `json:"skipped"`
	Refused  []refusedFile  `json:"refused,omitempty"`
	counts   map[string]int // of skips, by code
}

type refusedFile struct {
	File string `json:"file"`
	*domain.Refusal
}

func (r report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d articles and %d pages for the site %s: %d new, %d changed, %d the same\n", r.Articles, r.Pages, r.Site, r.Created, r.Changed, r.Same)
	if len(r.Skipped) > 0 {
		var parts []string
		for _, code := range slices.Sorted(maps.Keys(r.counts)) {
			parts = append(parts, fmt.Sprintf("%d %s", r.counts[code], code))
		}
		fmt.Fprintf(&b, "%d files skipped: %s\n", len(r.Skipped), strings.Join(parts, ", "))
		for _, s := range r.Skipped {
			fmt.Fprintf(&b, "  %-14s %s: %s\n", s.Code, printable(s.File), printable(s.Reason))
		}
	}
	for _, f := range r.Refused {
		fmt.Fprintf(&b, "  refused        %s: %s (%s)\n", printable(f.File), printable(f.Reason), f.Code)
	}
	return b.String()
}

// importing is one import under way.
type importing struct {
	mu   sync.Mutex // of the report
	at   local
	who  localCaller
	site string
	report
	locale string            // the site's own
	known  map[string]string // kind, language and place → id
}

// importFolder takes every file of a folder down the road.
func importFolder(ctx context.Context, at local, who localCaller, handle string, files fs.FS, progress func(done, total int)) (report, error) {
	who.Group = domain.NewAction(time.Now()) // what was imported together can be found together
	i := &importing{at: at, who: who, site: handle, known: map[string]string{}}
	own, err := i.language(ctx)
	if err != nil {
		return i.report, err
	}
	tree, err := folder.ReadFor(files, own)
	if err != nil {
		return report{}, fmt.Errorf("read the folder: %w", err)
	}
	i.report = report{Site: handle, Articles: len(tree.Articles), Pages: len(tree.Pages), Ignored: tree.Ignored, Skipped: append([]folder.Skip{}, tree.Skipped...), counts: map[string]int{}}
	for _, s := range tree.Skipped {
		i.counts[string(s.Code)]++
	}
	if err := i.settings(ctx, tree.Site); err != nil {
		return i.report, err
	}
	if err := i.look(ctx); err != nil {
		return i.report, err
	}
	err = i.atOnce(ctx, len(tree.Pages)+len(tree.Articles), progress, func(ctx context.Context, n int) error {
		if n < len(tree.Pages) {
			return i.page(ctx, tree.Pages[n])
		}
		return i.article(ctx, tree.Articles[n-len(tree.Pages)])
	})
	slices.SortFunc(i.Refused, func(a, b refusedFile) int { return strings.Compare(a.File, b.File) })
	return i.report, err
}

// workers is how many files are on the road at once: while one waits for the
// disk, another is decided.
const workers = 4

// atOnce does n things, several at once, until one goes wrong.
func (i *importing) atOnce(ctx context.Context, n int, progress func(done, total int), do func(context.Context, int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next, done atomic.Int64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for k := int(next.Add(1)) - 1; k < n && ctx.Err() == nil; k = int(next.Add(1)) - 1 {
				if err := do(ctx, k); err != nil {
					stop(err)
					return
				}
				progress(int(done.Add(1)), n)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// language is the site's own, and English for one that is still to be made: a
// file that names it says nothing new, and two files for one place are told
// apart by whoever reads the folder.
func (i *importing) language(ctx context.Context) (string, error) {
	out, err := i.at.Do(ctx, i.who, site.Get.Action, site.Which{Site: i.site})
	if err != nil || out.Answer == nil {
		return "en", err
	}
	var own struct{ Locale string }
	err = respell(out.Site, &own)
	return own.Locale, err
}

// settings makes the site, or sets what the folder says about it.
func (i *importing) settings(ctx context.Context, s *folder.Site) error {
	out, err := i.at.Do(ctx, i.who, site.Get.Action, site.Which{Site: i.site})
	if err != nil {
		return err
	}
	exists := out.Outcome == commands.Done
	if s == nil {
		if exists {
			return nil
		}
		s = &folder.Site{Title: i.site}
	}
	var menu []site.Link
	for _, m := range s.Menu {
		menu = append(menu, site.Link{Label: m.Label, Path: m.Path})
	}
	if exists {
		args := site.UpdateArgs{Which: site.Which{Site: i.site}, Tagline: given(s.Tagline), Title: given(s.Title), Locale: given(s.Locale)}
		if menu != nil {
			args.Menu = &menu
		}
		_, err = i.do(ctx, s.File, site.Update, args)
		return err
	}
	title := s.Title
	if title == "" {
		title = i.site
	}
	_, err = i.do(ctx, s.File, site.Create, site.CreateArgs{Which: site.Which{Site: i.site}, Title: title, Tagline: s.Tagline, Locale: s.Locale, Menu: menu})
	return err
}

// look learns what is there already, so that a second run finds it.
func (i *importing) look(ctx context.Context) error {
	out, err := i.at.Do(ctx, i.who, site.Get.Action, site.Which{Site: i.site})
	switch {
	case err != nil:
		return err
	case out.Refusal != nil:
		return out.Refusal
	}
	var own struct{ Locale string }
	if err := respell(out.Site, &own); err != nil {
		return err
	}
	i.locale = own.Locale
	err = each(ctx, i, article.List.Action, func(p action.Page) any { return article.ListArgs{Site: i.site, Page: p} }, func(a struct {
		ID, Collection, Locale, Slug, Status string
	}) {
		if a.Status != "removed" {
			i.known["article "+a.Locale+" "+a.Collection+"/"+a.Slug] = a.ID
		}
	})
	if err != nil {
		return err
	}
	return each(ctx, i, page.List.Action, func(p action.Page) any { return page.ListArgs{Site: i.site, Page: p} }, func(p struct {
		ID, Locale, Path, Status string
	}) {
		if p.Status != "removed" {
			i.known["page "+p.Locale+" "+p.Path] = p.ID
		}
	})
}

// each reads a list to its end.
func each[T any](ctx context.Context, i *importing, list *action.Action, args func(action.Page) any, do func(T)) error {
	for cursor := ""; ; {
		out, err := i.at.Do(ctx, i.who, list, args(action.Page{Cursor: cursor, Limit: 100}))
		if err != nil {
			return err
		}
		if out.Refusal != nil {
			return out.Refusal
		}
		var items []T
		if err := respell(out.Items, &items); err != nil {
			return err
		}
		for _, it := range items {
			do(it)
		}
		if cursor = out.Next; cursor == "" {
			return nil
		}
	}
}

func (i *importing) article(ctx context.Context, a folder.Article) error {
	id := i.find("article", a.Locale, a.Collection+"/"+a.Slug)
	if id == "" {
		return i.count(i.do(ctx, a.File, article.Create, article.CreateArgs{
			Site: i.site, Slug: a.Slug, Title: a.Title, Body: a.Body, Collection: a.Collection, Locale: a.Locale,
			Summary: a.Summary, Tags: a.Tags, Authors: a.Authors, Date: a.Date, Meta: a.Meta,
		}))
	}
	tags, authors, meta := orEmpty(a.Tags), orEmpty(a.Authors), a.Meta
	if meta == nil {
		meta = map[string]any{}
	}
	return i.count(i.do(ctx, a.File, article.Update, article.UpdateArgs{
		Which: article.Which{Article: id}, Title: &a.Title, Body: &a.Body, Summary: &a.Summary,
		Tags: &tags, Authors: &authors, Date: &a.Date, Meta: &meta,
	}))
}

func (i *importing) page(ctx context.Context, p folder.Page) error {
	id := i.find("page", p.Locale, p.Path)
	if id == "" {
		return i.count(i.do(ctx, p.File, page.Create, page.CreateArgs{Site: i.site, Path: p.Path, Title: p.Title, Body: p.Body, Locale: p.Locale, Meta: p.Meta}))
	}
	meta := p.Meta
	if meta == nil {
		meta = map[string]any{}
	}
	return i.count(i.do(ctx, p.File, page.Update, page.UpdateArgs{Which: page.Which{Page: id}, Title: &p.Title, Body: &p.Body, Meta: &meta}))
}

// find is the id of what stands at that place. Lists give the site's own
// language where a folder gives none.
func (i *importing) find(kind, locale, place string) string {
	if locale == "" {
		locale = i.locale
	}
	return i.known[kind+" "+locale+" "+place]
}

// do takes one file down the road; a refusal is kept and the import goes on.
func (i *importing) do(ctx context.Context, file string, a *action.Action, args any) (commands.Outcome, error) {
	out, err := i.at.Do(ctx, i.who, a, args)
	if err != nil {
		return out, fmt.Errorf("%s: %w", file, err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	switch out.Outcome {
	case commands.Refused:
		i.Refused = append(i.Refused, refusedFile{file, out.Refusal})
	case commands.Waiting:
		return out, ended{exitWaits, "This waits for a person: local callers work in a mode that holds changes. " + fmt.Sprint(out.Proposal)}
	case commands.Unknown:
		return out, commands.ErrUnknown
	}
	return out, nil
}

func (i *importing) count(out commands.Outcome, err error) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case out.Outcome == commands.Idle:
		i.Same++
	case out.Outcome == commands.Done && out.Target != nil && out.Target.Version == 1:
		i.Created++
	case out.Outcome == commands.Done:
		i.Changed++
	}
	return err
}

// respell reads an answer that came as JSON or as a value of a door.
func respell(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func orEmpty(s []string) []string { return slices.Concat([]string{}, s) }

// progressOn draws progress on a person's terminal, and nowhere else.
func progressOn(w io.Writer, what string) func(done, total int) {
	if !terminal(w) {
		return func(int, int) {}
	}
	return func(done, total int) {
		if done == total || done%25 == 0 {
			fmt.Fprintf(w, "\r%s %d of %d", what, done, total)
		}
		if done == total {
			fmt.Fprintln(w)
		}
	}
}
