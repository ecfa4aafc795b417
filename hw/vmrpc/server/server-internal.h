/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the vmrpc server share
 *
 *   server.c        the table of sockets, requests, timers
 *   ready.c         readiness, events
 *   call.c          where the data of a request are
 *   calls*.c        the calls
 *   options.c       which options the guest has set
 *   policy-file.c   what is allowed
 *   budget.c        how much of it
 *   race.c          a name's other addresses
 *   groups.c        multicast
 *   resolver.c      the DNS proxy, as seen through sockets
 *   gateway.c       FTP, SIP
 *   saved.c         migration: what travels
 *   arriving.c      and what becomes of it
 *   inspect.c       what management sees
 */
#ifndef VMRPC_SERVER_INTERNAL_H
#define VMRPC_SERVER_INTERNAL_H

#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "hw/vmrpc/alg/alg.h"
#include "hw/vmrpc/reach/candidates.h"
#include "hw/vmrpc/reach/judge.h"
#include "hw/vmrpc/reach/reach.h"
#include "hw/vmrpc/reach/report.h"
#include "hw/vmrpc/reach/translate.h"
#include "hw/vmrpc/server/eyeballs.h"
#include "hw/vmrpc/server/server.h"
#include "hw/vmrpc/server/watched-file.h"
#include "hw/vmrpc/wire/clock.h"
#include "hw/vmrpc/wire/cmsg.h"
#include "hw/vmrpc/wire/iov.h"
#include "hw/vmrpc/wire/mapped.h"
#include "hw/vmrpc/wire/sockopt.h"
#include "hw/vmrpc/wire/uninitialized.h"
#include "net/dns/own-zones.h"
#include "net/dns/proxy.h"
#include "net/dns/upstream.h"

/* Marks in epoll_data that are not a socket's handle. */
#define VMRPC_EPOLL_TIMER       0xfffffff0u
#define VMRPC_EPOLL_DNS         0xfffffff1u
#define VMRPC_EPOLL_FILES       0xfffffff2u
#define VMRPC_EPOLL_RACE        0xfffffff3u
#define VMRPC_EPOLL_ROUTE       0xfffffff4u

/*
 * What the DNS proxy's sockets may keep in memory, all of a server together:
 * answers that the guest has not read, and the bytes of streams, which need no
 * descriptor of the host that would limit them.
 */
#define VMRPC_DNS_BYTES_MAX     (32u << 20)

/* Bytes of datagrams that wait for the proxy, of all sockets together. */
#define VMRPC_DNS_WAIT_MAX      (2u << 20)

typedef struct VmrpcSock VmrpcSock;
typedef struct VmrpcRace VmrpcRace;

/* Sizes that were granted to the buffers of a host socket; 0: no limit. */
typedef struct VmrpcBuffers {
    uint32_t snd;
    uint32_t rcv;
} VmrpcBuffers;

/*
 * Of one that is arriving (arriving.c) the fields say what it shall be, but for
 * `bound` and `fd`, which say how far it is.
 */
struct VmrpcSock {
    uint32_t handle;
    uint32_t gen;
    VmrpcBacking backing;
    int type;                   /* SOCK_STREAM, SOCK_DGRAM */
    int proto;                  /* IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP */
    int fd;                     /* -1: none (VMRPC_BACKING_RESOLVER, _LOST) */

    bool bound;                 /* an address was chosen on the host */
    bool bound_by_guest;        /* and the guest knows the port */
    bool listening;
    bool connected;             /* or connecting; datagram: peer is set */
    bool peer_is_resolver;      /* datagram socket connected to resolver4 */
    bool peer_is_self;          /* and that hears nobody: its peer is inside */
    bool deaf;                  /* then: a filter drops what comes to fd */
    bool shut_rd, shut_wr;      /* VMRPC_BACKING_RESOLVER */
    bool ends;                  /* VMRPC_BACKING_HOST: has sent its end */
    uint32_t backlog;
    in_port_t local_port;       /* that the guest has bound; network order */
    VmrpcAlg *alg;              /* a gateway looks at the stream */
    struct in_addr peer4;       /* if connected */
    in_port_t peer_port;        /* network byte order */
    GArray *groups;             /* memberships (groups.c); NULL: none */
    unsigned group_turn;        /* which of its receivers is asked first */
    struct in_addr bound_group; /* bound to this group; 0: to none */
    /* vmrpc_route_changes() when its interface for groups was chosen, or 0 */
    uint64_t sends_groups;
    bool peer_held;             /* peer4's entry in the map is referenced */

