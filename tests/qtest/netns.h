/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Network namespaces and peers for qtests
 *
 * A qtest runs in a network namespace of its own, so every address and port
 * is free, nothing leaves the machine and two tests may run at once.  A
 * second namespace stands for another host: a QEMU that is started while it
 * is entered belongs there.
 */
#ifndef TESTS_QTEST_NETNS_H
#define TESTS_QTEST_NETNS_H

#include <netinet/in.h>

/* Limit for each expected event (ASan, a busy machine). */
#define NETNS_TIMEOUT_MS        180000

/*
 * Makes a network namespace with lo up and enters it.  Returns a descriptor
 * for netns_enter(), or -1 with errno set if the system does not allow it.
 */
int netns_new(void);

/* Enters the namespace of @ns; sockets that exist stay where they are. */
void netns_enter(int ns);

/* Sets an interface of the current namespace up. */
void netns_set_up(const char *interface);

/* Gives lo an address, "fd00::1", in the current namespace. */
void netns_add_address6(const char *address);

/* Takes it away again. */
void netns_remove_address6(const char *address);

/* The same for IPv4, "192.0.2.1"; lo has 127.0.0.1 and this one. */
void netns_add_address4(const char *address);

/*
 * An IPv6 socket (SOCK_STREAM: listening) on @address and *@port; 0 stands
 * for any port and is replaced by the one that was chosen.
 */
int peer_bind(int type, const char *address, uint16_t *port);

/* An IPv6 socket of @type, bound to @from, connected to @to and @port. */
int peer_connect(int type, const char *from, const char *to, uint16_t port);

/* Takes the next connection of a listening socket. */
int peer_accept(int fd);

/* Reads exactly @len bytes. */
void peer_read(int fd, void *buf, size_t len);

/* Waits for the connection to end, by FIN or RST. */
void peer_wait_end(int fd);

/* The virtio-net header before each frame of peer_open_packets(). */
#define PEER_VNET_LEN           10

/* A packet socket on an interface, with virtio-net headers. */
int peer_open_packets(const char *interface);

/*
 * Takes a frame from a packet socket or, with @vnet_len 0, a datagram socket,
 * if there is one.  Returns its length without the header, or -1.
 */
ssize_t peer_poll_frame(int fd, void *vnet, size_t vnet_len, uint8_t *frame,
                        size_t size);

/*
 * Takes one DNS query from the datagram socket @fd.  A question for AAAA is
 * answered with @address, any other with an empty answer; so are those for the
 * network's NAT64 prefix (RFC 7050) before it.
 */
void peer_answer_dns(int fd, const char *address);

#endif /* TESTS_QTEST_NETNS_H */
