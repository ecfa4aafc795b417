/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drivers of two NICs for qtests
 *
 * Theory of operation
 * ===================
 *
 * Slot i of a ring has buffer i.  Frames that are sent to a virtio-net are
 * chains of four descriptors, the header and three parts of the frame, so that
 * they arrive in pieces at what is behind the NIC.  e1000 has a ring of one
 * descriptor a frame.
 *
 * libqos has rings that never reuse a descriptor, so they are filled here; it
 * does the rest of PCI and virtio.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"

#include "standard-headers/linux/virtio_config.h"
#include "standard-headers/linux/virtio_net.h"
#include "standard-headers/linux/virtio_pci.h"
#include "standard-headers/linux/virtio_ring.h"
#include "tests/qtest/libqos/virtio-pci.h"
#include "stage-nic.h"

#define CHAIN           4       /* descriptors of a frame to send */
#define MAX_PAIRS       4
#define DESC_SIZE       16

#define FEATURE(name)   (1ull << VIRTIO_NET_F_##name)
#define VERSION_1       (1ull << VIRTIO_F_VERSION_1)
#define OFFLOADS        (FEATURE(CSUM) | FEATURE(GUEST_CSUM) | \
                         FEATURE(GUEST_TSO4) | FEATURE(STATUS))

void nic_send(Nic *nic, unsigned queue, const void *vnet, const void *frame,
              size_t len)
{
    static const uint8_t nothing[NIC_VNET_MAX];

    g_assert_cmpuint(len, <=, NIC_SLOT_SIZE - NIC_VNET_MAX);
    nic->send(nic, queue, vnet ?: nothing, frame, len);
}

unsigned nic_sent(Nic *nic, unsigned queue)
{
    return nic->sent(nic, queue);
}

void nic_post(Nic *nic, unsigned queue, unsigned buffers)
{
    nic->post(nic, queue, buffers);
}

ssize_t nic_poll(Nic *nic, unsigned queue, void *frame, size_t size)
{
    return nic->poll(nic, queue, frame, size);
}

bool nic_link_up(Nic *nic)
{
    return nic->link_up(nic);
}

void nic_use_pairs(Nic *nic, unsigned pairs)
{
    nic->use_pairs(nic, pairs);
}

void nic_free(Nic *nic)
{
    if (nic->reset) {
        nic->reset(nic);
    }
    nic->free(nic);
}

void nic_forget(Nic *nic)
{
    nic->free(nic);
}

static QPCIDevice *find_device(Machine *m)
{
    QPCIDevice *pci = qpci_device_find(m->bus, QPCI_DEVFN(NIC_PCI_SLOT, 0));

    g_assert_nonnull(pci);
    return pci;
}

/* --- virtio-net ----------------------------------------------------------- */

typedef struct VirtioRing {
    QVirtQueue *vq;
    uint64_t buffers;
    uint16_t added;
    uint16_t used;
    unsigned done;              /* @used that does not wrap */
} VirtioRing;

typedef struct VirtioNic {
    Nic nic;
    QVirtioPCIDevice *dev;
    VirtioRing rx[MAX_PAIRS];
    VirtioRing tx[MAX_PAIRS];
    VirtioRing control;
} VirtioNic;

static VirtioNic *virtio_of(Nic *nic)
{
    return container_of(nic, VirtioNic, nic);
}

static void put_desc(QTestState *qts, VirtioRing *ring, unsigned index,
                     uint64_t addr, uint32_t len, uint16_t flags)
{
    uint8_t desc[DESC_SIZE];

    stq_le_p(desc, addr);
    stl_le_p(desc + 8, len);
    stw_le_p(desc + 12, flags);
    stw_le_p(desc + 14, index + 1);
    qtest_memwrite(qts, ring->vq->desc + index * DESC_SIZE, desc,
                   sizeof(desc));
}

static void make_available(QTestState *qts, VirtioRing *ring, unsigned head)
{
    QVirtQueue *vq = ring->vq;

    qtest_writew(qts, vq->avail + 4 + 2 * (ring->added % vq->size), head);
    ring->added++;
    qtest_writew(qts, vq->avail + 2, ring->added);
}

