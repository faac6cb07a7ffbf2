package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
)

// controlName is an abstract socket, of which a network namespace has one: the
// gateway at work listens on it.
const controlName = "@linerate-ipsec"

// controlTime bounds a conversation.
const controlTime = 10 * time.Second

// ErrNone is wrapped where no gateway is at work.
var ErrNone = errors.New("no IPsec gateway is up")

// request is what a gateway is asked, and answer what it says.
type (
	request struct {
		Do   string `json:"do"` // show, replace, down
		File string `json:"file,omitempty"`
	}
	answer struct {
		Error  string  `json:"error,omitempty"`
		Status *Status `json:"status,omitempty"`
	}
)

// Show returns the status of the gateway at work.
func Show(ctx context.Context) (Status, error) {
	a, err := ask(ctx, request{Do: "show"})
	if err != nil || a.Status == nil {
		return Status{}, err
	}
	return *a.Status, nil
}

// Renew has the gateway at work take new rules.
func Renew(ctx context.Context, file string) error {
	_, err := ask(ctx, request{"replace", file})
	return err
}

// Down ends the gateway at work.
func Down(ctx context.Context) error {
	_, err := ask(ctx, request{Do: "down"})
	return err
}

func ask(ctx context.Context, q request) (a answer, err error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", controlName)
	if err != nil {
		return a, fmt.Errorf("ipsec: %w in this network namespace", ErrNone)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(controlTime))
	if err := json.NewEncoder(c).Encode(q); err != nil {
		return a, fmt.Errorf("ipsec: ask the gateway: %w", err)
	}
	if err := json.NewDecoder(c).Decode(&a); err != nil {
		return a, fmt.Errorf("ipsec: the gateway's answer: %w", err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}
