/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sockets for queries
 *
 * Each question has a socket, and so a source port, of its own, which a forger
 * must guess in addition to the id (RFC 5452).  A context with thousands of
 * questions has a limit, beyond which questions share sockets.
 */

#ifndef VMMNET_DNS_CLIENT_PORT_H
#define VMMNET_DNS_CLIENT_PORT_H

#include "net/dns/unbound/loop.h"
#include "vmmnet/dns.h"

typedef struct DnscPort DnscPort;
typedef struct DnscTry DnscTry;

typedef struct DnscPorts {
    DnscLoop *loop;
    unsigned max;               /* approximate limit of UDP sockets; 0: none */
    bool has_from6;             /* the source address towards IPv6 servers */
    struct in6_addr from6;
    DnscPort *all;
    unsigned count;
} DnscPorts;

/* A connected UDP socket: the kernel drops packets from other addresses */
struct DnscPort {
    DnscSource source;          /* must be first */
    DnscPorts *ports;
    DnscPort *next, **at;
    VmmnetDnsAddress to;
    DnscTry *tries;             /* that are under way on it */
    unsigned users;             /* the tries, and other holders */
    bool dead;                  /* accepts no more tries */
};

/*
 * Make a socket of this type that is connected or connecting.  Returns its
 * descriptor or a negative errno.
 */
int dnsc_ports_socket(const DnscPorts *ports, const VmmnetDnsAddress *to,
                      int type);

/*
 * Get a port to this server: a new one, or a shared one at the limit.  Returns
 * 0 with *port, or a negative errno.
 */
int dnsc_port_get(DnscPorts *ports, const VmmnetDnsAddress *to,
                  DnscReadyFn *ready, DnscPort **port);

/* Release a port; the last user closes it. */
void dnsc_port_put(DnscPort *port);

#endif