    VmrpcRace *race;            /* connecting, perhaps to another address */
    bool race_options;          /* the guest has set an option meanwhile */

    unsigned users;             /* calls that use fd without the lock */
    bool removed;               /* from the table: the last user frees it */

    bool watched;               /* fd is in the epoll set */
    uint32_t muted;             /* but not for these bits, which are told */
    unsigned useless;           /* latest wake-ups that told nothing new */
    int64_t watch_due_ms;       /* otherwise: when it is to be */
    VmrpcSock *watch_next;
    VmrpcSock **watch_prev;     /* what points to us in the queue */

    uint32_t ready;             /* what the host socket is ready for */
    uint32_t told;              /* what the guest has been told */
    uint32_t ready_seq;
    int so_error;               /* taken from the host, not yet told */
    int told_error;             /* the last that was told, 0: long ago */
    uint32_t told_error_seq;    /* in which report first */
    bool edge;                  /* VMRPC_REQ_EDGE */
    bool news;                  /* something came to what was told already */
    bool waiting;               /* a call waits, and will tell the guest */
    bool event_queued;
    VmrpcSock *event_next;
    VmrpcSock **event_prev;     /* what points to us in the queue */

    GQueue dns_rx;              /* GBytes: answers of the DNS proxy */
    /*
     * Not yet with the proxy, as RFC 1035 section 4.2.2 has it, datagrams
     * too; NULL: none.
     */
    GByteArray *dns_tx;
    size_t dns_tx_done;         /* bytes of it that are with the proxy now */
    unsigned dns_out;           /* queries that the proxy answers yet */
    bool dns_waits;             /* dns_link is in the server's dns_wait */
    GList dns_link;
    size_t dns_rx_bytes;        /* of all in dns_rx */
    size_t dns_rx_offset;       /* stream: bytes of the head already read */

    VmrpcBuffers buffers;
    GByteArray *options;        /* options.c; NULL if none was set */

    VmrpcMissing missing;       /* VMRPC_BACKING_ARRIVING: what it waits for */
    int missing_error;          /* and the error that says so, positive */
    VmrpcSock *arriving_next;
    VmrpcSock **arriving_prev;  /* what points to us in the queue */

    uint64_t bytes_sent;
    uint64_t bytes_received;
};

struct VmrpcServer {
    VmrpcServerConfig config;   /* constant */

    pthread_mutex_t lock;       /* guards all the rest */

    VmrpcReach reach;           /* addresses, names, policy */
    WatchedFile policy_file;
    DnsProxy *dns_proxy;        /* NULL without resolver4 */
    DnsUpstream *dns_upstream;
    DnsOwnZones *own_zones;     /* between the two; NULL without "zone" */
    unsigned zone_num;
    WatchedFile zone_file[DNS_OWN_ZONES_MAX];

    bool nat64_asking;          /* a discovery query is out */
    uint64_t nat64_request;     /* its number */
    int64_t nat64_due_ms;       /* when to ask (again) */
    size_t dns_bytes;           /* <= VMRPC_DNS_BYTES_MAX */
    size_t dns_wait_bytes;      /* <= VMRPC_DNS_WAIT_MAX */
    GQueue dns_wait;            /* of VmrpcSock: a query of each waits */
    bool dns_turn;              /* and one of them can go on now */

    GSequence *races;           /* VmrpcRace, by when they are due */
    uint32_t attempt_num;       /* host sockets of races beside the socks' */

    int epoll_fd;
    int timer_fd;
    int64_t timer_due_ms;       /* when it expires; -1: never */

    bool tells_moments;         /* VMRPC_F_MOMENTS; constant during a call */
    VmrpcClock clock;           /* then: the host's, which makes stamps */

    VmrpcMapped *mapped;        /* the guest's memory; NULL: it may not */
    VmrpcMemoryOps memory;
    bool (*may_go_on)(void);    /* NULL: always */

