/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CVSW's own actions in OpenFlow messages
 *
 * They are vendor actions of OpenFlow 1.0 and experimenter actions of 1.3,
 * which have one form: a type, a length, a number of who made it, and what he
 * likes.  Numbers are big-endian, as all of OpenFlow's.  Sizes are fixed and
 * multiples of 8 octets.  Reserved octets are 0; others are refused.
 */
#ifndef VMMNET_CVSW_ACTION_H
#define VMMNET_CVSW_ACTION_H

#include <stdint.h>

/* The action's type: OFPAT_VENDOR, OFPAT_EXPERIMENTER. */
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

/* All begin with this. */
struct cvsw_act_header {
    uint16_t type;              /* CVSW_ACT_TYPE */
    uint16_t len;               /* octets, this header included */
    uint32_t experimenter;      /* CVSW_ACT_EXPERIMENTER */
    uint16_t subtype;           /* enum cvsw_act_subtype */
};

/* TUNNEL_DECAP: the frame becomes the one in its VXLAN tunnel (RFC 7348). */
struct cvsw_act_plain {
    uint16_t type, len;
    uint32_t experimenter;
    uint16_t subtype;
    uint8_t reserved[6];
};

/*
 * ENCRYPT, DECRYPT: ESP (RFC 4303) around what the VXLAN tunnel makes, by a
 * security association that the controller has installed.
 */
struct cvsw_act_crypt {
    uint16_t type, len;
    uint32_t experimenter;
    uint16_t subtype;
    uint16_t reserved;
    uint32_t sa;                /* its number; DECRYPT of 0: the frame's SPI */
};

/*
 * TUNNEL_ENCAP: the frame goes into a VXLAN tunnel (RFC 7348).  Which of the
 * two forms it is, version says.
 */
struct cvsw_act_encap {
    uint16_t type, len;
    uint32_t experimenter;
    uint16_t subtype;
    uint8_t version;            /* of the outer IP header: 4 or 6 */
    uint8_t tos;                /* of the outer header, ECN included */
    uint8_t ttl;                /* of the outer header; 0: 64 */
    uint8_t reserved;
    uint16_t port;              /* UDP's destination port, not 0 */
    uint32_t vni;               /* 24 bits */
    uint8_t local_mac[6];       /* the outer frame's source: one station */
    uint8_t remote_mac[6];      /* the next hop, or the group of remote */
};

struct cvsw_act_encap4 {
    struct cvsw_act_encap head;
    uint8_t local[4];           /* an IPv4 address */
    uint8_t remote[4];          /* the same, or a multicast group */
};

struct cvsw_act_encap6 {
    struct cvsw_act_encap head;
    uint8_t local[16];          /* an IPv6 address */
    uint8_t remote[16];         /* the same, or a multicast group */
};

/*
 * OPENFLOW10: an action of OpenFlow 1.0 that 1.3 has no equal of.
 *
 * A flow that was made with 1.0 can be told in 1.3, and made from that, with
 * it: SET_VLAN_VID and SET_VLAN_PCP add a tag to a frame that has none,
 * STRIP_VLAN leaves such a frame as it is, and SET_NW_TOS, SET_NW_SRC,
 * SET_NW_DST, SET_TP_SRC, SET_TP_DST do so with a frame that has no such
 * field; no match need say that it has.
 */
struct cvsw_act_openflow10 {
    uint16_t type, len;
    uint32_t experimenter;
    uint16_t subtype;
    uint16_t action;            /* ofp_action_type of OpenFlow 1.0 */
    uint32_t value;             /* its argument; of STRIP_VLAN 0 */
};

/*
 * ANSWER_ND: a neighbour solicitation becomes the advertisement that answers it
 * (RFC 4861 section 7.2.4); the flow's match says for which target, and an
 * output behind it, IN_PORT, sends it.  What is no valid solicitation (section
 * 7.1.1) is dropped.
 *
 * ANSWER_ARP does the same with an ARP request, which becomes the reply (RFC
 * 826).  What is no request of a station is dropped.
 */
struct cvsw_act_answer {
    uint16_t type, len;
    uint32_t experimenter;
    uint16_t subtype;
    uint8_t mac[6];             /* where the target is: one station */
};

#define CVSW_ACT_PLAIN_LEN      16u
#define CVSW_ACT_CRYPT_LEN      16u
#define CVSW_ACT_OPENFLOW10_LEN 16u
#define CVSW_ACT_ANSWER_LEN     16u
#define CVSW_ACT_ENCAP4_LEN     40u
#define CVSW_ACT_ENCAP6_LEN     64u

#endif /* VMMNET_CVSW_ACTION_H */
