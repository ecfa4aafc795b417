/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-vmrpc: the device's face towards QEMU
 */
#ifndef HW_VMRPC_VIRTIO_VMRPC_H
#define HW_VMRPC_VIRTIO_VMRPC_H

#include "exec/memory.h"
#include "hw/virtio/virtio.h"
#include "hw/vmrpc/server/claim.h"
#include "hw/vmrpc/server/server.h"
#include "migration/vmstate.h"
#include "qapi/qapi-types-vmrpc.h"
#include "qemu/notify.h"
#include "qemu/thread.h"
#include "qom/object.h"
#include "system/iothread.h"
#include "system/runstate.h"

#define TYPE_VIRTIO_VMRPC "virtio-vmrpc-device"
OBJECT_DECLARE_SIMPLE_TYPE(VirtIOVmrpc, VIRTIO_VMRPC)

#define VIRTIO_VMRPC_AUTO_NUM_QUEUES UINT16_MAX

/* What of the address map travels with a migration. */
typedef struct VirtIOVmrpcMapping {
    uint32_t addr4;             /* network byte order */
    uint8_t addr6[16];
    int64_t remaining_ms;
} VirtIOVmrpcMapping;

/* The guest has these in its configuration, so both sides must agree. */
typedef struct VirtIOVmrpcIdentity {
    uint32_t translate;
    uint32_t guest4;
    uint32_t resolver4;
    uint32_t pool4;
    uint32_t pool4_prefix;
    uint32_t max_sockets;
} VirtIOVmrpcIdentity;

struct VirtIOVmrpc {
    VirtIODevice parent_obj;

    /* properties */
    IOThread *iothread;
    uint16_t num_queues;
    uint32_t max_sockets;
    bool translate;
    char *address6;
    char *guest4;
    char *pool4;
    char *resolver4;
    char *dns;
    char *zone;
    char *dnssec;
    char *trust_anchor;
    char *nat64_prefix;
    char *policy;
    bool alg;
    bool happy_eyeballs;
    bool guest_clock;

    /* from realize on */
    VmrpcServer *server;
    IOThread *own_iothread;     /* unless the property names one */
    VirtQueue *event_vq;
    VirtIOVmrpcIdentity identity;
    bool has_told_bogus;        /* of a name; under the server's lock */

    /* under the BQL */
    bool ioeventfd_started;
    bool ioeventfd_starting;
    bool ioeventfd_stopping;
    AioContext *ctx;            /* where events come from, while started */
    bool behind_iommu;          /* since it was started last */
    QEMUBH *more_bh;            /* goes on where a notification had enough */
    VmrpcClaim *claim;          /* to address6; NULL: there is none */
    VmrpcAddressClaim claim_state;      /* if there is a claim */
    QEMUTimer *claim_timer;
    VMChangeStateEntry *claim_vmstate;
    NotifierWithReturn claim_migration;

    /* vCPUs that process a queue without the BQL */
    unsigned calls;             /* how many; atomic */
    QemuEvent calls_done;
    QemuMutex ring_lock[VMRPC_QUEUE_REQUEST + VMRPC_QUEUES_MAX];

    AddressSpace ram_as;        /* the guest's memory, RAM only */
    bool has_ram_as;

    /* @ctx's while started */
    bool event_starved;

    /* during migration */
    VirtIOVmrpcIdentity saved_identity;
    VirtIOVmrpcMapping *saved_map;
    int32_t saved_map_num;
    VmrpcSavedName *saved_name;
    int32_t saved_name_num;
    VmrpcSavedNat64 saved_nat64[VMRPC_NAT64_MAX];
    uint32_t saved_nat64_num;
    VmrpcSavedSock *saved_sock;
    int32_t saved_sock_num;
};

/*
 * Checks the properties of @s and fills in @config, whose strings stay the
 * device's.  Returns false, with @errp naming option and value.
 */
bool virtio_vmrpc_parse_properties(VirtIOVmrpc *s, VmrpcServerConfig *config,
                                   Error **errp);

/* By which users know @s; NULL if they gave none. */
const char *virtio_vmrpc_id(VirtIOVmrpc *s);

/* Tells management, and the log, from any thread. */
void virtio_vmrpc_report_arrival(VirtIOVmrpc *s, const VmrpcArrival *arrival);

/*
 * Claims address6, if there is one: false, with @errp, if another VM of this
 * host has it.  One that arrives by migration claims it later.
 */
bool virtio_vmrpc_claim_realize(VirtIOVmrpc *s, Error **errp);
void virtio_vmrpc_claim_unrealize(VirtIOVmrpc *s);

/* The device's state is being saved. */
void virtio_vmrpc_claim_saved(VirtIOVmrpc *s);

extern const VMStateDescription vmstate_virtio_vmrpc;

/* Frees what a migration had in its hands. */
void virtio_vmrpc_drop_saved(VirtIOVmrpc *s);

/* For the transport, once it has plugged the device into its bus. */
void virtio_vmrpc_plugged(VirtIOVmrpc *s);

#endif /* HW_VMRPC_VIRTIO_VMRPC_H */
