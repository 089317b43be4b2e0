// Redact is an after_tool hook that masks secrets in what a tool answered, before the model or the chat sees them.
//
// REDACT_PATTERNS, one regular expression a line, replaces its list. A pattern with a group keeps the text of that
// group, so that `password=` stays readable.
package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"

	"hookgate.internal/plugin/hook"
)

const (
	mask     = "[redacted]"
	patterns = `
\bsk-[A-Za-z0-9_-]{16,}
\b(?:AKIA|ASIA)[0-9A-Z]{16}\b
\bgh[pousr]_[A-Za-z0-9]{20,}
\bxox[abprs]-[A-Za-z0-9-]{10,}
(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----
(?i)((?:password|passwd|pwd|secret|token|api[_-]?key)["']?\s*[=:]\s*["']?)[^\s"',;&]+
`
)

func main() {
	h := hook.New("redact")
	secrets, err := compiled(fromEnv("REDACT_PATTERNS", patterns))
	if err != nil {
		fmt.Fprintln(os.Stderr, "redact: REDACT_PATTERNS:", err)
		os.Exit(2)
	}
	h.AfterTool(func(_ context.Context, c hook.ToolDone) (hook.Answer, error) {
		return masked(secrets, c.Result), nil
	})
	os.Exit(h.Run())
}

// masked names only what changes: the rest of the result stays as it is.
func masked(secrets []*regexp.Regexp, result hook.ToolResult) hook.Answer {
	changes := hook.Patch{}
	if text := hide(secrets, result.ForLLM); text != result.ForLLM {
		changes["for_llm"] = text
	}
	if text := hide(secrets, result.ForUser); text != result.ForUser {
		changes["for_user"] = text
	}
	if len(changes) == 0 {
		return hook.Continue()
	}
	return hook.Modify(changes)
}

func hide(secrets []*regexp.Regexp, text string) string {
	for _, secret := range secrets {
		replacement := mask
		if secret.NumSubexp() > 0 {
			replacement = "${1}" + mask
		}
		text = secret.ReplaceAllString(text, replacement)
	}
	return text
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
