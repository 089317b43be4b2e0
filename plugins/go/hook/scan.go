package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

var errNotObject = errors.New("not a JSON object")

// object is a JSON object split into its members, their values undecoded. Splitting finds where each value ends
// and no more: it is several times faster than a decoder, and whoever uses a value decodes it.
type object []member

type member struct {
	name  string
	value []byte
}

// get is a member's JSON, nil where there is none. Of two members with one name the last counts, as everywhere.
func (o object) get(name string) json.RawMessage {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].name == name {
			return o[i].value
		}
	}
	return nil
}

func (o object) text(name string) string {
	text, _ := unquote(o.get(name))
	return text
}

func (o object) integer(name string) int64 {
	number, _ := strconv.ParseInt(string(o.get(name)), 10, 64)
	return number
}

// parseObject splits one JSON object; blanks around it are fine, anything else is an error.
func parseObject(data []byte) (object, error) {
	s := scanner{data: data}
	if !s.skip('{') {
		return nil, errNotObject
	}
	members := make(object, 0, 12)
	for !s.skip('}') {
		if len(members) > 0 && !s.skip(',') {
			return nil, errNotObject
		}
		m, ok := s.member()
		if !ok {
			return nil, errNotObject
		}
		members = append(members, m)
	}
	if s.blank(); s.at != len(data) {
		return nil, errNotObject
	}
	return members, nil
}

type scanner struct {
	data []byte
	at   int
}

func (s *scanner) member() (m member, ok bool) {
	s.blank()
	quoted := s.value()
	name, ok := unquote(quoted)
	if !ok || !s.skip(':') {
		return m, false
	}
	s.blank()
	value := s.value()
	return member{name, value}, len(value) > 0
}

func (s *scanner) blank() {
	for s.at < len(s.data) && isBlank(s.data[s.at]) {
		s.at++
	}
}

// skip passes one byte of punctuation and the blanks before it.
func (s *scanner) skip(c byte) bool {
	s.blank()
	if s.at < len(s.data) && s.data[s.at] == c {
		s.at++
		return true
	}
	return false
}

// value passes one JSON value and gives its bytes; empty where there is no whole value.
func (s *scanner) value() []byte {
	start := s.at
	if start == len(s.data) {
		return nil
	}
	whole := true
	switch s.data[start] {
	case '"':
		whole = s.quoted()
	case '{', '[':
		whole = s.nested()
	default:
		s.word()
	}
	if !whole {
		return nil
	}
	return s.data[start:s.at:s.at]
}

// quoted passes a string; false where it does not end.
func (s *scanner) quoted() bool {
	s.at++
	for {
		length := bytes.IndexByte(s.data[s.at:], '"')
		if length < 0 {
			return false
		}
		quote := s.at + length
		s.at = quote + 1
		if !escaped(s.data[:quote]) {
			return true
		}
	}
}

// escaped tells whether what follows text stands behind an odd number of backslashes.
func escaped(text []byte) bool {
	slashes := 0
	for i := len(text) - 1; i >= 0 && text[i] == '\\'; i-- {
		slashes++
	}
	return slashes%2 == 1
}

// nested passes an object or array by counting brackets outside strings.
func (s *scanner) nested() bool {
	depth := 0
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case '"':
			if !s.quoted() {
				return false
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.at++
		if depth == 0 {
			return true
		}
	}
	return false
}

// word passes a number, true, false or null.
func (s *scanner) word() {
	for s.at < len(s.data) && strings.IndexByte(" \t\r\n,:{}[]\"", s.data[s.at]) < 0 {
		s.at++
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// unquote decodes a JSON string; false for any other value.
func unquote(quoted []byte) (text string, ok bool) {
	if len(quoted) < 2 || quoted[0] != '"' {
		return "", false
	}
	if plain(quoted[1 : len(quoted)-1]) {
		return string(quoted[1 : len(quoted)-1]), true
	}
	err := json.Unmarshal(quoted, &text)
	return text, err == nil
}

// plain tells whether a string's bytes are its text: printable ASCII without escapes.
func plain(text []byte) bool {
	for _, c := range text {
		if c < 0x20 || c >= 0x7f || c == '\\' {
			return false
		}
	}
	return true
}
