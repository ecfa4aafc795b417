/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes frames: look-up, and execution of the flow's actions
 *
 * Theory of operation
 * ===================
 *
 * A frame is looked up once.  If the last action of its flow decapsulates it,
 * the inner frame is looked up a second time, by its inner headers and tunnel
 * ID.  So the work for a frame is at most two look-ups and the actions of two
 * lists.
 *
 * TUNNEL_ENCAP and ENCRYPT do nothing by themselves.  They set how later
 * outputs of the list send the frame: there a super-frame is segmented, each
 * segment gets its outer headers and is sealed.  So a guest can send large
 * segments, and outer packets are never fragments.  A frame that cannot be
 * sealed (the association does not exist, or its sequence numbers are used up)
 * is dropped: a frame that a flow wants encrypted never leaves in cleartext.
 *
 * A packet that is too big (fit.h) is not sent in an outer packet larger than
 * the wire allows.  A TCP super-frame is cut into smaller segments than its
 * sender asked for; this is allowed because the sender leaves segmentation to
 * its NIC.  An IPv4 packet without DF is fragmented inside the tunnel.  Any
 * other packet is dropped, and the guest gets the ICMP error that a router
 * would send.  TCP learns the size in advance: the MSS in a SYN is clamped, in
 * both directions.
 *
 * If the kernel behind the wire can segment super-frames in cleartext tunnels,
 * a TCP super-frame is sent there whole.  A super-frame in a tunnel that
 * arrives from the kernel is decapsulated whole if TUNNEL_DECAP is the first
 * action of its flow; otherwise it is segmented first.
 *
 * The buckets of a group (flow/group.h) act on copies.  Each copy starts with
 * the frame and the tunnel settings at the GROUP action, and changes by a
 * bucket have no effect after it.  If a bucket fails, its copy ends and the
 * next bucket continues.  At most CVSW_COPIES_MAX copies are made of one frame,
 * whatever its groups are, in the process of the VM that sends it.
 *
 * Nothing is allocated for a frame.  The two buffers that ESP needs belong to
 * the run.
 */
#ifndef CVSW_RUN_RUN_H
#define CVSW_RUN_RUN_H

#include "hw/net/cvsw/flow/table.h"
#include "hw/net/cvsw/frame/frame.h"
#include "hw/net/cvsw/tunnel/sas.h"

/* Maximum number of copies of a frame for the buckets of its groups. */
#define CVSW_COPIES_MAX         1024u

/* Reasons to drop a frame; one counter each. */
typedef enum CvswDrop {
    CVSW_DROP_FLOW,             /* the flow's actions have no output */
    CVSW_DROP_MISS,             /* no flow matches, and miss=drop */
    CVSW_DROP_MALFORMED,        /* no Ethernet frame, or too many parts */
    CVSW_DROP_TTL,
    CVSW_DROP_ROOM,             /* too many tags */
    CVSW_DROP_NOT_TUNNEL,       /* TUNNEL_DECAP of a frame that is not VXLAN */
    CVSW_DROP_TUNNEL_CHECKSUM,
    CVSW_DROP_NOT_ND,           /* ANSWER_ND of another frame */
    CVSW_DROP_NOT_ARP,          /* ANSWER_ARP of another frame */
    CVSW_DROP_NO_SA,            /* ENCRYPT or DECRYPT without association */
    CVSW_DROP_NOT_SEALED,       /* DECRYPT of a frame that is not ESP */
    CVSW_DROP_ESP,              /* ESP failed; see esp.h for the reasons */
    CVSW_DROP_SEGMENT,          /* invalid super-frame */
    CVSW_DROP_TOO_BIG,          /* for the wire, the tunnel, or for IP */
    CVSW_DROP_CONTROLLER,       /* output to the controller; no session */
    CVSW_DROP_QUEUE,            /* the receiver's queue is full */
    CVSW_DROP_COPIES,           /* more than CVSW_COPIES_MAX copies */
    CVSW_DROPS,
} CvswDrop;

/** cvsw_drop_name: name for messages and QMP, e.g. "no-sa" */
const char *cvsw_drop_name(CvswDrop drop);

/*
 * Send a frame out of a port.  The memory that it refers to may be reused after
 * the call.
 */
typedef void CvswEmit(void *opaque, uint32_t port, const struct iovec *iov,
                      int parts, const PacketOffload *offload);

/* Send the first @max_len octets of a frame to the controller. */
typedef void CvswPunt(void *opaque, const CvswFrame *frame, uint32_t in_port,
                      uint16_t max_len, const CvswEntry *entry);

typedef struct CvswRun {
    CvswTable *table;
    CvswSas *sas;
    CvswEmit *emit;
    CvswPunt *punt;
    /* Does the wire accept super-frames in tunnels now?  NULL: never. */
    bool (*wire_cuts)(void *opaque);
    /* Called for each dropped frame, after it was counted; or NULL. */
    void (*on_drop)(void *opaque, uint32_t in_port, CvswDrop why);
    void *opaque;
    bool drop_misses;
    uint16_t mtu;               /* of the guest's packets; 0: not set */
    uint16_t link_mtu;          /* of the wire; 0: unknown */
    /* The frame that is being emitted was decapsulated. */
    bool out_of_tunnel;
    uint64_t sent_whole;        /* super-frames sent whole in a tunnel */
    uint64_t icmp_errors;       /* ICMP errors to the guest */
    uint64_t icmp_ms;           /* time of the last update of @icmp_recent */
    unsigned icmp_recent;       /* recent ICMP errors, for the rate limit */
    uint64_t dropped[2][CVSW_DROPS];    /* [0]: from the guest */
    uint64_t esp[ESP_RESULTS];  /* reasons for CVSW_DROP_ESP */
    CvswFrame frame, inner;
    CvswFrame copy;             /* the frame at a GROUP action */
    uint8_t opened[ESP_PACKET_MAX], sealed[ESP_PACKET_MAX];
} CvswRun;

/**
 * cvsw_run: process a received frame
 * @in_port: CVSW_PORT_...
 * @iov: the frame from the destination address on
 *
 * Returns: false if no flow matches and the caller must pass the frame on to
 * the other port unchanged; else processing is complete
 */
bool cvsw_run(CvswRun *run, uint32_t in_port, const struct iovec *iov,
              int iovcnt, const PacketOffload *offload, uint64_t now_ms);

#endif /* CVSW_RUN_RUN_H */
