/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sockets that requests arrive at
 *
 * Each thread has its own for each address (SO_REUSEPORT), so none waits for
 * another.  Sockets from systemd are one for each address; all threads have
 * them then.
 */
#ifndef NET_DNS_SERVER_HOST_SOCKETS_H
#define NET_DNS_SERVER_HOST_SOCKETS_H

#include "net/dns/server/config/config.h"

#define DNSD_SOCKETS_MAX    (2 * DNSD_LISTEN_MAX)

typedef struct DnsdSocket {
    int fd;
    bool is_stream;
    bool is_wildcard;           /* a datagram says where it went to */
    bool is_shared;             /* with the other threads */
} DnsdSocket;

typedef struct DnsdSockets {
    unsigned count;
    DnsdSocket socket[DNSD_SOCKETS_MAX];
} DnsdSockets;

typedef struct DnsdMistake {
    char text[512];
} DnsdMistake;

/**
 * dnsd_sockets_probe: is nobody else at the addresses?
 *
 * With SO_REUSEPORT another server would go unseen, and share the requests.
 */
bool dnsd_sockets_probe(const DnsdConfig *config, DnsdMistake *mistake);

/**
 * dnsd_sockets_open: for one thread
 *
 * Returns: false, and @mistake names the address.
 */
bool dnsd_sockets_open(DnsdSockets *sockets, const DnsdConfig *config,
                       DnsdMistake *mistake);

/**
 * dnsd_sockets_adopt: those that systemd has given, for all threads
 *
 * Returns: false, and @mistake names the one that is of no use.
 */
bool dnsd_sockets_adopt(DnsdSockets *sockets, int first, unsigned count,
                        DnsdMistake *mistake);

/** dnsd_sockets_drops: datagrams that found no room in the kernel's buffer. */
uint64_t dnsd_sockets_drops(const DnsdSockets *sockets);

void dnsd_sockets_close(DnsdSockets *sockets);

#endif /* NET_DNS_SERVER_HOST_SOCKETS_H */
