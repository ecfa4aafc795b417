/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guestless: a driver for virtio 1.0 over PCI, with split rings
 *
 * Firmware does not run, so the driver places the BARs itself.  It notifies as
 * Linux does: VIRTIO_RING_F_EVENT_IDX where the device has it.
 */
#include "qemu/osdep.h"

#include "bench/guestless/accel/virtio.h"
#include "bench/guestless/loads/sockets.h"
#include "qemu/atomic.h"
#include "qemu/bswap.h"
#include <linux/pci_regs.h>
#include <linux/virtio_config.h>
#include <linux/virtio_pci.h>

#define VENDOR                  0x1af4
#define FIRST_ID                0x1040
/* Behind the RAM of a small machine, and before the chipset's own devices. */
#define BARS                    0xe0000000u
#define BARS_STEP               0x00100000u

static unsigned bars;           /* placed so far */

/* --- PCI -------------------------------------------------------------------- */

/* Places BAR @i, a memory BAR, where it is not yet; returns its address. */
static uint64_t place_bar(unsigned devfn, unsigned i)
{
    unsigned offset = PCI_BASE_ADDRESS_0 + 4 * i;
    uint32_t now = guestless_config_read(devfn, offset, 4);

    if (!(now & PCI_BASE_ADDRESS_MEM_MASK)) {
        guestless_config_write(devfn, offset, 4, BARS + bars++ * BARS_STEP);
        if (now & PCI_BASE_ADDRESS_MEM_TYPE_64) {
            guestless_config_write(devfn, offset + 4, 4, 0);
        }
        now = guestless_config_read(devfn, offset, 4);
    }
    return now & PCI_BASE_ADDRESS_MEM_MASK;
}

static uint64_t cap_address(unsigned devfn, unsigned cap)
{
    unsigned bar = guestless_config_read(devfn, cap + VIRTIO_PCI_CAP_BAR, 1);

    return place_bar(devfn, bar) +
           guestless_config_read(devfn, cap + VIRTIO_PCI_CAP_OFFSET, 4);
}

static void start_msix(unsigned devfn, unsigned cap)
{
    uint16_t flags = guestless_config_read(devfn, cap + PCI_MSIX_FLAGS, 2);
    uint32_t place = guestless_config_read(devfn, cap + PCI_MSIX_TABLE, 4);
    uint64_t table = place_bar(devfn, place & PCI_MSIX_TABLE_BIR) +
                     (place & PCI_MSIX_TABLE_OFFSET);

    for (unsigned i = 0; i <= (flags & PCI_MSIX_FLAGS_QSIZE); i++) {
        uint64_t entry = table + i * PCI_MSIX_ENTRY_SIZE;

        guestless_write(entry + PCI_MSIX_ENTRY_LOWER_ADDR, 4,
                        guestless_msi_address());
        guestless_write(entry + PCI_MSIX_ENTRY_VECTOR_CTRL, 4, 0);
    }
    guestless_config_write(devfn, cap + PCI_MSIX_FLAGS, 2,
                           flags | PCI_MSIX_FLAGS_ENABLE);
}

