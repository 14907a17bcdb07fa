package render

import (
	"fmt"
	"time"
)

func liveView() View {
	return View{
		Site: Site{
			Handle:  "main",
			Title:   "Field Notes",
			Tagline: "What we learn while we build",
			Locale:  "en",
			Menu: []Link{
				{"Posts", "/posts"}, {"About", "/about"}, {"Code", "https://code.example/field"},
				{"Broken", "javascript:alert(1)"},
			},
			Theme: map[string]any{"accent": "#0B6E4F", "font": "serif"},
		},
		Base:       "/sites/main",
		Origin:     "https://site.example",
		Stylesheet: "/assets/site.css?accent=0b6e4f",
		Feed:       "/sites/main/feed.xml",
	}
}

func previewView() View {
	v := liveView()
	v.Base, v.Feed = "/preview/TOKEN", ""
	v.Preview = &Preview{Label: "3 changes", Expires: time.Date(2026, 12, 2, 14, 5, 0, 0, time.UTC)}
	return v
}

func article() Item {
	return Item{
		ID: "art_1", Kind: "article", Collection: "posts", Address: "/posts/tables-and-tests",
		Title: "Tables & tests", Summary: "Why we write the table first.",
		Authors: []string{"Ada", "Grace"}, Tags: []string{"how we work", "tests"},
		Date: "2014-04-01T15:44:00-04:00",
		Body: `A [root link](/about/), a [sibling](other), [mail](mailto:a@b.example) and [elsewhere](https://x.example/?a=1&b=2).

## Heading two

| Name | Count |
|:-----|------:|
| one  | 1     |

` + "```go\nfmt.Println(\"<b>\")\n```" + `

- [x] done
- [ ] open

![A chart](/img/chart.png "Chart")

Template text stays: {% include x.html %} and [18F]({{ "/" | url }}).

<details><summary>More</summary><p>Raw <b>HTML</b></p></details>

A note.[^1]

[^1]: Below.
`,
	}
}

func page() Item {
	return Item{
		ID: "page_1", Kind: "page", Address: "/about", Title: "About us", Summary: "Who we are.",
		Date: "2014-04-01", Body: "We **build** things.",
	}
}

// articles gives n items on consecutive days, oldest first.
func articles(n int) []Item {
	out := make([]Item, n)
	for i := range out {
		out[i] = Item{
			ID: fmt.Sprint("art_", i), Kind: "article", Collection: "posts",
			Address: fmt.Sprint("/posts/n", i), Title: fmt.Sprint("Number ", i),
			Summary: fmt.Sprint("Summary ", i),
			Date:    time.Date(2020, 1, 1+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly),
		}
	}
	return out
}
