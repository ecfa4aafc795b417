/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A world: sockets, the threads that use them, and the peer they talk to
 *
 * There are two.  In the native one the threads are in a network namespace of
 * the guest, where the module leaves sockets alone; in the other they are in
 * the initial one.  Addresses are the same in both.
 */
#ifndef GUEST_FUZZ_WORLD_H
#define GUEST_FUZZ_WORLD_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "op.h"
#include "peer.h"

#define DATA_MAX        PEER_DATA_MAX   /* bytes of a call's data */
#define DATA_SLACK      65536u          /* room for gaps between pieces */
#define IOVECS          1026
#define FACTS           40
/* The fact that tells how many messages of a batch have not been sent. */
#define OUTCOME_UNSENT  "unsent"
#define LOGS            64
#define FIXED_PORTS     4

/* A value that a call returned, beside its result. */
struct fact {
    const char *what;
    /*
     * 'd' decimal, 'x' hexadecimal, 'e' events, 'o' a port of ours, 'p' one of
     * the peer's, 'i' a number that need not be the same
     */
    char type;
    int64_t value;
};

struct outcome {
    int64_t ret;                /* -1: error tells why */
    int error;
    unsigned facts;
    struct fact fact[FACTS];
    uint8_t *data;              /* what was received */
    size_t len;
    bool stream;                /* ... of a stream: it may be any part */
};

/* Memory for the arguments of calls; behind each part nothing is mapped. */
struct arena {
    uint8_t *tx, *rx;           /* DATA_MAX + DATA_SLACK bytes each */
    uint8_t *out;               /* as many: what was received, in one piece */
    uint8_t *readonly, *small;  /* a page each */
    uint8_t *hole;              /* a page without access */
    struct iovec *iov;          /* IOVECS that end where nothing is mapped */
    struct outcome *outcome;    /* shared with children */
};

enum worker_state { WORKER_IDLE, WORKER_BUSY, WORKER_DONE, WORKER_END };

struct worker {
    struct world *world;
    struct arena arena;
    pthread_t thread;
    _Atomic pid_t tid;
    _Atomic pid_t child;        /* that makes the call, if one does */
    _Atomic uint32_t state;
    struct op op;
    uint32_t step;
};

/* Bytes of a stream that the other world has not received yet. */
struct stream_log {
    uint8_t *data;
    size_t len, room;
};

struct world {
    const char *name;
    int netns;                  /* of its threads; -1: the one there is */
    int channel;                /* to its peer */
    uint32_t request;           /* the last one's number */
    in_port_t port_base;        /* FIXED_PORTS from here, host byte order */
    int fd[SLOTS];
    int type[SLOTS];            /* SOCK_...; 0: nothing is there */
    uint8_t log_of[SLOTS];
    int epoll[EPOLLS];
    int pipe[2], pipe2[2];
    in_port_t peer_port[PEERS];
    struct worker worker[THREADS];
    struct stream_log log[LOGS], peer_log[PEERS];
    _Atomic unsigned sigio, sigurg;
};

/* The addresses, the same in both worlds. */
struct addresses {
    struct in_addr me, peer, peer2;
    struct in6_addr me6, peer6, peer26;
};
extern struct addresses addresses;

/*
 * What sockets a sequence has, and what its addresses are: of AF_INET; or of
 * AF_INET6, where the addresses are IPv4-mapped, or IPv6's own.
 */
enum { WORLD_INET, WORLD_MAPPED, WORLD_PLAIN, WORLD_FAMILIES };
extern unsigned world_family;
extern const char *const world_family_names[WORLD_FAMILIES];

/* Whether the timeout of a call may be over soon: see world_is_blocked(). */
extern bool world_has_timeouts;

/*
 * What sendfile() and vmsplice() send, as a file and as memory.  They send the
 * pages themselves, so that these must not change: DATA_MAX bytes of the
 * pattern of step 0.
 */
extern int gift_file;
extern uint8_t *gift;

/* Makes the gift; returns 0 or -1. */
int gift_make(void);

/* Makes the world's threads; returns 0 or -1.  Once in a process. */
int world_start(struct world *world);

/* Has a thread begin a call. */
void world_begin(struct worker *worker, const struct op *op, uint32_t step);

/* Waits a moment for the call to be over; returns whether it is. */
bool world_is_done(struct worker *worker);

/*
 * Whether the call waits in the kernel and has done so for a while.  @since
 * is where the caller keeps what was seen before; 0 at first.
 */
struct blocked {
    int64_t since_ms, begin_ms;
    unsigned long switches;
};
bool world_is_blocked(struct worker *worker, struct blocked *seen);

/* Whether the call sleeps in the kernel at this moment. */
bool world_is_asleep(struct worker *worker);

/* Interrupts the call by a signal; @restart: with SA_RESTART. */
void world_interrupt(struct worker *worker, bool restart);

/*
 * Asks the peer, and takes the answer, whose data go to @data, PEER_DATA_MAX
 * bytes.  Both return 0 or -1.
 */
int world_ask(struct world *world, struct peer_request *request);
int world_answer(struct world *world, struct peer_reply *reply,
                 uint8_t *data);

/* Writes where the world's threads are in the kernel to standard output. */
void world_print_stacks(pid_t pid);

int64_t world_now_ms(void);

/* --- call.c: makes the call of a step and tells what came of it ----------- */

void call_make(struct worker *worker);

/* The port that a socket is bound to, in host byte order; 0: none. */
in_port_t call_port(int fd);
in_port_t call_resolve_port(const struct world *world, uint32_t port);

void outcome_fact(struct outcome *o, char type, const char *what,
                  int64_t value);

#endif /* GUEST_FUZZ_WORLD_H */
