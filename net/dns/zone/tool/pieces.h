/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A master file in pieces, each of which can be parsed on its own */
#ifndef NET_DNS_ZONE_TOOL_PIECES_H
#define NET_DNS_ZONE_TOOL_PIECES_H

#include <pthread.h>

#include "net/dns/text/master.h"

typedef struct Piece {
    DnsMasterState state;       /* as it begins */
    uint32_t number;            /* of all files' */
    char *text;                 /* the caller's to reuse, or to free */
    size_t len;
    size_t room;
} Piece;

typedef struct Pieces {
    pthread_mutex_t lock;
    const DnsMasterOptions *options;
    int fd;
    DnsMasterState state;       /* of what comes next */
    uint32_t number;
    char *rest;                 /* read, but not given away */
    size_t rest_len;
    bool is_first;
    bool at_end;
    int failed;                 /* negative errno */
} Pieces;

/**
 * pieces_open: of a regular file
 * @fd: is the pieces' to close
 * @number: of the first piece
 */
void pieces_open(Pieces *pieces, const DnsMasterOptions *options, int fd,
                 uint32_t number);

void pieces_close(Pieces *pieces);

/**
 * pieces_next: the next one, to whichever thread asks
 *
 * A piece is as long as it must be if none may begin (dns_master_split()) for a
 * while.
 *
 * Returns: 1; 0 at the end; or a negative errno: -E2BIG for a first piece that
 * is so long that dns_master_read() had better have the file, in a bounded
 * memory.
 */
int pieces_next(Pieces *pieces, Piece *piece);

#endif /* NET_DNS_ZONE_TOOL_PIECES_H */
