/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CVSW's control frames: between the switch in a NIC and its controller
 *
 * This header defines the complete format, version 1. It is compiled into QEMU
 * (hw/net/cvsw); control/vmmnet implements the same format in Python.
 *
 * Theory of operation
 * ===================
 *
 * A NIC has no IP address and no connection of its own. Its control messages
 * are Ethernet frames of type CVSW_ETHERTYPE. The virtual switch passes them to
 * the controller in OpenFlow's PACKET_IN, and receives them from the controller
 * in PACKET_OUT (section 4.1 of the paper). One frame has one message:
 *
 *     Ethernet header   to the NIC, or from the NIC to CVSW_CONTROLLER_MAC
 *     struct cvsw_head
 *     payload           @length octets, at most CVSW_PAYLOAD_MAX
 *     tag               CVSW_TAG_LEN octets
 *
 * Padding after the tag is ignored. Numbers are in network byte order, as in
 * the OpenFlow messages in payloads.
 *
 * NIC and controller share a key (32 octets or more, a different one for each
 * VM). The receiver drops messages from the guest's side of the NIC and
 * messages with a wrong tag. The tag is the first half of HMAC-SHA-256 over
 * Ethernet addresses, type, head and payload. Its key depends on the direction
 * and on the session:
 *
 *     base      HMAC(key, "vmmnet-cvsw-1" | mac)
 *     session   HMAC(base, "session" | nonce of the NIC | nonce of the
 *               controller)
 *     direction HMAC(base or session, "nic" or "controller"): the sender
 *     secrets   HMAC(session, "secrets"), for AES-256-GCM in SET_SA
 *
 * A session is opened in this way:
 *
 *     controller                      NIC
 *     HELLO (tag 0; it only announces a controller) ->
 *                          <- REGISTER, with the base key: nonce of the NIC
 *     ACCEPT, with the session's key: both nonces ->
 *                                     the session is open
 *     commands, @sequence 1, 2, 3, ... ->
 *                          <- ACK with the same @sequence, or ERROR
 *
 * A NIC registers when its link comes up, after a migration, and when it
 * receives a HELLO. It repeats the registration with growing intervals until a
 * controller accepts it. Each REGISTER has a new nonce, so a replayed ACCEPT
 * has no effect. An open session stays open until the new session is open.
 *
 * Commands are executed in the order of their numbers, each exactly once. At
 * most CVSW_WINDOW commands may be unanswered. A repeated command is answered
 * again but not executed again. A command that arrives too early is not
 * answered; the controller repeats unanswered commands. A NIC keeps its
 * entries, keys and counters when a session ends: the next controller reads
 * them (LIST_ENTRIES, LIST_GROUPS) and changes only the differences. After a
 * migration it does the same.
 *
 * During a session the NIC sends EVENTs, which have their own sequence numbers:
 * OFPT_FLOW_REMOVED for flows that were added with OFPFF_SEND_FLOW_REM, and
 * OFPT_PACKET_IN for frames that a flow sends to the controller. EVENTs are not
 * acknowledged and may be lost.
 */
#ifndef VMMNET_CVSW_H
#define VMMNET_CVSW_H

#include <stdint.h>

/* The first local experimental EtherType of IEEE 802. */
#define CVSW_ETHERTYPE          0x88b5
#define CVSW_MAGIC              0x43565357u     /* "CVSW" */
#define CVSW_VERSION            1

/* Frames of a NIC are sent to this multicast address, 03:56:53:57:00:01. */
#define CVSW_CONTROLLER_MAC     { 0x03, 0x56, 0x53, 0x57, 0x00, 0x01 }
/* HELLO is sent to this multicast address, 03:56:53:57:00:02, or to one NIC. */
#define CVSW_NICS_MAC           { 0x03, 0x56, 0x53, 0x57, 0x00, 0x02 }

#define CVSW_WINDOW             8
#define CVSW_TAG_LEN            16
#define CVSW_NONCE_LEN          16
#define CVSW_KEY_LEN_MIN        32
/* A frame has at most 1,500 octets after its Ethernet header. */
#define CVSW_PAYLOAD_MAX        (1500 - 32 - CVSW_TAG_LEN)

/* The messages of the paper's table 3, then our additions. */
enum cvsw_type {
    CVSW_HELLO = 1,             /* to a NIC: no payload */
    CVSW_REGISTER = 2,          /* from a NIC: struct cvsw_register */
    /* To a NIC: a sequence of OFPT_FLOW_MODs and OFPT_GROUP_MODs. */
    CVSW_SET_ENTRY = 3,
    CVSW_DELETE_ENTRY = 4,      /* the same */
    CVSW_LIST_ENTRIES = 5,      /* to a NIC: struct cvsw_list */
    CVSW_SET_MTU = 6,           /* to a NIC: struct cvsw_set_mtu */
    CVSW_SET_OFFLOAD = 7,       /* to a NIC: struct cvsw_set_offload */
    CVSW_ACCEPT = 8,            /* to a NIC: struct cvsw_accept */
    CVSW_ACK = 9,               /* from a NIC: struct cvsw_ack, answer */
    CVSW_ERROR = 10,            /* from a NIC: struct cvsw_error, OFPT_ERROR */
    CVSW_EVENT = 11,            /* from a NIC: an OpenFlow message */
    CVSW_SET_SA = 12,           /* to a NIC: struct cvsw_set_sa */
    CVSW_DELETE_SA = 13,        /* to a NIC: struct cvsw_delete_sa */
    CVSW_LIST_GROUPS = 14,      /* to a NIC: struct cvsw_list */
};

