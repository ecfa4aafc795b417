/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The actions of a flow, executed in the order of its list
 *
 * An empty list drops the frame.  The actions of OpenFlow 1.0 and 1.3 are
 * converted to this one set.
 */
#ifndef CVSW_FLOW_ACTION_H
#define CVSW_FLOW_ACTION_H

#include <netinet/in.h>

#include "hw/net/cvsw/flow/field.h"
#include "net/packet/eth.h"

/* Maximum number of actions in a list. */
#define CVSW_ACTIONS_MAX        32u

typedef enum CvswActionType {
    CVSW_ACTION_OUTPUT,         /* @port */
    CVSW_ACTION_SET_FIELD,      /* @field, @value, @mask */
    CVSW_ACTION_PUSH_VLAN,      /* @tpid; the new tag has the old one's TCI */
    CVSW_ACTION_POP_VLAN,
    CVSW_ACTION_SET_VID,        /* OpenFlow 1.0: adds a tag if there is none */
    CVSW_ACTION_SET_PCP,        /* as SET_VID */
    CVSW_ACTION_SET_TOS,        /* OpenFlow 1.0's SET_NW_TOS: keeps ECN */
    CVSW_ACTION_SET_TP_SRC,     /* OpenFlow 1.0: TCP or UDP port; ICMP type */
    CVSW_ACTION_SET_TP_DST,     /* as SET_TP_SRC; ICMP code */
    CVSW_ACTION_SET_NW_SRC,     /* OpenFlow 1.0: of IPv4, not ARP's SPA */
    CVSW_ACTION_SET_NW_DST,
    CVSW_ACTION_SET_TTL,        /* of IPv4 and IPv6 */
    CVSW_ACTION_DEC_TTL,        /* drops the frame when the TTL gets to 0 */
    CVSW_ACTION_TUNNEL_ENCAP,   /* @tunnel */
    CVSW_ACTION_TUNNEL_DECAP,   /* drops a frame that is not VXLAN to us */
    CVSW_ACTION_ENCRYPT,        /* @sa: seals the VXLAN packet */
    CVSW_ACTION_DECRYPT,        /* @sa: 0: selected by the frame's SPI */
    CVSW_ACTION_ANSWER_ND,      /* @mac; drops other than solicitations */
    CVSW_ACTION_ANSWER_ARP,     /* @mac; drops other than ARP requests */
    CVSW_ACTION_GROUP,          /* @group: runs its buckets on copies */
} CvswActionType;

/* Reserved ports of OUTPUT, with the numbers of OpenFlow 1.3 (OFPP_...). */
enum {
    CVSW_OUT_IN_PORT = 0xfffffff8,
    CVSW_OUT_NORMAL = 0xfffffffa,       /* to the other port */
    CVSW_OUT_FLOOD = 0xfffffffb,        /* as NORMAL */
    CVSW_OUT_ALL = 0xfffffffc,          /* as NORMAL */
    CVSW_OUT_CONTROLLER = 0xfffffffd,
};

/* The outer headers of a VXLAN tunnel (RFC 7348). */
typedef struct CvswTunnel {
    bool is_ip6;
    /* IPv4 uses the first four octets; network byte order. */
    uint8_t local[16], remote[16];
    uint8_t local_mac[PACKET_ETH_ADDR_LEN];
    uint8_t remote_mac[PACKET_ETH_ADDR_LEN]; /* MAC address of the next hop */
    uint32_t vni;               /* 24 bits */
    uint16_t port;              /* UDP destination port */
    uint8_t tos, ttl;           /* outer header; ttl 0 means 64 */
} CvswTunnel;

typedef struct CvswAction {
    CvswActionType type;
    union {
        struct {
            uint32_t port;      /* CVSW_PORT_... or CVSW_OUT_... */
            uint16_t max_len;   /* octets to send to the controller */
        } output;
        struct {
            CvswField field;
            CvswValue value, mask;
        } set;
        uint16_t number;        /* TPID, VID, PCP, ToS, port or TTL */
        struct in_addr ip4;     /* for SET_NW_... */
        CvswTunnel tunnel;
        uint32_t sa;            /* number of a security association */
        uint8_t mac[PACKET_ETH_ADDR_LEN];
        uint32_t group;         /* number of a group (group.h) */
    };
} CvswAction;

#endif /* CVSW_FLOW_ACTION_H */
