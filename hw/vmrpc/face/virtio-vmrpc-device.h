/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-vmrpc: the state of a device
 *
 * Every file of the face uses this header; it uses none of them.
 */
#ifndef HW_VMRPC_VIRTIO_VMRPC_DEVICE_H
#define HW_VMRPC_VIRTIO_VMRPC_DEVICE_H

#include "chardev/char-fe.h"
#include "hw/virtio/virtio.h"
#include "hw/vmrpc/server/claim.h"
#include "hw/vmrpc/server/server.h"
#include "net/departure/departure.h"
#include "qapi/qapi-types-vmrpc.h"
#include "qemu/thread.h"
#include "qom/object.h"
#include "system/iothread.h"
#include "system/runstate.h"
#include "vmmnet/qemu-compat.h"

#define TYPE_VIRTIO_VMRPC "virtio-vmrpc-device"
OBJECT_DECLARE_TYPE(VirtIOVmrpc, VirtIOVmrpcClass, VIRTIO_VMRPC)

struct VirtIOVmrpcClass {
    VirtioDeviceClass parent_class;

    DeviceRealize parent_realize;
};

/* num-queues: the transport chooses */
#define VIRTIO_VMRPC_AUTO_NUM_QUEUES UINT16_MAX

/* pool4, unless it is given */
#define VIRTIO_VMRPC_POOL4 "198.18.0.0/15"

/* An entry of the address map in the migration stream */
typedef struct VirtIOVmrpcMapping {
    uint32_t addr4;             /* network byte order */
    uint8_t addr6[16];
    int64_t remaining_ms;
} VirtIOVmrpcMapping;

/*
 * The guest has read these from the device's configuration, so source and
 * destination of a migration must agree on them.  Addresses are in network
 * byte order.
 */
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
    char *validator;
    char *nat64_prefix;
    char *policy;
    CharFrontend audit_chr;
    char *audit_full;
    bool alg;
    bool happy_eyeballs;
    bool guest_clock;
    bool long_values;
    bool ipv6;

    /* constant from realize on */
    VmrpcServer *server;
    IOThread *own_iothread;     /* NULL if the property names one */
    VirtQueue *event_vq;
    VirtIOVmrpcIdentity identity;
    VmrpcAudit *audit;          /* NULL: none */
    bool audit_waits;           /* audit-full=wait */
    char *audit_label;          /* of the chardev */

    bool bogus_reported;        /* guarded by the server's lock */
    bool pool_reported;         /* the same */

    /* under the BQL */
    bool ioeventfd_started;
    bool ioeventfd_starting;
    bool ioeventfd_stopping;
    AioContext *ctx;            /* where events come from, while started */
    bool behind_iommu;          /* as of the last start */
    QEMUBH *more_bh;            /* continues after a full batch of requests */
    VmrpcClaim *claim;          /* to address6; NULL without address6 */
    VmrpcAddressClaim claim_state;      /* only with a claim */
    QEMUTimer *claim_timer;
    VMChangeStateEntry *claim_vmstate;
    Departure claim_departure;
    VmrpcRoute *address_route;  /* NULL: the VM has no address of its own */
    VmrpcAddressState address_state;    /* only with address_route */
    QEMUTimer *address_timer;
    VMChangeStateEntry *address_vmstate;
    QEMUBH *audit_bh;           /* these only with audit */
    QEMUTimer *audit_timer;
    VMChangeStateEntry *audit_vmstate;
    guint audit_watch;          /* for the reader; 0: none */
    bool audit_torn;            /* the last line may be written in part */
    bool audit_blocked;         /* and this was told */

    /* vCPUs that process a queue without the BQL */
    unsigned calls;             /* their number; atomic */
    QemuEvent calls_done;
    QemuMutex ring_lock[VMRPC_QUEUE_REQUEST + VMRPC_QUEUES_MAX];

    AddressSpace ram_as;        /* the guest's memory, RAM only */
    bool has_ram_as;

    /* used in @ctx only, while started */
    bool event_starved;

    /* during migration */
    VirtIOVmrpcIdentity saved_identity;
    VirtIOVmrpcMapping *saved_map;
    int32_t saved_map_num;
    VmrpcSavedName *saved_name;
    int32_t saved_name_num;
    VmrpcSavedNat64 saved_nat64[VMRPC_NAT64_MAX];
    uint32_t saved_nat64_num;
    uint64_t saved_audit_seq;   /* 0: the source has no log */
    uint8_t *saved_budgets;     /* vmrpc_server_save_budgets() */
    uint32_t saved_budgets_len;
    VmrpcSavedSock *saved_sock;
    int32_t saved_sock_num;
};

/**
 * virtio_vmrpc_id: the id that the user gave the device
 *
 * Returns: the id, which stays the device's; NULL if there is none.
 */
const char *virtio_vmrpc_id(VirtIOVmrpc *s);

#endif /* HW_VMRPC_VIRTIO_VMRPC_DEVICE_H */
