/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A DHCPv6 client for one address (RFC 8415)
 *
 * Times are in ns of a monotonic clock; the functions take and give messages
 * from the message type on, without UDP header. The client allocates nothing.
 */
#ifndef NET_MIP6_CAREOF_DHCP6_H
#define NET_MIP6_CAREOF_DHCP6_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/packet/eth.h"

#define MIP6_DHCP6_CLIENT       546u    /* UDP ports (section 7.2) */
#define MIP6_DHCP6_SERVER       547u
#define MIP6_DHCP6_DUID_MAX     130u    /* octets (section 11.1) */
#define MIP6_DHCP6_MAX          256u    /* a message of the client */

/* Status codes (section 21.13). */
enum {
    MIP6_DHCP6_SUCCESS = 0,
    MIP6_DHCP6_UNSPEC_FAIL = 1,
    MIP6_DHCP6_NO_ADDRS = 2,
    MIP6_DHCP6_NO_BINDING = 3,
    MIP6_DHCP6_NOT_ON_LINK = 4,
    MIP6_DHCP6_USE_MULTICAST = 5,
};

typedef enum Mip6Dhcp6State {
    MIP6_DHCP6_OFF,
    MIP6_DHCP6_SOLICITING,
    MIP6_DHCP6_REQUESTING,
    MIP6_DHCP6_BOUND,
    MIP6_DHCP6_RENEWING,        /* the address is asked of its server */
    MIP6_DHCP6_REBINDING,       /* and of any server */
    MIP6_DHCP6_DECLINING,       /* another node has the address */
} Mip6Dhcp6State;

typedef struct Mip6Dhcp6Duid {
    uint8_t len;                /* 0: none */
    uint8_t octets[MIP6_DHCP6_DUID_MAX];
} Mip6Dhcp6Duid;

typedef struct Mip6Dhcp6Ops {
    /* Send a message to all servers; @message is invalid after the call. */
    void (*send)(void *opaque, const void *message, size_t len);
    uint32_t (*random)(void *opaque);
    /*
     * The state, or the address or a lifetime of it, has changed. Calls are not
     * nested.
     */
    void (*changed)(void *opaque, int64_t now);
} Mip6Dhcp6Ops;

typedef struct Mip6Dhcp6 {
    const Mip6Dhcp6Ops *ops;
    void *opaque;
    uint8_t mac[PACKET_ETH_ADDR_LEN];
    /* Readable by all: */
    Mip6Dhcp6State state;
    bool has_address;
    struct in6_addr address;
    int64_t preferred, valid;   /* end times; INT64_MAX: infinite */
    uint16_t status;            /* of the last refusal; 0: none */
    unsigned tries;             /* messages of this exchange */
    /* Private. */
    Mip6Dhcp6Duid server;       /* of the address, or of the best offer */
    bool has_offer;
    uint8_t preference;         /* of the offer */
    uint32_t id;                /* transaction, 24 bits */
    int64_t begun;              /* first message of the exchange */
    int64_t next;               /* time of the next step */
    uint32_t timeout;           /* ms, RT of section 15 */
    unsigned refusals;          /* in a row */
    uint32_t solicit_max;       /* ms, SOL_MAX_RT */
    int64_t renew, rebind;      /* T1, T2; INT64_MAX: never */
} Mip6Dhcp6;

/**
 * mip6_dhcp6_init: initialize; nothing is sent before mip6_dhcp6_start()
 * @mac: identifies the client (DUID-LL)
 */
void mip6_dhcp6_init(Mip6Dhcp6 *d, const uint8_t mac[PACKET_ETH_ADDR_LEN],
                     const Mip6Dhcp6Ops *ops, void *opaque);

/**
 * mip6_dhcp6_start: search a server, from the next tick on; an address that the
 * client has stays until its end
 */
void mip6_dhcp6_start(Mip6Dhcp6 *d, int64_t now);

/** mip6_dhcp6_stop: forget everything, and tell no server */
void mip6_dhcp6_stop(Mip6Dhcp6 *d);

/** mip6_dhcp6_release: give the address back, by one message, and stop */
void mip6_dhcp6_release(Mip6Dhcp6 *d, int64_t now);

/** mip6_dhcp6_decline: another node has the address; search another one */
void mip6_dhcp6_decline(Mip6Dhcp6 *d, int64_t now);

/**
 * mip6_dhcp6_message: process a message from a server
 *
 * Returns: false if it is malformed, or no answer to the client
 */
bool mip6_dhcp6_message(Mip6Dhcp6 *d, int64_t now, const void *message,
                        size_t len);

/** mip6_dhcp6_deadline: when to call mip6_dhcp6_tick(); INT64_MAX: never */
int64_t mip6_dhcp6_deadline(const Mip6Dhcp6 *d);

/** mip6_dhcp6_tick: do what is due */
void mip6_dhcp6_tick(Mip6Dhcp6 *d, int64_t now);

/** mip6_dhcp6_state_name: the state for users */
const char *mip6_dhcp6_state_name(Mip6Dhcp6State state);

#endif /* NET_MIP6_CAREOF_DHCP6_H */
