/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps that a sequence is made of: what each is called, what its
 * arguments are, and how both are written as text.
 *
 * A step carries everything that it needs, so that a sequence from which some
 * are removed still means something.
 */
#ifndef GUEST_FUZZ_OP_H
#define GUEST_FUZZ_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLOTS       6           /* sockets of a world */
#define PEERS       6           /* sockets of its peer */
#define THREADS     3           /* that make calls, in each world */
#define EPOLLS      2
#define OP_ARGS     7
#define OPS_MAX     256
#define OP_TEXT     256         /* bytes of a step as text */

enum op_kind {
    OP_SOCKET, OP_CLOSE, OP_DUP, OP_BIND, OP_LISTEN, OP_CONNECT, OP_ACCEPT,
    OP_SHUTDOWN, OP_NAME, OP_SEND, OP_RECV, OP_FILL, OP_SPLICE_IN,
    OP_SPLICE_OUT, OP_SENDFILE, OP_VMSPLICE, OP_POLL, OP_SELECT, OP_EPCTL,
    OP_EPWAIT, OP_SET, OP_GET, OP_IOCTL, OP_FCNTL, OP_PASS, OP_ODD,
    OP_INTERRUPT, OP_PAUSE,
    OP_PEER_LISTEN, OP_PEER_ACCEPT, OP_PEER_CONNECT, OP_PEER_SEND,
    OP_PEER_RECV, OP_PEER_SHUTDOWN, OP_PEER_CLOSE, OP_PEER_RESET,
    OP_PEER_OPEN, OP_PEER_SENDTO, OP_PEER_RECVFROM,
    OP_KINDS
};

/* Addresses of bind(), connect() and sendto(). */
enum {
    ADDR_ANY, ADDR_ME, ADDR_PEER, ADDR_PEER2, ADDR_LOOPBACK, ADDR_FOREIGN,
    ADDR_POOL, ADDR_BROADCAST, ADDR_MULTICAST, ADDR_UNSPEC, ADDR_INET6,
    ADDR_FAMILY, ADDR_NONE, ADDR_NULL, ADDR_BAD,
    ADDR_OTHER,                 /* the peer's of the other kind: WORLD_... */
    ADDRS
};

/* Ports: these, and the ones of sockets. */
enum {
    PORT_ZERO, PORT_FIXED_0, PORT_FIXED_1, PORT_FIXED_2, PORT_FIXED_3,
    PORT_CLOSED, PORT_LOW,
    PORT_SLOT = 16,             /* + slot: what it is bound to */
    PORT_PEER = 32,             /* + peer: what it is bound to */
};

/* Where the data of a call are. */
enum {
    LAYOUT_PLAIN, LAYOUT_EDGE, LAYOUT_SPLIT, LAYOUT_BYTES, LAYOUT_MOST,
    LAYOUT_TOO_MANY, LAYOUT_NULL, LAYOUT_HOLE, LAYOUT_BAD_PIECE,
    LAYOUT_KERNEL, LAYOUT_READONLY, LAYOUT_HUGE, LAYOUT_NEGATIVE,
    LAYOUT_BAD_VECTOR, LAYOUTS
};

/* Which call transfers them. */
enum {
    FORM_PLAIN, FORM_FILE, FORM_FILE_VECTOR, FORM_NAME, FORM_MSG, FORM_MMSG,
    FORMS
};

/* Room for the address of a peer. */
enum {
    ROOM_NONE, ROOM_EXACT, ROOM_SHORT, ROOM_ZERO, ROOM_LONG, ROOM_NEGATIVE,
    ROOM_BAD, ROOM_BAD_LENGTH, ROOMS
};

/* Ancillary data to send. */
enum {
    CONTROL_NONE, CONTROL_TTL, CONTROL_TOS, CONTROL_TOS_BYTE,
    CONTROL_TTL_ZERO, CONTROL_PKTINFO, CONTROL_PKTINFO_FOREIGN,
    CONTROL_SEGMENT, CONTROL_TWO, CONTROL_SHORT, CONTROL_LONG,
    CONTROL_LEVEL, CONTROL_RIGHTS, CONTROL_TIMESTAMP, CONTROL_BAD,
    CONTROL_HUGE, CONTROLS
};

/* Where the value of an option is. */
enum { PTR_GOOD, PTR_NULL, PTR_EDGE, PTR_BAD, PTR_BAD_LENGTH, PTRS };

struct op {
    uint8_t kind;
    uint8_t thread;             /* 0 .. THREADS - 1, who makes the call */
    bool fork;                  /* by a child of its own */
    uint32_t arg[OP_ARGS];
};

/* Sockets that the argument @i of a kind names: 's' ours, 'p' the peer's. */
char op_arg_type(enum op_kind kind, unsigned i);
const char *op_name(enum op_kind kind);

/* Calls of ours, that a thread makes; not what the peer or nobody does. */
bool op_is_call(enum op_kind kind);

/* Calls of ours that send data. */
bool op_sends(enum op_kind kind);

/* Writes a step as text of at most OP_TEXT bytes. */
void op_print(const struct op *op, char *text);

/* Reads one; returns false if it is none. */
bool op_parse(const char *text, struct op *op);

/* The name of an option such as "SOL_IP.IP_TTL", in a static buffer. */
const char *op_option_name(uint32_t level, uint32_t name);

/* The name of an errno. */
const char *op_error_name(int error);

/* Options of the table that the generator chooses from. */
struct option_row {
    int level, name;
    const char *text;
};
extern const struct option_row option_rows[];
extern const size_t option_rows_num;

#endif /* GUEST_FUZZ_OP_H */