    VmrpcSock **socks;          /* by handle */
    uint32_t sock_num;
    uint32_t making_num;        /* that will be in socks, if all goes well */
    uint32_t group_num;         /* memberships of all sockets */
    uint32_t arriving_num;      /* of these, VMRPC_BACKING_ARRIVING */
    uint32_t missing_num[VMRPC_MISSING_NUM];    /* of these, for what */
    unsigned missing_told;      /* which of it was reported: 1 << VMRPC_... */
    VmrpcSock *arriving_head;   /* the next to be tried */
    VmrpcSock **arriving_tail;
    uint32_t arriving_left;     /* to be tried yet in this turn */
    bool arriving_changed;      /* routing has, since the turn began */
    int64_t arriving_since_ms;  /* when the last has come */
    int64_t arriving_turn_ms;   /* when the last turn began */
    int64_t arriving_due_ms;    /* when to go on */
    VmrpcSock *event_head;
    VmrpcSock **event_tail;
    VmrpcSock *unwatched_head;  /* in the order of watch_due_ms */
    VmrpcSock **unwatched_tail;

    VmrpcAlgOps alg_ops;
    VmrpcAlgCounters alg_counters;
    VmrpcCounters counters;
    VmrpcTracer tracer;
};

/*
 * Room that a call needs and nobody wants to allocate, or clear, for each:
 * to be declared VMRPC_UNINITIALIZED.
 */
typedef struct VmrpcScratch {
    struct iovec iov[VMRPC_IOV_MAX + 1];    /* a header of ours, too */
    uint8_t control[VMRPC_CONTROL_MAX];
} VmrpcScratch;

/*
 * One request while it is executed: the header in host byte order, and where
 * its ancillary data and data are.
 */
typedef struct VmrpcCall {
    uint16_t op;
    uint16_t flags;             /* VMRPC_REQ_* */
    uint32_t handle;
    uint32_t gen;
    uint32_t wait_us;
    uint32_t arg[4];            /* the request's union, by position */
    struct vmrpc_addr addr;     /* as on the wire */
    const struct iovec *out, *in;
    unsigned out_num, in_num;
    uint32_t control_len;
    VmrpcMappedBuffer *mapped;  /* where the data are; NULL: in the chain */
    size_t mapped_offset;
    size_t out_len;             /* bytes of data, behind header and control */
    size_t in_len;              /* room for data, behind response and control */
    VmrpcScratch *scratch;

    /* the response, in host byte order */
    uint32_t value;
    uint32_t msg_flags;
    uint32_t in_control_len;
    size_t in_data_len;         /* bytes of data written */
    struct sockaddr_in result;  /* sin_family 0: none */

    bool opened;                /* VMRPC_REQ_OPEN: the socket was made */
    int close_fd;               /* to be closed without the lock; -1: none */
} VmrpcCall;

/* --- server.c ----------------------------------------------------------- */

/* Milliseconds of the monotonic clock. */
int64_t vmrpc_now_ms(void);

/* Looks at the host's clocks, for the moments of what came. */
void vmrpc_see_clock(VmrpcServer *srv);

/* The earlier of two timeouts in milliseconds, of which -1 means never. */
int vmrpc_earlier(int a, int b);

/* Sets the timer to what is due next; call it when that may have changed. */
void vmrpc_timer_rearm(VmrpcServer *srv);

/* The socket with this handle and generation, or NULL. */
VmrpcSock *vmrpc_sock_find(VmrpcServer *srv, uint32_t handle, uint32_t gen);

/*
 * Puts a new socket into the table; @fd and what is reserved in @buffers (may
 * be NULL) become the socket's own, also on failure.  Returns 0, or -EBADF
 * (handle out of range), -EEXIST (in use), -ENOMEM.
 */
int vmrpc_sock_add(VmrpcServer *srv, uint32_t handle, uint32_t gen, int type,
                   int fd, VmrpcBuffers *buffers, VmrpcSock **sp);

/*
 * Takes @s out of the table.  Returns its descriptor, which is the caller's to
 * close, or -1 if there is none or a call still uses it.
 */
int vmrpc_sock_remove(VmrpcServer *srv, VmrpcSock *s);

