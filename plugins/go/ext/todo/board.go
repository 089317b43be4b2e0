package main

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"hookgate.internal/plugin/extension"
)

const panelID = "todos-main"

const (
	footer      = "↑↓ move · space done · a add · e edit · d delete · esc close"
	inputFooter = "enter keep · tab give up · esc close"
)

// board is the list as a person sees and changes it. The model changes it too, so everything is under mu.
type board struct {
	mu     sync.Mutex
	list   *list
	cursor int
	input  *input
}

// input is a title being typed: of the entry at `at`, or of a new one where at is -1.
type input struct {
	at   int
	text string
}

func (b *board) panel() extension.Panel {
	b.cursor = max(0, min(b.cursor, len(b.list.todos)-1))
	panel := extension.Panel{
		ID:     panelID,
		Title:  fmt.Sprintf("Todos (%d/%d done)", b.list.done(), len(b.list.todos)),
		Footer: footer,
	}
	for i := range b.list.todos {
		panel.Lines = append(panel.Lines, b.line(i))
	}
	if b.input != nil {
		panel.Footer = inputFooter
		if b.input.at < 0 {
			panel.Lines = append(panel.Lines, "+ "+b.input.text+"▏")
		}
	} else if len(panel.Lines) == 0 {
		panel.Lines = []string{"nothing to do: a adds something"}
	}
	return panel
}

func (b *board) line(i int) string {
	mark, box, title := "  ", "□", b.list.todos[i].Title
	if i == b.cursor {
		mark = "› "
	}
	if b.list.todos[i].Done {
		box = "■"
	}
	if b.input != nil && b.input.at == i {
		title = b.input.text + "▏"
	}
	return mark + box + " " + title
}

// press does what a key says and tells whether the list has changed.
func (b *board) press(key extension.Key) bool {
	if b.input != nil {
		return b.typed(key)
	}
	switch key.Key {
	case "up":
		b.cursor--
	case "down":
		b.cursor++
	case "home", "pageup":
		b.cursor = 0
	case "end", "pagedown":
		b.cursor = len(b.list.todos) - 1
	case "enter":
		return b.toggle()
	case "delete":
		return b.drop()
	case "rune":
		return b.letter(key.Text)
	}
	return false
}

func (b *board) letter(text string) bool {
	switch text {
	case "k":
		b.cursor--
	case "j":
		b.cursor++
	case " ":
		return b.toggle()
	case "d":
		return b.drop()
	case "a":
		b.input = &input{at: -1}
	case "e":
		if len(b.list.todos) > 0 {
			b.input = &input{b.cursor, b.list.todos[b.cursor].Title}
		}
	}
	return false
}

func (b *board) toggle() bool {
	if len(b.list.todos) == 0 {
		return false
	}
	b.list.todos[b.cursor].Done = !b.list.todos[b.cursor].Done
	return true
}

func (b *board) drop() bool {
	if len(b.list.todos) == 0 {
		return false
	}
	b.list.remove(b.cursor)
	return true
}

func (b *board) typed(key extension.Key) bool {
	switch key.Key {
	case "rune":
		b.input.text += key.Text
	case "backspace":
		_, size := utf8.DecodeLastRuneInString(b.input.text)
		b.input.text = b.input.text[:len(b.input.text)-size]
	case "tab":
		b.input = nil
	case "enter":
		return b.keep()
	}
	return false
}

// keep takes what was typed. The model may have removed the entry meanwhile: then it is a new one.
func (b *board) keep() bool {
	typed := *b.input
	typed.text, b.input = strings.TrimSpace(typed.text), nil
	switch {
	case typed.text == "":
		return false
	case typed.at >= 0 && typed.at < len(b.list.todos):
		b.list.todos[typed.at].Title = typed.text
	default:
		b.list.add(typed.text)
		b.cursor = len(b.list.todos) - 1
	}
	return true
}
