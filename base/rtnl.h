/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Asks and watches the host's interfaces, addresses and routes (rtnetlink(7))
 *
 * Theory of operation of requests: the kernel processes a request inside
 * send(), so its answer is there when send() returns, and no socket here waits.
 * Answers to earlier requests, which nobody has read, are skipped by their
 * number. There is no libmnl below: what it has is the forty lines that put and
 * find an attribute, and each program, QEMU's too, would depend on it.
 *
 * Theory of operation of the watch: the kernel sends a message for each change
 * to a socket that has joined the message's group. The watch turns a message
 * into one typed event. It keeps no table: a reader compares an event with what
 * it stands on. If the reader is too slow, the kernel drops messages and says so
 * once: the event RTNL_LOST. The reader then looks at all that it stands on
 * again, as it does at its start.
 */
#ifndef BASE_RTNL_H
#define BASE_RTNL_H

#include <glib.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/* Octets for the messages of one read; the kernel's own are at most 32 KiB. */
#define RTNL_BUF        32768
#define RTNL_MAC_LEN    6

/* --- requests ------------------------------------------------------------- */

/* A request under construction, made by rtnl_request() */
typedef struct RtnlRequest {
    struct nlmsghdr head;
    uint8_t body[240] __attribute__((aligned(NLMSG_ALIGNTO)));
} RtnlRequest;

/* The kernel's message about an interface has up to some KiB. */
typedef union RtnlAnswer {
    struct nlmsghdr head;
    uint8_t octets[16384];
} RtnlAnswer;

typedef struct Rtnl {
    int fd;                     /* -1: closed */
    uint32_t serial;            /* number of the latest request */
} Rtnl;

/** rtnl_open: returns 0; or -errno, and @n->fd is -1 */
int rtnl_open(Rtnl *n);

/** rtnl_close: may be called on a closed one */
void rtnl_close(Rtnl *n);

/**
 * rtnl_request: begin a request
 * @type: RTM_GETROUTE ...
 * @flags: NLM_F_CREATE ...; the functions below add those of their kind
 * @body: struct rtmsg, ifaddrmsg ..., of @len octets
 */
void rtnl_request(RtnlRequest *r, uint16_t type, uint16_t flags,
                  const void *body, size_t len);

/** rtnl_put: append an attribute; it must fit */
void rtnl_put(RtnlRequest *r, uint16_t type, const void *data, size_t len);

/**
 * rtnl_do: make the kernel change something
 *
 * Returns: 0; or the kernel's -errno
 */
int rtnl_do(Rtnl *n, RtnlRequest *r);

/**
 * rtnl_ask: ask for one thing (RTM_GETROUTE ...)
 * @answer: the message about it (RTM_NEWROUTE ...), with at least the octets of
 *          the request's own body
 *
 * Returns: 0; or the kernel's -errno
 */
int rtnl_ask(Rtnl *n, RtnlRequest *r, RtnlAnswer *answer);

/** RtnlEachFn: one message of a list, with at least the request's own body */
typedef void RtnlEachFn(void *opaque, const struct nlmsghdr *head);

/**
 * rtnl_list: ask for all things of a kind (RTM_GETROUTE ...)
 *
 * Returns: 0; or -errno, if the list is not whole
 */
int rtnl_list(Rtnl *n, RtnlRequest *r, RtnlEachFn *each, void *opaque);

/**
 * rtnl_answer: what octets from the kernel say to a request
 * @serial: the request's number
 * @type: the type of the message that answers it; 0: an acknowledgement
 * @body: octets of that message at least, after its header
 *
 * Returns: 0; the kernel's -errno; -EAGAIN: it answers another request; -EPROTO
 */
int rtnl_answer(const void *octets, size_t len, uint32_t serial, uint16_t type,
                size_t body);

/**
 * rtnl_attribute: copy an attribute of a message
 * @body: octets before the first attribute: sizeof(struct rtmsg) ...
 *
 * Returns: false, and @to is as before, if it has none of @len octets or more
 */
bool rtnl_attribute(const struct nlmsghdr *head, size_t body, uint16_t type,
                    void *to, size_t len);

/* --- the watch ------------------------------------------------------------ */

/* What to watch; combine with |. */
enum {
    RTNL_LINKS = 1,
    RTNL_ADDRESSES = 2,         /* IPv6 */
    RTNL_ROUTES = 4,            /* IPv6 */
};

typedef enum RtnlKind {
    RTNL_LINK,                  /* an interface is there, or has changed */
    RTNL_LINK_GONE,
    RTNL_ADDRESS,               /* an address is there, or has changed */
    RTNL_ADDRESS_GONE,
    RTNL_ROUTE,
    RTNL_ROUTE_GONE,
    RTNL_LOST,                  /* events were lost: look at everything */
    RTNL_LISTED,                /* the end of a list of all links */
} RtnlKind;

typedef struct RtnlEvent {
    RtnlKind kind;
    /* Interface of the link, the address or the route; 0: none */
    unsigned index;
    /*
     * Of a link: its name and IFF_* flags, and its MAC address if it has one of
     * six octets (else zeros). A link that has been renamed is an event with
     * the same index and another name.
     */
    char name[IF_NAMESIZE];
    unsigned link_flags;
    bool has_mac;
    uint8_t mac[RTNL_MAC_LEN];
    unsigned master;            /* the bridge, VRF ... that has it; 0: none */
    bool is_vrf;                /* is it a VRF (an l3mdev)? */
    bool is_bridge;
    /* Of an address, or a route's destination; ADDR/LEN */
    struct in6_addr addr;
    uint8_t prefix_len;
    uint32_t addr_flags;        /* of an address: IFA_F_* */
    uint32_t table, metric;     /* of a route */
    bool replaces;              /* a route: another one is gone with it */
} RtnlEvent;

typedef struct RtnlWatch {
    int fd;                     /* readable when events exist; -1: closed */
    size_t len, pos;            /* unread messages in @buf */
    uint8_t buf[RTNL_BUF] __attribute__((aligned(NLMSG_ALIGNTO)));
} RtnlWatch;

/**
 * rtnl_watch_open: start to watch
 * @what: RTNL_LINKS ...
 *
 * Look at what the watcher stands on after this call, not before, so that no
 * change is missed.  Needs no privilege.
 *
 * Returns: 0; or -errno, and @w->fd is -1
 */
int rtnl_watch_open(RtnlWatch *w, unsigned what);

/**
 * rtnl_watch_list: ask for all links that are there
 *
 * Each is an event RTNL_LINK of rtnl_watch_next(), and RTNL_LISTED follows;
 * or RTNL_LOST, if the list is not whole.
 *
 * Returns: 0 or -errno
 */
int rtnl_watch_list(RtnlWatch *w);

/** rtnl_watch_close: may be called on a closed one */
void rtnl_watch_close(RtnlWatch *w);

/**
 * rtnl_watch_next: the next event; does not block
 *
 * Call it until it returns false.  A reader that bounds its work may stop
 * before: the rest is kept, but @w->fd need not be readable then.
 *
 * Returns: false if there is no event
 */
bool rtnl_watch_next(RtnlWatch *w, RtnlEvent *event);

/**
 * rtnl_parse: one message as an event
 * @head: of a complete message (nlmsg_len octets are there)
 *
 * Returns: false if the message is of another kind, or malformed
 */
bool rtnl_parse(const struct nlmsghdr *head, RtnlEvent *event);

#endif /* BASE_RTNL_H */
