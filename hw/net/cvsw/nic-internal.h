/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internals of a NIC's switch, for nic*.c and monitor.c only */
#ifndef CVSW_NIC_INTERNAL_H
#define CVSW_NIC_INTERNAL_H

#include "hw/net/cvsw/control/commands.h"
#include "hw/net/cvsw/event/packet-in.h"
#include "hw/net/cvsw/nic.h"
#include "hw/net/cvsw/run/run.h"
#include "net/departure/departure.h"
#include "net/stage/gather.h"
#include "net/stage/stage.h"
#include "system/runstate.h"

/*
 * The clock starts at this value, in ms.  A flow that migrates to this host may
 * be older than the uptime of the host; its creation time is then still above
 * 0.
 */
#define CVSW_CLOCK_BEGIN        (UINT64_C(1) << 48)

struct CvswNic {
    char *name;                 /* the device's name, for messages */
    NetStage *stage;
    CvswSession *session;
    CvswCommanded commanded;
    CvswRun *run;
    NetStageGather *gather;     /* for frames to the guest */
    QEMUTimer *timer;
    CvswTellMtu *tell_mtu;
    void *device;
    uint32_t denied;            /* CVSW_OFFLOAD_... */
    MACAddr mac;
    bool was_up;
    unsigned queue;             /* queue of the current frame */
    uint32_t flows_max, masks_max;
    uint64_t control_of_guest;  /* control frames sent by the guest */
    /* Tunnel offloads. */
    OnOffAuto tunnel_gso;
    uint64_t port_ms;           /* when @is_port was last read */
    bool is_port;               /* the tap is a port in the kernel */
    /* Messages to the controller. */
    CvswBucket bucket;
    uint64_t packet_ins, packet_ins_lost;
    uint64_t removals, removals_lost;
    uint64_t group_changes;     /* number of group changes traced */
    /* Migration and snapshots. */
    uint32_t epoch_min;         /* minimum epoch of new SAs; real time in s */
    VMChangeStateEntry *vm_state;
    Departure departure;
    bool is_loaded;             /* state loaded, VM not started yet */
    bool is_saved;              /* state saved, including SAs */
    bool has_left;              /* the VM runs on another host */
};

/** cvsw_nic_foreach: call @func for all NICs that have a switch */
void cvsw_nic_foreach(void (*func)(CvswNic *nic, void *data), void *data);

/* --- nic-clock.c ---------------------------------------------------------- */

/** cvsw_nic_now: ms on the clock of flow table and session */
uint64_t cvsw_nic_now(void);

/* --- nic-parts.c ---------------------------------------------------------- */

/** cvsw_nic_tick: timer function: do what is due, and set the timer */
void cvsw_nic_tick(void *opaque);

/** cvsw_nic_set_mtu: set the MTU of the guest's packets; 0: not set */
void cvsw_nic_set_mtu(CvswNic *nic, uint16_t mtu);

/** cvsw_nic_new_table: create an empty flow table */
CvswTable *cvsw_nic_new_table(CvswNic *nic);

/* --- nic-tunnel.c --------------------------------------------------------- */

/**
 * cvsw_nic_use_tunnels: use tunnel offloads if the tap has them
 * @mode: with ON_OFF_AUTO_ON, a tap without them is an error
 */
bool cvsw_nic_use_tunnels(CvswNic *nic, OnOffAuto mode, Error **errp);

/** cvsw_nic_wire_cuts: CvswRun.wire_cuts: are tunnel offloads usable now? */
bool cvsw_nic_wire_cuts(void *opaque);

/* --- nic-events.c --------------------------------------------------------- */

/** cvsw_nic_punt: CvswPunt: send a frame to the controller */
void cvsw_nic_punt(void *opaque, const CvswFrame *frame, uint32_t in_port,
                   uint16_t max_len, const CvswEntry *entry);

/** cvsw_nic_removed: CvswRemoved: report the end of a flow to the controller */
void cvsw_nic_removed(void *opaque, const CvswEntry *entry,
                      CvswRemovedWhy why);

/**
 * cvsw_nic_drop: count a frame from @in_port that was dropped outside of run/
 */
void cvsw_nic_drop(CvswNic *nic, uint32_t in_port, CvswDrop why);

/** cvsw_nic_on_drop: trace a dropped frame */
void cvsw_nic_on_drop(void *opaque, uint32_t in_port, CvswDrop why);

/** cvsw_nic_trace_command: trace a command, its answer and group changes */
void cvsw_nic_trace_command(CvswNic *nic, const CvswMessage *command,
                            const CvswAnswer *answer);

/** cvsw_nic_trace_session: trace the changes since @before */
void cvsw_nic_trace_session(const CvswNic *nic,
                            const CvswSessionStats *before);

/* --- nic-state.c ---------------------------------------------------------- */

/** cvsw_nic_watch: follow start, stop and migration of the VM */
void cvsw_nic_watch(CvswNic *nic);

/** cvsw_nic_unwatch: stop following */
void cvsw_nic_unwatch(CvswNic *nic);

#endif /* CVSW_NIC_INTERNAL_H */
