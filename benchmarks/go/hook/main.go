// Hook is one as people write them: it reads each question as JSON and lets it pass. With the argument "owner" it has a
// tool of its own, which it adds to each request of the model, and whose calls it answers.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
)

// maxLine also bounds the memory: the reader never grows.
const maxLine = 16 << 20

var tool = json.RawMessage(`{"type":"function","function":{"name":"weather",` +
	`"description":"The weather in a city, as it is now.","parameters":{"type":"object",` +
	`"properties":{"city":{"type":"string"}},"required":["city"]}}}`)

type question struct {
	ID     *int   `json:"id"`
	Method string `json:"method"`
	Params struct {
		Tool  string            `json:"tool"`
		Tools []json.RawMessage `json:"tools"`
	} `json:"params"`
}

type result map[string]any

var owner = len(os.Args) > 1 && os.Args[1] == "owner"

func main() {
	in := bufio.NewReaderSize(os.Stdin, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return
		}
		var asked question
		if err != nil || json.Unmarshal(line, &asked) != nil {
			os.Exit(1)
		}
		if asked.ID == nil {
			continue
		}
		reply, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": *asked.ID, "result": answer(asked)})
		if err != nil {
			os.Exit(1)
		}
		if _, err := os.Stdout.Write(append(reply, '\n')); err != nil {
			os.Exit(1)
		}
	}
}

func answer(asked question) result {
	switch {
	case owner && asked.Method == "hook.before_llm":
		return result{"action": "modify", "request": result{"tools": append(asked.Params.Tools, tool)}}
	case owner && asked.Method == "hook.before_tool" && asked.Params.Tool == "weather":
		return result{"action": "respond", "result": result{"for_llm": "Twelve degrees, light rain, wind from the west."}}
	default:
		return result{"action": "continue"}
	}
}
