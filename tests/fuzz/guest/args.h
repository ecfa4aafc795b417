/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arguments of calls, made from the numbers of a step, and their results
 *
 * Arguments lie at the end of mapped memory if possible.  Memory for results is
 * poisoned first, so that written bytes are visible.
 */
#ifndef GUEST_FUZZ_ARGS_H
#define GUEST_FUZZ_ARGS_H

#include "world.h"

#define POISON          0x5a

/* Pieces of memory for a call. */
struct pieces {
    struct iovec *iov;
    int num;
    int layout;
};

/* An ADDR_... as a number. */
struct in_addr arg_in_addr(uint32_t addr);
struct in6_addr arg_in6_addr(uint32_t addr);

/* The sockets' family, and @len as the length of its addresses if it is 16. */
int arg_family(void);
socklen_t arg_length(socklen_t len);

/* An address of @len bytes, from the argument of type 'A'. */
void *arg_address(const struct worker *w, uint32_t arg, socklen_t len);

/* Room for an address, a ROOM_...; sets @len, and the pointer to it. */
void *arg_room(const struct worker *w, uint32_t room, socklen_t **len);
void arg_room_facts(struct outcome *o, const struct worker *w, uint32_t room,
                    socklen_t len);

/*
 * Pieces, as LAYOUT_... has it, in @at, which has DATA_MAX + DATA_SLACK bytes,
 * for @size bytes of data.
 */
void arg_pieces(const struct worker *w, uint8_t *at, int layout, size_t size,
                struct pieces *p);

/* Whether every piece can be read and written. */
bool arg_pieces_are_good(int layout);

/* Puts the step's data into the pieces; @at as above. */
void arg_fill(const struct worker *w, const struct pieces *p, uint8_t *at,
              size_t size);

/* Collects the received bytes, and checks that no others were written. */
void arg_take(struct outcome *o, const struct worker *w,
              const struct pieces *p, size_t got);

/* Adds a message to the ancillary data, which have room for it. */
struct cmsghdr *arg_put_control(struct msghdr *msg, int level, int type,
                                const void *data, size_t len);

/* Ancillary data to send, a CONTROL_... */
void arg_control(const struct worker *w, struct msghdr *msg, uint32_t control);
void arg_control_facts(struct outcome *o, struct msghdr *msg);

#endif /* GUEST_FUZZ_ARGS_H */
