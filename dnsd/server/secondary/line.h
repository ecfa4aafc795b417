/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A TCP connection to a primary, for a thread that may block: messages with a
 * timeout
 */
#ifndef DNSD_SERVER_SECONDARY_LINE_H
#define DNSD_SERVER_SECONDARY_LINE_H

#include <stdatomic.h>

#include "dnsd/server/config/config.h"

#define DNSD_LINE_PREFIX    2       /* length of a message, RFC 1035 4.2.2 */
#define DNSD_LINE_CONNECT_S 10
#define DNSD_LINE_MESSAGE_S 30      /* for one message */
#define DNSD_LINE_ALL_S     7200    /* for the whole connection */

typedef struct DnsdLine {
    int fd;                     /* -1: not connected */
    const atomic_bool *stop;    /* becomes true: stop */
    uint64_t until;             /* limit, by dnsd_line_clock() */
} DnsdLine;

/** dnsd_line_clock: seconds; monotonic, also counts suspended time */
uint64_t dnsd_line_clock(void);

/**
 * dnsd_line_open: connect
 * @from: the source address; NULL: the kernel chooses
 *
 * Returns: 0; -ETIMEDOUT; -ECANCELED; or another negative errno, for example
 * -EADDRNOTAVAIL if this host does not have @from.
 */
int dnsd_line_open(DnsdLine *line, const DnsdListen *from,
                   const DnsdListen *to, const atomic_bool *stop);

void dnsd_line_close(DnsdLine *line);

/**
 * dnsd_line_send: send a message
 * @octets: DNSD_LINE_PREFIX octets for the length, then @len of the message
 *
 * Returns: 0 or an error as dnsd_line_open().
 */
int dnsd_line_send(DnsdLine *line, uint8_t *octets, size_t len);

/**
 * dnsd_line_receive: receive the next message
 * @msg: memory for DNS_MSG_MAX octets
 *
 * Returns: its length; -ECONNRESET also if the primary closed the connection.
 */
int dnsd_line_receive(DnsdLine *line, uint8_t *msg);

#endif /* DNSD_SERVER_SECONDARY_LINE_H */
