package hook

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestParseObjectSplitsMembers(t *testing.T) {
	cases := []struct{ text, name, value string }{
		{`{}`, "a", ""},
		{` { "a" : 1 , "b":[1,{"c":"]"}] } ` + "\r", "b", `[1,{"c":"]"}]`},
		{`{"a":{"b":"}\"\\"},"c":null}`, "a", `{"b":"}\"\\"}`},
		{`{"a":"x\\","b":-1.5e3}`, "b", `-1.5e3`},
		{`{"a":1,"a":2}`, "a", `2`},
		{`{"\u0061":true}`, "a", `true`},
		{`{"é":"ü"}`, "é", `"ü"`},
	}
	for _, c := range cases {
		members, err := parseObject([]byte(c.text))
		if got := string(members.get(c.name)); err != nil || got != c.value {
			t.Errorf("%s: got %q %v", c.text, got, err)
		}
	}
}

func TestParseObjectRefusesWhatIsNoObject(t *testing.T) {
	for _, text := range []string{
		``, ` `, `[]`, `"a"`, `{`, `{"a"`, `{"a":`, `{"a":}`, `{"a":1`, `{"a":1,}`, `{,}`, `{a:1}`, `{"a" 1}`, `{"a":1 "b":2}`,
		`{"a":"x}`, `{"a":[1}`, `{"a":1}{`, `{"a":1} x`, `{"a":"\q"`, `{"\q":1}`, `{1:2}`,
	} {
		if members, err := parseObject([]byte(text)); err == nil {
			t.Errorf("%s: got %v", text, members)
		}
	}
}

func FuzzParseObjectAgreesWithTheDecoder(f *testing.F) {
	f.Add(aboutTool)
	f.Add(`{"a\\":"\"","b":[{}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var wanted map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &wanted) != nil || wanted == nil {
			_, _ = parseObject([]byte(text))
			return
		}
		members, err := parseObject([]byte(text))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		for name, value := range wanted {
			if got := string(members.get(name)); got != string(value) {
				t.Errorf("%q: %q is %q, not %q", text, name, got, value)
			}
		}
	})
}

func TestLinesComeWholeFromAnyPieces(t *testing.T) {
	long := strings.Repeat("z", 3*readSize)
	text := "one\n\n" + long + "\ntwo\nlast"
	for name, in := range map[string]io.Reader{
		"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text)),
		"halves": iotest.HalfReader(strings.NewReader(text)), "end with data": iotest.DataErrReader(strings.NewReader(text)),
	} {
		l := newLines(in, maxLine)
		for _, want := range []string{"one", "", long, "two", "last"} {
			if line, err := l.next(); err != nil || string(line) != want {
				t.Errorf("%s: got %.20q %v, not %.20q", name, line, err, want)
			}
		}
		if _, err := l.next(); err != io.EOF {
			t.Errorf("%s: got %v at the end", name, err)
		}
	}
}

func TestALineOverTheCapIsLostAlone(t *testing.T) {
	for _, size := range []int{11, 40, 3 * readSize} {
		l := newLines(strings.NewReader("a\n"+strings.Repeat("z", size)+"\n0123456789\n"+strings.Repeat("z", size)), 10)
		for _, want := range []string{"a", "", "0123456789"} {
			line, err := l.next()
			if string(line) != want || (want == "") != (err == errLineTooLong) {
				t.Errorf("%d: got %q %v, not %q", size, line, err, want)
			}
		}
		if line, err := l.next(); err != io.EOF && err != errLineTooLong {
			t.Errorf("%d: got %.20q %v at the end", size, line, err)
		}
	}
}
