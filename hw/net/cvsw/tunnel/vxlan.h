/* SPDX-License-Identifier: GPL-2.0-or-later */
/* VXLAN (RFC 7348): the headers before a frame in a tunnel */
#ifndef CVSW_TUNNEL_VXLAN_H
#define CVSW_TUNNEL_VXLAN_H

#include "hw/net/cvsw/flow/action.h"
#include "hw/net/cvsw/frame/frame.h"

/* IANA's port (RFC 7348 section 8). */
#define CVSW_VXLAN_PORT         4789u
#define CVSW_VXLAN_LEN          8u
/* Ethernet and IPv6; UDP and VXLAN. */
#define CVSW_OUTER_MAX          (14u + 40u)
#define CVSW_VXLAN_HEAD_LEN     (8u + CVSW_VXLAN_LEN)

/**
 * cvsw_vxlan_outer: write an outer Ethernet and IP header
 * @buf: room for CVSW_OUTER_MAX octets
 * @protocol: behind IP: 17, or 50 if it is sealed
 * @len: octets behind IP
 *
 * Returns: octets written, or 0 if the packet would be longer than IP allows
 */
size_t cvsw_vxlan_outer(void *buf, const CvswTunnel *tunnel, uint8_t protocol,
                        size_t len);

/**
 * cvsw_vxlan_head: write the UDP and the VXLAN header
 * @buf: room for CVSW_VXLAN_HEAD_LEN octets
 * @source: UDP's source port
 * @len: octets of the inner frame
 *
 * UDP's checksum is 0: none.
 */
void cvsw_vxlan_head(void *buf, const CvswTunnel *tunnel, uint16_t source,
                     size_t len);

/**
 * cvsw_vxlan_seal: make UDP's checksum, which IPv6 wants (RFC 8200 section 8.1)
 * @head: as cvsw_vxlan_head() wrote it
 * @inner: the frame
 */
void cvsw_vxlan_seal(void *head, const CvswTunnel *tunnel,
                     const struct iovec *inner, int parts, size_t len);

/* The headers of cvsw_vxlan_super(). */
#define CVSW_VXLAN_SUPER_MAX    (CVSW_OUTER_MAX + CVSW_VXLAN_HEAD_LEN + \
                                 PACKET_SEGMENT_HEAD_MAX)

/**
 * cvsw_vxlan_super: a super-frame of TCP goes into a tunnel whole (super.h)
 * @head: room for CVSW_VXLAN_SUPER_MAX octets: gets all headers
 * @source: UDP's source port
 * @s: before the first piece, whose size fits
 * @offload: set
 *
 * Behind the headers, the payload is that of @s.
 *
 * Returns: octets of headers, or 0 if it has to be cut here: there is nothing
 * to cut, the outer packet would be longer than IP allows, or there would be
 * more pieces than CVSW_PIECES_MAX
 */
size_t cvsw_vxlan_super(uint8_t *head, const CvswTunnel *tunnel,
                        uint16_t source, const PacketSegments *s,
                        PacketOffload *offload);

/**
 * cvsw_vxlan_source: a source port that tells flows apart (RFC 7348 section 5)
 *
 * Packets of one flow have the same one: 49152..65535.
 */
uint16_t cvsw_vxlan_source(const PacketFlow *inner);

/* Why a frame is none for a tunnel's end. */
typedef enum CvswDecap {
    CVSW_DECAP_DONE,
    CVSW_DECAP_NOT_UDP,         /* nor is it a fragment's whole datagram */
    CVSW_DECAP_PORT,            /* UDP, but to another port */
    CVSW_DECAP_HEADER,          /* cut, or without a VNI */
    CVSW_DECAP_CHECKSUM,
} CvswDecap;

/**
 * cvsw_vxlan_decap: what is in an outer frame
 * @outer: it must stay as it is as long as @inner is used
 * @port: UDP's destination port
 * @vni: set
 */
CvswDecap cvsw_vxlan_decap(const CvswFrame *outer, uint16_t port,
                           CvswFrame *inner, uint32_t *vni);

#endif /* CVSW_TUNNEL_VXLAN_H */
