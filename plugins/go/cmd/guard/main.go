// Guard is a before_tool hook that denies shell commands which destroy more than anyone asks for. It reads the
// command's text and so stops accidents, not an attacker; the sandbox is what confines.
//
// GUARD_PATTERNS, one regular expression a line, replaces its list.
package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"

	"hookgate.internal/plugin/hook"
)

const patterns = `
\brm\b[^;&|\n]*\s-\w*([rR]\w*f|f\w*[rR])
\brm\b[^;&|\n]*\s(-\w*[rR]|--recursive)[^;&|\n]*\s(-\w*f|--force)
\brm\b[^;&|\n]*\s(-\w*f|--force)[^;&|\n]*\s(-\w*[rR]|--recursive)
\bmkfs\b
\bdd\b[^;&|\n]*\bof=["']?/dev/
>\s*["']?/dev/(sd|hd|vd|nvme|mmcblk)
\bchmod\s+-\w*R\w*\s+0?777\b
:\s*\(\s*\)\s*\{\s*:\s*\|\s*:\s*&\s*\}
\b(curl|wget)\b[^;&\n]*\|\s*(sudo\s+)?(ba|z|da)?sh\b
`

func main() {
	h := hook.New("guard")
	dangers, err := compiled(fromEnv("GUARD_PATTERNS", patterns))
	if err != nil {
		fmt.Fprintln(os.Stderr, "guard: GUARD_PATTERNS:", err)
		os.Exit(2)
	}
	h.BeforeTool(func(_ context.Context, c hook.ToolCall) (hook.Answer, error) {
		if c.Tool != "bash" {
			return hook.Continue(), nil
		}
		return judge(dangers, c.Text("command")), nil
	})
	os.Exit(h.Run())
}

func judge(dangers []*regexp.Regexp, command string) hook.Answer {
	for _, danger := range dangers {
		if found := danger.FindString(command); found != "" {
			return hook.Deny("'" + found + "' is not allowed here")
		}
	}
	return hook.Continue()
}

func fromEnv(name, otherwise string) string {
	if value, ok := os.LookupEnv(name); ok {
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
