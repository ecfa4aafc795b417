/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sockets towards the servers
 *
 * A question's own socket is its own source port: what a forger has to guess
 * beside the id (RFC 5452).  A context that can have thousands of questions out
 * has a bound, from which on they share.
 */

#ifndef VMMNET_DNS_CLIENT_PORT_H
#define VMMNET_DNS_CLIENT_PORT_H

#include "net/dns/unbound/loop.h"
#include "vmmnet/dns.h"

typedef struct DnscPort DnscPort;
typedef struct DnscTry DnscTry;

typedef struct DnscPorts {
    DnscLoop *loop;
    unsigned max;               /* UDP sockets, about; 0: no bound */
    bool has_from6;             /* the source address towards IPv6 servers */
    struct in6_addr from6;
    DnscPort *all;
    unsigned count;
} DnscPorts;

/* A UDP socket, connected: the kernel drops what comes from elsewhere */
struct DnscPort {
    DnscSource source;          /* first */
    DnscPorts *ports;
    DnscPort *next, **at;
    VmmnetDnsAddress to;
    DnscTry *tries;             /* that are out on it */
    unsigned users;             /* those, and who holds it */
    bool dead;                  /* takes no more */
};

/*
 * A socket of this type that is connected or connecting.  Returns its
 * descriptor or a negative errno.
 */
int dnsc_ports_socket(const DnscPorts *ports, const VmmnetDnsAddress *to,
                      int type);

/*
 * Another user of a port towards this server, a new one if there is room.
 * Returns 0 with *port, or a negative errno.
 */
int dnsc_port_get(DnscPorts *ports, const VmmnetDnsAddress *to,
                  DnscReadyFn *ready, DnscPort **port);

/* The last user's closes it. */
void dnsc_port_put(DnscPort *port);

#endif
