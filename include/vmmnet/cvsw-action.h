/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CVSW's own actions in OpenFlow messages
 *
 * They are vendor actions in OpenFlow 1.0 and experimenter actions in 1.3.
 * Both have the same layout: type, length, experimenter ID, body.  Numbers are
 * big-endian, as everywhere in OpenFlow.  Sizes are fixed and multiples of 8
 * octets.  Reserved octets must be 0; other values are refused.
 */
#ifndef VMMNET_CVSW_ACTION_H
#define VMMNET_CVSW_ACTION_H

#include <stdint.h>

/* The type of the action: OFPAT_VENDOR, OFPAT_EXPERIMENTER. */
#define CVSW_ACT_TYPE           0xffffu

/* The experimenter: the OUI of QEMU's MAC addresses. */
#define CVSW_ACT_EXPERIMENTER   0x00525400u

enum cvsw_act_subtype {
    CVSW_ACT_TUNNEL_ENCAP = 1,  /* cvsw_act_encap4, cvsw_act_encap6 */
    CVSW_ACT_TUNNEL_DECAP = 2,  /* cvsw_act_plain */
    CVSW_ACT_ENCRYPT = 3,       /* cvsw_act_crypt */
    CVSW_ACT_DECRYPT = 4,       /* cvsw_act_crypt */
    CVSW_ACT_OPENFLOW10 = 5,    /* cvsw_act_openflow10; in 1.3 only */
    CVSW_ACT_ANSWER_ND = 6,     /* cvsw_act_answer */
    CVSW_ACT_ANSWER_ARP = 7,    /* cvsw_act_answer */
};

/* The header of all actions. */
struct cvsw_act_header {
    uint16_t type;              /* CVSW_ACT_TYPE */
    uint16_t len;               /* octets, including this header */
    uint32_t experimenter;      /* CVSW_ACT_EXPERIMENTER */
    uint16_t subtype;           /* enum cvsw_act_subtype */
};

/* TUNNEL_DECAP: decapsulate a VXLAN frame (RFC 7348). */
struct cvsw_act_plain {
    uint16_t type, len;
    uint32_t experimenter;
    uint16_t subtype;
    uint8_t reserved[6];
};

/*
 * ENCRYPT, DECRYPT: ESP (RFC 4303) for VXLAN packets, with a security
 * association that the controller has installed.
 */
struct cvsw_act_crypt {
    uint16_t type, len;
    uint32_t experimenter;
    uint16_t subtype;
    uint16_t reserved;
    uint32_t sa;                /* its number; DECRYPT: 0: by SPI */
};

/*
 * TUNNEL_ENCAP: encapsulate the frame with VXLAN (RFC 7348).  The member
 * version selects one of the two layouts.
 */
struct cvsw_act_encap {
    uint16_t type, len;
    uint32_t experimenter;
    uint16_t subtype;
    uint8_t version;            /* of the outer IP header: 4 or 6 */
    uint8_t tos;                /* outer header, including ECN */
    uint8_t ttl;                /* outer header; 0: 64 */
    uint8_t reserved;
    uint16_t port;              /* UDP destination port, not 0 */
    uint32_t vni;               /* 24 bits */
    uint8_t local_mac[6];       /* source address; unicast */
    uint8_t remote_mac[6];      /* next hop, or multicast for a group */
};

struct cvsw_act_encap4 {
    struct cvsw_act_encap head;
    uint8_t local[4];           /* an IPv4 address */
    uint8_t remote[4];          /* the same; may be multicast */
};

struct cvsw_act_encap6 {
    struct cvsw_act_encap head;
    uint8_t local[16];          /* an IPv6 address */
    uint8_t remote[16];         /* the same; may be multicast */
};

/*
 * OPENFLOW10: an action of OpenFlow 1.0 without an equivalent in 1.3.
 *
 * It makes it possible to express a flow of OpenFlow 1.0 in 1.3, and to add the
 * same flow again.  SET_VLAN_VID and SET_VLAN_PCP add a tag to an untagged
 * frame, and STRIP_VLAN leaves an untagged frame unchanged.  SET_NW_TOS,
 * SET_NW_SRC, SET_NW_DST, SET_TP_SRC and SET_TP_DST leave a frame without the
 * field unchanged; they have no prerequisites in the match.
 */
struct cvsw_act_openflow10 {
    uint16_t type, len;
    uint32_t experimenter;
    uint16_t subtype;
    uint16_t action;            /* ofp_action_type of OpenFlow 1.0 */
    uint32_t value;             /* its argument; STRIP_VLAN: 0 */
};

/*
 * ANSWER_ND: turn a neighbour solicitation into the advertisement that answers
 * it (RFC 4861 section 7.2.4).  The flow's match selects the targets, and an
 * output to IN_PORT after this action sends the answer.  A frame that is not a
 * valid solicitation (section 7.1.1) is dropped.
 *
 * ANSWER_ARP: turn an ARP request into its reply (RFC 826) in the same way.  A
 * frame that is not a request of a unicast station is dropped.
 */
struct cvsw_act_answer {
    uint16_t type, len;
    uint32_t experimenter;
    uint16_t subtype;
    uint8_t mac[6];             /* address of the target; unicast */
};

#define CVSW_ACT_PLAIN_LEN      16u
#define CVSW_ACT_CRYPT_LEN      16u
#define CVSW_ACT_OPENFLOW10_LEN 16u
#define CVSW_ACT_ANSWER_LEN     16u
#define CVSW_ACT_ENCAP4_LEN     40u
#define CVSW_ACT_ENCAP6_LEN     64u

#endif /* VMMNET_CVSW_ACTION_H */