/*
 * For the host's system calls that move data or reach a peer: in between the
 * lock is not held, and @s and its descriptor stay.
 * vmrpc_sock_leave() returns false if the guest has closed @s meanwhile; it is
 * gone then.
 */
void vmrpc_sock_enter(VmrpcServer *srv, VmrpcSock *s);
bool vmrpc_sock_leave(VmrpcServer *srv, VmrpcSock *s);

/* @s has no host socket any more. */
void vmrpc_sock_close_host(VmrpcServer *srv, VmrpcSock *s);

/* Replaces the host socket by the DNS proxy (stream sockets). */
void vmrpc_sock_become_resolver(VmrpcServer *srv, VmrpcSock *s);

/* Sets the peer, moving the map reference. */
void vmrpc_sock_set_peer(VmrpcServer *srv, VmrpcSock *s,
                         const struct sockaddr_in *peer);
void vmrpc_sock_clear_peer(VmrpcServer *srv, VmrpcSock *s);

/* --- ready.c ------------------------------------------------------------ */

/* Reports of readiness are wanted from now on. */
void vmrpc_sock_watch(VmrpcServer *srv, VmrpcSock *s);

/* Reports are wanted in VMRPC_WATCH_MS, unless @s has gone by then. */
void vmrpc_watch_later(VmrpcServer *srv, VmrpcSock *s);

/* @s goes away, or has no host socket to watch any more. */
void vmrpc_watch_forget(VmrpcServer *srv, VmrpcSock *s);

/* @s has woken us for nothing once more.  Constant time. */
void vmrpc_watch_less(VmrpcServer *srv, VmrpcSock *s);

/* Watches those whose time has come. */
void vmrpc_watch_process_timer(VmrpcServer *srv);

/* Milliseconds until then; -1: never. */
int vmrpc_watch_timeout_ms(const VmrpcServer *srv);

/* Asks the host for the readiness now. */
void vmrpc_sock_refresh(VmrpcServer *srv, VmrpcSock *s);

/* Takes @mask for the host socket's readiness, SO_ERROR along with it. */
void vmrpc_ready_set(const VmrpcServer *srv, VmrpcSock *s, uint32_t mask);

/* Queues an event if the guest does not know all about @s. */
void vmrpc_sock_notify(VmrpcServer *srv, VmrpcSock *s);

/* There is nothing (more) to tell about @s. */
void vmrpc_event_unqueue(VmrpcServer *srv, VmrpcSock *s);

/* The guest gets to know the readiness: in a response or in an event. */
void vmrpc_ready_tell(VmrpcServer *srv, VmrpcSock *s, __le32 *ready,
                      __le32 *seq, __le32 *so_error);

/* --- files.c ------------------------------------------------------------ */

/* Begins to follow a file: vmrpc_files_follow() sees its changes. */
bool vmrpc_files_open(VmrpcServer *srv, WatchedFile *file, const char *name,
                      GError **errp);

/* Takes what has happened to @file.  True: it is to be read again. */
bool vmrpc_files_news(VmrpcServer *srv, WatchedFile *file);

/*
 * Reads again what has changed, and says so to the tracer.  Without the lock,
 * in the thread that processes.
 */
void vmrpc_files_follow(VmrpcServer *srv);

/* Milliseconds until then, where not all can be watched; -1: never. */
int vmrpc_files_timeout_ms(const VmrpcServer *srv);

/* --- policy-file.c ------------------------------------------------------ */

/* Reads the file, if there is one, and watches it. */
bool vmrpc_policy_file_init(VmrpcServer *srv, GError **errp);
void vmrpc_policy_file_cleanup(VmrpcServer *srv);

/* Its part of vmrpc_files_follow(). */
void vmrpc_policy_file_follow(VmrpcServer *srv);

/* --- zone-files.c ------------------------------------------------------- */

/* The same of the zone images.  The proxy's upstream is there. */
bool vmrpc_zone_files_init(VmrpcServer *srv, GError **errp);
void vmrpc_zone_files_cleanup(VmrpcServer *srv);
void vmrpc_zone_files_follow(VmrpcServer *srv);

/* --- budget.c ----------------------------------------------------------- */

/*
 * What is refused here is counted and traced; @dest is the host's address that
 * it was for, NULL if nobody knows yet.
 */

