/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: the state of a server and of its sockets
 *
 * Motivation: one guest, many vCPUs that call at once, and an IOThread that
 * follows the sockets.  All of them share these two structs.
 *
 * Rules: a field belongs to the file that is named above its group, which
 * changes it; other files of the server read it.
 *
 * Thread safety: VmrpcServer.lock guards each socket and the members of the
 * server that have VMRPC_GUARDED.  The others are constant while any call runs.
 * A call may use VmrpcSock.fd without the lock between vmrpc_sock_enter() and
 * vmrpc_sock_leave() (table.h).  The unit test vmrpc-locks checks the members
 * of the server, and the functions that have VMRPC_LOCKED or VMRPC_UNLOCKED.
 */
#ifndef HW_VMRPC_STATE_H
#define HW_VMRPC_STATE_H

#include <sys/socket.h>

#include "hw/vmrpc/alg/alg.h"
#include "hw/vmrpc/audit/log.h"
#include "hw/vmrpc/reach/reach.h"
#include "hw/vmrpc/sock/config.h"
#include "hw/vmrpc/sock/lock.h"
#include "hw/vmrpc/sock/options.h"
#include "hw/vmrpc/sock/watched-file.h"
#include "hw/vmrpc/wire/clock.h"
#include "hw/vmrpc/wire/mapped.h"
#include "net/dns/own/zones.h"
#include "net/dns/proxy/proxy.h"
#include "net/dns/upstream/upstream.h"

/* Marks in epoll_data that are not a socket's handle. */
#define VMRPC_EPOLL_TIMER       0xfffffff0u
#define VMRPC_EPOLL_DNS         0xfffffff1u
#define VMRPC_EPOLL_FILES       0xfffffff2u
#define VMRPC_EPOLL_RACE        0xfffffff3u
#define VMRPC_EPOLL_ROUTE       0xfffffff4u

typedef struct VmrpcSock VmrpcSock;
typedef struct VmrpcRace VmrpcRace;
typedef struct VmrpcFirst VmrpcFirst;
typedef struct VmrpcProxied VmrpcProxied;

/*
 * What stands behind a socket, for the files below the one that knows it.
 * One constant struct for each kind: vmrpc_host_backing (ready.c),
 * vmrpc_resolver_backing, vmrpc_arriving_backing, vmrpc_lost_backing, and those
 * of a race in race.c and of a proxy's handshake in proxied.c.
 */
typedef struct VmrpcBackingOps {
    VmrpcBacking kind;
    /*
     * Returns 0 if this backing lets the call @op go on, or else the negative
     * errno that it gives.  NULL: it lets every call.  BIND, LISTEN, CONNECT,
     * ACCEPT, SENDMSG, RECVMSG and SHUTDOWN ask before they change anything;
     * GETPEERNAME asks, if there is a peer.  Three do not ask: LISTEN while the
     * socket arrives, CONNECT to AF_UNSPEC, RECVMSG of a lost socket.
     */
    int (*admit)(VmrpcServer *srv, VmrpcSock *s, unsigned op);
    /*
     * Asks the host: sets s->ready, and s->so_error if there is an error.
     * NULL: the host has nothing to say.
     */
    void (*refresh)(VmrpcServer *srv, VmrpcSock *s);
    /*
     * Events of @s (VMRPC_IN ...), without answers of the DNS proxy.
     * NULL: s->ready.
     */
    uint32_t (*ready)(const VmrpcSock *s);
    /* epoll reported @events of s->fd; NULL: they mean nothing. */
    void (*process)(VmrpcServer *srv, VmrpcSock *s, uint32_t events);
    /* @s is being closed: frees what this backing has; NULL: nothing. */
    void (*detach)(VmrpcServer *srv, VmrpcSock *s);
} VmrpcBackingOps;

/*
 * The other end of a socket.  vmrpc_sock_set_peer() and vmrpc_sock_clear_peer()
 * make every transition; each leads from or to VMRPC_PEER_NONE.
 */
typedef enum VmrpcPeer {
    VMRPC_PEER_NONE,
    VMRPC_PEER_CLIENTS,         /* a stream that listens */
    VMRPC_PEER_REMOTE,          /* peer4; a stream may still be connecting */
    VMRPC_PEER_RESOLVER,        /* the DNS proxy, at peer4 */
    /* a datagram socket's, inside the guest: the host receives nothing */
    VMRPC_PEER_SELF,
} VmrpcPeer;

/*
 * Has it a port?  vmrpc_sock_has_port() and vmrpc_sock_guest_binds() make every
 * transition.
 */
