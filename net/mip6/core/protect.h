/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ESP between a mobile node and its home agent (RFC 3776,
 * RFC 4877)
 *
 * There are four associations for a home address: for signalling and for the
 * tunnel, out and in. The same code serves both sides, and what is "out" of one
 * is "in" of the other. A node with several home addresses has four for each:
 * by RFC 3776 section 4.2 a home address and an agent have one association for
 * Binding Updates, if keys are manual.
 */
#ifndef NET_MIP6_PROTECT_H
#define NET_MIP6_PROTECT_H

#include "net/esp/esp.h"
#include "net/packet/ip6.h"

typedef enum Mip6ProtectSa {
    MIP6_SIGNAL_OUT,            /* transport mode: mobility headers, ICMPv6 */
    MIP6_SIGNAL_IN,
    MIP6_TUNNEL_OUT,            /* tunnel mode: packets of the home address */
    MIP6_TUNNEL_IN,
    MIP6_PROTECT_SAS
} Mip6ProtectSa;

#define MIP6_PROTECT_WINDOW     64u     /* see Mip6ProtectConfig */
/* Octets that ESP adds to a packet at most. */
#define MIP6_PROTECT_MORE       (ESP_HEAD_LEN + ESP_IV_MAX + 18u + ESP_ICV_MAX)

typedef struct Mip6ProtectSaConfig {
    const EspAlgorithm *algorithm;
    uint32_t spi;
    const uint8_t *key;         /* keying material; copied */
    size_t key_len;
} Mip6ProtectSaConfig;

typedef struct Mip6ProtectConfig {
    Mip6ProtectSaConfig sa[MIP6_PROTECT_SAS];
    uint32_t window;            /* of inbound signalling: esp_replay_init() */
    uint32_t epoch;             /* real time in s; must never go back */
} Mip6ProtectConfig;

/* Why there are no associations. */
typedef struct Mip6ProtectFault {
    Mip6ProtectSa sa;           /* whose fault it is */
    bool is_key;                /* of its key, else of its SPI */
    char text[96];              /* the end of a sentence about it */
} Mip6ProtectFault;

typedef struct Mip6Protect Mip6Protect;

/**
 * mip6_protect_new: make the four associations
 * @fault: says why there are none
 *
 * Packets need no more memory than is allocated here, but for the exception of
 * esp.c, and for a tunnel whose numbers end (see mip6_protect_tunnel()).
 */
Mip6Protect *mip6_protect_new(const Mip6ProtectConfig *config,
                              Mip6ProtectFault *fault);

/**
 * mip6_protect_fits: can one node have both?
 * @config, @other: that were good enough for mip6_protect_new()
 * @fault: says why not, about @config
 *
 * Returns: false if they share an SPI of a direction, or a key of GCM
 */
bool mip6_protect_fits(const Mip6ProtectConfig *config,
                       const Mip6ProtectConfig *other,
                       Mip6ProtectFault *fault);

/** mip6_protect_free: keys are overwritten; NULL is allowed */
void mip6_protect_free(Mip6Protect *p);

/** mip6_protect_sa_name: for people, and for options: "signal-out" */
const char *mip6_protect_sa_name(Mip6ProtectSa which);

/** mip6_protect_sa: one of them, to be looked at; never NULL */
const EspSa *mip6_protect_sa(const Mip6Protect *p, Mip6ProtectSa which);

/**
 * mip6_protect_signal: put a packet's upper layer into ESP, in transport mode
 * @packet: IPv6 packet of @len octets, from its header on. The upper layer is
 *          behind all extension headers: IPv6 | DestOpt | MH becomes IPv6 |
 *          DestOpt | ESP | MH
 * @room: octets at @packet; MIP6_PROTECT_MORE above @len are enough
 *
 * Returns: octets of the packet; 0 if it cannot be sent
 */
size_t mip6_protect_signal(Mip6Protect *p, void *packet, size_t len,
                           size_t room);

/**
 * mip6_protect_tunnel: put an IPv6 packet into ESP, in tunnel mode
 * @iov: the packet; it is read once
 * @out: gets what stands behind the outer header, whose next header is
 *       ESP_PROTOCOL
 *
 * When the numbers of the association end, it begins with number 1 and another
 * epoch: the peer has no window that would mind.
 *
 * Returns: octets at @out; 0 if it cannot be sent
 */
size_t mip6_protect_tunnel(Mip6Protect *p, const struct iovec *iov, int iovcnt,
                           void *out, size_t room);

/**
 * mip6_protect_tunnel_room: the longest packet whose ESP has up to @room octets
 */
size_t mip6_protect_tunnel_room(const Mip6Protect *p, size_t room);

/**
 * mip6_protect_knows: is a packet of one of the inbound associations?
 * @esp: the packet from the SPI on
 */
bool mip6_protect_knows(const Mip6Protect *p, const struct iovec *esp,
                        int iovcnt);

/**
 * mip6_protect_open: take a packet out of ESP
 * @head: its headers before ESP, @ext->offset octets
 * @ext: from packet_ip6_walk(), with @next ESP_PROTOCOL
 * @esp: the packet from the SPI on; it is read once
 * @out: gets the packet as it would be without ESP: of a tunnel, the outer
 *       headers and the inner packet
 * @len: set to its octets
 * @which: set to the association
 *
 * Returns: false, and it is counted by the association if there is one, if the
 * packet ends here. What an association must not carry is malformed.
 */
bool mip6_protect_open(Mip6Protect *p, const void *head,
                       const PacketIp6Ext *ext, const struct iovec *esp,
                       int iovcnt, void *out, size_t room, size_t *len,
                       Mip6ProtectSa *which);

/**
 * mip6_protect_is_ours: did we send this?
 * @packet: what an ICMPv6 error quotes, cut
 *
 * Returns: whether it is a packet of the tunnel with our SPI, and a number that
 * was used lately. Nobody who has not seen one of our packets knows both.
 */
bool mip6_protect_is_ours(const Mip6Protect *p, const void *packet, size_t len);

/* --- migration ------------------------------------------------------------ */

/**
 * mip6_protect_hand_over: give the numbers of @which to another host, as
 * esp_sa_hand_over() does
 *
 * What comes in can still be opened here, and some packets sent on.
 */
void mip6_protect_hand_over(Mip6Protect *p, Mip6ProtectSa which,
                            EspSaState *state);

/** mip6_protect_take_back: the other host has not taken over */
void mip6_protect_take_back(Mip6Protect *p);

/**
 * mip6_protect_load: take over from another host
 *
 * Returns: false if @state does not fit
 */
bool mip6_protect_load(Mip6Protect *p, Mip6ProtectSa which,
                       const EspSaState *state);

#endif /* NET_MIP6_PROTECT_H */
