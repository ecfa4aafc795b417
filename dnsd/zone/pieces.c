/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A master file in pieces that can be parsed independently */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dnsd/zone/pieces.h"

#define PIECE_LEAST     (2u << 20)
#define READ_AT_ONCE    (4u << 20)
#define FIRST_MOST      (32u << 20)

void pieces_open(Pieces *pieces, const DnsMasterOptions *options, int fd,
                 uint32_t number)
{
    *pieces = (Pieces) {
        .options = options, .fd = fd, .number = number, .is_first = true,
    };
    pthread_mutex_init(&pieces->lock, NULL);
    dns_master_state(&pieces->state, options);
}

void pieces_close(Pieces *pieces)
{
    close(pieces->fd);
    free(pieces->rest);
    pthread_mutex_destroy(&pieces->lock);
}

static int make_room(Piece *piece, size_t room)
{
    char *text;

    if (room <= piece->room) {
        return 0;
    }
    text = realloc(piece->text, room);
    if (!text) {
        return -ENOMEM;
    }
    piece->text = text;
    piece->room = room;
    return 0;
}

/* Read more of the file behind the octets of the piece. */
static int read_more(Pieces *pieces, Piece *piece)
{
    size_t want = piece->len > READ_AT_ONCE ? piece->len : READ_AT_ONCE;
    int ret = make_room(piece, piece->len + want);

    while (!ret && want && !pieces->at_end) {
        ssize_t done = read(pieces->fd, piece->text + piece->len, want);

        if (done < 0 && errno != EINTR) {
            ret = -errno;
        } else if (done >= 0) {
            pieces->at_end = !done;
            piece->len += done;
            want -= done;
        }
    }
    return ret;
}

/* Keep the rest for the next piece. */
static int keep_rest(Pieces *pieces, Piece *piece, size_t len)
{
    size_t rest = piece->len - len;
    char *room = realloc(pieces->rest, rest + 1);

    if (!room) {
        return -ENOMEM;
    }
    memcpy(room, piece->text + len, rest);
    pieces->rest = room;
    pieces->rest_len = rest;
    piece->len = len;
    return 0;
}

static int cut(Pieces *pieces, Piece *piece)
{
    size_t least = PIECE_LEAST;
    int ret = 0;

    while (!ret) {
        if (piece->len > least) {
            DnsMasterState state = piece->state;
            size_t len = dns_master_split(pieces->options, &state, piece->text,
                                          piece->len, least);

            if (len < piece->len) {
                pieces->state = state;
                return keep_rest(pieces, piece, len);
            }
            least = piece->len;
        }
        if (pieces->at_end) {
            return keep_rest(pieces, piece, piece->len);
        }
        ret = least > FIRST_MOST && pieces->is_first ? -E2BIG
                                                     : read_more(pieces, piece);
    }
    return ret;
}

static int take(Pieces *pieces, Piece *piece)
{
    int ret = make_room(piece, pieces->rest_len + READ_AT_ONCE);

    if (ret) {
        return ret;
    }
    if (pieces->rest_len) {
        memcpy(piece->text, pieces->rest, pieces->rest_len);
    }
    piece->len = pieces->rest_len;
    pieces->rest_len = 0;
    piece->state = pieces->state;
    ret = cut(pieces, piece);
    piece->number = pieces->number++;
    pieces->is_first = false;
    return ret ? ret : piece->len > 0;
}

int pieces_next(Pieces *pieces, Piece *piece)
{
    int ret;

    pthread_mutex_lock(&pieces->lock);
    ret = pieces->failed ? pieces->failed : take(pieces, piece);
    pieces->failed = ret < 0 ? ret : 0;
    pthread_mutex_unlock(&pieces->lock);
    return ret;
}