static void read_caps(GuestlessDevice *dev)
{
    unsigned devfn = dev->devfn;
    unsigned cap = guestless_config_read(devfn, PCI_CAPABILITY_LIST, 1);
    unsigned command = guestless_config_read(devfn, PCI_COMMAND, 2);

    guestless_config_write(devfn, PCI_COMMAND, 2,
                           command | PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    for (; cap; cap = guestless_config_read(devfn, cap + 1, 1)) {
        unsigned id = guestless_config_read(devfn, cap, 1);

        if (id == PCI_CAP_ID_MSIX) {
            start_msix(devfn, cap);
        } else if (id == PCI_CAP_ID_VNDR) {
            switch (guestless_config_read(devfn, cap + VIRTIO_PCI_CAP_CFG_TYPE,
                                          1)) {
            case VIRTIO_PCI_CAP_COMMON_CFG:
                dev->common = cap_address(devfn, cap);
                break;
            case VIRTIO_PCI_CAP_NOTIFY_CFG:
                dev->notify_step = guestless_config_read(
                    devfn, cap + VIRTIO_PCI_NOTIFY_CAP_MULT, 4);
                /* The same doorbell may be there by port, too. */
                if (!(guestless_config_read(devfn, PCI_BASE_ADDRESS_0 + 4 *
                        guestless_config_read(devfn, cap + VIRTIO_PCI_CAP_BAR,
                                              1), 1) &
                      PCI_BASE_ADDRESS_SPACE_IO)) {
                    dev->notify = cap_address(devfn, cap);
                }
                break;
            case VIRTIO_PCI_CAP_DEVICE_CFG:
                dev->config = cap_address(devfn, cap);
                break;
            }
        }
    }
}

static void find(GuestlessDevice *dev, unsigned id)
{
    for (dev->devfn = 0; dev->devfn < 256; dev->devfn++) {
        if (guestless_config_read(dev->devfn, PCI_VENDOR_ID, 4) ==
            ((FIRST_ID + id) << 16 | VENDOR)) {
            return;
        }
    }
    guestless_fail("there is no virtio 1.0 device with ID %u on bus 0: give "
                   "it to QEMU with disable-legacy=on", id);
}

/* --- virtio ------------------------------------------------------------------- */

static uint64_t common(const GuestlessDevice *dev, unsigned offset)
{
    return dev->common + offset;
}

static uint64_t take_features(GuestlessDevice *dev, uint64_t features)
{
    uint64_t both = 0;

    for (unsigned half = 0; half < 2; half++) {
        uint32_t part;

        guestless_write(common(dev, VIRTIO_PCI_COMMON_DFSELECT), 4, half);
        guestless_write(common(dev, VIRTIO_PCI_COMMON_GFSELECT), 4, half);
        part = guestless_read(common(dev, VIRTIO_PCI_COMMON_DF), 4) &
               features >> 32 * half;
        guestless_write(common(dev, VIRTIO_PCI_COMMON_GF), 4, part);
        both |= (uint64_t)part << 32 * half;
    }
    return both;
}

static void start_ring(GuestlessDevice *dev, unsigned index)
{
    GuestlessRing *ring = &dev->ring[index];
    uint64_t gpa;
    void *mem;

    guestless_write(common(dev, VIRTIO_PCI_COMMON_Q_SELECT), 2, index);
    *ring = (GuestlessRing) {
        .index = index,
        .size = MIN(guestless_read(common(dev, VIRTIO_PCI_COMMON_Q_SIZE), 2),
                    GUESTLESS_RING),
        .doorbell = dev->notify + (uint64_t)dev->notify_step *
            guestless_read(common(dev, VIRTIO_PCI_COMMON_Q_NOFF), 2),
    };
    mem = guestless_alloc(vring_size(ring->size, 64), &gpa);
    vring_init(&ring->vring, ring->size, mem, 64);
    for (unsigned i = 0; i < ring->size; i++) {
        ring->vring.desc[i].next = i + 1;
    }
    ring->free_num = ring->size;
    guestless_write(common(dev, VIRTIO_PCI_COMMON_Q_SIZE), 2, ring->size);
    guestless_write(common(dev, VIRTIO_PCI_COMMON_Q_MSIX), 2, 1 + index);
    guestless_write(common(dev, VIRTIO_PCI_COMMON_Q_DESCLO), 4, gpa);
    guestless_write(common(dev, VIRTIO_PCI_COMMON_Q_AVAILLO), 4,
                    gpa + ((uint8_t *)ring->vring.avail - (uint8_t *)mem));
    guestless_write(common(dev, VIRTIO_PCI_COMMON_Q_USEDLO), 4,
                    gpa + ((uint8_t *)ring->vring.used - (uint8_t *)mem));
    guestless_write(common(dev, VIRTIO_PCI_COMMON_Q_ENABLE), 2, 1);
}

uint64_t guestless_device_start(GuestlessDevice *dev, unsigned id,
                                uint64_t features, unsigned queues)
{
    uint64_t needs = 1ull << VIRTIO_F_VERSION_1;
    unsigned status = VIRTIO_CONFIG_S_ACKNOWLEDGE | VIRTIO_CONFIG_S_DRIVER;

    *dev = (GuestlessDevice) { };
    find(dev, id);
    read_caps(dev);
    guestless_write(common(dev, VIRTIO_PCI_COMMON_STATUS), 1, 0);
    guestless_write(common(dev, VIRTIO_PCI_COMMON_STATUS), 1, status);
    features = take_features(dev, features | needs |
                             1ull << VIRTIO_RING_F_EVENT_IDX);
    status |= VIRTIO_CONFIG_S_FEATURES_OK;
    guestless_write(common(dev, VIRTIO_PCI_COMMON_STATUS), 1, status);
    if ((features & needs) != needs ||
        guestless_read(common(dev, VIRTIO_PCI_COMMON_STATUS), 1) != status) {
        guestless_fail("device %u refuses features 0x%" PRIx64, id, features);
    }
    for (unsigned i = 0; i < queues; i++) {
        start_ring(dev, i);
        dev->ring[i].event_idx = features >> VIRTIO_RING_F_EVENT_IDX & 1;
    }
    guestless_write(common(dev, VIRTIO_PCI_COMMON_STATUS), 1,
                    status | VIRTIO_CONFIG_S_DRIVER_OK);
    return features;
}

/* --- rings ---------------------------------------------------------------------- */

bool guestless_ring_add(GuestlessRing *ring, const GuestlessPart *part,
                        unsigned num, void *cookie)
{
    struct vring *vring = &ring->vring;
    uint16_t head = ring->free, at = vring->avail->idx;

    if (num > ring->free_num) {
        return false;
    }
    for (unsigned i = 0; i < num; i++) {
        struct vring_desc *desc = &vring->desc[ring->free];

        desc->addr = part[i].gpa;
        desc->len = part[i].len;
        desc->flags = (part[i].in ? VRING_DESC_F_WRITE : 0) |
                      (i + 1 < num ? VRING_DESC_F_NEXT : 0);
        ring->free = desc->next;
    }
    ring->free_num -= num;
    ring->cookie[head] = cookie;
    vring->avail->ring[at % ring->size] = head;
    qatomic_store_release(&vring->avail->idx, (uint16_t)(at + 1));
    return true;
}

bool guestless_ring_kick(GuestlessRing *ring)
{
    uint16_t old = ring->kicked, event;
    bool wanted;

    ring->kicked = ring->vring.avail->idx;
    smp_mb();   /* the entries before the device's wish for a kick */
    if (ring->event_idx) {
        event = qatomic_read((uint16_t *)&vring_avail_event(&ring->vring));
        wanted = vring_need_event(event, ring->kicked, old);
    } else {
        wanted = !(qatomic_read(&ring->vring.used->flags) &
                   VRING_USED_F_NO_NOTIFY);
    }
    if (!wanted) {
        return false;
    }
    guestless_write(ring->doorbell, 2, ring->index);
    return true;
}

void *guestless_ring_take(GuestlessRing *ring, uint32_t *len)
{
    struct vring *vring = &ring->vring;
    const struct vring_used_elem *elem;
    uint16_t head, last;

    if (qatomic_load_acquire(&vring->used->idx) == ring->used) {
        return NULL;
    }
    elem = &vring->used->ring[ring->used++ % ring->size];
    *len = elem->len;
    head = last = elem->id;
    ring->free_num++;
    while (vring->desc[last].flags & VRING_DESC_F_NEXT) {
        last = vring->desc[last].next;
        ring->free_num++;
    }
    vring->desc[last].next = ring->free;
    ring->free = head;
    return ring->cookie[head];
}

bool guestless_ring_arm(GuestlessRing *ring)
{
    ring->vring.avail->flags = 0;
    vring_used_event(&ring->vring) = ring->used;
    smp_mb();   /* our wish for an interrupt before the device's entries */
    return qatomic_read(&ring->vring.used->idx) == ring->used;
}

void guestless_ring_disarm(GuestlessRing *ring)
{
    ring->vring.avail->flags = ring->event_idx ? 0 : VRING_AVAIL_F_NO_INTERRUPT;
    /* The entry before the next one: it has been used already. */
    vring_used_event(&ring->vring) = ring->used - 1;
}
