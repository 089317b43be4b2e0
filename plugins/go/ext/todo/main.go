// Todo shows a to-do list in a panel and gives the model a tool that keeps it too. The list is todos.json in the
// extension's data folder.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"hookgate.internal/plugin/extension"
)

var tool = extension.Tool{
	Name:        "todo_manage",
	Description: "Read and change the user's to-do list.",
	Schema: json.RawMessage(`{"type":"object","properties":{` +
		`"action":{"type":"string","enum":["list","add","complete","edit","remove"]},` +
		`"title":{"type":"string","description":"which entry, or the new one's title"},` +
		`"new_title":{"type":"string","description":"for edit"}},` +
		`"required":["action"]}`),
}

type app struct {
	*extension.Extension
	board board
}

func main() {
	a := &app{Extension: extension.New("todo-panel", "1.0.0")}
	a.Command("todo", "show the to-do list", a.open)
	a.Tool(tool, a.manage)
	a.Keys(panelID, a.press)
	os.Exit(a.Run())
}

// loaded is called under the board's lock: the folder is known only once the host has said so.
func (a *app) loaded() error {
	if a.board.list != nil {
		return nil
	}
	if host := a.Host(); host.DataDir == "" && host.ExtensionDir == "" {
		return errors.New("the host named no folder for data")
	}
	list, err := load(a.DataDir())
	a.board.list = list
	return err
}

func (a *app) open(context.Context, string) (extension.Answer, error) {
	a.board.mu.Lock()
	defer a.board.mu.Unlock()
	if err := a.loaded(); err != nil {
		return extension.Noop(), err
	}
	a.board.input = nil
	return extension.Show(a.board.panel()), nil
}

func (a *app) press(key extension.Key) {
	a.board.mu.Lock()
	defer a.board.mu.Unlock()
	if err := a.loaded(); err != nil {
		a.Notify(extension.Error, err.Error())
		return
	}
	if a.board.press(key) {
		if err := a.board.list.save(); err != nil {
			a.Notify(extension.Error, err.Error())
		}
	}
	a.RenderPanel(a.board.panel())
}

// manage draws the panel before it answers, so that a person sees what the model has done.
func (a *app) manage(_ context.Context, call extension.Call) (extension.Result, error) {
	action := call.Text("action")
	a.board.mu.Lock()
	defer a.board.mu.Unlock()
	if err := a.loaded(); err != nil {
		return extension.Result{}, err
	}
	if action == "list" {
		return extension.Text(a.board.list.text()), nil
	}
	if err := a.change(action, call.Text("title"), call.Text("new_title")); err != nil {
		return extension.Result{}, err
	}
	if err := a.board.list.save(); err != nil {
		return extension.Result{}, err
	}
	a.RenderPanel(a.board.panel())
	return extension.Text("ok"), nil
}

func (a *app) change(action, title, newTitle string) error {
	list := a.board.list
	if action == "add" {
		if title == "" {
			return errors.New("title is required")
		}
		list.add(title)
		return nil
	}
	if action != "complete" && action != "edit" && action != "remove" {
		return fmt.Errorf("unsupported action: %s", action)
	}
	at, err := list.find(title)
	switch {
	case err != nil:
		return err
	case action == "complete":
		list.todos[at].Done = true
	case action == "remove":
		list.remove(at)
	case newTitle == "":
		return errors.New("new_title is required")
	default:
		list.todos[at].Title = newTitle
	}
	return nil
}
