package httpapi

// tab is one page among those that stand together under a word of the bar.
type tab struct {
	Name, Path string
	Current    bool
	id         string
}

// tabs are the pages of one word of the bar.
type tabs struct {
	Of   string
	List []tab
}

// groups are the words of the bar that lead to more than one page.
var groups = map[string]tabs{
	"agents": {"Agents", []tab{{id: "agents", Name: "Agents", Path: "/agents"}, {id: "lent", Name: "Lent", Path: "/lent"}, {id: "rules", Name: "Rules", Path: "/rules"}, {id: "skills", Name: "Skills", Path: "/skills"}}},
	"system": {"System", []tab{{id: "system", Name: "System", Path: "/system"}, {id: "webhooks", Name: "Webhooks", Path: "/webhooks"}}},
}

// Group is the word of the bar under which the page stands.
func (f frame) Group() string {
	for of, g := range groups {
		for _, t := range g.List {
			if t.id == f.Tab {
				return of
			}
		}
	}
	return f.Tab
}

// Tabs are the pages that stand beside this one; nil when it stands alone.
func (f frame) Tabs() *tabs {
	g, many := groups[f.Group()]
	if !many || f.Role == "" {
		return nil
	}
	shown := tabs{Of: g.Of}
	for _, t := range g.List {
		t.Current = t.id == f.Tab
		shown.List = append(shown.List, t)
	}
	return &shown
}
