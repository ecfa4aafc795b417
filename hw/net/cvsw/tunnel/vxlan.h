/* SPDX-License-Identifier: GPL-2.0-or-later */
/* VXLAN (RFC 7348): encapsulation and decapsulation */
#ifndef CVSW_TUNNEL_VXLAN_H
#define CVSW_TUNNEL_VXLAN_H

#include "hw/net/cvsw/flow/action.h"
#include "hw/net/cvsw/frame/frame.h"

/* IANA's port for VXLAN (RFC 7348 section 8). */
#define CVSW_VXLAN_PORT         4789u
#define CVSW_VXLAN_LEN          8u
/* Ethernet and IPv6 headers; UDP and VXLAN headers. */
#define CVSW_OUTER_MAX          (14u + 40u)
#define CVSW_VXLAN_HEAD_LEN     (8u + CVSW_VXLAN_LEN)

/**
 * cvsw_vxlan_outer: write the outer Ethernet and IP headers
 * @buf: space for CVSW_OUTER_MAX octets
 * @protocol: IP protocol: 17, or 50 for ESP
 * @len: octets after the IP header
 *
 * Returns: octets written, or 0 if the packet would be too long for IP
 */
size_t cvsw_vxlan_outer(void *buf, const CvswTunnel *tunnel, uint8_t protocol,
                        size_t len);

/**
 * cvsw_vxlan_head: write the UDP and VXLAN headers
 * @buf: space for CVSW_VXLAN_HEAD_LEN octets
 * @source: UDP source port
 * @len: octets of the inner frame
 *
 * The UDP checksum is 0, which means none.
 */
void cvsw_vxlan_head(void *buf, const CvswTunnel *tunnel, uint16_t source,
                     size_t len);

/**
 * cvsw_vxlan_seal: compute the UDP checksum, which IPv6 requires (RFC 8200
 * section 8.1)
 * @head: from cvsw_vxlan_head()
 * @inner: the frame
 */
void cvsw_vxlan_seal(void *head, const CvswTunnel *tunnel,
                     const struct iovec *inner, int parts, size_t len);

/* Length of the headers that cvsw_vxlan_super() writes. */
#define CVSW_VXLAN_SUPER_MAX    (CVSW_OUTER_MAX + CVSW_VXLAN_HEAD_LEN + \
                                 PACKET_SEGMENT_HEAD_MAX)

/**
 * cvsw_vxlan_super: encapsulate a TCP super-frame whole (super.h)
 * @head: space for CVSW_VXLAN_SUPER_MAX octets; all headers are written to it
 * @source: UDP source port
 * @s: before its first segment; its segment size fits
 * @offload: set
 *
 * The payload of @s follows the headers.
 *
 * Returns: octets of headers; 0 if it must be segmented here: it has only one
 * segment, the outer packet would be too long for IP, or there would be more
 * than CVSW_PIECES_MAX segments
 */
size_t cvsw_vxlan_super(uint8_t *head, const CvswTunnel *tunnel,
                        uint16_t source, const PacketSegments *s,
                        PacketOffload *offload);

/**
 * cvsw_vxlan_source: a source port from the inner flow's hash (RFC 7348 section
 * 5)
 *
 * All packets of a flow have the same port, in 49152..65535.
 */
uint16_t cvsw_vxlan_source(const PacketFlow *inner);

/* Reasons why a frame is not for a tunnel endpoint. */
typedef enum CvswDecap {
    CVSW_DECAP_DONE,
    CVSW_DECAP_NOT_UDP,         /* also a fragment of a datagram */
    CVSW_DECAP_PORT,            /* UDP to another port */
    CVSW_DECAP_HEADER,          /* truncated, or without a VNI */
    CVSW_DECAP_CHECKSUM,
} CvswDecap;

/**
 * cvsw_vxlan_decap: decapsulate a frame
 * @outer: must stay unchanged as long as @inner is used
 * @port: UDP destination port
 * @vni: set
 */
CvswDecap cvsw_vxlan_decap(const CvswFrame *outer, uint16_t port,
                           CvswFrame *inner, uint32_t *vni);

#endif /* CVSW_TUNNEL_VXLAN_H */
