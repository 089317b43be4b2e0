// Guard is an extension that refuses dangerous shell commands and writes down what happens. It reads the command's
// text and so stops accidents, not an attacker; the sandbox is what confines.
//
// GUARD_PATTERNS, one regular expression a line, replaces its list. The log is guard-extension.log in the folder for
// temporary files, or what GUARD_LOG names; each line of it goes to stderr too.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"hookgate.internal/plugin/extension"
)

const patterns = `
(?i)\brm\s+-rf\b
\brm\b[^;&|\n]*\s-\w*([rR]\w*f|f\w*[rR])
\brm\b[^;&|\n]*\s(-\w*[rR]|--recursive)[^;&|\n]*\s(-\w*f|--force)
\brm\b[^;&|\n]*\s(-\w*f|--force)[^;&|\n]*\s(-\w*[rR]|--recursive)
(?i)\bsudo\b
\bdd\b[^;&|\n]*\bof=["']?/
\bmkfs\b
\bchmod\s+-\w*R\w*\s+0?777\b
:\s*\(\s*\)\s*\{\s*:\s*\|\s*:\s*&\s*\}
`

func main() {
	e := extension.New("guard", "1.0.0")
	dangers, err := compiled(fromEnv("GUARD_PATTERNS", patterns))
	if err != nil {
		e.Logf("GUARD_PATTERNS: %v", err)
		os.Exit(2)
	}
	journal := &journal{
		path: fromEnv("GUARD_LOG", filepath.Join(os.TempDir(), "guard-extension.log")),
		logf: e.Logf,
	}
	e.On(func(event extension.Event) {
		journal.record(entry{Event: event.Event, Frame: event.Raw})
	}, "session_start", "turn_start", "tool_call", "turn_end")
	e.Intercept("tool_call", func(_ context.Context, event extension.Event) (extension.Verdict, error) {
		if event.ToolName != "bash" {
			return extension.Allow(), nil
		}
		pattern := danger(dangers, event.Arg("command"))
		if pattern == "" {
			return extension.Allow(), nil
		}
		journal.record(entry{Event: "refused", ToolID: event.ToolID, Pattern: pattern})
		return extension.Block(fmt.Sprintf(
			"guard refused: command matches the danger pattern %q. Ask the user before running this.", pattern)), nil
	})
	os.Exit(e.Run())
}

// danger is the pattern that the command matches; empty for none.
func danger(dangers []*regexp.Regexp, command string) string {
	for _, danger := range dangers {
		if danger.MatchString(command) {
			return danger.String()
		}
	}
	return ""
}

type entry struct {
	Time    time.Time       `json:"time"`
	Event   string          `json:"event"`
	ToolID  string          `json:"tool_id,omitempty"`
	Pattern string          `json:"pattern,omitempty"`
	Frame   json.RawMessage `json:"frame,omitempty"`
}

type journal struct {
	mu   sync.Mutex
	path string
	logf func(string, ...any)
}

// record writes down one entry. A log that cannot be written is no reason to let a dangerous command run.
func (j *journal) record(entry entry) {
	entry.Time = time.Now()
	line, err := json.Marshal(entry)
	if err != nil {
		j.logf("not written down: %v", err)
		return
	}
	j.logf("%s", line)
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.write(append(line, '\n')); err != nil {
		j.logf("not written down: %v", err)
	}
}

// write does not follow a link: others may write to the folder too, and must not say which file grows.
func (j *journal) write(line []byte) error {
	if info, err := os.Lstat(j.path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no file", j.path)
	}
	file, err := os.OpenFile(j.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if _, err = file.Write(line); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}

func fromEnv(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func compiled(patterns string) (all []*regexp.Regexp, err error) {
	for _, line := range strings.Split(patterns, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		pattern, err := regexp.Compile(line)
		if err != nil {
			return nil, err
		}
		all = append(all, pattern)
	}
	return all, nil
}
