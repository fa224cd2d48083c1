package ports

import (
	"fmt"
	"net"
	"testing"
)

func TestNoPortIsGivenTwice(t *testing.T) {
	given := make(map[int]bool)
	for range 100 {
		port, err := Free()
		if err != nil {
			t.Fatal(err)
		}
		if given[port] {
			t.Fatalf("port %d is given twice", port)
		}
		given[port] = true
	}
}

func TestAPortInUseIsPassedOver(t *testing.T) {
	port, err := Free()
	if err != nil {
		t.Fatal(err)
	}
	used, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	mu.Lock()
	next = port
	mu.Unlock()
	if other, err := Free(); err != nil || other == port {
		t.Errorf("while %d is in use, %d is given (%v)", port, other, err)
	}
}
