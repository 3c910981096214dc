// Asks as Client.java does, with Go's net/http.
package main

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
)

func main() {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	client := &http.Client{Transport: transport}
	var method, url, file string
	var count, atOnce int
	for {
		if _, err := fmt.Scanln(&method, &url, &count, &atOnce, &file); err != nil {
			return
		}
		body, _ := os.ReadFile(file)
		outcomes := make([]string, count)
		places := make(chan bool, atOnce)
		var all sync.WaitGroup
		for n := range outcomes {
			places <- true
			all.Add(1)
			go func(outcome *string) {
				*outcome = ask(client, method, url, body)
				<-places
				all.Done()
			}(&outcomes[n])
		}
		all.Wait()
		fmt.Println(strings.Join(outcomes, "\t"))
	}
}

func ask(client *http.Client, method, url string, body []byte) string {
	request, _ := http.NewRequest(method, url, bytes.NewReader(body))
	response, err := client.Do(request)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	received, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %x", response.StatusCode, sha256.Sum256(received))
}