static void kick(VirtioNic *v, VirtioRing *ring)
{
    v->dev->vdev.bus->virtqueue_kick(&v->dev->vdev, ring->vq);
}

/* Takes a used element; false if there is none. */
static bool take_used(QTestState *qts, VirtioRing *ring, uint32_t *head,
                      uint32_t *len)
{
    QVirtQueue *vq = ring->vq;
    uint64_t elem = vq->used + 4 + 8 * (ring->used % vq->size);

    if (qtest_readw(qts, vq->used + 2) == ring->used) {
        return false;
    }
    *head = qtest_readl(qts, elem);
    *len = qtest_readl(qts, elem + 4);
    ring->used++;
    ring->done++;
    return true;
}

static unsigned virtio_sent(Nic *nic, unsigned queue)
{
    VirtioRing *ring = &virtio_of(nic)->tx[queue];
    uint32_t head, len;

    while (take_used(nic->machine->qts, ring, &head, &len)) {
        /* it is counted */
    }
    return ring->done;
}

static void virtio_send(Nic *nic, unsigned queue, const void *vnet,
                        const void *frame, size_t len)
{
    VirtioNic *v = virtio_of(nic);
    VirtioRing *ring = &v->tx[queue];
    QTestState *qts = nic->machine->qts;
    unsigned slot = ring->added % NIC_SLOTS;
    uint64_t buf = ring->buffers + slot * NIC_SLOT_SIZE;
    uint64_t body = buf + NIC_VNET_MAX;
    size_t part = len / 3;

    virtio_sent(nic, queue);
    g_assert_cmpuint((uint16_t)(ring->added - ring->used), <, NIC_SLOTS);
    qtest_memwrite(qts, buf, vnet, nic->vnet_len);
    qtest_memwrite(qts, body, frame, len);
    put_desc(qts, ring, slot * CHAIN, buf, nic->vnet_len, VRING_DESC_F_NEXT);
    put_desc(qts, ring, slot * CHAIN + 1, body, part, VRING_DESC_F_NEXT);
    put_desc(qts, ring, slot * CHAIN + 2, body + part, part,
             VRING_DESC_F_NEXT);
    put_desc(qts, ring, slot * CHAIN + 3, body + 2 * part, len - 2 * part, 0);
    make_available(qts, ring, slot * CHAIN);
    kick(v, ring);
}

static void virtio_post(Nic *nic, unsigned queue, unsigned buffers)
{
    VirtioNic *v = virtio_of(nic);
    VirtioRing *ring = &v->rx[queue];

    while (buffers--) {
        unsigned slot = ring->added % NIC_SLOTS;

        g_assert_cmpuint((uint16_t)(ring->added - ring->used), <, NIC_SLOTS);
        put_desc(nic->machine->qts, ring, slot,
                 ring->buffers + slot * NIC_SLOT_SIZE, NIC_SLOT_SIZE,
                 VRING_DESC_F_WRITE);
        make_available(nic->machine->qts, ring, slot);
    }
    kick(v, ring);
}

static ssize_t virtio_poll(Nic *nic, unsigned queue, void *frame, size_t size)
{
    VirtioRing *ring = &virtio_of(nic)->rx[queue];
    QTestState *qts = nic->machine->qts;
    uint32_t slot, len;
    uint64_t buf;

    if (!take_used(qts, ring, &slot, &len)) {
        return -1;
    }
    g_assert_cmpuint(len, >=, nic->vnet_len);
    len -= nic->vnet_len;
    g_assert_cmpuint(len, <=, size);
    buf = ring->buffers + slot * NIC_SLOT_SIZE;
    qtest_memread(qts, buf, nic->vnet, nic->vnet_len);
    qtest_memread(qts, buf + nic->vnet_len, frame, len);
    return len;
}

static bool virtio_link_up(Nic *nic)
{
    uint16_t status = qvirtio_config_readw(
        &virtio_of(nic)->dev->vdev,
        offsetof(struct virtio_net_config, status));

    return status & VIRTIO_NET_S_LINK_UP;
}

