// Client sends one prompt to `zot rpc` and prints what comes: the reply as it is written, each tool call, what it
// cost.
//
//	go run . "how full is the disk?"
//
// `zot` is looked up on PATH and runs in this environment and folder. An error of the model is printed, and no failure
// of the client: its exit status is 1 only where the conversation itself broke.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

type command struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Token   string `json:"token,omitempty"`
	Message string `json:"message,omitempty"`
}

type event struct {
	Type       string          `json:"type"`
	Delta      string          `json:"delta"`
	Name       string          `json:"name"`
	Args       json.RawMessage `json:"args"`
	Message    string          `json:"message"`
	Command    string          `json:"command"`
	Success    bool            `json:"success"`
	Error      string          `json:"error"`
	Cumulative struct {
		CostUSD float64 `json:"cost_usd"`
	} `json:"cumulative"`
}

func main() {
	message := strings.Join(os.Args[1:], " ")
	if message == "" {
		message = "Say hello in one sentence."
	}
	if err := run(message); err != nil {
		fmt.Fprintln(os.Stderr, "\n"+err.Error())
		os.Exit(1)
	}
}

func run(message string) error {
	zot := exec.Command("zot", "rpc")
	zot.Stderr = os.Stderr
	in, err := zot.StdinPipe()
	if err != nil {
		return err
	}
	out, err := zot.StdoutPipe()
	if err != nil {
		return err
	}
	if err := zot.Start(); err != nil {
		return err
	}
	talked := talk(in, bufio.NewReader(out), message)
	// Closing its stdin is what ends it.
	return errors.Join(talked, in.Close(), zot.Wait())
}

func talk(in io.Writer, out *bufio.Reader, message string) error {
	if err := ask(in, message); err != nil {
		return err
	}
	cost := 0.0
	for {
		line, err := out.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("zot ended before it was done: %w", err)
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		switch e.Type {
		case "text_delta":
			fmt.Print(e.Delta)
		case "tool_call":
			fmt.Printf("\n[%s %s]\n", e.Name, e.Args)
		case "usage":
			cost = e.Cumulative.CostUSD
		case "error":
			fmt.Fprintf(os.Stderr, "\nerror: %s\n", e.Message)
		case "response":
			if !e.Success {
				return fmt.Errorf("%s: %s", e.Command, e.Error)
			}
		case "done":
			fmt.Printf("\ncost: $%.6f\n", cost)
			return nil
		}
	}
}

// ask sends the token first where one is asked for; no answer has to be waited for.
func ask(in io.Writer, message string) error {
	encoder := json.NewEncoder(in)
	if token := os.Getenv("ZOTCORE_RPC_TOKEN"); token != "" {
		if err := encoder.Encode(command{ID: "0", Type: "hello", Token: token}); err != nil {
			return err
		}
	}
	return encoder.Encode(command{ID: "1", Type: "prompt", Message: message})
}
