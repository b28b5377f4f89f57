// Sends a text and a document. Needs API_URL, NUNCIO_TOKEN, FROM, TO, DOCUMENT_URL and ORDER in the environment.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"
)

type object map[string]any

// A reply has one shape, whether it is a success or a refusal.
type reply struct {
	Success bool
	Data    struct {
		Errors []struct{ Field, Code, Message string }
	}
}

var client = &http.Client{
	Timeout: 10 * time.Second,
	// A redirected POST may arrive as a GET.
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// The key belongs to what happened, not to the try: running this again for the same order sends nothing twice.
func send(key string, message object) (string, error) {
	body, err := json.Marshal(object{"from": os.Getenv("FROM"), "to": os.Getenv("TO"), "message": message})
	if err != nil {
		return "", err
	}
	for wait := time.Second; ; wait *= 2 {
		messageID, retryAfter, mayRetry, err := try(key, body)
		if err == nil {
			return messageID, nil
		}
		if !mayRetry || wait > 4*time.Second {
			return "", err
		}
		time.Sleep(max(wait, retryAfter))
	}
}

func try(key string, body []byte) (messageID string, retryAfter time.Duration, mayRetry bool, err error) {
	request, err := http.NewRequest("POST", os.Getenv("API_URL")+"/chat/api/v1/public/message/send", bytes.NewReader(body))
	if err != nil {
		return "", 0, false, err
	}
	request.Header.Set("x-api-key", os.Getenv("NUNCIO_TOKEN"))
	request.Header.Set("content-type", "application/json")
	request.Header.Set("idempotency-key", key)
	response, err := client.Do(request)
	if err != nil {
		// Nobody knows whether the message was stored. With the same key it is safe to send it again.
		return "", 0, true, fmt.Errorf("nobody knows; run this again: %w", err)
	}
	defer response.Body.Close()
	var answer reply
	readError := json.NewDecoder(response.Body).Decode(&answer)
	if response.StatusCode == 200 && readError == nil && answer.Success {
		return response.Header.Get("x-message-id"), 0, false, nil
	}
	if response.StatusCode == 429 || response.StatusCode >= 500 || response.StatusCode < 300 {
		seconds, _ := strconv.Atoi(response.Header.Get("retry-after"))
		return "", time.Duration(seconds) * time.Second, true, fmt.Errorf("status %d; run this again", response.StatusCode)
	}
	why := fmt.Sprintf("refused with %d:", response.StatusCode)
	for _, each := range answer.Data.Errors {
		why += fmt.Sprintf(" %s %s: %s", each.Field, each.Code, each.Message)
	}
	return "", 0, false, fmt.Errorf("%s", why)
}

func max(a, b time.Duration) time.Duration {
	if a > b {
		return a
	}
	return b
}

func main() {
	order := os.Getenv("ORDER")
	media := object{"name": "invoice.pdf", "url": os.Getenv("DOCUMENT_URL"), "caption": "Your invoice"}
	messages := []struct {
		key     string
		message object
	}{
		{"order-" + order + "-text", object{"type": "message", "message": "Your order is on its way."}},
		{"order-" + order + "-invoice", object{"type": "document", "media": media}},
	}
	for _, each := range messages {
		messageID, err := send(each.key, each.message)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %s\n", each.key, err)
			os.Exit(1)
		}
		fmt.Printf("%s: accepted as %s\n", each.key, messageID)
	}
}
