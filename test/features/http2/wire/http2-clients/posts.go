// Posts with net/http, as Posts.java does.
package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

func main() {
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	tasks := bufio.NewScanner(os.Stdin)
	for tasks.Scan() {
		var count int
		var url string
		fmt.Sscan(tasks.Text(), &count, &url)
		outcomes := make(chan string, count)
		for n := 0; n < count; n++ {
			go func() { outcomes <- post(&client, url) }()
		}
		line := make([]string, count)
		for n := range line {
			line[n] = <-outcomes
		}
		fmt.Println(strings.Join(line, "\t"))
	}
}

func post(client *http.Client, url string) string {
	response, err := client.Post(url, "application/json", strings.NewReader("{}"))
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	if _, err := io.ReadAll(response.Body); err != nil {
		return err.Error()
	}
	return fmt.Sprint(strings.Replace(strings.Replace(response.Proto, "/", "_", 1), ".0", "", 1), " ", response.StatusCode)
}
