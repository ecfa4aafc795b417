/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sockets for requests
 *
 * Each thread has its own sockets for each address (SO_REUSEPORT), so no thread
 * waits for another.  Sockets from systemd are one for each address, and all
 * threads share them.
 */
#ifndef DNSD_SERVER_HOST_SOCKETS_H
#define DNSD_SERVER_HOST_SOCKETS_H

#include "dnsd/server/config/config.h"

#define DNSD_SOCKETS_MAX    (2 * DNSD_LISTEN_MAX)

typedef struct DnsdSocket {
    int fd;
    bool is_stream;
    bool has_pktinfo;           /* datagrams have their destination */
    bool is_shared;             /* by all threads */
    bool is_of_device;          /* bound to an interface, or will be */
    bool is_bound;              /* false: its interface is not there yet */
} DnsdSocket;

typedef struct DnsdSockets {
    unsigned count;
    DnsdSocket socket[DNSD_SOCKETS_MAX];
} DnsdSockets;

typedef struct DnsdError {
    char text[512];
} DnsdError;

/**
 * dnsd_sockets_bind: bind a socket to an address, also to one that comes later
 * @is_early: set to whether this host does not have the address yet, or its
 *            duplicate address detection is not over
 *
 * Queries come in as soon as the host has it.  The interface must be there.
 *
 * Returns: false with errno set
 */
bool dnsd_sockets_bind(int fd, const DnsdListen *at, bool *is_early);

/**
 * dnsd_sockets_renew: bind a socket to its interface, which is there now
 *
 * Its descriptor keeps its number, and is in no epoll afterwards.
 *
 * Returns: false, and @error; the old socket is kept.
 */
bool dnsd_sockets_renew(DnsdSocket *s, const DnsdListen *at,
                        uint32_t receive_buffer, DnsdError *error);

/**
 * dnsd_sockets_probe: check that no other process uses the addresses
 *
 * With SO_REUSEPORT another server would go unnoticed, and share the requests.
 */
bool dnsd_sockets_probe(const DnsdConfig *config, DnsdError *error);

/**
 * dnsd_sockets_open: open the sockets of one thread
 *
 * Returns: false, and @error has the address.
 */
bool dnsd_sockets_open(DnsdSockets *sockets, const DnsdConfig *config,
                       DnsdError *error);

/**
 * dnsd_sockets_adopt: use the sockets from systemd, for all threads
 *
 * Returns: false, and @error has the socket that cannot be used.
 */
bool dnsd_sockets_adopt(DnsdSockets *sockets, int first, unsigned count,
                        DnsdError *error);

/**
 * dnsd_sockets_drops: datagrams that the kernel dropped as its buffer was full
 */
uint64_t dnsd_sockets_drops(const DnsdSockets *sockets);

void dnsd_sockets_close(DnsdSockets *sockets);

#endif /* DNSD_SERVER_HOST_SOCKETS_H */
