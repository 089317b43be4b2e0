package main

import (
	"reflect"
	"regexp"
	"testing"

	"hookgate.internal/plugin/hook"
)

func known(t *testing.T) []*regexp.Regexp {
	t.Helper()
	secrets, err := compiled(patterns)
	if err != nil {
		t.Fatal(err)
	}
	return secrets
}

func TestSecretsAreMasked(t *testing.T) {
	cases := []struct{ text, want string }{
		{"key sk-abcdefgh12345678 end", "key [redacted] end"},
		{"AKIAIOSFODNN7EXAMPLE", "[redacted]"},
		{"password=hunter2 user=bob", "password=[redacted] user=bob"},
		{"DB_PASSWORD: hunter2\nok", "DB_PASSWORD: [redacted]\nok"},
		{`{"password": "hunter2"}`, `{"password": "[redacted]"}`},
		{"api_key=$1$2&x=1", "api_key=[redacted]&x=1"},
		{"-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\n", "[redacted]\n"},
		{"ghp_0123456789abcdefghij0123456789abcdef", "[redacted]"},
		{"two sk-aaaaaaaaaaaaaaaa sk-bbbbbbbbbbbbbbbb", "two [redacted] [redacted]"},
		{"a task-manager-for-everyone, risk-assessment", "a task-manager-for-everyone, risk-assessment"},
		{"the password is a secret", "the password is a secret"},
		{"", ""},
	}
	secrets := known(t)
	for _, c := range cases {
		if got := hide(secrets, c.text); got != c.want {
			t.Errorf("%q: got %q, not %q", c.text, got, c.want)
		}
	}
}

func TestOnlyWhatChangesIsNamed(t *testing.T) {
	cases := []struct {
		result hook.ToolResult
		want   hook.Answer
	}{
		{hook.ToolResult{ForLLM: "plain"}, hook.Continue()},
		{hook.ToolResult{ForLLM: "password=x", ForUser: "done"}, hook.Modify(hook.Patch{"for_llm": "password=" + mask})},
		{hook.ToolResult{ForLLM: "token=x", ForUser: "token=x"}, hook.Modify(hook.Patch{"for_llm": "token=" + mask, "for_user": "token=" + mask})},
	}
	for _, c := range cases {
		if got := masked(known(t), c.result); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: got %v", c.result, got)
		}
	}
}
