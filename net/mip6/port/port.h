/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One VM's mobile node: everything between its NIC and the link
 *
 * Times are ns of a clock that never steps. One thread uses a port, or a lock
 * does.
 */
#ifndef NET_MIP6_PORT_H
#define NET_MIP6_PORT_H

#include "net/mip6/core/binding.h"
#include "net/mip6/careof/careof.h"
#include "net/mip6/core/dhaad.h"
#include "net/mip6/core/home.h"
#include "net/mip6/core/prefixes.h"
#include "net/mip6/core/tunnel.h"
#include "net/packet/fragment.h"

typedef enum Mip6Location {
    MIP6_LOCATION_AUTO,         /* what router advertisements say */
    MIP6_LOCATION_HOME,
    MIP6_LOCATION_AWAY,
} Mip6Location;

typedef struct Mip6PortConfig {
    Mip6HomeConfig home;
    struct in6_addr agent;      /* home agent */
    bool discover;              /* it is to be found: @agent does not count */
    bool has_care_of;
    struct in6_addr care_of;    /* a fixed one */
    /* Bind what the guest was heard to use, too; not with @protect. */
    bool heard_addresses;
    bool early_registration;    /* bind before the VM leaves home */
    Mip6Location location;
    uint16_t lifetime;          /* of bindings; MIP6_LIFETIME_UNIT */
    uint8_t mac[PACKET_ETH_ADDR_LEN];   /* on foreign links */
    uint32_t mtu;               /* of the link */
    /*
     * Of each home address, in their order; not owned. All or none: then
     * nothing is in ESP.
     */
    Mip6Protect *protect[MIP6_HOME_ADDRESSES];
} Mip6PortConfig;

typedef struct Mip6PortOps {
    /* Frames; they are gone after the call. */
    void (*to_guest)(void *opaque, const struct iovec *iov, int iovcnt,
                     const PacketOffload *offload);
    void (*to_link)(void *opaque, const struct iovec *iov, int iovcnt,
                    const PacketOffload *offload);
    uint32_t (*random)(void *opaque);
    /*
     * The state is another, or frames that were held may go now: soon after,
     * not from within a call.
     */
    void (*changed)(void *opaque);
} Mip6PortOps;

typedef enum Mip6Verdict {
    MIP6_PASS,                  /* the frame goes on as it is */
    MIP6_DONE,                  /* it ends here: answered, tunnelled, dropped */
    MIP6_HELD,                  /* offer it again after ops->changed() */
} Mip6Verdict;

/* Longest packet that comes in ESP. */
#define MIP6_PORT_OPENED_MAX    4096u

#define MIP6_PORT_UPDATE_RATE   3       /* Binding Updates in a second */

/* The registration of a VM that is about to leave home; see early.c. */
typedef struct Mip6Early {
    bool is_on;
    uint8_t agent_mac[PACKET_ETH_ADDR_LEN];     /* where the updates went */
    int64_t quiet[MIP6_HOME_ADDRESSES]; /* of binding N, until then */
    int64_t quiet_until;        /* the last of them; INT64_MAX: all are over */
    uint32_t question;          /* of ours to the guest's address, a number */
} Mip6Early;

/* Packets that come for a VM that has left; see late.c. */
typedef struct Mip6Late {
    uint8_t *buf;               /* what is kept; NULL: nothing is */
    size_t used;                /* octets of it */
    int64_t trial;              /* when to look for the new binding again */
    bool is_settled;            /* away: it is there */
    int64_t announce;           /* at home: when to say who takes packets */
    int64_t end;                /* of forwarding; INT64_MAX: it has ended */
    struct {
        bool is_known;          /* he takes them now */
        bool is_agent;          /* at home: he does with the new binding */
        bool asked;             /* whether that is there, by a question */
        unsigned announcements; /* still to be sent */
        uint8_t mac[PACKET_ETH_ADDR_LEN];
    } takes[MIP6_HOME_ADDRESSES];       /* who takes packets to an address */
} Mip6Late;

typedef struct Mip6Port {
    Mip6PortConfig config;
    const Mip6PortOps *ops;
    void *opaque;
    unsigned bindings;          /* the first is that of the first address */
    Mip6Binding binding[MIP6_HOME_ADDRESSES];
    const Mip6BindingOps *binding_ops;
    Mip6CareOf careof;
    Mip6Dhaad dhaad;            /* the home agents; see discovery.c */
    Mip6Home home;
    Mip6Prefixes prefixes;      /* of the home link, while away */
    Mip6Tunnel tunnel;
    PacketReassembly fragments; /* of the home agent */
    uint8_t opened[MIP6_PORT_OPENED_MAX];       /* the packet out of ESP */
    /* For all to read: */
    bool is_known;              /* where the VM is */
    bool is_away;               /* if @is_known */
    uint64_t sent, received;    /* packets through the tunnel */
    uint64_t reported;          /* ICMPv6 errors that the guest was told */
    uint64_t forwarded;         /* packets that came when the VM had left */
    uint64_t dropped[MIP6_DROP_REASONS];
    bool is_running;            /* the VM runs here */
    bool has_left;              /* it runs elsewhere, or will */
    /* Private. */
    int64_t now;                /* of the call */
    bool settle;                /* addresses may have changed */
    int64_t hold_until;         /* frames may wait until then */
    bool holding;               /* one waits */
    unsigned unsent;            /* bit N: update of binding N was not sent */
    unsigned returning;         /* bit N: the home link is to be told of it */
    uint64_t updates;           /* Binding Updates that were sent */
    int64_t updated[MIP6_PORT_UPDATE_RATE];     /* when the last ones were */
    struct in6_addr asked;      /* care-of address the guest's groups are at */
    bool home_heard;            /* the home prefix was advertised here */
    int64_t doubt_until;        /* of that; INT64_MAX: there is no doubt */
    int64_t error_credit;       /* answers to what is wrong, one a gap */
    Mip6Early early;
    Mip6Late late;
} Mip6Port;

