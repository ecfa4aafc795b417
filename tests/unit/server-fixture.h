/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A vmrpc server and the guest that talks to it, for tests
 *
 * The fixture plays the guest's module: it keeps the reported state of each
 * socket (mirror), and checks the protocol's rules for readiness with each
 * response and event.
 */
#ifndef TESTS_SERVER_FIXTURE_H
#define TESTS_SERVER_FIXTURE_H

#include "hw/vmrpc/server/server.h"

#define FX_HANDLES      16      /* number of mirrored handles */
#define FX_WAIT_MS      180000  /* until a test has failed */

#define FX_GUEST4       "10.0.2.15"
#define FX_RESOLVER4    "192.0.0.1"
#define FX_POOL4        "198.18.0.0"
#define FX_LINK6        "fe80::53"      /* on lo */
#define FX_NAT64        "2001:db8:64::"     /* /96, if asked for */
#define FX_NAT64_TOO    "2001:db8:65::"     /* a prefix of another network */

typedef struct FxOptions {
    const char *policy;         /* text; NULL: built-in refusals only */
    const char *policy_path;    /* instead of the text, a file */
    bool no_address6;
    bool no_resolver;
    bool ipv4;                  /* translate=off, guest4 is 127.0.0.1 */
    bool incoming;
    bool nat64;                 /* fixed prefix FX_NAT64 */
    bool nat64_auto;
    unsigned pool4_prefix;      /* 0: 16 */
    uint32_t max_sockets;       /* 0: FX_HANDLES */
    const char *dns;            /* NULL: a port without a server */
    const char *const *zones;   /* images, NULL-terminated; NULL: none */
} FxOptions;

typedef struct FxMirror {
    uint32_t gen;
    uint32_t ready;
    uint32_t seq;
    int so_error;               /* the last that was reported */
    uint32_t so_error_seq;      /* of its first report */
    unsigned so_errors;         /* how many */
    unsigned events;
} FxMirror;

typedef struct Fx {
    VmrpcServer *srv;
    struct in_addr guest4, resolver4, peer4;
    FxMirror sock[FX_HANDLES];
    size_t cut;                 /* bytes of an iovec; 0: header and data */
    uint16_t flags;             /* of every request: VMRPC_REQ_WATCH */
    bool edge;                  /* events may repeat reported bits */
    bool shortened;             /* a gateway leaves a rest in the buffer */
    bool may_wait;              /* calls may wait as long as they ask to */
    int extra_fd;               /* also polled; -1: none */
    void (*extra)(void *opaque);
    void *extra_opaque;
} Fx;

typedef struct FxReply {
    ssize_t ret;                /* of vmrpc_server_call() */
    int error;                  /* positive errno */
    uint32_t value;
    uint32_t ready;
    int so_error;
    bool watched;
    bool opened;
    uint32_t msg_flags;
    uint32_t control_len;
    struct sockaddr_in addr;    /* sin_family 0: none */
} FxReply;

/*
 * Call this first in main(): it enters a network namespace with addresses on
 * its loopback, so that no packet leaves the test, and VM and peer have
 * different addresses.  Without the permission for this, both are ::1.
 */
void fx_init(void);

/*
 * The addresses of the VM and of its peers, as text; the same without
 * fx_init's namespace.
 */
extern const char *fx_vm6, *fx_peer6;
bool fx_has_namespace(void);

/* A server.  With a policy NULL in @o the peer cannot be contacted. */
Fx *fx_new(const FxOptions *o);
Fx *fx_new_default(void);       /* everything on this host is allowed */
void fx_free(Fx *fx);

/* A pool address for an IPv6 address. */
struct in_addr fx_map(Fx *fx, const char *addr6);
/* What the guest should see as the address of a peer on fx_peer6. */
struct in_addr fx_peer4(Fx *fx);

/* --- calls --------------------------------------------------------------- */

struct vmrpc_req fx_req(Fx *fx, unsigned op, uint32_t handle);

/* Sends any request: control, then data, both ways. */
FxReply fx_call(Fx *fx, const struct vmrpc_req *req,
                const void *out, size_t out_len, void *in, size_t in_len);

FxReply fx_op(Fx *fx, unsigned op, uint32_t handle, uint32_t a0, uint32_t a1);
FxReply fx_addr_op(Fx *fx, unsigned op, uint32_t handle, struct in_addr addr,
                   unsigned port);
FxReply fx_socket(Fx *fx, uint32_t handle, uint32_t gen, int type);
/* With VMRPC_REQ_OPEN. */
FxReply fx_open_op(Fx *fx, unsigned op, uint32_t handle, uint32_t gen,
                   int type, struct in_addr addr, unsigned port);
FxReply fx_accept(Fx *fx, uint32_t handle, uint32_t child, uint32_t gen);
FxReply fx_send(Fx *fx, uint32_t handle, const void *data, size_t len);
FxReply fx_sendto(Fx *fx, uint32_t handle, struct in_addr addr, unsigned port,
                  const void *data, size_t len);
FxReply fx_recv(Fx *fx, uint32_t handle, void *data, size_t len, int flags);
FxReply fx_setsockopt(Fx *fx, uint32_t handle, int level, int name,
                      const void *value, size_t len);
FxReply fx_getsockopt(Fx *fx, uint32_t handle, int level, int name,
                      void *value, size_t len);
int fx_getsockopt_int(Fx *fx, uint32_t handle, int level, int name);

/* --- readiness ----------------------------------------------------------- */

/* Handles everything that has happened so far, and all its events. */
void fx_pump(Fx *fx);
/* Waits until all of @bits are set in the mirror of @handle. */
void fx_wait(Fx *fx, uint32_t handle, uint32_t bits);
/* Waits until an asynchronous error has been reported; returns it. */
int fx_wait_error(Fx *fx, uint32_t handle);
/* Waits for anything. */
void fx_wait_any(Fx *fx);

/* --- peers: plain blocking sockets --------------------------------------- */

int peer_socket(int type, uint16_t *port);  /* bound, streams listening */
int peer_connect(int type, uint16_t port);  /* to the VM's address */
void peer_read(int fd, void *data, size_t len);
void peer_await(int fd);
void peer_close_reset(int fd);
unsigned fx_open_fds(void);

/* --- what many tests do --------------------------------------------------- */

/* The guest's numbers, little-endian, as on the wire. */
uint32_t fx_le(uint32_t v);
struct in_addr fx_ip4(const char *text);
void fx_assert_addr(const FxReply *r, struct in_addr addr, unsigned port);
const VmrpcCounters *fx_counters(Fx *fx);
const VmrpcReachCounters *fx_reach_counters(Fx *fx);
/* A stream of the guest's, connected to @listener; returns the peer's end. */
int fx_connect_stream(Fx *fx, uint32_t handle, int listener, uint16_t port);
/* Returns: the reply to a new socket that connects to port 9 of @addr. */
FxReply fx_try_connect(Fx *fx, struct in_addr addr, int type);

#define fx_ok(reply) g_assert_cmpint((reply).error, ==, 0)
#define fx_fails(reply, err) g_assert_cmpint((reply).error, ==, (err))

#endif
