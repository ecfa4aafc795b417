/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One question over one TCP connection, RFC 7766
 */

#ifndef VMMNET_DNS_CLIENT_TCP_H
#define VMMNET_DNS_CLIENT_TCP_H

#include "net/dns/client/net/port.h"
#include "net/dns/wire/wire.h"

typedef struct DnscTcp DnscTcp;

/*
 * msg is NULL if the connection failed.  In both cases the question is over.
 * The callee may close the connection, which frees msg, or open it again.
 */
typedef void DnscTcpFn(void *opaque, const uint8_t *msg, size_t len);

struct DnscTcp {
    DnscSource source;
    DnscLoop *loop;
    DnscTcpFn *done;
    void *opaque;
    uint8_t out[2 + DNS_QUERY_MAX];
    size_t out_len;
    size_t sent;
    uint8_t *in;                /* with the length prefix */
    size_t in_room;
    size_t received;
};

/*
 * Connect, and send a query of at most DNS_QUERY_MAX octets.  done is called
 * once, and never during this call.  Returns 0 or a negative errno.
 */
int dnsc_tcp_open(DnscTcp *tcp, const DnscPorts *ports,
                  const VmmnetDnsAddress *server, const uint8_t *query,
                  size_t len, DnscTcpFn *done, void *opaque);

/*
 * Close the connection; it need not be open.  Before the first call of
 * dnsc_tcp_open(), tcp->source.fd is -1 and all else 0.
 */
void dnsc_tcp_close(DnscTcp *tcp);

#endif
