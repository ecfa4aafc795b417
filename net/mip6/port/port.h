/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One VM's mobile node: everything between its NIC and the link
 *
 * Times are in ns of a monotonic clock. A port may be used by one thread only,
 * or under a lock.
 */
#ifndef NET_MIP6_PORT_H
#define NET_MIP6_PORT_H

#include "net/mip6/core/binding.h"
#include "net/mip6/careof/careof.h"
#include "net/mip6/core/dhaad.h"
#include "net/mip6/core/home.h"
#include "net/mip6/core/prefixes.h"
#include "net/mip6/core/probe.h"
#include "net/mip6/core/tunnel.h"
#include "net/packet/fragment.h"

typedef enum Mip6Location {
    MIP6_LOCATION_AUTO,         /* from router advertisements */
    MIP6_LOCATION_HOME,
    MIP6_LOCATION_AWAY,
} Mip6Location;

typedef struct Mip6PortConfig {
    Mip6HomeConfig home;
    struct in6_addr agent;      /* home agent */
    bool discover;              /* discover it; @agent is ignored */
    bool has_care_of;
    struct in6_addr care_of;    /* a configured one */
    /*
     * Also bind addresses that the guest was heard to use; not with @protect.
     */
    bool heard_addresses;
    bool early_registration;    /* bind before the VM leaves home */
    Mip6Location location;
    uint16_t lifetime;          /* of bindings; MIP6_LIFETIME_UNIT */
    uint8_t mac[PACKET_ETH_ADDR_LEN];   /* on foreign links */
    uint32_t mtu;               /* of the path to the agent, with the link */
    /*
     * For each home address, in order; not owned. Either all are set, with the
     * same associations, or none: then ESP is not used.
     */
    Mip6Protect *protect[MIP6_HOME_ADDRESSES];
} Mip6PortConfig;

/* Where the VM is. Only state.c changes it. */
typedef enum Mip6Place {
    MIP6_PLACE_UNKNOWN,         /* the VM has arrived; no router was heard */
    MIP6_PLACE_ASSUMED,         /* at home: no router has told otherwise yet */
    MIP6_PLACE_HOME,            /* by a router, or by the configuration */
    MIP6_PLACE_DOUBTED,         /* at home, but then another router was heard */
    MIP6_PLACE_AWAY,
} Mip6Place;

/* Is it on this host? Only state.c changes it. */
typedef enum Mip6Presence {
    MIP6_PRESENCE_STOPPED,      /* it may run here or elsewhere next */
    MIP6_PRESENCE_RUNNING,
    MIP6_PRESENCE_LEFT,         /* runs elsewhere, or will soon; see late.c */
    MIP6_PRESENCE_RELEASED,     /* so has this host: nothing is forwarded */
} Mip6Presence;

typedef struct Mip6PortOps {
    /* Send a frame; it is invalid after the call. */
    void (*to_guest)(void *opaque, const struct iovec *iov, int iovcnt,
                     const PacketOffload *offload);
    void (*to_link)(void *opaque, const struct iovec *iov, int iovcnt,
                    const PacketOffload *offload);
    uint32_t (*random)(void *opaque);
    /*
     * The state has changed, or held frames may be sent now. Called soon after
     * the change, not from within a call of this interface.
     */
    void (*changed)(void *opaque);
    /* For tracing: the place or the presence has changed. May be NULL. */
    void (*moved)(void *opaque, const char *what, const char *from,
                  const char *to);
} Mip6PortOps;

typedef enum Mip6Verdict {
    MIP6_PASS,                  /* the frame passes unchanged */
    MIP6_DONE,                  /* answered, tunnelled or dropped */
    MIP6_HELD,                  /* offer it again after ops->changed() */
} Mip6Verdict;

/* Maximum length of a packet in ESP. */
#define MIP6_PORT_OPENED_MAX    4096u

#define MIP6_PORT_UPDATE_RATE   3       /* Binding Updates in a second */

/* The registration of a VM that is about to leave home; see early.c. */
typedef struct Mip6Early {
    bool is_on;
    uint8_t agent_mac[PACKET_ETH_ADDR_LEN];     /* destination of the updates */
    int64_t quiet[MIP6_HOME_ADDRESSES]; /* end of "quiet" for binding N */
    int64_t quiet_until;        /* the last of them; INT64_MAX: all over */
    uint32_t question;          /* number in the test packet */
} Mip6Early;

/* Does anything come back through the tunnel? See bindings.c. */
typedef struct Mip6Silence {
    int64_t since;              /* first packet without any; INT64_MAX: none */
    int64_t look;               /* when to see; INT64_MAX: nothing was sent */
} Mip6Silence;

/* Packets for a VM that has left; see late.c. */
typedef struct Mip6Late {
    uint8_t *buf;               /* stored frames; NULL: none */
    size_t used;                /* octets in use */
    int64_t trial;              /* time of the next test */
    bool has_new_binding;       /* away: agent has the new binding */
    int64_t announce;           /* at home: time of the announcement */
    int64_t end;                /* end of forwarding; INT64_MAX: over */
    struct {
        bool is_known;          /* a node receives them now */
        bool is_agent;          /* at home: with the new binding */
        bool asked;             /* a test packet was sent */
        unsigned announcements; /* number still to be sent */
        uint8_t mac[PACKET_ETH_ADDR_LEN];
    } receiver[MIP6_HOME_ADDRESSES];    /* receiver of an address's packets */
} Mip6Late;