struct cvsw_head {
    uint32_t magic;             /* CVSW_MAGIC */
    uint8_t version;            /* CVSW_VERSION */
    uint8_t type;               /* enum cvsw_type */
    uint16_t length;            /* octets of payload */
    uint64_t sequence;          /* of a command, its answer, or an EVENT */
    uint8_t mac[6];             /* the NIC's, as configured; 0 in HELLO */
    uint8_t reserved[10];       /* 0 */
} __attribute__((packed));

struct cvsw_register {
    uint8_t nonce[CVSW_NONCE_LEN];      /* new in each REGISTER */
    uint32_t entries_max;       /* maximum number of flows */
    uint32_t masks_max;
    uint32_t entries;           /* current number of flows */
    uint16_t mtu;               /* MTU of the guest; 0: not set */
    /*
     * Maximum number of groups, with 16 buckets each on average. 0: groups are
     * not supported: LIST_GROUPS returns UNKNOWN, OFPT_GROUP_MOD returns
     * OFPBRC_BAD_TYPE.
     */
    uint16_t groups_max;
} __attribute__((packed));

struct cvsw_accept {
    uint8_t nic[CVSW_NONCE_LEN];        /* nonce of the last REGISTER */
    uint8_t controller[CVSW_NONCE_LEN];
} __attribute__((packed));

/*
 * Lists entries or groups. A group is represented by the OFPT_GROUP_MOD that
 * adds it; a group that forwards to other groups comes after these.
 */
struct cvsw_list {
    /*
     * Index of the first answer, from 0 on; entries are counted as in cvsw_ack.
     */
    uint32_t from;
    uint8_t openflow;           /* version of the messages: 1 or 4; groups: 4 */
    uint8_t reserved[3];
} __attribute__((packed));

/* The guest is informed of the MTU; it applies to packets to the wire. */
struct cvsw_set_mtu {
    uint16_t mtu;               /* octets of an IP packet, 68..65535 */
    uint16_t reserved;
} __attribute__((packed));

/*
 * The offloads that the guest's NIC receives. Only an offload that the guest's
 * driver has negotiated can be on; otherwise the answer is UNABLE, and nothing
 * is changed. The offloads of the transmit direction are not changed.
 */
struct cvsw_set_offload {
    uint32_t on;                /* CVSW_OFFLOAD_... bits that shall be on */
    uint32_t mask;              /* bits to change */
} __attribute__((packed));

enum {
    CVSW_OFFLOAD_CSUM = 1 << 0,
    CVSW_OFFLOAD_TSO4 = 1 << 1,
    CVSW_OFFLOAD_TSO6 = 1 << 2,
    CVSW_OFFLOAD_ECN = 1 << 3,
    CVSW_OFFLOAD_UFO = 1 << 4,
    CVSW_OFFLOAD_USO4 = 1 << 5,
    CVSW_OFFLOAD_USO6 = 1 << 6,
};

/* SET_ENTRY and DELETE_ENTRY: how many messages were executed. */
struct cvsw_ack {
    uint32_t done;              /* LIST_...: number in this answer */
    uint32_t total;             /* LIST_GROUPS: all groups; else: all entries */
} __attribute__((packed));

/* The reasons why a command failed. */
enum cvsw_status {
    CVSW_STATUS_UNKNOWN = 1,    /* this NIC does not know the type */
    CVSW_STATUS_LENGTH = 2,     /* wrong length of the payload */
    CVSW_STATUS_OPENFLOW = 3,   /* an OFPT_ERROR follows */
    CVSW_STATUS_VALUE = 4,      /* a value out of range */
    CVSW_STATUS_UNABLE = 5,     /* this NIC or its guest does not support it */
    CVSW_STATUS_SECRET = 6,     /* the key's ciphertext is damaged */
    CVSW_STATUS_FULL = 7,       /* no space for another one */
};

struct cvsw_error {
    uint16_t status;            /* enum cvsw_status */
    uint16_t reserved;
    uint32_t done;              /* messages executed before the fault */
} __attribute__((packed));

#define CVSW_SA_KEY_MAX         64
#define CVSW_SA_SEALED_MAX      (CVSW_SA_KEY_MAX + 16)

/* Creates or replaces a security association of ESP. */
struct cvsw_set_sa {
    uint32_t sa;                /* the number that flows use, not 0 */
    uint32_t spi;
    uint8_t direction;          /* 1: outbound, 2: inbound */
    uint8_t esn;                /* 0 or 1 */
    uint16_t window;            /* replay window, inbound, in packets */
    uint8_t algorithm[24];      /* "aes-gcm-128", ..., padded with zeros */
    uint8_t iv[12];             /* of @sealed; never used twice */
    uint16_t sealed_len;
    uint16_t reserved;
    /*
     * The keying material, encrypted with AES-256-GCM; the last 16 octets are
     * the tag. All members before it are authenticated with it.
     */
    uint8_t sealed[];
} __attribute__((packed));

struct cvsw_delete_sa {
    uint32_t sa;
} __attribute__((packed));

#endif /* VMMNET_CVSW_H */
