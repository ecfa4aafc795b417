/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The other end of the sockets under test
 *
 * One peer runs in the guest, over IPv4, for the native sockets; another
 * outside of the VM, over IPv6, for the outsourced ones.  Both are this
 * program and do what they are told over a channel that does not depend on
 * the device under test: a socket pair, or a virtio-serial port.
 *
 * Every request is answered within a second: a peer waits a moment for what
 * is on its way, and then answers that there is nothing.
 */
#ifndef GUEST_FUZZ_PEER_H
#define GUEST_FUZZ_PEER_H

#include <stdint.h>
#include <sys/socket.h>

#include "op.h"

#define PEER_DATA_MAX   (1u << 18)
/* A port without a listener. */
#define PEER_CLOSED_PORT 9
/* The ports of the storm's servers. */
#define PEER_STORM_PORT 7777

/* A request that is no step of a sequence: close everything. */
#define PEER_FORGET     OP_KINDS

struct peer_request {
    uint32_t id;                /* comes back with the answer */
    uint32_t step;              /* argument of peer_pattern() */
    uint32_t op;                /* OP_PEER_...; its arguments are the step's */
    uint32_t peer;
    uint32_t arg[2];            /* ports as numbers */
};

struct peer_reply {
    uint32_t id;
    int32_t ret;                /* negative: errno */
    uint32_t port;              /* of the socket, or of the caller or sender */
    uint32_t from_vm;           /* whether the VM's address called or sent */
    uint32_t ttl, tos;
    uint32_t data_len;          /* bytes that follow */
};

struct peer_config {
    struct sockaddr_storage address[2];
    struct sockaddr_storage vm;
    socklen_t len;
};

/* Addresses as text, all of one family.  Returns 0 or -1. */
int peer_config_parse(struct peer_config *config, char *const text[3]);

/* Answers requests until the channel ends. */
void peer_serve(const struct peer_config *config, int channel);

/* Serves, connects and resets at random; never returns. */
void peer_storm(const struct peer_config *config, uint64_t seed);

/* Reads or writes everything; returns 0 or -1. */
int peer_read(int fd, void *data, size_t len);
int peer_write(int fd, const void *data, size_t len);

/* A step's data: each octet depends on its position and the step. */
void peer_pattern(uint8_t *data, size_t len, uint32_t step, size_t offset);

#endif /* GUEST_FUZZ_PEER_H */
