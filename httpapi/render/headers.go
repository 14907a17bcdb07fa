package render

import "net/http"

// Headers gives the headers every page made here must be sent with. The
// content security policy allows one stylesheet and images and nothing else,
// so that even markup the sanitiser should have caught cannot act. A preview
// loads nothing from other hosts (its address is a secret, and opening it must
// not be visible to them), may be framed by the console, and is kept out of
// search engines and caches. The caller owns the result.
func Headers(preview bool) http.Header {
	img, frame := "'self' data: https:", "'none'"
	if preview {
		img, frame = "'self' data:", "'self'"
	}
	h := http.Header{}
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src "+img+
		"; form-action 'none'; base-uri 'none'; frame-ancestors "+frame)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Referrer-Policy", "strict-origin-when-cross-origin")
	if preview {
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Robots-Tag", "noindex, nofollow, noarchive")
		h.Set("Cache-Control", "no-store")
	}
	return h
}
