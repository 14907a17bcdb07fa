package render

import (
	_ "embed"
	"fmt"
	"math"
	"regexp"
	"strings"
)

//go:embed style.css
var baseStyle []byte

// The backgrounds an accent has to be legible on: the ones of style.css that
// are least favourable to it.
var (
	lightSurface = colour{0xf1, 0xf0, 0xec}
	darkSurface  = colour{0x22, 0x25, 0x2a}
)

const (
	defaultAccent = "#1d4ed8"
	// legible is the least contrast WCAG 2 level AA accepts for text.
	legible = 4.5
)

var hexColour = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)

// Accent reads the accent of a theme: "#rrggbb" in lower case, or empty when
// the theme has none or it is anything else.
func Accent(theme map[string]any) string {
	s, _ := theme["accent"].(string)
	if !hexColour.MatchString(s) {
		return ""
	}
	return strings.ToLower(s)
}

// Stylesheet gives the one stylesheet of every page, in the given accent. An
// accent too pale (or, in the dark, too deep) to be read as text is moved
// towards legibility; one that is not "#rrggbb" is ignored. The result depends
// on the accent alone, so it may be cached for as long as its address holds a
// hash of it.
func Stylesheet(accent string) []byte {
	if !hexColour.MatchString(accent) {
		accent = defaultAccent
	}
	c := parseColour(accent)
	return fmt.Appendf(nil, "%s\n:root{--accent:%s}\n@media (prefers-color-scheme:dark){:root{--accent:%s}}\n",
		baseStyle,
		c.until(lightSurface, colour{0, 0, 0}),
		c.until(darkSurface, colour{255, 255, 255}))
}

func font(theme map[string]any) string {
	if theme["font"] == "serif" {
		return "serif"
	}
	return "sans"
}

// colour is red, green and blue in sRGB, 0 to 255.
type colour [3]float64

func (c colour) String() string {
	return fmt.Sprintf("#%02x%02x%02x", int(math.Round(c[0])), int(math.Round(c[1])), int(math.Round(c[2])))
}

// parseColour reads what hexColour matches.
func parseColour(s string) colour {
	var r, g, b int
	fmt.Sscanf(s, "#%02x%02x%02x", &r, &g, &b)
	return colour{float64(r), float64(g), float64(b)}
}

// until mixes c with an end colour in small steps, and stops at the first that
// is legible on the background.
func (c colour) until(background, end colour) colour {
	for step := range 51 {
		t := float64(step) / 50
		var mixed colour
		for i := range c {
			mixed[i] = math.Round(c[i] + (end[i]-c[i])*t)
		}
		if contrast(mixed, background) >= legible {
			return mixed
		}
	}
	return end
}

// contrast is the WCAG 2 contrast ratio, 1 to 21.
func contrast(a, b colour) float64 {
	la, lb := a.luminance(), b.luminance()
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func (c colour) luminance() float64 {
	var lin [3]float64
	for i, v := range c {
		v /= 255
		if v <= 0.04045 {
			lin[i] = v / 12.92
		} else {
			lin[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return 0.2126*lin[0] + 0.7152*lin[1] + 0.0722*lin[2]
}
