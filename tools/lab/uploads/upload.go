// Uploads FILE to URLs with net/http: upload VERSION FILE COUNT AT_ONCE URL... Prints a line for each: a status, or what failed.
package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
)

func main() {
	body, err := os.ReadFile(os.Args[2])
	if err != nil {
		panic(err)
	}
	count, _ := strconv.Atoi(os.Args[3])
	atOnce, _ := strconv.Atoi(os.Args[4])
	urls := os.Args[5:]
	places := make(chan bool, atOnce)
	var running sync.WaitGroup
	for n := 0; n < count; n++ {
		places <- true
		running.Add(1)
		go func(url string) {
			defer func() { <-places; running.Done() }()
			// A transport each: a connection that is shared would carry several uploads.
			transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: os.Args[1] == "HTTP_2"}
			response, err := (&http.Client{Transport: transport}).Post(url, "text/plain", bytes.NewReader(body))
			if err != nil {
				fmt.Println(err)
				return
			}
			response.Body.Close()
			fmt.Println(response.StatusCode)
			transport.CloseIdleConnections()
		}(urls[n%len(urls)])
	}
	running.Wait()
}
