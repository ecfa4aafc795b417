/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A TCP connection to a primary, for a thread that may wait: messages, each
 * within its time
 */
#ifndef NET_DNS_SERVER_SECONDARY_LINE_H
#define NET_DNS_SERVER_SECONDARY_LINE_H

#include <stdatomic.h>

#include "net/dns/server/config/config.h"

#define DNSD_LINE_PREFIX    2       /* length of a message, RFC 1035 4.2.2 */
#define DNSD_LINE_CONNECT_S 10
#define DNSD_LINE_MESSAGE_S 30      /* for a whole message */
#define DNSD_LINE_ALL_S     7200    /* for all of a connection */

typedef struct DnsdLine {
    int fd;                     /* -1: none */
    const atomic_bool *stop;    /* true: give up */
    uint64_t until;             /* seconds of dnsd_line_clock() */
} DnsdLine;

/** dnsd_line_clock: seconds; it does not jump, and goes on in a suspend. */
uint64_t dnsd_line_clock(void);

/**
 * dnsd_line_open: connect
 * @from: the address to connect from; NULL: the kernel chooses
 *
 * Returns: 0, -ETIMEDOUT, -ECANCELED, or another negative errno; such as
 * -EADDRNOTAVAIL, if @from is none of this host.
 */
int dnsd_line_open(DnsdLine *line, const DnsdListen *from,
                   const DnsdListen *to, const atomic_bool *stop);

void dnsd_line_close(DnsdLine *line);

/**
 * dnsd_line_send: a message
 * @octets: DNSD_LINE_PREFIX octets to be filled, then @len of the message
 *
 * Returns: 0 or an error as above.
 */
int dnsd_line_send(DnsdLine *line, uint8_t *octets, size_t len);

/**
 * dnsd_line_receive: the next message
 * @msg: room for DNS_MSG_MAX octets
 *
 * Returns: its length; -ECONNRESET also if the primary has closed.
 */
int dnsd_line_receive(DnsdLine *line, uint8_t *msg);

#endif /* NET_DNS_SERVER_SECONDARY_LINE_H */
