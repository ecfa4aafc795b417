/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The way of a frame: it is looked up, and its flow's actions are carried out
 *
 * Theory of operation
 * ===================
 *
 * A frame is looked up once; one that comes out of a tunnel as the last action
 * of its list is looked up once more, by its inner headers and tunnel id.  That
 * is the bound: two look-ups, and as many actions as two lists have.
 *
 * TUNNEL_ENCAP and ENCRYPT do nothing by themselves.  They say how the outputs
 * behind them leave: a super-frame is cut there, and each piece gets its outer
 * headers, and its seal.  So a guest keeps its large segments, and no outer
 * packet is a fragment.  A frame that is to be sealed and cannot be (no such
 * association, no number left) is dropped: nothing leaves in clear that a flow
 * says to encrypt.
 *
 * A packet that is too big for where it goes (fit.h) is not sent in an outer
 * packet that the wire does not take.  A super-frame of TCP is cut to smaller
 * pieces than its sender has asked for, which left the size to its NIC.  An
 * IPv4 packet is cut into fragments, inside the tunnel, unless it forbids that.
 * Any other ends here, and the guest is told as a router would.  TCP learns of
 * the size before: what a SYN announces is lowered, in both directions.
 *
 * The kernel behind the wire may be able to cut in a tunnel in clear;
 * then a super-frame of TCP goes there as one.  Such a one that comes from
 * there is taken out of its tunnel whole if that is the first that its flow
 * does, and else comes as the pieces that it stands for.
 *
 * A group's buckets (flow/group.h) act on copies: each begins with the frame as
 * its flow has it there, and with the tunnel that the outputs behind it would
 * leave by, and what it does is gone behind it.  A bucket that fails ends its
 * own copy, and the next one goes on.  Of one frame CVSW_COPIES_MAX are made at
 * most, whatever its groups are, and its sender's VM pays for them.
 *
 * Nothing is allocated for a frame.  The two buffers that ESP needs belong to
 * the run.
 */
#ifndef CVSW_RUN_RUN_H
#define CVSW_RUN_RUN_H

#include "hw/net/cvsw/flow/table.h"
#include "hw/net/cvsw/frame/frame.h"
#include "hw/net/cvsw/tunnel/sas.h"

/* Copies of a frame that its groups' buckets may take. */
#define CVSW_COPIES_MAX         1024u

/* Why frames end; each is counted. */
typedef enum CvswDrop {
    CVSW_DROP_FLOW,             /* the flow's actions have no output */
    CVSW_DROP_MISS,             /* no flow, and misses are dropped */
    CVSW_DROP_MALFORMED,        /* no Ethernet frame, or of too many parts */
    CVSW_DROP_TTL,
    CVSW_DROP_ROOM,             /* too many tags */
    CVSW_DROP_NOT_TUNNEL,       /* TUNNEL_DECAP of what is no VXLAN for it */
    CVSW_DROP_TUNNEL_CHECKSUM,
    CVSW_DROP_NOT_ND,           /* ANSWER_ND of what is no solicitation */
    CVSW_DROP_NOT_ARP,          /* ANSWER_ARP of what is no request */
    CVSW_DROP_NO_SA,            /* ENCRYPT or DECRYPT without an association */
    CVSW_DROP_NOT_SEALED,       /* DECRYPT of what is no ESP */
    CVSW_DROP_ESP,              /* what esp.h counts by reason */
    CVSW_DROP_SEGMENT,          /* a super-frame that is none */
    CVSW_DROP_TOO_BIG,          /* for the wire, the tunnel, or for IP */
    CVSW_DROP_CONTROLLER,       /* for the controller, and none listens */
    CVSW_DROP_QUEUE,            /* too many wait for who is to take it */
    CVSW_DROP_COPIES,           /* of one frame were made enough */
    CVSW_DROPS,
} CvswDrop;

/** cvsw_drop_name: for people, and for QMP: "no-sa" */
const char *cvsw_drop_name(CvswDrop drop);

/*
 * A frame leaves by a port.  What it refers to may be used again after the
 * call.
 */
typedef void CvswEmit(void *opaque, uint32_t port, const struct iovec *iov,
                      int parts, const PacketOffload *offload);

/* A frame for the controller: its first @max_len octets, of @frame->size. */
typedef void CvswPunt(void *opaque, const CvswFrame *frame, uint32_t in_port,
                      uint16_t max_len, const CvswEntry *entry);

typedef struct CvswRun {
    CvswTable *table;
    CvswSas *sas;
    CvswEmit *emit;
    CvswPunt *punt;
    /* Does the wire take super-frames in tunnels, now?  NULL: never. */
    bool (*wire_cuts)(void *opaque);
    /* Told of each frame that is dropped, which is counted; or NULL. */
    void (*told_drop)(void *opaque, uint32_t in_port, CvswDrop why);
    void *opaque;
    bool drop_misses;
    uint16_t mtu;               /* of the guest's packets; 0: nobody set one */
    uint16_t link_mtu;          /* of packets on the wire; 0: unknown */
    /* Of what is being emitted: it was in a tunnel. */
    bool out_of_tunnel;
    uint64_t whole;             /* super-frames that left so in a tunnel */
    uint64_t told;              /* ICMP errors for the guest */
    uint64_t told_ms;           /* when @told_now was looked at */
    unsigned told_now;          /* of late */
    uint64_t dropped[2][CVSW_DROPS];    /* [0]: from the guest */
    uint64_t esp[ESP_RESULTS];  /* of CVSW_DROP_ESP */
    CvswFrame frame, inner;
    CvswFrame copy;             /* what the buckets of a group begin with */
    uint8_t opened[ESP_PACKET_MAX], sealed[ESP_PACKET_MAX];
} CvswRun;

/**
 * cvsw_run: a frame came in
 * @in_port: CVSW_PORT_...
 * @iov: from the destination address on
 *
 * Returns: false if there is no flow for it and it is to go on to the other
 * port as it is; else all is done
 */
bool cvsw_run(CvswRun *run, uint32_t in_port, const struct iovec *iov,
              int iovcnt, const PacketOffload *offload, uint64_t now_ms);

#endif /* CVSW_RUN_RUN_H */
