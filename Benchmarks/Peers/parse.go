// Parses a form with one file with Go's mime/multipart, chunk by chunk, and prints the megabytes per
// second of CPU time.
//
// parse FILE BOUNDARY CHUNK TOTAL: the content is the file, repeated up to TOTAL bytes.
package main

import (
	"fmt"
	"io"
	"mime/multipart"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// A reader that returns at most one chunk per call.
type chunks struct {
	block      []byte
	at         int
	size, left int
}

func (c *chunks) Read(buffer []byte) (int, error) {
	if c.left <= 0 {
		return 0, io.EOF
	}
	end := c.at + c.size
	if end > len(c.block) {
		end = len(c.block)
	}
	count := copy(buffer, c.block[c.at:end])
	c.at += count
	c.left -= count
	if c.at == len(c.block) {
		c.at = 0
	}
	return count, nil
}

func main() {
	block, err := os.ReadFile(os.Args[1])
	check(err)
	boundary := os.Args[2]
	size, err := strconv.Atoi(os.Args[3])
	check(err)
	total, err := strconv.Atoi(os.Args[4])
	check(err)
	head := "--" + boundary + "\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\n"
	body := io.MultiReader(strings.NewReader(head), &chunks{block: block, size: size, left: total},
		strings.NewReader("\r\n--"+boundary+"--\r\n"))
	buffer := make([]byte, 65536)
	started := processorTime()
	reader := multipart.NewReader(body, boundary)
	part, err := reader.NextPart()
	check(err)
	var count int64
	for {
		read, err := part.Read(buffer)
		count += int64(read)
		if err == io.EOF {
			break
		}
		reject(err)
	}
	_, err = reader.NextPart()
	if err != io.EOF {
		reject(fmt.Errorf("the form is truncated"))
	}
	elapsed := processorTime() - started
	if count < int64(total) {
		reject(fmt.Errorf("%d bytes were parsed of %d", count, total))
	}
	fmt.Printf("%.1f\n", float64(count)/elapsed/1e6)
}

// The parser rejects the content, or takes it for the end of the form.
func reject(err error) {
	if err != nil {
		fmt.Println("nan")
		os.Exit(0)
	}
}

// The CPU time of this process in seconds, including system time.
func processorTime() float64 {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