static void virtio_use_pairs(Nic *nic, unsigned pairs)
{
    VirtioNic *v = virtio_of(nic);
    VirtioRing *ring = &v->control;
    QTestState *qts = nic->machine->qts;
    uint8_t command[] = { VIRTIO_NET_CTRL_MQ, VIRTIO_NET_CTRL_MQ_VQ_PAIRS_SET,
                          pairs, 0 };
    uint64_t ack = ring->buffers + 16;
    gint64 end = g_get_monotonic_time() + NIC_TIMEOUT_US;
    uint32_t head, len;

    qtest_memwrite(qts, ring->buffers, command, sizeof(command));
    qtest_writeb(qts, ack, 0xff);
    put_desc(qts, ring, 0, ring->buffers, 2, VRING_DESC_F_NEXT);
    put_desc(qts, ring, 1, ring->buffers + 2, 2, VRING_DESC_F_NEXT);
    put_desc(qts, ring, 2, ack, 1, VRING_DESC_F_WRITE);
    make_available(qts, ring, 0);
    kick(v, ring);
    while (!take_used(qts, ring, &head, &len)) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
    }
    g_assert_cmpuint(qtest_readb(qts, ack), ==, VIRTIO_NET_OK);
}

static void virtio_reset(Nic *nic)
{
    qvirtio_reset(&virtio_of(nic)->dev->vdev);
}

static void virtio_free(Nic *nic)
{
    VirtioNic *v = virtio_of(nic);

    for (unsigned i = 0; i < nic->pairs; i++) {
        g_free(v->rx[i].vq);
        g_free(v->tx[i].vq);
    }
    g_free(v->control.vq);
    qvirtio_pci_destructor(&v->dev->obj);
    g_free(v->dev);
    g_free(v);
}

static void virtio_ring_init(VirtioNic *v, VirtioRing *ring, unsigned index)
{
    QGuestAllocator *alloc = &v->nic.machine->alloc;

    ring->vq = qvirtqueue_setup(&v->dev->vdev, alloc, index);
    ring->buffers = guest_alloc(alloc, NIC_SLOTS * NIC_SLOT_SIZE);
}

/* Reads features from 64 on, which libqos does not know. */
static uint64_t read_offered_more(const QVirtioPCIDevice *dev)
{
    uint64_t words[2];

    for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
        qpci_io_writel(dev->pdev, dev->bar, dev->common_cfg_offset +
                       offsetof(struct virtio_pci_common_cfg,
                                device_feature_select), 2 + i);
        words[i] = qpci_io_readl(dev->pdev, dev->bar, dev->common_cfg_offset +
                                 offsetof(struct virtio_pci_common_cfg,
                                          device_feature));
    }
    return words[1] << 32 | words[0];
}

static Nic *virtio_start(Machine *m, const NicKind *kind)
{
    VirtioNic *v = g_new0(VirtioNic, 1);
    QPCIAddress address = { .devfn = QPCI_DEVFN(NIC_PCI_SLOT, 0) };
    uint64_t features;

    v->nic = (Nic) {
        .machine = m, .pairs = 1, .send = virtio_send, .sent = virtio_sent,
        .post = virtio_post, .poll = virtio_poll, .link_up = virtio_link_up,
        .use_pairs = virtio_use_pairs, .reset = virtio_reset,
        .free = virtio_free,
    };
    v->dev = virtio_pci_new(m->bus, &address);
    g_assert_nonnull(v->dev);
    qvirtio_pci_device_enable(v->dev);
    qvirtio_start_device(&v->dev->vdev);
    v->nic.offered = qvirtio_get_features(&v->dev->vdev);
    if (v->nic.offered & VERSION_1) {
        v->nic.offered_more = read_offered_more(v->dev);
    }
    features = v->nic.offered & kind->features;
    qvirtio_set_features(&v->dev->vdev, features);
    v->nic.vnet_len = !(features & VERSION_1) ? 10 :
                      features & FEATURE(HASH_REPORT) ? 20 : 12;
    if (features & FEATURE(MQ)) {
        v->nic.pairs = qvirtio_config_readw(
            &v->dev->vdev,
            offsetof(struct virtio_net_config, max_virtqueue_pairs));
        g_assert_cmpuint(v->nic.pairs, <=, MAX_PAIRS);
    }
    for (unsigned i = 0; i < v->nic.pairs; i++) {
        virtio_ring_init(v, &v->rx[i], 2 * i);
        virtio_ring_init(v, &v->tx[i], 2 * i + 1);
    }
    if (features & FEATURE(CTRL_VQ)) {
        virtio_ring_init(v, &v->control, 2 * v->nic.pairs);
    }
    qvirtio_set_driver_ok(&v->dev->vdev);
    return &v->nic;
}