/* May there be one more socket?  Returns 0 or -EMFILE. */
int vmrpc_budget_socket(VmrpcServer *srv, const struct sockaddr_storage *dest);

/* May @s, which the guest connects, have a connection?  0 or -ENOBUFS. */
int vmrpc_budget_connection(VmrpcServer *srv, const VmrpcSock *s,
                            const struct sockaddr_storage *dest);

/* May there be one more attempt at a connection?  Returns 0 or -ENOBUFS. */
int vmrpc_budget_attempt(VmrpcServer *srv, const struct sockaddr_storage *dest);

/* May the guest ask for this name?  Returns 0 or -EBUSY. */
int vmrpc_budget_query(VmrpcServer *srv, const char *name);

/*
 * Buffers of a host socket that will be made, or come from @listener.
 * Returns 0 or -ENOBUFS, with nothing reserved.
 */
int vmrpc_budget_reserve(VmrpcServer *srv, const VmrpcSock *listener,
                         const struct sockaddr_storage *dest,
                         VmrpcBuffers *buffers);

/* Now it is there. */
void vmrpc_budget_apply(VmrpcServer *srv, int fd, VmrpcBuffers *buffers);

/* It will not be there, or not any more. */
void vmrpc_budget_release(VmrpcServer *srv, VmrpcBuffers *buffers);

/*
 * The guest sets SO_SNDBUF or SO_RCVBUF (@name).  Returns false if nothing
 * limits it.
 */
bool vmrpc_budget_resize(VmrpcServer *srv, VmrpcSock *s, int name, int value);

/* Other limits from now on. */
void vmrpc_budget_change(VmrpcServer *srv, const VmrpcLimitsConfig *config);

/* --- call.c ------------------------------------------------------------- */

typedef struct VmrpcDataPlace {
    const struct iovec *iov;
    unsigned num;
    size_t offset;              /* where the data begin */
} VmrpcDataPlace;

/* The data that @call sends, or (@in) has room for. */
VmrpcDataPlace vmrpc_call_data(const VmrpcCall *call, bool in);

/* Vectors of what a call sends, behind @skip bytes of it, or has room for. */
unsigned vmrpc_call_out_slice(const VmrpcCall *call, size_t skip,
                              struct iovec *dst);
unsigned vmrpc_call_in_slice(const VmrpcCall *call, struct iovec *dst);

/* Copies from the data that a call sends; returns the bytes copied. */
size_t vmrpc_call_read(const VmrpcCall *call, void *buf, size_t len);

/* The same from and to the room for data, from @offset on. */
size_t vmrpc_call_reread(const VmrpcCall *call, void *buf, size_t len);
size_t vmrpc_call_write(const VmrpcCall *call, size_t offset, const void *buf,
                        size_t len);

/* --- calls.c, calls-connect.c, calls-data.c ----------------------------- */

/* A call on a socket of the table; returns 0 or a negative errno. */
typedef int VmrpcCallFunc(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call);

VmrpcCallFunc vmrpc_call_bind, vmrpc_call_listen, vmrpc_call_connect;
VmrpcCallFunc vmrpc_call_accept, vmrpc_call_sendmsg, vmrpc_call_recvmsg;

/* The address of a request; sin_family is AF_UNSPEC if there is none. */
void vmrpc_call_addr(const VmrpcCall *call, struct sockaddr_in *sin);

/* A ping socket: SOCK_DGRAM, IPPROTO_ICMP. */
static inline bool vmrpc_sock_is_ping(const VmrpcSock *s)
{
    return s->proto == IPPROTO_ICMP;
}

static inline bool vmrpc_sock_is_host(const VmrpcSock *s)
{
    return s->backing == VMRPC_BACKING_HOST;
}

/* AF_INET6, or AF_INET without translation. */
static inline int vmrpc_host_family(const VmrpcServer *srv)
{
    return srv->config.reach.translate ? AF_INET6 : AF_INET;
}

/* Executes @call; returns 0 or a negative errno. */
int vmrpc_call_execute(VmrpcServer *srv, VmrpcCall *call);

/*
 * A host socket as the guest asked for it; returns it or a negative errno.
 * @proto: the guest's, IPPROTO_TCP, IPPROTO_UDP or IPPROTO_ICMP
 */
