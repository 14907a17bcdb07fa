package checkpoint

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
)

// maxNote is what a signed head in a list may be large, in bytes: a few lines,
// and signatures of others.
const maxNote = 64 << 10

// Append adds a signed head to the list in the file at path, which is made if
// it is not there, for its owner only. It is on the disk when it returns. What a
// crash left half written stays, and is closed off.
func Append(path string, signed []byte) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	end := make([]byte, 2)
	if n := info.Size(); n > 0 {
		if _, err := f.ReadAt(end, max(n-2, 0)); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if string(end) != "\n\n" {
			signed = append([]byte("\n\n"), signed...)
		}
	}
	if _, err := f.Write(append(bytes.Clone(signed), '\n')); err != nil {
		return err
	}
	if err := f.Sync(); err != nil || info.Size() > 0 {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder makes a new file's name as durable as what is in it.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// List gives every signed head that was appended, in order, not yet believed.
// Text that belongs to none (what a crash left) comes as an empty one.
func List(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var text []byte // a paragraph that waits for its signatures
		for part, err := range paragraphs(r) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !bytes.HasPrefix(part, []byte("— ")) {
				if text != nil && !yield(nil, nil) {
					return
				}
				text = part
				continue
			}
			var signed []byte // signatures of nothing are no head either
			if text != nil {
				signed = append(append(text, '\n'), part...)
			}
			text = nil
			if !yield(signed, nil) {
				return
			}
		}
		if text != nil {
			yield(nil, nil)
		}
	}
}

// paragraphs are what empty lines separate, each line with its end.
func paragraphs(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		lines := bufio.NewReaderSize(r, maxNote)
		var part []byte
		for {
			line, err := lines.ReadSlice('\n')
			if err == nil && len(line) > 1 {
				part = append(part, line...)
			} else if err == io.EOF {
				part = append(part, line...) // a line that was cut
			}
			switch {
			case err != nil && err != io.EOF, len(part) > maxNote:
				yield(nil, errors.Join(errors.New("this is not a list of signed heads"), err))
				return
			case len(part) > 0 && (err == io.EOF || len(line) == 1):
				if !yield(part, nil) {
					return
				}
				part = nil
			}
			if err == io.EOF {
				return
			}
		}
	}
}