const NicKind nic_virtio10 = {
    .name = "virtio10",
    .driver = "virtio-net-pci",
    .options = ",disable-modern=on",
    .features = OFFLOADS,
    .vnet_len = sizeof(struct virtio_net_hdr),
    .start = virtio_start,
};

const NicKind nic_virtio12 = {
    .name = "virtio12",
    .driver = "virtio-net-pci",
    .options = "",
    .features = OFFLOADS | VERSION_1,
    .vnet_len = sizeof(struct virtio_net_hdr_mrg_rxbuf),
    .start = virtio_start,
};

const NicKind nic_virtio20 = {
    .name = "virtio20",
    .driver = "virtio-net-pci",
    .options = ",hash=on",
    .features = OFFLOADS | VERSION_1 | FEATURE(CTRL_VQ) | FEATURE(HASH_REPORT),
    .vnet_len = sizeof(struct virtio_net_hdr_v1_hash),
    .start = virtio_start,
};

const NicKind nic_virtio_mq = {
    .name = "virtio-mq",
    .driver = "virtio-net-pci",
    .options = ",mq=on",
    .features = FEATURE(STATUS) | VERSION_1 | FEATURE(CTRL_VQ) | FEATURE(MQ),
    .vnet_len = sizeof(struct virtio_net_hdr_mrg_rxbuf),
    .start = virtio_start,
};

/* --- e1000 ---------------------------------------------------------------- */

/* Registers, from the software developer's manual of the 8254x */
#define E1000_STATUS            0x0008
#define   STATUS_LU             0x00000002
#define E1000_RCTL              0x0100
#define   RCTL_EN               0x00000002
#define   RCTL_UPE              0x00000008
#define   RCTL_MPE              0x00000010
#define   RCTL_BAM              0x00008000
#define   RCTL_SECRC            0x04000000
#define E1000_TCTL              0x0400
#define   TCTL_EN               0x00000002
#define E1000_RDBAL             0x2800
#define E1000_RDLEN             0x2808
#define E1000_RDH               0x2810
#define E1000_RDT               0x2818
#define E1000_TDBAL             0x3800
#define E1000_TDLEN             0x3808
#define E1000_TDH               0x3810
#define E1000_TDT               0x3818

#define TXD_CMD_EOP_IFCS_RS     0x0b000000
#define RXD_STAT_DD             0x01

/* e1000 receives only so long after it was enabled. */
#define E1000_RX_DELAY_NS       2000000000

typedef struct E1000Nic {
    Nic nic;
    QPCIDevice *pci;
    QPCIBar bar;
    uint64_t rx_ring, tx_ring;
    uint64_t rx_buffers, tx_buffers;
    unsigned posted, received, sent;
} E1000Nic;

static E1000Nic *e1000_of(Nic *nic)
{
    return container_of(nic, E1000Nic, nic);
}

static void e1000_write(E1000Nic *e, unsigned reg, uint32_t value)
{
    qpci_io_writel(e->pci, e->bar, reg, value);
}

static void e1000_send(Nic *nic, unsigned queue, const void *vnet,
                       const void *frame, size_t len)
{
    E1000Nic *e = e1000_of(nic);
    QTestState *qts = nic->machine->qts;
    unsigned slot = e->sent++ % NIC_SLOTS;
    uint64_t buf = e->tx_buffers + slot * NIC_SLOT_SIZE;
    uint8_t desc[DESC_SIZE] = { };

    qtest_memwrite(qts, buf, frame, len);
    stq_le_p(desc, buf);
    stl_le_p(desc + 8, TXD_CMD_EOP_IFCS_RS | len);
    qtest_memwrite(qts, e->tx_ring + slot * DESC_SIZE, desc, sizeof(desc));
    e1000_write(e, E1000_TDT, e->sent % NIC_SLOTS);
}

