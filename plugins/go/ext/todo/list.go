package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// todo is one entry of the list.
type todo struct {
	Title string `json:"title"`
	Done  bool   `json:"done"`
}

// list is what the file holds. Its functions change it; save keeps it.
type list struct {
	path  string
	todos []todo
}

// load reads the list; where there is none yet, it begins with one thing to do.
func load(folder string) (*list, error) {
	l := &list{path: filepath.Join(folder, "todos.json")}
	data, err := os.ReadFile(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		l.todos = []todo{{Title: "Build something fun"}}
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &l.todos); err != nil {
		return nil, fmt.Errorf("%s: %w", l.path, err)
	}
	return l, nil
}

// save replaces the file at once: a crash leaves the old one.
func (l *list) save() error {
	data, err := json.MarshalIndent(l.todos, "", "  ")
	if err != nil {
		return err
	}
	beside := l.path + ".new"
	if err := os.WriteFile(beside, append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(beside, l.path)
}

func (l *list) find(title string) (int, error) {
	at := slices.IndexFunc(l.todos, func(t todo) bool { return strings.EqualFold(t.Title, title) })
	if at < 0 {
		return 0, fmt.Errorf("todo not found: %s", title)
	}
	return at, nil
}

func (l *list) add(title string) { l.todos = append(l.todos, todo{Title: title}) }

func (l *list) remove(at int) { l.todos = slices.Delete(l.todos, at, at+1) }

func (l *list) done() (count int) {
	for _, todo := range l.todos {
		if todo.Done {
			count++
		}
	}
	return count
}

// text is the list as the model reads it.
func (l *list) text() string {
	if len(l.todos) == 0 {
		return "(nothing to do)"
	}
	lines := make([]string, len(l.todos))
	for i, todo := range l.todos {
		mark := " "
		if todo.Done {
			mark = "x"
		}
		lines[i] = fmt.Sprintf("[%s] %s", mark, todo.Title)
	}
	return strings.Join(lines, "\n")
}
