// Sends the forms with Go's net/http, in two common ways.
//
//	send pipe|length|length-http2 URL FILE COUNT AT_ONCE [AUTHORITY]
//
// `pipe` writes with mime/multipart into an io.Pipe: the length is unknown, so the body is sent chunked.
// `length` builds head and tail in memory, reads the file between them, and sends a Content-Length.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

var fields = [][2]string{
	{"TOKEN", "0123456789abcdef0123456789abcdef"}, {"BUSINESSNO", "20260101-000042"}, {"DOCTYPE", "IDCARD"},
}

// Writes the bytes before the content of the file and returns the writer for the content.
func begin(form *multipart.Writer) (io.Writer, error) {
	for _, field := range fields {
		if err := form.WriteField(field[0], field[1]); err != nil {
			return nil, err
		}
	}
	return form.CreateFormFile("FILE", "file")
}

func byPipe(url string, file *os.File) (*http.Request, error) {
	reader, writer := io.Pipe()
	form := multipart.NewWriter(writer)
	go func() {
		part, err := begin(form)
		if err == nil {
			_, err = io.Copy(part, file)
		}
		if err == nil {
			err = form.Close()
		}
		writer.CloseWithError(err)
	}()
	request, err := http.NewRequest("POST", url, reader)
	if err == nil {
		request.Header.Set("Content-Type", form.FormDataContentType())
	}
	return request, err
}

func withLength(url string, file *os.File) (*http.Request, error) {
	var front bytes.Buffer
	form := multipart.NewWriter(&front)
	if _, err := begin(form); err != nil {
		return nil, err
	}
	tail := "\r\n--" + form.Boundary() + "--\r\n"
	status, err := file.Stat()
	if err != nil {
		return nil, err
	}
	length := int64(front.Len()) + status.Size() + int64(len(tail))
	request, err := http.NewRequest("POST", url, io.MultiReader(&front, file, strings.NewReader(tail)))
	if err == nil {
		request.ContentLength = length
		request.Header.Set("Content-Type", form.FormDataContentType())
	}
	return request, err
}

// Sends one form and returns the number in the response.
func send(client *http.Client, way, url, path string) (int64, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	make := withLength
	if way == "pipe" {
		make = byPipe
	}
	request, err := make(url, file)
	if err != nil {
		return 0, err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(text), 10, 64)
}

func client(way string, concurrency int, authority string) (*http.Client, error) {
	transport := &http.Transport{MaxConnsPerHost: concurrency, MaxIdleConnsPerHost: concurrency}
	if strings.HasSuffix(way, "-http2") {
		// One connection for all streams, as Go does by default.
		transport = &http.Transport{ForceAttemptHTTP2: true}
	}
	if authority != "" {
		text, err := os.ReadFile(authority)
		if err != nil {
			return nil, err
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(text) {
			return nil, errors.New("there is no certificate in " + authority)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	return &http.Client{Transport: transport}, nil
}

func main() {
	way, url, path, authority := os.Args[1], os.Args[2], os.Args[3], ""
	count, err := strconv.Atoi(os.Args[4])
	check(err)
	concurrency, err := strconv.Atoi(os.Args[5])
	check(err)
	if len(os.Args) > 6 {
		authority = os.Args[6]
	}
	client, err := client(way, concurrency, authority)
	check(err)

	latencies := make([]time.Duration, count)
	sizes := make([]int64, count)
	turns := make(chan int)
	begun := time.Now()
	var workers sync.WaitGroup
	for worker := 0; worker < concurrency; worker++ {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for turn := range turns {
				started := time.Now()
				size, err := send(client, way, url, path)
				check(err)
				latencies[turn], sizes[turn] = time.Since(started), size
			}
		}()
	}
	for turn := 0; turn < count; turn++ {
		turns <- turn
	}
	close(turns)
	workers.Wait()
	seconds := time.Since(begun).Seconds()

	var total int64
	for _, size := range sizes {
		total += size
	}
	sort.Slice(latencies, func(a, b int) bool { return latencies[a] < latencies[b] })
	milliseconds := func(share int) float64 { return float64(latencies[(count-1)*share/100].Microseconds()) / 1000 }
	fmt.Printf("%d %d %.3f %.3f %.6f\n", count, total, milliseconds(50), milliseconds(99), seconds)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "send:", err)
		os.Exit(1)
	}
}