typedef enum VmrpcBinding {
    VMRPC_BINDING_NONE,
    VMRPC_BINDING_HOST,         /* the host has chosen one */
    VMRPC_BINDING_GUEST,        /* the guest has bound it, as has the host */
    /*
     * The guest has bound it, and the host has no port: the socket arrives, is
     * lost, or is a datagram socket of a VM without an address.
     */
    VMRPC_BINDING_PROMISED,
} VmrpcBinding;

/* How the guest learns of readiness.  ready.c makes every transition. */
typedef enum VmrpcDelivery {
    VMRPC_DELIVERY_IDLE,
    VMRPC_DELIVERY_QUEUED,      /* an event is in the server's queue */
    VMRPC_DELIVERY_WAITED,      /* a call waits, and its response reports */
} VmrpcDelivery;

/*
 * TCP_INQ of a host socket: off, on for the server alone, on for the guest.
 * ready.c makes every transition.
 */
typedef enum VmrpcInq {
    VMRPC_INQ_OFF,
    VMRPC_INQ_OURS,
    VMRPC_INQ_GUESTS,
} VmrpcInq;

/*
 * What waits for the audit log.  vmrpc_park() and vmrpc_unpark() make every
 * transition; each leads from or to VMRPC_PARKED_NONE.
 */
typedef enum VmrpcParked {
    VMRPC_PARKED_NONE,
    VMRPC_PARKED_CONNECT,       /* a stream that is to be connected */
    VMRPC_PARKED_SEND,          /* the first datagram to a peer */
    VMRPC_PARKED_ACCEPT,
} VmrpcParked;

/* Peers of datagram sockets that the audit log has; a power of two */
#define VMRPC_AUDIT_PEERS   4096

/* One of them: between "open" and "close" of a socket */
typedef struct VmrpcAuditPeer {
    uint64_t opened;            /* VmrpcSock.opened; 0: none */
    struct in6_addr addr6;      /* of IPv4 ::ffff:192.0.2.1 */
    in_port_t port;             /* network byte order */
} VmrpcAuditPeer;

/* Sizes that were granted to the buffers of a host socket; 0: no limit. */
typedef struct VmrpcBuffers {
    uint32_t snd;
    uint32_t rcv;
} VmrpcBuffers;

/*
 * While a socket arrives (arriving.c), the fields say what it shall be; only
 * `fd` and vmrpc_sock_is_bound() say how far it is.
 */
struct VmrpcSock {
    /* table.c */
    uint32_t handle;
    uint32_t gen;
    const VmrpcBackingOps *ops;
    int type;                   /* SOCK_STREAM, SOCK_DGRAM */
    int proto;                  /* IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP */
    bool inet6;                 /* the guest's is one of AF_INET6 */
    int fd;                     /* -1: none (VMRPC_BACKING_RESOLVER, _LOST) */
    unsigned refs;              /* of the table and of calls */
    unsigned users;             /* calls that use fd without the lock */
    unsigned senders;           /* of these, send a datagram */
    bool removed;               /* from the table */
    VmrpcPeer peer;
    bool accepted;              /* the peer has connected to the guest */
    bool connecting;            /* a call connects fd without the lock */
    bool peer_held;             /* peer4's entry in the map is referenced */
    struct in_addr peer4;       /* if vmrpc_sock_is_connected() */
    in_port_t peer_port;        /* network byte order */

    /*
     * inet6: the program names its peers by IPv4-mapped addresses, as its peer
     * shows, or else the latest destination, or before that bind().  bind.c
     */
    bool mapped;

    /* bind.c and the calls */
    VmrpcBinding binding;
    bool filtered;              /* a filter drops all that arrives at fd */
    bool shut_rd, shut_wr;      /* of the DNS proxy's side */
    bool fin_sent;              /* shutdown() for writing, on the host */
    uint32_t backlog;
    in_port_t local_port;       /* that the guest has bound; network order */
    GByteArray *options;        /* options.c; NULL if none was set */
    VmrpcBuffers buffers;       /* budget.c */
    VmrpcAlg *alg;              /* a gateway looks at the stream */
    VmrpcFirst *first;          /* first-bytes.c: what the guest says */

    /* first-datagrams.c, policy-file.c */
    VmrpcSays says;             /* what its peer demands of datagrams */
    GPtrArray *flows;           /* NULL: none */
    bool corked;                /* UDP_CORK */
    /* calls-data.c: the host may hold the beginning of a datagram, to there */
    bool begun;
    struct sockaddr_in begun_peer;      /* as the guest named it */
    uint16_t segment;           /* UDP_SEGMENT */
    VmrpcTerms *terms;          /* of the rule that allowed peer4; or NULL */