static unsigned e1000_sent(Nic *nic, unsigned queue)
{
    return e1000_of(nic)->sent;         /* it never waits */
}

static void e1000_post(Nic *nic, unsigned queue, unsigned buffers)
{
    E1000Nic *e = e1000_of(nic);

    while (buffers--) {
        unsigned slot = e->posted++ % NIC_SLOTS;
        uint8_t desc[DESC_SIZE] = { };

        g_assert_cmpuint(e->posted - e->received, <, NIC_SLOTS);
        stq_le_p(desc, e->rx_buffers + slot * NIC_SLOT_SIZE);
        qtest_memwrite(nic->machine->qts, e->rx_ring + slot * DESC_SIZE, desc,
                       sizeof(desc));
    }
    e1000_write(e, E1000_RDT, e->posted % NIC_SLOTS);
}

static ssize_t e1000_poll(Nic *nic, unsigned queue, void *frame, size_t size)
{
    E1000Nic *e = e1000_of(nic);
    QTestState *qts = nic->machine->qts;
    unsigned slot = e->received % NIC_SLOTS;
    uint8_t desc[DESC_SIZE];
    size_t len;

    if (e->received == e->posted) {
        return -1;
    }
    qtest_memread(qts, e->rx_ring + slot * DESC_SIZE, desc, sizeof(desc));
    if (!(desc[12] & RXD_STAT_DD)) {
        return -1;
    }
    len = lduw_le_p(desc + 8);
    g_assert_cmpuint(len, <=, size);
    qtest_memread(qts, e->rx_buffers + slot * NIC_SLOT_SIZE, frame, len);
    e->received++;
    return len;
}

static bool e1000_link_up(Nic *nic)
{
    E1000Nic *e = e1000_of(nic);

    return qpci_io_readl(e->pci, e->bar, E1000_STATUS) & STATUS_LU;
}

static void e1000_free(Nic *nic)
{
    E1000Nic *e = e1000_of(nic);

    qpci_iounmap(e->pci, e->bar);
    g_free(e->pci);
    g_free(e);
}

static Nic *e1000_start(Machine *m, const NicKind *kind)
{
    E1000Nic *e = g_new0(E1000Nic, 1);
    QGuestAllocator *alloc = &m->alloc;

    e->nic = (Nic) {
        .machine = m, .pairs = 1, .send = e1000_send, .sent = e1000_sent,
        .post = e1000_post, .poll = e1000_poll, .link_up = e1000_link_up,
        .free = e1000_free,
    };
    e->pci = find_device(m);
    qpci_device_enable(e->pci);
    e->bar = qpci_iomap(e->pci, 0, NULL);
    e->rx_ring = guest_alloc(alloc, NIC_SLOTS * DESC_SIZE);
    e->tx_ring = guest_alloc(alloc, NIC_SLOTS * DESC_SIZE);
    e->rx_buffers = guest_alloc(alloc, NIC_SLOTS * NIC_SLOT_SIZE);
    e->tx_buffers = guest_alloc(alloc, NIC_SLOTS * NIC_SLOT_SIZE);
    e1000_write(e, E1000_TDBAL, e->tx_ring);
    e1000_write(e, E1000_TDLEN, NIC_SLOTS * DESC_SIZE);
    e1000_write(e, E1000_TDH, 0);
    e1000_write(e, E1000_TDT, 0);
    e1000_write(e, E1000_TCTL, TCTL_EN);
    e1000_write(e, E1000_RDBAL, e->rx_ring);
    e1000_write(e, E1000_RDLEN, NIC_SLOTS * DESC_SIZE);
    e1000_write(e, E1000_RDH, 0);
    e1000_write(e, E1000_RDT, 0);
    e1000_write(e, E1000_RCTL, RCTL_EN | RCTL_UPE | RCTL_MPE | RCTL_BAM |
                RCTL_SECRC);
    qtest_clock_step(m->qts, E1000_RX_DELAY_NS);
    return &e->nic;
}

const NicKind nic_e1000 = {
    .name = "e1000",
    .driver = "e1000",
    .options = "",
    .start = e1000_start,
};
