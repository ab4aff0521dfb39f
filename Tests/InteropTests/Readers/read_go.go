// Parses forms with mime/multipart of Go's standard library, as net/http does.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"os"
	"path/filepath"
	"runtime"
)

type form struct {
	ID          string `json:"id"`
	File        string `json:"file"`
	ContentType string `json:"contentType"`
}

type part struct {
	Name        string  `json:"name"`
	FileName    *string `json:"fileName"`
	ContentType *string `json:"contentType"`
	Content     []byte  `json:"content"`
}

type answer struct {
	ID      string `json:"id"`
	Parts   []part `json:"parts"`
	Refusal string `json:"refusal,omitempty"`
}

func main() {
	folder := os.Args[1]
	var batch []form
	text, err := os.ReadFile(filepath.Join(folder, "batch.json"))
	if err == nil {
		err = json.Unmarshal(text, &batch)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	answers := []answer{}
	for _, form := range batch {
		parts, err := read(filepath.Join(folder, form.File), form.ContentType)
		said := answer{ID: form.ID, Parts: parts}
		if err != nil {
			said = answer{ID: form.ID, Refusal: err.Error()}
		}
		answers = append(answers, said)
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{"version": runtime.Version(), "forms": answers})
}

func read(path, contentType string) ([]part, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	_, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, err
	}
	reader := multipart.NewReader(file, parameters["boundary"])
	parts := []part{}
	for {
		one, err := reader.NextPart()
		if err == io.EOF {
			return parts, nil
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(one)
		if err != nil {
			return nil, err
		}
		said := part{Name: one.FormName(), Content: content}
		if fileName := one.FileName(); fileName != "" {
			said.FileName = &fileName
		}
		if types := one.Header["Content-Type"]; len(types) > 0 {
			said.ContentType = &types[0]
		}
		parts = append(parts, said)
	}
}
