/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-vmrpc: the guest's memory
 *
 * To access the registers of another device, QEMU takes the BQL.  A request
 * must never do so: it runs without the BQL, and virtio_vmrpc_stop_ioeventfd()
 * waits for it with the BQL held.  So requests get RAM only; QEMU refuses to
 * map anything else without bounce buffers.
 */
#include "qemu/osdep.h"

#include "hw/vmrpc/face/virtio-vmrpc-memory.h"
#include "qemu/main-loop.h"
#include "vmmnet/qemu-compat.h"

static void memory_hold(void *opaque, const struct iovec *iov, unsigned num)
{
    ram_addr_t offset;

    for (unsigned i = 0; i < num; i++) {
        /* The request that is running has mapped it, so it is RAM. */
        memory_region_ref(memory_region_from_host(iov[i].iov_base, &offset));
    }
}

static void unref_bh(void *opaque)
{
    memory_region_unref(opaque);
}

/* If it was unplugged meanwhile, the last reference needs the BQL. */
static void memory_release(void *opaque, const struct iovec *iov, unsigned num)
{
    ram_addr_t offset;

    for (unsigned i = 0; i < num; i++) {
        MemoryRegion *mr = memory_region_from_host(iov[i].iov_base, &offset);

        if (bql_locked()) {
            memory_region_unref(mr);
        } else {
            aio_bh_schedule_oneshot(qemu_get_aio_context(), unref_bh, mr);
        }
    }
}

/* Marks the pages dirty for migration, and invalidates translated code. */
static void memory_written(void *opaque, const struct iovec *iov, unsigned num)
{
    VirtIOVmrpc *s = opaque;
    ram_addr_t offset;

    for (unsigned i = 0; i < num; i++) {
        /* Unmapping drops a reference. */
        memory_region_ref(memory_region_from_host(iov[i].iov_base, &offset));
        address_space_unmap(&s->ram_as, iov[i].iov_base, iov[i].iov_len, true,
                            iov[i].iov_len);
    }
}

VmrpcMemoryOps virtio_vmrpc_memory_ops(VirtIOVmrpc *s)
{
    return (VmrpcMemoryOps) {
        .hold = memory_hold,
        .release = memory_release,
        .written = memory_written,
        .opaque = s,
    };
}

void virtio_vmrpc_memory_limit(VirtIOVmrpc *s)
{
    VirtIODevice *vdev = VIRTIO_DEVICE(s);

    if (vdev->dma_as == &address_space_memory) {
        /* All devices share it; behind an IOMMU the device has its own. */
        memory_listener_unregister(&vdev->listener);
        address_space_init(&s->ram_as, get_system_memory(), TYPE_VIRTIO_VMRPC);
        s->has_ram_as = true;
        vdev->dma_as = &s->ram_as;
        memory_listener_register(&vdev->listener, vdev->dma_as);
    }
    vdev->dma_as->max_bounce_buffer_size = 0;
}

void virtio_vmrpc_memory_cleanup(VirtIOVmrpc *s)
{
    if (s->has_ram_as) {
        address_space_destroy(&s->ram_as);
        s->has_ram_as = false;
    }
}
