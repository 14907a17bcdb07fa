package action

// Page is embedded in the arguments of lists.
type Page struct {
	Cursor string `json:"cursor,omitempty" jsonschema:"next from the page before" limit:"1000"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many, 50 when left out, 100 at most"`
}

// Size is how many items to give: 50 unless asked for, never more than 100.
func (p Page) Size() int {
	switch {
	case p.Limit <= 0:
		return 50
	case p.Limit > 100:
		return 100
	}
	return p.Limit
}
