/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A gateway between a guest and a host socket, for tests
 *
 * The fixture plays both: a guest that sends again what was not taken, and a
 * host socket that takes and returns as few bytes as a test demands.
 */
#ifndef TESTS_ALG_FIXTURE_H
#define TESTS_ALG_FIXTURE_H

#include "hw/vmrpc/alg/alg-internal.h"

/* The guest, two peers, and their addresses on the other side. */
#define FX_OWN4         "192.0.0.2"
#define FX_OWN6         "2001:db8::c0de"
#define FX_PEER4        "198.18.0.5"
#define FX_PEER6        "2001:db8:5::21"
#define FX_OTHER4       "198.18.0.6"
#define FX_OTHER6       "2001:db8:5::22"

/* How bytes travel. */
typedef struct AlgHow {
    size_t cut;                 /* bytes that arrive at a time; 0: all */
    size_t room;                /* bytes a socket takes before EAGAIN; 0: all */
    size_t buffer;              /* bytes the guest receives at a time; 0: 64k */
    size_t vectors;             /* of so many bytes, both ways; 0: one */
    bool peek;                  /* before each receive */
    bool scribble;              /* overwrite the guest's memory after sending */
} AlgHow;

typedef struct AlgFx {
    VmrpcAlg *alg;
    VmrpcAlgOps ops;
    VmrpcAlgCounters counters;
    AlgHow how;
    GString *sent;              /* what the host socket took */
    GString *received;          /* what the guest received */
    GString *queue;             /* what the host has for the guest */
    size_t queue_pos;
    bool eof;                   /* after that */
    size_t room;                /* now */
    GString *guest;             /* the guest's memory that is being sent */
    const char *buffer;         /* the memory that is being filled, */
    size_t buffer_len;          /* so large */
    size_t in_place;            /* bytes that came there from the queue */
    unsigned lookups;           /* of to4 and to6 */
} AlgFx;

AlgFx *alg_fx_new(VmrpcAlgProto proto, bool guest_is_server,
                  const AlgHow *how);
void alg_fx_free(AlgFx *fx);

/*
 * All of it arrives, in the way of @fx->how, and is delivered where possible.
 */
void alg_fx_send(AlgFx *fx, const char *data, size_t len);
void alg_fx_recv(AlgFx *fx, const char *data, size_t len);

/* One receive of the guest, in the way of @fx->how. */
ssize_t alg_fx_recv_once(AlgFx *fx);

/* Ends both directions. */
void alg_fx_end(AlgFx *fx);

/*
 * A session: '>' the guest sends, '<' its peer does, 'x' both have ended.
 * @seen: what the other side receives; NULL: the same.
 */
typedef struct AlgStep {
    char way;                   /* 0 ends the session */
    const char *text;
    const char *seen;
} AlgStep;

typedef struct AlgSession {
    const char *name;
    bool guest_is_server;
    bool done;                  /* the gateway is not needed at the end */
    VmrpcAlgCounters counters;  /* at the end */
    const AlgStep *steps;
} AlgSession;

/* Cut at each byte, in many ways, and through small buffers. */
void alg_fx_run(VmrpcAlgProto proto, const AlgSession *session);

#endif