int vmrpc_host_socket(VmrpcServer *srv, int type, int proto);

/*
 * Binds @s to the VM's own address and @port (network byte order).
 * Returns 0 or a negative errno.
 */
int vmrpc_host_bind(VmrpcServer *srv, VmrpcSock *s, in_port_t port);

/*
 * Gives @s the VM's address before the kernel chooses another, unless it is
 * bound or the VM has none.  Returns 0 or a negative errno.
 */
int vmrpc_host_bind_source(VmrpcServer *srv, VmrpcSock *s);

/*
 * The guest's own address as peer: its program has one inside.  The datagram
 * socket @s, which is bound, keeps what is queued and takes nothing more, as
 * only it can send to itself.  Returns 0 or a negative errno.
 */
int vmrpc_host_connect_self(VmrpcServer *srv, VmrpcSock *s);

/*
 * The guest's view of the local address of @s: its own, or INADDR_ANY.
 * Returns 0 or a negative errno.
 */
int vmrpc_local_address(const VmrpcServer *srv, const VmrpcSock *s,
                        struct sockaddr_in *sin);

/*
 * Another NAT64 prefix is in use: datagram sockets that are connected to who is
 * behind it send there from now on.  Streams have their peer, and end with it.
 */
void vmrpc_nat64_moved(VmrpcServer *srv);

/*
 * A socket that Linux takes the peer from, or the listening, loses a port that
 * it did not ask for by number; the guest goes on with it.  Puts @port back.
 */
int vmrpc_host_restore_port(VmrpcServer *srv, VmrpcSock *s, in_port_t port);

/*
 * Sets one option of the guest's on the host socket of @s, and on @fd alone.
 * Returns 0 or a negative errno.
 */
int vmrpc_host_setsockopt(VmrpcServer *srv, VmrpcSock *s, int level, int name,
                          const void *value, uint32_t len);
int vmrpc_fd_setsockopt(VmrpcServer *srv, const VmrpcSock *s, int fd,
                        int level, int name, const void *value, uint32_t len);

/* --- groups.c ------------------------------------------------------------ */

/*
 * IP_ADD_MEMBERSHIP and IP_DROP_MEMBERSHIP.  Returns 1 if it was done, 0 for
 * any other option, or a negative errno.
 */
int vmrpc_groups_option(VmrpcServer *srv, VmrpcSock *s, int level, int name,
                        const void *value, uint32_t len);
bool vmrpc_groups_is_option(uint32_t level, uint32_t name);

/* Any other option of the guest's, for the receivers as well. */
void vmrpc_groups_setsockopt(VmrpcServer *srv, const VmrpcSock *s, int level,
                             int name, const void *value, uint32_t len);

/*
 * @s is about to get @port (network byte order; 0: the host will choose): may
 * it hear there what it has joined?  Returns 0 or a negative errno.
 */
int vmrpc_groups_check(VmrpcServer *srv, const VmrpcSock *s, in_port_t port);

/*
 * @s has got its port.  Returns 0 or a negative errno.
 * @asked: the port that was checked; 0: the host has chosen one, which is
 *         checked now, and @s is unbound again if it may not have it
 */
int vmrpc_groups_bind(VmrpcServer *srv, VmrpcSock *s, in_port_t asked);

/*
 * Instead of vmrpc_host_bind(), if the guest binds @s to a group; @port in
 * network byte order.  Returns 0 or a negative errno.
 */
int vmrpc_groups_bind_socket(VmrpcServer *srv, VmrpcSock *s,
                             struct in_addr group4, in_port_t port);

/* Room for vmrpc_groups_source(). */
#define VMRPC_GROUPS_SOURCE CMSG_SPACE(sizeof(struct in6_pktinfo))

/*
 * Ancillary data that a socket bound to a group needs to send from the VM's
 * address.  Returns its length, 0 if @s needs none.
 */
size_t vmrpc_groups_source(const VmrpcServer *srv, const VmrpcSock *s,
                           void *control);

/*
 * Before a socket sends or connects to @dest4: if that is a group, it leaves by
 * the interface of the VM's address.  Returns 0 or a negative errno.
 */
int vmrpc_groups_prepare_send(VmrpcServer *srv, VmrpcSock *s,
                              struct in_addr dest4);

