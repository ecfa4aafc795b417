/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The actions of a flow on its frames, in the order of its list
 *
 * An empty list drops.  OpenFlow 1.0's actions and 1.3's become the same ones.
 */
#ifndef CVSW_FLOW_ACTION_H
#define CVSW_FLOW_ACTION_H

#include <netinet/in.h>

#include "hw/net/cvsw/flow/field.h"
#include "net/packet/eth.h"

/* Actions in a list. */
#define CVSW_ACTIONS_MAX        32u

typedef enum CvswActionType {
    CVSW_ACTION_OUTPUT,         /* @port */
    CVSW_ACTION_SET_FIELD,      /* @field, @value, @mask */
    CVSW_ACTION_PUSH_VLAN,      /* @tpid; the new tag has the old one's TCI */
    CVSW_ACTION_POP_VLAN,
    CVSW_ACTION_SET_VID,        /* OpenFlow 1.0: adds a tag if there is none */
    CVSW_ACTION_SET_PCP,        /* the same */
    CVSW_ACTION_SET_TOS,        /* OpenFlow 1.0's SET_NW_TOS: keeps ECN */
    CVSW_ACTION_SET_TP_SRC,     /* OpenFlow 1.0: of TCP or UDP; ICMP's type */
    CVSW_ACTION_SET_TP_DST,     /* the same; ICMP's code */
    CVSW_ACTION_SET_NW_SRC,     /* OpenFlow 1.0: of IPv4; ARP's SPA stays */
    CVSW_ACTION_SET_NW_DST,
    CVSW_ACTION_SET_TTL,        /* of IPv4 and IPv6 */
    CVSW_ACTION_DEC_TTL,        /* a frame whose TTL ends is dropped */
    CVSW_ACTION_TUNNEL_ENCAP,   /* @tunnel */
    CVSW_ACTION_TUNNEL_DECAP,   /* what is no VXLAN for us is dropped */
    CVSW_ACTION_ENCRYPT,        /* @sa: what VXLAN comes to is sealed by it */
    CVSW_ACTION_DECRYPT,        /* @sa: of the SPI in the frame, if 0 */
    CVSW_ACTION_ANSWER_ND,      /* @mac; what is no solicitation is dropped */
    CVSW_ACTION_ANSWER_ARP,     /* @mac; what is no request is dropped */
    CVSW_ACTION_GROUP,          /* @group: its buckets, on copies */
} CvswActionType;

/* The reserved ports of OUTPUT, of OpenFlow 1.3's numbers (OFPP_...). */
enum {
    CVSW_OUT_IN_PORT = 0xfffffff8,
    CVSW_OUT_NORMAL = 0xfffffffa,       /* to the other port */
    CVSW_OUT_FLOOD = 0xfffffffb,        /* the same */
    CVSW_OUT_ALL = 0xfffffffc,          /* the same */
    CVSW_OUT_CONTROLLER = 0xfffffffd,
};

/* The outer headers of a VXLAN tunnel (RFC 7348). */
typedef struct CvswTunnel {
    bool is_ip6;
    /* IPv4's in the first four octets; in the order of the wire. */
    uint8_t local[16], remote[16];
    uint8_t local_mac[PACKET_ETH_ADDR_LEN];
    uint8_t remote_mac[PACKET_ETH_ADDR_LEN];    /* the next hop's */
    uint32_t vni;               /* 24 bits */
    uint16_t port;              /* UDP's destination port */
    uint8_t tos, ttl;           /* of the outer header; ttl 0: 64 */
} CvswTunnel;

typedef struct CvswAction {
    CvswActionType type;
    union {
        struct {
            uint32_t port;      /* CVSW_PORT_... or CVSW_OUT_... */
            uint16_t max_len;   /* octets for the controller */
        } output;
        struct {
            CvswField field;
            CvswValue value, mask;
        } set;
        uint16_t number;        /* of the TPID, VID, PCP, ToS, port, TTL */
        struct in_addr ip4;     /* of SET_NW_... */
        CvswTunnel tunnel;
        uint32_t sa;            /* a security association's number */
        uint8_t mac[PACKET_ETH_ADDR_LEN];
        uint32_t group;         /* its number (group.h) */
    };
} CvswAction;

#endif /* CVSW_FLOW_ACTION_H */