    /* groups.c */
    GArray *groups;             /* memberships; NULL: none */
    unsigned group_turn;        /* which of its receivers is asked first */
    struct in_addr bound_group; /* bound to this group; 0: to none */
    bool bound_group_held;      /* its entry in the map is referenced */
    /* vmrpc_route_changes() when its interface for groups was chosen, or 0 */
    uint64_t sends_groups;

    /* race.c */
    VmrpcRace *race;            /* connecting, perhaps to another address */
    bool race_options;          /* the guest has set an option meanwhile */

    /* proxied.c */
    VmrpcProxied *proxied;      /* a proxy's handshake; NULL: none */

    /* throttle.c */
    uint32_t held;              /* of VMRPC_IN, VMRPC_OUT: it has to wait */
    GList throttled_link[VMRPC_FLOW_NUM];

    /* watch.c */
    bool watched;               /* fd is in the epoll set */
    uint32_t muted;             /* but not for these bits */
    unsigned idle_wakeups;      /* the latest ones that made no event */
    int64_t watch_due_ms;       /* when fd is to be added, or unmuted */
    VmrpcSock *watch_next;
    VmrpcSock **watch_prev;     /* what points to us in the queue */

    /* ready.c */
    uint32_t ready;             /* by the host, or derived */
    uint32_t news;              /* how often ready was set */
    uint32_t room;              /* of the send buffer, surely writable */
    bool asks;                  /* nothing about it can be derived */
    VmrpcInq inq;
    uint32_t reported;          /* what the guest knows: its cache */
    uint32_t ready_seq;
    int so_error;               /* taken from the host, not yet reported */
    int reported_error;         /* the latest one; 0: long ago */
    uint32_t reported_error_seq;        /* the report that had it first */
    bool edge;                  /* VMRPC_REQ_EDGE */
    bool edge_event;            /* report though no bit is new (EPOLLET) */
    VmrpcDelivery delivery;
    VmrpcSock *event_next;
    VmrpcSock **event_prev;     /* what points to us in the queue */

    /* resolver-queue.c */
    GQueue dns_rx;              /* GBytes: answers of the DNS proxy */
    GByteArray *dns_tx;         /* not yet with the proxy; NULL: none */
    size_t dns_tx_done;         /* bytes of it that are with the proxy */
    unsigned dns_out;           /* queries without an answer yet */
    bool dns_waits;             /* dns_link is in the server's dns_wait */
    GList dns_link;
    size_t dns_rx_bytes;        /* of all in dns_rx */
    size_t dns_rx_offset;       /* stream: bytes of the head already read */

    /* arriving.c */
    VmrpcMissing missing;       /* VMRPC_BACKING_ARRIVING: what it waits for */
    int missing_error;          /* the host's error, positive errno */
    VmrpcSock *arriving_next;
    VmrpcSock **arriving_prev;  /* what points to us in the queue */

    /* evidence.c */
    VmrpcDecided decided;       /* of its latest destination */
    VmrpcDecided peer_decided;  /* of the peer of a datagram socket */
    /* the audit log has a line "open" of it, the how manieth; 0: none */
    uint64_t opened;
    bool peer_opened;           /* of a datagram socket: of its peer, too */
    int open_error;             /* of connect(), positive errno */
    char *said;                 /* the name that a stream said last; or NULL */
    int64_t opened_ms;
    struct sockaddr_in6 opened_peer;    /* or a sockaddr_in; of a stream */

    /* parked.c, calls-connect.c */
    VmrpcParked parked;
    uint32_t parked_events;     /* that it is not ready for meanwhile */
    GList parked_link;
    uint32_t parked_flow;       /* of VMRPC_PARKED_CONNECT: sin6_flowinfo */

    uint64_t bytes_sent;
    uint64_t bytes_received;
};

/* Work that is due at a time, of one file. */
typedef struct VmrpcTimerOps {
    /* Milliseconds until there is work; -1: never. */
    int (*timeout_ms)(VmrpcServer *srv);
    /* Does what is due; NULL: that is done elsewhere. */
    void (*process)(VmrpcServer *srv);
} VmrpcTimerOps;

struct VmrpcServer {
    VmrpcServerConfig config;   /* constant */

    VmrpcMutex lock;            /* guards the members that are marked */

    VmrpcReach reach VMRPC_GUARDED;     /* addresses, names, policy */