/* Memberships, and the receiver of each; -1 if @s hears by itself. */
unsigned vmrpc_groups_num(const VmrpcSock *s);
int vmrpc_groups_fd(const VmrpcSock *s, unsigned i);
VmrpcBuffers *vmrpc_groups_buffers(const VmrpcSock *s, unsigned i);

/* What the receivers add to the readiness. */
uint32_t vmrpc_groups_ready(const VmrpcSock *s);

/* Leaves all groups. */
void vmrpc_groups_forget(VmrpcServer *srv, VmrpcSock *s);

/* Memberships as options, at most VMRPC_GROUPS_MAX; returns how many. */
unsigned vmrpc_groups_save(const VmrpcSock *s, VmrpcSavedOption *option);

/*
 * The other way: @s, which is arriving, shall be a member.  An option that
 * vmrpc_groups_save() cannot have made does nothing.
 */
void vmrpc_groups_restore(VmrpcServer *srv, VmrpcSock *s,
                          const VmrpcSavedOption *option);

/*
 * Could @s, which is arriving, join its groups?  Returns 0, also if there are
 * none, -EADDRNOTAVAIL if the VM's address is not here, -ENODEV if there is no
 * interface for it.
 */
int vmrpc_groups_ready_to_join(VmrpcServer *srv, const VmrpcSock *s);

/*
 * Takes the memberships of @s, which is arriving, so that it can be bound; puts
 * them back; or joins, now that @s is a host socket: what cannot be joined is
 * counted as lost.  @groups is NULL if there are none.
 */
GArray *vmrpc_groups_set_aside(VmrpcServer *srv, VmrpcSock *s);
void vmrpc_groups_put_back(VmrpcServer *srv, VmrpcSock *s, GArray *groups);
void vmrpc_groups_join_again(VmrpcServer *srv, VmrpcSock *s, GArray *groups);

/* Sets on @to all that the guest has set on @s. */
void vmrpc_host_copy_options(VmrpcServer *srv, const VmrpcSock *s,
                             VmrpcSock *to);

/* --- options.c ---------------------------------------------------------- */

/*
 * Remembers an option of the guest's so that it can be set again after a
 * migration; with VMRPC_SAVED_OPTIONS of them, only those.  @len is at most
 * VMRPC_OPTVAL_MAX.  @options may be NULL at first.
 * @taken: how many of their places are taken by something else
 */
void vmrpc_options_remember(GByteArray **options, unsigned taken, int level,
                            int name, const void *value, uint32_t len);

/* How many there are. */
unsigned vmrpc_options_num(const GByteArray *options);

/*
 * In the order in which they were set last.  @saved has room for
 * VMRPC_SAVED_OPTIONS.  Returns how many there are.
 */
uint32_t vmrpc_options_save(const GByteArray *options, VmrpcSavedOption *saved);

/* --- race.c ------------------------------------------------------------- */

/*
 * connect() of @s to @host gave @ret: goes on with the other addresses of the
 * name, if there are any.  Returns what connect() shall give then.
 */
int vmrpc_race_start(VmrpcServer *srv, VmrpcSock *s,
                     const struct sockaddr_storage *host, int ret);

/* The guest wants no connection any more. */
void vmrpc_race_end(VmrpcServer *srv, VmrpcSock *s);

/* Looks how the race of @s goes, which may end it, and sets its readiness. */
void vmrpc_race_progress(VmrpcServer *srv, VmrpcSock *s);

/* Something happened to an attempt of this socket. */
void vmrpc_race_process_fd(VmrpcServer *srv, uint32_t handle);

void vmrpc_race_process_timer(VmrpcServer *srv);

/* Milliseconds until then; -1: never. */
int vmrpc_race_timeout_ms(const VmrpcServer *srv);

/* --- resolver.c --------------------------------------------------------- */

/* True if @addr is where the DNS proxy answers. */
bool vmrpc_is_resolver(const VmrpcServer *srv, const struct sockaddr_in *addr);

int vmrpc_resolver_init(VmrpcServer *srv, GError **errp);
void vmrpc_resolver_cleanup(VmrpcServer *srv);

/* Forgets all queries of @s. */
void vmrpc_resolver_detach(VmrpcServer *srv, VmrpcSock *s);

