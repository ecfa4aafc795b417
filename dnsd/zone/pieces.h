/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A master file in pieces that can be parsed independently */
#ifndef DNSD_ZONE_PIECES_H
#define DNSD_ZONE_PIECES_H

#include <pthread.h>

#include "dnsd/text/master.h"

typedef struct Piece {
    DnsMasterState state;       /* at the start of the piece */
    uint32_t number;            /* continues from file to file */
    char *text;                 /* owned by the caller, who may reuse it */
    size_t len;
    size_t room;
} Piece;

typedef struct Pieces {
    pthread_mutex_t lock;
    const DnsMasterOptions *options;
    int fd;
    DnsMasterState state;       /* at the start of the next piece */
    uint32_t number;
    char *rest;                 /* octets read but not returned yet */
    size_t rest_len;
    bool is_first;
    bool at_end;
    int failed;                 /* negative errno */
} Pieces;

/**
 * pieces_open: begin with a regular file
 * @fd: pieces_close() closes it
 * @number: of the first piece
 */
void pieces_open(Pieces *pieces, const DnsMasterOptions *options, int fd,
                 uint32_t number);

void pieces_close(Pieces *pieces);

/**
 * pieces_next: read the next piece; any thread may call it
 *
 * A piece ends where the next one may begin (dns_master_split()), however far
 * away that is.
 *
 * Returns: 1; 0 behind the last piece; or a negative errno.  -E2BIG: the first
 * piece is very long, so use dns_master_read(), which takes bounded memory.
 */
int pieces_next(Pieces *pieces, Piece *piece);

#endif /* DNSD_ZONE_PIECES_H */