    /* policy-file.c, zone-files.c */
    WatchedFile policy_file;
    GHashTable *secrets;        /* id -> text; policy_file.lock guards it */
    unsigned policy_ends VMRPC_GUARDED; /* vmrpc_server_end_refused() */
    unsigned zone_num;
    WatchedFile zone_file[DNS_OWN_ZONES_MAX];

    /* resolver.c */
    DnsProxy *dns_proxy;        /* NULL without resolver4 */
    DnsUpstream *dns_upstream;
    DnsOwnZones *own_zones;     /* between the two; NULL without "zone" */
    bool dns_turn VMRPC_GUARDED;        /* a socket in dns_wait can go on */

    /* resolver-queue.c */
    size_t dns_bytes VMRPC_GUARDED;     /* <= VMRPC_DNS_BYTES_MAX */
    size_t dns_wait_bytes VMRPC_GUARDED; /* <= VMRPC_DNS_WAIT_MAX */
    GQueue dns_wait VMRPC_GUARDED; /* of VmrpcSock: a query of each waits */

    /* nat64.c */
    bool nat64_asking VMRPC_GUARDED;    /* a discovery query is out */
    uint64_t nat64_request VMRPC_GUARDED; /* its number */
    int64_t nat64_due_ms VMRPC_GUARDED; /* when to ask (again) */

    /* race.c */
    GSequence *races VMRPC_GUARDED;     /* VmrpcRace, by when they are due */
    /* host sockets of races beside the socks' */
    uint32_t attempt_num VMRPC_GUARDED;

    GQueue proxied VMRPC_GUARDED;       /* VmrpcProxied, by when due */
    /* VmrpcSock, that has waited longest first */
    GQueue throttled[VMRPC_FLOW_NUM] VMRPC_GUARDED;

    /* timer.c */
    int epoll_fd;
    int timer_fd;
    int64_t timer_due_ms VMRPC_GUARDED; /* when it expires; -1: never */
    const VmrpcTimerOps *timers;
    unsigned timer_num;
    VmrpcClock clock VMRPC_GUARDED;     /* for the time stamps of packets */
    /* Constant during a call */
    bool tells_moments;         /* VMRPC_F_MOMENTS */
    bool has_long_values;       /* VMRPC_F_LONG_VALUES */
    bool has_inet6;             /* VMRPC_F_INET6 */
    bool has_lowat;             /* the host's net.ipv4.tcp_notsent_lowat */

    /* the guest's memory; NULL: it may not */
    VmrpcMapped *mapped VMRPC_GUARDED;
    VmrpcMemoryOps memory;
    bool (*may_go_on)(void);    /* NULL: always */

    /* table.c */
    VmrpcSock **socks VMRPC_GUARDED;    /* by handle */
    uint32_t sock_num VMRPC_GUARDED;
    uint32_t making_num VMRPC_GUARDED;  /* whose host socket is being made */
    uint32_t group_num VMRPC_GUARDED;   /* memberships of all sockets */

    /* groups.c */
    int64_t groups_turn_ms VMRPC_GUARDED; /* when the last turn began */
    int64_t groups_due_ms VMRPC_GUARDED; /* when the next one begins; 0: never */

    /* arriving.c */
    /* sockets that are VMRPC_BACKING_ARRIVING */
    uint32_t arriving_num VMRPC_GUARDED;
    /* of these, by reason */
    uint32_t missing_num[VMRPC_MISSING_NUM] VMRPC_GUARDED;
    unsigned missing_reported VMRPC_GUARDED; /* 1 << VMRPC_MISSING_... */
    VmrpcSock *arriving_head VMRPC_GUARDED; /* the next to be tried */
    VmrpcSock **arriving_tail VMRPC_GUARDED;
    uint32_t arriving_left VMRPC_GUARDED; /* to be tried yet in this turn */
    bool arriving_changed VMRPC_GUARDED; /* routing has changed in this turn */
    int64_t arriving_since_ms VMRPC_GUARDED; /* when the latest one came */
    int64_t arriving_turn_ms VMRPC_GUARDED; /* when the last turn began */
    int64_t arriving_due_ms VMRPC_GUARDED; /* when to try the next ones */
    bool arriving_freed VMRPC_GUARDED;  /* a port that one may wait for */

    /* evidence.c; only with config.audit */
    const VmrpcSock *judged VMRPC_GUARDED;      /* NULL: unknown */
    VmrpcAuditPeer *audit_peers VMRPC_GUARDED;
    uint64_t opened_num VMRPC_GUARDED;

    /* refusals.c */
    struct vmrpc_refusal *refusals;     /* by number, VMRPC_REFUSALS */
    uint64_t refusal_num VMRPC_GUARDED; /* of the latest */

