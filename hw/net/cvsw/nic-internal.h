/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The inside of a NIC's switch: for nic*.c and monitor.c */
#ifndef CVSW_NIC_INTERNAL_H
#define CVSW_NIC_INTERNAL_H

#include "hw/net/cvsw/control/commands.h"
#include "hw/net/cvsw/event/packet-in.h"
#include "hw/net/cvsw/nic.h"
#include "hw/net/cvsw/run/run.h"
#include "migration/misc.h"
#include "net/stage/gather.h"
#include "net/stage/stage.h"
#include "system/runstate.h"

/*
 * The clock begins here, ms.  A flow that comes from another host may be older
 * than this one is up, and was made after 0 all the same.
 */
#define CVSW_CLOCK_BEGIN        (UINT64_C(1) << 48)

struct CvswNic {
    char *name;                 /* the device's, for messages */
    NetStage *stage;
    CvswSession *session;
    CvswCommanded commanded;
    CvswRun *run;
    NetStageGather *gather;     /* for the guest */
    QEMUTimer *timer;
    CvswTellMtu *tell_mtu;
    void *device;
    uint32_t denied;            /* CVSW_OFFLOAD_... */
    MACAddr mac;
    bool was_up;
    unsigned queue;             /* of the frame that is being switched */
    uint32_t flows_max, masks_max;
    uint64_t control_of_guest;  /* control frames that the guest has sent */
    /* Tunnels that the kernel cuts. */
    OnOffAuto tunnel_gso;
    uint64_t port_ms;           /* when @is_port was looked at */
    bool is_port;               /* the tap is one, in the kernel */
    /* For the controller. */
    CvswBucket bucket;
    uint64_t packet_ins, packet_ins_lost;
    uint64_t removals, removals_lost;
    uint64_t group_changes;     /* that were traced */
    /* Migration, and snapshots. */
    uint32_t epoch_min;         /* of associations; real time in s, or more */
    VMChangeStateEntry *vm_state;
    NotifierWithReturn migrates;
    bool has_arrived;           /* its state has come, and it has not run yet */
    bool has_told;              /* its state, associations and all */
    bool has_left;              /* it runs on another host */
};

/** cvsw_nic_foreach: all NICs that have a switch */
void cvsw_nic_foreach(void (*func)(CvswNic *nic, void *data), void *data);

/* --- nic-clock.c ---------------------------------------------------------- */

/** cvsw_nic_now: ms on the clock of table and session; see CVSW_CLOCK_BEGIN */
uint64_t cvsw_nic_now(void);

/* --- nic-parts.c ---------------------------------------------------------- */

/** cvsw_nic_tick: do what is due, and have the clock call again */
void cvsw_nic_tick(void *opaque);

/** cvsw_nic_set_mtu: of the guest's packets; 0: as if nobody had set one */
void cvsw_nic_set_mtu(CvswNic *nic, uint16_t mtu);

/** cvsw_nic_new_table: an empty one */
CvswTable *cvsw_nic_new_table(CvswNic *nic);

/* --- nic-tunnel.c --------------------------------------------------------- */

/**
 * cvsw_nic_use_tunnels: leave super-frames in tunnels to a tap that takes them
 * @mode: with ON_OFF_AUTO_ON one that does not is an error
 */
bool cvsw_nic_use_tunnels(CvswNic *nic, OnOffAuto mode, Error **errp);

/** cvsw_nic_wire_cuts: does it take them now?  Of CvswRun */
bool cvsw_nic_wire_cuts(void *opaque);

/* --- nic-events.c --------------------------------------------------------- */

/** cvsw_nic_punt: CvswPunt: a frame for the controller */
void cvsw_nic_punt(void *opaque, const CvswFrame *frame, uint32_t in_port,
                   uint16_t max_len, const CvswEntry *entry);

/** cvsw_nic_removed: CvswRemoved: a flow that the controller asks after */
void cvsw_nic_removed(void *opaque, const CvswEntry *entry,
                      CvswRemovedWhy why);

/** cvsw_nic_drop: count a frame from @in_port that ends outside of run/ */
void cvsw_nic_drop(CvswNic *nic, uint32_t in_port, CvswDrop why);

/** cvsw_nic_told_drop: trace a frame that was dropped */
void cvsw_nic_told_drop(void *opaque, uint32_t in_port, CvswDrop why);

/** cvsw_nic_trace_command: trace a command, its answer, what groups are */
void cvsw_nic_trace_command(CvswNic *nic, const CvswMessage *command,
                            const CvswAnswer *answer);

/** cvsw_nic_trace_session: trace what is another since @before */
void cvsw_nic_trace_session(const CvswNic *nic,
                            const CvswSessionStats *before);

/* --- nic-state.c ---------------------------------------------------------- */

/** cvsw_nic_watch: follow runs, stops and migrations of the VM */
void cvsw_nic_watch(CvswNic *nic);

/** cvsw_nic_unwatch: the end of that */
void cvsw_nic_unwatch(CvswNic *nic);

#endif /* CVSW_NIC_INTERNAL_H */