typedef struct Mip6Port {
    Mip6PortConfig config;
    const Mip6PortOps *ops;
    void *opaque;
    unsigned bindings;          /* the first is that of @home.address */
    Mip6Binding binding[MIP6_HOME_ADDRESSES];
    const Mip6BindingOps *binding_ops;
    Mip6CareOf careof;
    Mip6Dhaad dhaad;            /* home agents; see discovery.c */
    Mip6Home home;
    Mip6Prefixes prefixes;      /* of the home link, while away */
    Mip6Tunnel tunnel;
    PacketReassembly fragments; /* from the home agent */
    uint8_t opened[MIP6_PORT_OPENED_MAX];       /* a decrypted packet */
    /* Readable by all: */
    Mip6Place place;
    Mip6Presence presence;
    uint64_t sent, received;    /* packets through the tunnel */
    uint64_t reported;          /* ICMPv6 errors sent to the guest */
    uint64_t forwarded;         /* packets for a VM that had left */
    uint64_t dropped[MIP6_DROP_REASONS];
    /* Private. */
    int64_t now;                /* time of the current call */
    bool settle;                /* addresses may have changed */
    int64_t hold_until;         /* until then frames may be held */
    bool holding;               /* a frame is held */
    unsigned unsent;            /* bit N: update of binding N was not sent */
    unsigned returning;         /* bit N: announce it on the home link */
    uint64_t updates;           /* Binding Updates that were sent */
    int64_t updated[MIP6_PORT_UPDATE_RATE];     /* times of the last ones */
    struct in6_addr asked;      /* care-of address for which we last reported groups */
    bool heard_off_link;        /* the home prefix, without the L flag */
    int64_t doubt_until;        /* if the place is doubted */
    int64_t error_credit;       /* rate limit of error answers */
    Mip6Silence silence;
    Mip6Probe probe;            /* of the path to the agent; see probes.c */
    int64_t probe_at;           /* time to look if it is needed */
    int64_t bound_at;           /* of the binding to the care-of address */
    Mip6Early early;
    Mip6Late late;
} Mip6Port;

static inline bool mip6_port_is_away(const Mip6Port *p)
{
    return p->place == MIP6_PLACE_AWAY;
}

static inline bool mip6_port_is_running(const Mip6Port *p)
{
    return p->presence == MIP6_PRESENCE_RUNNING;
}

static inline bool mip6_port_has_left(const Mip6Port *p)
{
    return p->presence == MIP6_PRESENCE_LEFT ||
           p->presence == MIP6_PRESENCE_RELEASED;
}

/**
 * mip6_port_init: initialize, on an unknown link
 * @arriving: the VM comes by migration: its frames are held until the link is
 *            known; otherwise it counts as being at home until an advertisement
 *            shows that it is not
 */
void mip6_port_init(Mip6Port *p, const Mip6PortConfig *config,
                    const Mip6PortOps *ops, void *opaque, bool arriving);

/** mip6_port_destroy: free; nothing is sent */
void mip6_port_destroy(Mip6Port *p);

/** mip6_port_start: the link can be used; start to find out where it is */
void mip6_port_start(Mip6Port *p, int64_t now);

/**
 * mip6_port_run: the VM runs here from now on
 *
 * Before this call, the port only learns the link and configures a care-of
 * address.
 */
void mip6_port_run(Mip6Port *p, int64_t now);

/**
 * mip6_port_pause: the VM does not run at present
 *
 * It may continue here or elsewhere, so no Binding Update is sent before
 * mip6_port_run(). The care-of address is kept; a binding ends with its
 * lifetime.
 */
void mip6_port_pause(Mip6Port *p);

/**
 * mip6_port_prepare: a migration has started, and the VM may leave
 *
 * With @early_registration, a VM that is at home is registered from now on,
 * with an address that the care-of host has on the home link.
 */
void mip6_port_prepare(Mip6Port *p, int64_t now);

/** mip6_port_early_is_bound: is @b bound by mip6_port_prepare()? */
bool mip6_port_early_is_bound(const Mip6Port *p, const Mip6Binding *b);

/**
 * mip6_port_stay: the migration has failed, or was cancelled
 *
 * Ends what mip6_port_prepare() has started; if the VM does not run, this
 * happens when it runs again.
 */
void mip6_port_stay(Mip6Port *p, int64_t now);

/**
 * mip6_port_leave: the paused VM has migrated away
 *
 * For 10 s, packets for it are forwarded. After that, or if they cannot be
 * forwarded, they are late: dropped and counted. The care-of address is kept,
 * so that no other node gets it and the packets for it.
 */
void mip6_port_leave(Mip6Port *p, int64_t now);

/* Space that mip6_port_save() needs. */
#define MIP6_PORT_SAVED_MAX     8192u

/**
 * mip6_port_save: save the state for a migration, in a private format
 * @buf: space for MIP6_PORT_SAVED_MAX octets
 *
 * The ESP sequence numbers are handed over: this port has only few until
 * mip6_port_run().
 *
 * Returns: octets at @buf
 */
size_t mip6_port_save(const Mip6Port *p, int64_t now, void *buf);

/**
 * mip6_port_load: continue from another port's state
 *
 * Returns: false, with @p unchanged, if it was not written by mip6_port_save()
 * of this version, or has other home addresses
 */
bool mip6_port_load(Mip6Port *p, int64_t now, const void *buf, size_t len);

/**
 * mip6_port_saved_homes: the home addresses of the other port's configuration
 * @buf: a state that mip6_port_load() has refused
 *
 * Returns: their number; 0: it is damaged, or of another version
 */
unsigned mip6_port_saved_homes(const void *buf, size_t len,
                               struct in6_addr home[MIP6_HOME_ADDRESSES]);

/**
 * mip6_port_passes: a quick check of a frame
 * @from_guest: false: it comes from the link
 * @dst: its destination MAC address
 *
 * Returns: true if the frame passes unchanged, whatever it contains; then the
 * functions below need not be called
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