/* A datagram, or bytes of a stream, from the guest to the proxy. */
ssize_t vmrpc_resolver_send(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call);

/* An answer, or bytes of it; -EAGAIN if there is none. */
ssize_t vmrpc_resolver_recv(VmrpcServer *srv, VmrpcSock *s, VmrpcCall *call,
                            int flags);

/* Bytes that the guest has sent and the proxy does not have yet. */
size_t vmrpc_resolver_unsent(const VmrpcSock *s);

/* Bytes that the next RECVMSG can get; there must be an answer. */
uint32_t vmrpc_resolver_inq(const VmrpcSock *s);

/* Readiness that the proxy adds to the socket. */
uint32_t vmrpc_resolver_ready(const VmrpcSock *s);

/* Events of the upstream's descriptor and of the timer. */
void vmrpc_resolver_process_fd(VmrpcServer *srv);
void vmrpc_resolver_process_timer(VmrpcServer *srv);

/*
 * The guest is not told again what it was told: the policy, a zone or the map
 * has changed.
 */
void vmrpc_resolver_forget(VmrpcServer *srv);

/* Milliseconds until the timer has work for the resolver; -1: never. */
int vmrpc_resolver_timeout_ms(VmrpcServer *srv);

/* --- gateway.c ---------------------------------------------------------- */

void vmrpc_gateway_init(VmrpcServer *srv);

/*
 * A stream is connected, or about to be; @port of the server in network byte
 * order.  It gets a gateway if that is one of a protocol that needs it.
 */
void vmrpc_gateway_attach(VmrpcServer *srv, VmrpcSock *s, in_port_t port,
                          bool guest_is_server);
void vmrpc_gateway_detach(VmrpcSock *s);

/* Nothing more will come from the guest: sends what was held back. */
void vmrpc_gateway_finish(VmrpcSock *s);

/* Instead of sendmsg() and recvmsg(), if s->alg, and receives() says so. */
ssize_t vmrpc_gateway_send(VmrpcSock *s, VmrpcCall *call, int flags);
bool vmrpc_gateway_receives(const VmrpcSock *s, int flags);
ssize_t vmrpc_gateway_recv(VmrpcSock *s, VmrpcCall *call, int flags);

/* Bytes that the guest can receive beyond those in the host's queue. */
size_t vmrpc_gateway_unread(const VmrpcSock *s);

/* What to send in place of a datagram of the guest; NULL: just that. */
GByteArray *vmrpc_gateway_datagram_out(VmrpcServer *srv, const VmrpcSock *s,
                                       in_port_t peer_port,
                                       const VmrpcCall *call);

/*
 * A datagram of @len bytes has been received into the guest's memory.
 * Returns how long it is now; sets MSG_TRUNC if there was no room for more.
 */
size_t vmrpc_gateway_datagram_in(VmrpcServer *srv, const VmrpcSock *s,
                                 in_port_t peer_port, VmrpcCall *call,
                                 size_t len, int *msg_flags);

/* --- arriving.c --------------------------------------------------------- */

/* @s, without a host socket yet, is what it shall be from now on, or waits. */
void vmrpc_arriving_begin(VmrpcServer *srv, VmrpcSock *s);

/* Tries those that wait. */
void vmrpc_arriving_process_timer(VmrpcServer *srv);

/* Milliseconds until then; -1: never. */
int vmrpc_arriving_timeout_ms(const VmrpcServer *srv);

/* As VmrpcRouteWatcher: what was missing may have come. */
void vmrpc_arriving_routing_changed(void *opaque);

/* @s goes away, or waits no more. */
void vmrpc_arriving_forget(VmrpcServer *srv, VmrpcSock *s);

/* The readiness of @s while it waits, and the errno that its sends get. */
uint32_t vmrpc_arriving_ready(const VmrpcServer *srv, const VmrpcSock *s);
int vmrpc_arriving_send_error(const VmrpcServer *srv, const VmrpcSock *s);

/* @s could not follow: its program finds out by @error and a hang-up. */
void vmrpc_sock_lose(VmrpcServer *srv, VmrpcSock *s, int error);

#endif /* VMRPC_SERVER_INTERNAL_H */
