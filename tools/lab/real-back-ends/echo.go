// Responds to a GET with so many bytes, and a POST with what arrived: `echo PORT IDLE_SECONDS`.
package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"
)

func main() {
	pattern := make([]byte, 1<<20)
	for i := range pattern {
		pattern[i] = byte(i*31 + i>>8)
	}
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method == "POST" {
			fmt.Fprintf(w, "POST %s %d %x %s", r.RequestURI, len(body), sha256.Sum256(body), r.Header.Get("X-Probe"))
			return
		}
		query := r.URL.Query()
		bytes, _ := strconv.Atoi(query.Get("bytes"))
		w.Header().Set("Content-Type", "application/octet-stream")
		if query.Has("plain") {
			w.(http.Flusher).Flush()
		} else {
			w.Header().Set("Content-Length", strconv.Itoa(bytes))
		}
		w.Write(pattern[:bytes])
	})
	idle, _ := strconv.Atoi(os.Args[2])
	server := http.Server{Addr: "127.0.0.1:" + os.Args[1], Handler: echo, IdleTimeout: time.Duration(idle) * time.Second}
	panic(server.ListenAndServe())
}