    /* parked.c */
    GQueue parked VMRPC_GUARDED;        /* of VmrpcSock */
    bool unparks VMRPC_GUARDED;         /* they may go on */

    /* ready.c, watch.c */
    VmrpcSock *event_head VMRPC_GUARDED;
    VmrpcSock **event_tail VMRPC_GUARDED;
    VmrpcSock *unwatched_head VMRPC_GUARDED; /* in the order of watch_due_ms */
    VmrpcSock **unwatched_tail VMRPC_GUARDED;

    /* first-bytes.c */
    GQueue first_waits VMRPC_GUARDED;   /* of VmrpcSock, by when they began */
    size_t first_bytes VMRPC_GUARDED;   /* <= VMRPC_FIRST_BYTES_MAX */
    size_t flow_bytes VMRPC_GUARDED;    /* first-datagrams.c */

    VmrpcAlgOps alg_ops;        /* gateway.c */
    VmrpcAlgCounters alg_counters VMRPC_GUARDED;
    VmrpcCounters counters VMRPC_GUARDED;
    VmrpcTracer tracer;
};

/*
 * Takes and releases the server's lock.  Critical sections are short: a waiter
 * spins before it sleeps.
 */
static inline void vmrpc_lock(VmrpcServer *srv)
    VMMNET_ACQUIRE(vmrpc_server_lock);
static inline void vmrpc_unlock(VmrpcServer *srv)
    VMMNET_RELEASE(vmrpc_server_lock);

static inline VMMNET_NOT_CHECKED void vmrpc_lock(VmrpcServer *srv)
{
    vmrpc_mutex_lock(&srv->lock);
}

static inline VMMNET_NOT_CHECKED void vmrpc_unlock(VmrpcServer *srv)
{
    vmrpc_mutex_unlock(&srv->lock);
}

/* No other thread uses the server, which is as good as its lock. */
static inline void vmrpc_sole_user(const VmrpcServer *srv)
    VMMNET_ASSUME(vmrpc_server_lock);

static inline VMMNET_NOT_CHECKED void vmrpc_sole_user(const VmrpcServer *srv)
{
}

/* A host socket that is all that the guest's socket is. */
static inline bool vmrpc_sock_is_host(const VmrpcSock *s)
{
    return s->ops->kind == VMRPC_BACKING_HOST;
}

/* Has the host socket a port? */
static inline bool vmrpc_sock_is_bound(const VmrpcSock *s)
{
    return s->binding == VMRPC_BINDING_HOST ||
           s->binding == VMRPC_BINDING_GUEST;
}

static inline bool vmrpc_sock_is_bound_by_guest(const VmrpcSock *s)
{
    return s->binding == VMRPC_BINDING_GUEST ||
           s->binding == VMRPC_BINDING_PROMISED;
}

static inline bool vmrpc_sock_is_arriving(const VmrpcSock *s)
{
    return s->ops->kind == VMRPC_BACKING_ARRIVING;
}

static inline bool vmrpc_sock_is_lost(const VmrpcSock *s)
{
    return s->ops->kind == VMRPC_BACKING_LOST;
}

/* Has the guest's socket a peer by its own connect() or accept()? */
static inline bool vmrpc_sock_is_connected(const VmrpcSock *s)
{
    return s->peer == VMRPC_PEER_REMOTE || s->peer == VMRPC_PEER_RESOLVER;
}

static inline bool vmrpc_sock_is_listening(const VmrpcSock *s)
{
    return s->peer == VMRPC_PEER_CLIENTS;
}

/* A host socket with the same peer as the guest's socket: not the DNS proxy */
static inline bool vmrpc_sock_host_has_peer(const VmrpcSock *s)
{
    return vmrpc_sock_is_host(s) && s->peer != VMRPC_PEER_RESOLVER;
}

/* A ping socket: SOCK_DGRAM, IPPROTO_ICMP. */
static inline bool vmrpc_sock_is_ping(const VmrpcSock *s)
{
    return s->proto == IPPROTO_ICMP;
}

/* Does the program of @s name its peers by IPv6 addresses? */
static inline bool vmrpc_sock_is_plain6(const VmrpcSock *s)
{
    return s->inet6 && !s->mapped;
}

/* AF_INET6, or AF_INET without translation. */
static inline int vmrpc_host_family(const VmrpcServer *srv)
{
    return srv->config.reach.translate ? AF_INET6 : AF_INET;
}

#endif /* HW_VMRPC_STATE_H */
