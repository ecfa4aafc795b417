/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guestless: sockets by system calls, and by virtio-vmrpc
 */
#ifndef GUESTLESS_SOCKETS_H
#define GUESTLESS_SOCKETS_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "bench/guestless/machine.h"

/*
 * Calls that wait, as those of a program with default sockets.  They return
 * what the system call returns, or a negative errno.
 */
typedef struct GuestlessSockets {
    const char *name;
    int (*open)(int type);
    int (*connect)(int sock, in_port_t port);
    ssize_t (*send)(int sock, size_t len);
    ssize_t (*receive)(int sock, size_t len);
    void (*close)(int sock);
} GuestlessSockets;

/* The memory of the program that the calls send from and receive into. */
#define GUESTLESS_DATA (1u << 20)

/* @to: where connect() leads, but for the port */
const GuestlessSockets *guestless_native(const struct in6_addr *to);
const GuestlessSockets *guestless_vmrpc(struct in_addr to);

#endif /* GUESTLESS_SOCKETS_H */
