/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of a stage, and the path of frames through it
 *
 * Only the files of net/stage include this header.  frames.c passes frames on,
 * control.c passes on everything else, and stage.c makes and ends stages.
 */
#ifndef VMMNET_NET_STAGE_FRAMES_H
#define VMMNET_NET_STAGE_FRAMES_H

#include "net/stage/stage.h"
#include "net/stage/tap-watch.h"
#include "qemu/queue.h"
#include "qemu/timer.h"

/* One net client of a stage: one side of one queue. */
typedef struct StageEnd {
    NetClientState nc;
    NetStage *stage;            /* NULL after the stage has ended */
    NetStageSide side;
    unsigned queue;
    unsigned waiting;           /* frames of this end in the peer's queue */
    /* The following are used on the NIC's side only. */
    int nic_vnet_len;           /* header length that the NIC set last */
    unsigned idle_ticks;        /* timer runs since the NIC took a frame */
    bool is_stuck;
} StageEnd;

struct NetStage {
    const NetStageRoom *room;
    void *opaque;
    char *id;
    unsigned queues;
    StageEnd **end[NET_STAGE_SIDES];
    QEMUBH *settle;             /* runs stage_settle() */
    QEMUTimer *look;            /* finds a NIC that is stuck; may be NULL */
    bool is_busy;               /* a room function or net_stage_send() runs */
    bool changed;               /* the room's changed() is due */
    bool has_vnet_hdr;          /* the next three: as the backend had them */
    bool has_ufo;
    bool has_uso;
    bool has_nic;               /* @nic_mac is valid */
    MACAddr nic_mac;            /* as configured */
    unsigned asked;             /* offloads that the NIC asked for */
    unsigned denied;            /* offloads that the room denies */
    bool has_tunnels;           /* backend headers have the tunnel fields */
    bool takes_tunnels;         /* the backend may send tunnel frames */
    StageTapWatch *tap;         /* NULL: the backend is no tap */
    NetStageStats stats[NET_STAGE_SIDES];
    QTAILQ_ENTRY(NetStage) next;
};

/* The sides' names, for messages. */
extern const char *const stage_side_name[NET_STAGE_SIDES];

/* Returns: @nc as the end of a stage, or NULL if it is none */
StageEnd *stage_end_of(NetClientState *nc);

/* Returns: the stage whose front @nc is, or NULL; @nc may be NULL */
NetStage *stage_behind(NetClientState *nc);

/* Returns: the other end of the same queue */
StageEnd *stage_far_end(const StageEnd *end);

/* Returns: the backend's client for @queue, or NULL if it is gone */
NetClientState *stage_backend_queue(const NetStage *s, unsigned queue);

/* The methods can_receive and receive_iov of both ends. */
bool stage_can_receive(NetClientState *nc);
ssize_t stage_receive_iov(NetClientState *nc, const struct iovec *iov,
                              int iovcnt);

/**
 * stage_wake: receive the frames that wait in an end's queue
 *
 * While the machine is stopped, only rooms with @while_stopped receive.  The
 * other ends are marked as able to receive: QEMU flushes their queues when the
 * machine continues.
 */
void stage_wake(StageEnd *end);

/**
 * stage_check_nics: timer function, find queues whose NIC is stuck
 * @opaque: the NetStage
 */
void stage_check_nics(void *opaque);

/* Drop all frames of @queue that wait, e.g. because the stage ends. */
void stage_throw_away(NetStage *s, unsigned queue);

#endif /* VMMNET_NET_STAGE_FRAMES_H */
