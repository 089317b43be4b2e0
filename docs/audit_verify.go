// Checks what `hookgate audit export` has written: go run audit_verify.go [journal.db.key] < export.jsonl
package main

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
)

type line struct {
	N     int
	Body  string
	Hash  string
	Mac   string
	Chain string // The first record's hash, and Prev the mac before: checkpoints of old have neither.
	Prev  string
	Texts map[string]struct{ Salt, Text string }
}

func main() {
	hashes, signed, last := []string{fmt.Sprintf("%064x", 0)}, 0, line{}
	before, newer := hashes[0], false
	var key []byte
	if len(os.Args) > 1 {
		key, _ = os.ReadFile(os.Args[1])
	}
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	for decoder := json.NewDecoder(lines); decoder.More(); {
		it := line{}
		if err := decoder.Decode(&it); err != nil {
			fail(1, "after record", last.N, err)
		}
		if it.Mac != "" {
			mac := hmac.New(sha256.New, key)
			if it.Prev == "" {
				fmt.Fprintf(mac, "%d:%s", it.N, it.Hash)
			} else {
				fmt.Fprintf(mac, "hookgate audit checkpoint\n%s\n%d\n%s\n%s", it.Chain, it.N, it.Hash, it.Prev)
			}
			if it.N >= len(hashes) {
				fail(3, "truncated: a checkpoint covers record", it.N, nil)
			}
			if hashes[it.N] != it.Hash || (key != nil && hex.EncodeToString(mac.Sum(nil)) != it.Mac) {
				fail(1, "broken: the checkpoint of record", it.N, nil)
			}
			if (newer && it.Prev == "") || (it.Prev != "" && (it.Prev != before || it.Chain != hashes[1])) {
				fail(1, "broken: a checkpoint is missing, or of another journal, before that of record", it.N, nil)
			}
			signed, before, newer = it.N, it.Mac, it.Prev != ""
			continue
		}
		prev, _ := hex.DecodeString(hashes[len(hashes)-1])
		sum := sha256.Sum256(append(prev, it.Body...))
		body := struct {
			N       int
			Digests map[string]string
		}{}
		if json.Unmarshal([]byte(it.Body), &body) != nil || body.N != len(hashes) || hex.EncodeToString(sum[:]) != it.Hash {
			fail(1, "broken: record", len(hashes), nil)
		}
		for name, text := range it.Texts {
			salt, _ := hex.DecodeString(text.Salt)
			raw, _ := hex.DecodeString(text.Text)
			if digest := sha256.Sum256(append(salt, raw...)); hex.EncodeToString(digest[:]) != body.Digests[name] {
				fail(1, "broken: the "+name+" of record", body.N, nil)
			}
		}
		hashes, last = append(hashes, it.Hash), it
	}
	fmt.Printf("intact: %d records, %d of them under a checkpoint\n", len(hashes)-1, signed)
	if signed < len(hashes)-1 {
		os.Exit(2)
	}
}

func fail(status int, what string, number int, err error) {
	fmt.Println(what, number, err)
	os.Exit(status)
}
