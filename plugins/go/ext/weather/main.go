// Weather gives the model a tool that makes up the weather in a city, the same one every time.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"strings"

	"hookgate.internal/plugin/extension"
)

var tool = extension.Tool{
	Name:        "weather",
	Description: "The weather in a city, today.",
	Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","description":"name of the city"}},` +
		`"required":["city"],"additionalProperties":false}`),
}

var skies = []string{"sun", "clouds", "rain", "snow", "fog", "storm"}

func main() {
	e := extension.New("weather", "1.0.0")
	e.Tool(tool, weather)
	os.Exit(e.Run())
}

func weather(_ context.Context, call extension.Call) (extension.Result, error) {
	city := strings.TrimSpace(call.Text("city"))
	if city == "" {
		return extension.Result{}, errors.New("city is required")
	}
	return extension.Text(forecast(city)), nil
}

func forecast(city string) string {
	degrees, sky := 16, "fog"
	if !strings.EqualFold(city, "berlin") {
		sum := fnv.New32a()
		_, _ = sum.Write([]byte(strings.ToLower(city)))
		degrees, sky = int(sum.Sum32()%36)-5, skies[sum.Sum32()/36%uint32(len(skies))]
	}
	return fmt.Sprintf("%s: %d°C, %s (this is a deterministic fake; the weather extension is a demo)", city, degrees, sky)
}