/**
 * mip6_port_init: a VM whose link is not known yet
 * @arriving: it comes by a migration: its frames wait until the link is known;
 *            else it counts as being at home until an advertisement says
 *            something else
 */
void mip6_port_init(Mip6Port *p, const Mip6PortConfig *config,
                    const Mip6PortOps *ops, void *opaque, bool arriving);

/** mip6_port_destroy: the end; nothing is sent */
void mip6_port_destroy(Mip6Port *p);

/** mip6_port_start: the link is there; asks where it is */
void mip6_port_start(Mip6Port *p, int64_t now);

/**
 * mip6_port_run: the VM runs here from now on
 *
 * Before, the port only learns the link and gets a care-of address.
 */
void mip6_port_run(Mip6Port *p, int64_t now);

/**
 * mip6_port_pause: the VM does not run here now
 *
 * It may go on here, or elsewhere: no Binding Update is sent before
 * mip6_port_run(). The care-of address stays.
 */
void mip6_port_pause(Mip6Port *p);

/**
 * mip6_port_prepare: a migration has begun, by which the VM may leave
 *
 * With @early_registration a VM that is at home is registered from now on, by
 * an address that the care-of host has on the home link.
 */
void mip6_port_prepare(Mip6Port *p, int64_t now);

/** mip6_port_early_is_bound: has that registered @b? */
bool mip6_port_early_is_bound(const Mip6Port *p, const Mip6Binding *b);

/**
 * mip6_port_stay: the migration has failed, or was cancelled
 *
 * Ends what mip6_port_prepare() has begun; of a VM that does not run, when it
 * does.
 */
void mip6_port_stay(Mip6Port *p, int64_t now);

/**
 * mip6_port_leave: the VM that was paused has migrated away
 *
 * For 10 s a packet that comes for it is forwarded; after that, or if it
 * cannot be, it is late: dropped and counted. The care-of address stays, so
 * that nobody else gets it and what is sent to it.
 */
void mip6_port_leave(Mip6Port *p, int64_t now);

/* Room that mip6_port_save() needs. */
#define MIP6_PORT_SAVED_MAX     8192u

/**
 * mip6_port_save: what a migration carries, in a format of its own
 *
 * The numbers of ESP are handed over: until mip6_port_run() this port has few.
 *
 * @buf: room for MIP6_PORT_SAVED_MAX octets
 *
 * Returns: octets at @buf
 */
size_t mip6_port_save(const Mip6Port *p, int64_t now, void *buf);

/**
 * mip6_port_load: go on where another port was
 *
 * Returns: false if it is not what mip6_port_save() writes, of this version, or
 * its configuration has other home addresses; @p is as before then
 */
bool mip6_port_load(Mip6Port *p, int64_t now, const void *buf, size_t len);

/**
 * mip6_port_saved_homes: the home addresses of the other port's configuration
 * @buf: what mip6_port_load() refuses
 *
 * Returns: how many; 0: it is damaged, or of another version
 */
unsigned mip6_port_saved_homes(const void *buf, size_t len,
                               struct in6_addr home[MIP6_HOME_ADDRESSES]);

/**
 * mip6_port_passes: a first look at a frame
 * @from_guest: else it comes from the link
 * @dst: its destination MAC address
 *
 * Returns: true if the frame passes as it is, whatever else is in it; it need
 * not be offered to the functions below then
 */
bool mip6_port_passes(const Mip6Port *p, bool from_guest,
                      const uint8_t dst[PACKET_ETH_ADDR_LEN]);

Mip6Verdict mip6_port_from_guest(Mip6Port *p, int64_t now,
                                 const struct iovec *iov, int iovcnt,
                                 const PacketOffload *offload);
Mip6Verdict mip6_port_from_link(Mip6Port *p, int64_t now,
                                const struct iovec *iov, int iovcnt,
                                const PacketOffload *offload);

int64_t mip6_port_deadline(const Mip6Port *p);
void mip6_port_tick(Mip6Port *p, int64_t now);

#endif /* NET_MIP6_PORT_H */
