/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ESP between a mobile node and its home agent (RFC 3776, RFC 4877)
 *
 * A home address has four associations: for signalling and for the tunnel,
 * outbound and inbound; or two, if only signalling is protected. Both sides
 * use this code; "out" of one side is "in" of the other.
 * A node with several home addresses has four associations for each:
 * according to RFC 3776 section 4.2, with manual keys there is one association
 * for Binding Updates for each pair of home address and agent.
 */
#ifndef NET_MIP6_PROTECT_H
#define NET_MIP6_PROTECT_H

#include "net/esp/esp.h"
#include "net/packet/ip6.h"

typedef enum Mip6ProtectSa {
    MIP6_SIGNAL_OUT,            /* transport mode: mobility headers, ICMPv6 */
    MIP6_SIGNAL_IN,
    /* tunnel mode: payload packets, unless @signal_only */
    MIP6_TUNNEL_OUT,
    MIP6_TUNNEL_IN,
    MIP6_PROTECT_SAS
} Mip6ProtectSa;

#define MIP6_PROTECT_WINDOW     64u     /* see Mip6ProtectConfig */
/* Maximum number of octets that ESP adds to a packet. */
#define MIP6_PROTECT_MORE       (ESP_HEAD_LEN + ESP_IV_MAX + 18u + ESP_ICV_MAX)

typedef struct Mip6ProtectSaConfig {
    const EspAlgorithm *algorithm;
    uint32_t spi;
    const uint8_t *key;         /* keying material; copied */
    size_t key_len;
} Mip6ProtectSaConfig;

typedef struct Mip6ProtectConfig {
    Mip6ProtectSaConfig sa[MIP6_PROTECT_SAS];
    bool signal_only;           /* RFC 3776: payload needs no protection */
    uint32_t window;            /* inbound signalling: esp_replay_init() */
    uint32_t epoch;             /* real time in s; must never go back */
} Mip6ProtectConfig;

/* The reason why no associations were created. */
typedef struct Mip6ProtectFault {
    Mip6ProtectSa sa;           /* the faulty association */
    bool is_key;                /* its key is faulty; else its SPI */
    char text[96];              /* the fault, as the end of a sentence */
} Mip6ProtectFault;

typedef struct Mip6Protect Mip6Protect;

/**
 * mip6_protect_new: create the associations
 * @fault: set if the result is NULL
 *
 * Later no more memory is allocated, with the exception in esp.c, and for a
 * tunnel whose sequence numbers are used up (see mip6_protect_tunnel()).
 */
Mip6Protect *mip6_protect_new(const Mip6ProtectConfig *config,
                              Mip6ProtectFault *fault);

/**
 * mip6_protect_fits: can one node use both configurations?
 * @config, @other: valid for mip6_protect_new()
 * @fault: set if the result is false, about @config
 *
 * Returns: false if they share an SPI of the same direction, or a GCM key
 */
bool mip6_protect_fits(const Mip6ProtectConfig *config,
                       const Mip6ProtectConfig *other,
                       Mip6ProtectFault *fault);

/** mip6_protect_free: free and overwrite the keys; @p may be NULL */
void mip6_protect_free(Mip6Protect *p);

/** mip6_protect_sa_name: name for messages and options, e.g. "signal-out" */
const char *mip6_protect_sa_name(Mip6ProtectSa which);

/**
 * mip6_protect_sa: an association, for its counters
 *
 * Returns: NULL for those of the tunnel if only signalling is protected
 */
const EspSa *mip6_protect_sa(const Mip6Protect *p, Mip6ProtectSa which);

/**
 * mip6_protect_signal: protect a packet's upper layer with ESP, in transport
 * mode
 * @packet: IPv6 packet of @len octets, from its header on. The upper layer
 *          follows all extension headers: IPv6 | DestOpt | MH becomes IPv6 |
 *          DestOpt | ESP | MH
 * @room: space at @packet; @len plus MIP6_PROTECT_MORE is enough
 *
 * Returns: octets of the packet; 0 if it cannot be sent
 */
size_t mip6_protect_signal(Mip6Protect *p, void *packet, size_t len,
                           size_t room);

/**
 * mip6_protect_tunnel: protect an IPv6 packet with ESP, in tunnel mode
 * @iov: the packet; it is read once
 * @out: the ESP packet is written here; the outer header before it has next
 *       header ESP_PROTOCOL
 *
 * When the sequence numbers of the association are used up, it restarts with
 * number 1 and another epoch; this works because the peer has no replay window.
 *
 * Returns: octets at @out; 0 if it cannot be sent
 */
size_t mip6_protect_tunnel(Mip6Protect *p, const struct iovec *iov, int iovcnt,
                           void *out, size_t room);

/**
 * mip6_protect_tunnel_room: maximum length of a packet whose ESP packet has up
 * to @room octets
 */
size_t mip6_protect_tunnel_room(const Mip6Protect *p, size_t room);

/**
 * mip6_protect_knows: does the packet belong to an inbound association?
 * @esp: the packet from the SPI on
 */
bool mip6_protect_knows(const Mip6Protect *p, const struct iovec *esp,
                        int iovcnt);

/**
 * mip6_protect_open: verify and decrypt a packet
 * @head: its headers before ESP, @ext->offset octets
 * @ext: from packet_ip6_walk(), with @next ESP_PROTOCOL
 * @esp: the packet from the SPI on; it is read once
 * @out: gets the packet as if without ESP; in tunnel mode, the outer headers
 *       and the inner packet
 * @len: set to the length of the result
 * @which: set to the association
 *
 * Returns: false if the packet must be dropped; the association, if there is
 * one, has counted it. A packet of a kind that the association must not carry
 * is malformed.
 */
bool mip6_protect_open(Mip6Protect *p, const void *head,
                       const PacketIp6Ext *ext, const struct iovec *esp,
                       int iovcnt, void *out, size_t room, size_t *len,
                       Mip6ProtectSa *which);

/**
 * mip6_protect_is_ours: did we send this packet?
 * @packet: quoted in an ICMPv6 error, may be truncated
 *
 * Returns: true if it is a tunnel packet with our SPI and a recently used
 * sequence number. Only a node that has seen one of our packets knows both.
 */
bool mip6_protect_is_ours(const Mip6Protect *p, const void *packet, size_t len);

/* --- migration ------------------------------------------------------------ */

/**
 * mip6_protect_hand_over: give sequence numbers of @which to another host
 * (esp_sa_hand_over())
 *
 * This host can still decrypt packets, and seal some packets.
 */
void mip6_protect_hand_over(Mip6Protect *p, Mip6ProtectSa which,
                            EspSaState *state);

/** mip6_protect_take_back: continue, because the other host did not */
void mip6_protect_take_back(Mip6Protect *p);

/**
 * mip6_protect_load: take over from another host
 *
 * Returns: false if @state is invalid, or if only the other host protects
 * payload
 */
bool mip6_protect_load(Mip6Protect *p, Mip6ProtectSa which,
                       const EspSaState *state);

#endif /* NET_MIP6_PROTECT_H */
