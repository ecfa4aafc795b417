// SPDX-License-Identifier: GPL-2.0-or-later
// program serve: a server without an address: Go listens on [::].
// program ask URL ADDRESS...: a page, and a datagram to each address, of one socket.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
)

func serve() error {
	http.HandleFunc("/", func(answer http.ResponseWriter, request *http.Request) {
		fmt.Fprintf(answer, "go for %s\n", request.RemoteAddr)
	})
	return http.ListenAndServe(":8003", nil)
}

func ask(url string, addresses []string) error {
	page, err := http.Get(url)
	if err != nil {
		return err
	}
	if _, err = io.Copy(os.Stdout, page.Body); err != nil {
		return err
	}
	socket, err := net.ListenPacket("udp", ":0")
	if err != nil {
		return err
	}
	data := make([]byte, 100)
	for _, address := range addresses {
		to, err := net.ResolveUDPAddr("udp", net.JoinHostPort(address, "7"))
		if err != nil {
			return err
		}
		if _, err = socket.WriteTo([]byte("datagram"), to); err != nil {
			return err
		}
		size, _, err := socket.ReadFrom(data)
		if err != nil {
			return err
		}
		fmt.Printf("%s\n", data[:size])
	}
	return nil
}

func main() {
	var err error
	if os.Args[1] == "serve" {
		err = serve()
	} else {
		err = ask(os.Args[2], os.Args[3:])
	}
	if err != nil {
		log.Fatal(err)
	}
}
