/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guestless: a NIC whose guest is a network namespace
 *
 * The driver of virtio-net is ours, the stack above it is that of the host's
 * kernel in another namespace: what it sends to its tap goes to the NIC, what
 * the NIC receives goes to its tap.  It cuts and merges TCP segments as far as
 * the device lets it, like a guest's kernel.  None of this work is the VMM's;
 * it runs in the vCPU's thread and in the programs of that namespace.
 */
#include "qemu/osdep.h"

#include <linux/if_ether.h>
#include <linux/virtio_ids.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "bench/guestless/accel/net.h"
#include "bench/guestless/accel/virtio.h"
#include "bench/guestless/loads/sockets.h"
#include "net/tap-linux.h"
#include "qemu/bswap.h"
#include "standard-headers/linux/virtio_net.h"

#define HEADER                  12      /* of a frame, by virtio */
/* With an Ethernet header, perhaps a tag, and the longest packet */
#define BUFFER                  (HEADER + 18 + 65536)
#define BATCH                   64

enum { RECEIVE, SEND, RINGS };

typedef struct Buffer Buffer;
struct Buffer {
    uint8_t *data;
    uint64_t gpa;
    Buffer *next;               /* in the list of those of SEND that are free */
};

static struct {
    GuestlessDevice dev;
    int tap;
    Buffer *free;
} nic;

static const struct {
    unsigned feature, offload;
} offloads[] = {
    { VIRTIO_NET_F_CSUM, TUN_F_CSUM },
    { VIRTIO_NET_F_HOST_TSO4, TUN_F_TSO4 },
    { VIRTIO_NET_F_HOST_TSO6, TUN_F_TSO6 },
    { VIRTIO_NET_F_HOST_USO, TUN_F_USO4 | TUN_F_USO6 },
};

static Buffer *buffer_new(void)
{
    Buffer *buffer = g_new0(Buffer, 1);

    buffer->data = guestless_alloc(BUFFER, &buffer->gpa);
    return buffer;
}

static void offer(Buffer *buffer)
{
    guestless_ring_add(&nic.dev.ring[RECEIVE],
                       &(GuestlessPart) { buffer->gpa, BUFFER, true }, 1,
                       buffer);
}

/* The namespace's kernel may leave to the device what that takes. */
static void start(void)
{
    uint64_t features = 1ull << VIRTIO_NET_F_GUEST_CSUM |
                        1ull << VIRTIO_NET_F_GUEST_TSO4 |
                        1ull << VIRTIO_NET_F_GUEST_TSO6 |
                        1ull << VIRTIO_NET_F_GUEST_USO4 |
                        1ull << VIRTIO_NET_F_GUEST_USO6;
    unsigned taken = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(offloads); i++) {
        features |= 1ull << offloads[i].feature;
    }
    features = guestless_device_start(&nic.dev, VIRTIO_ID_NET, features, RINGS);
    for (unsigned i = 0; i < G_N_ELEMENTS(offloads); i++) {
        taken |= features >> offloads[i].feature & 1 ? offloads[i].offload : 0;
    }
    if (ioctl(nic.tap, TUNSETOFFLOAD, taken) < 0) {
        guestless_fail("tap: TUNSETOFFLOAD 0x%x: %s", taken, strerror(errno));
    }
    for (unsigned i = 0; i < GUESTLESS_RING; i++) {
        Buffer *buffer = buffer_new();

        buffer->next = nic.free;
        nic.free = buffer;
        offer(buffer_new());
    }
    guestless_ring_kick(&nic.dev.ring[RECEIVE]);
    guestless_ring_disarm(&nic.dev.ring[SEND]);
}

/*
 * A device may say that a checksum is valid, and leave it out.  A tap does not
 * know that word.  It knows of checksums that are to be completed, which a
 * kernel that receives the packet itself does not look at.
 */
static void vouch(uint8_t *data, size_t len)
{
    struct virtio_net_hdr *header = (struct virtio_net_hdr *)data;
    const uint8_t *frame = data + HEADER;
    bool is6 = lduw_be_p(frame + 12) == ETH_P_IPV6;
    uint8_t proto = frame[ETH_HLEN + (is6 ? 6 : 9)];

    if (len < HEADER + ETH_HLEN + 40 ||
        !(header->flags & VIRTIO_NET_HDR_F_DATA_VALID) ||
        (proto != IPPROTO_TCP && proto != IPPROTO_UDP)) {
        return;
    }
    header->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
    header->csum_start = ETH_HLEN + (is6 ? 40 : 4 * (frame[ETH_HLEN] & 0xf));
    header->csum_offset = proto == IPPROTO_TCP ? 16 : 6;
}

/* From the NIC to the tap.  Returns false if there was nothing. */
static bool receive(void)
{
    GuestlessRing *ring = &nic.dev.ring[RECEIVE];
    unsigned done = 0;
    Buffer *buffer;
    uint32_t len;

    while (done < BATCH && (buffer = guestless_ring_take(ring, &len))) {
        vouch(buffer->data, len);
        /* A full queue of the tap drops the frame, as a guest's would. */
        if (write(nic.tap, buffer->data, len) < 0 && errno != ENOBUFS &&
            errno != EAGAIN) {
            guestless_fail("tap: a frame of %u octets: %s", len,
                           strerror(errno));
        }
        offer(buffer);
        done++;
    }
    if (done) {
        guestless_ring_kick(ring);
    }
    return done;
}

static void reclaim(void)
{
    Buffer *buffer;
    uint32_t len;

    while ((buffer = guestless_ring_take(&nic.dev.ring[SEND], &len))) {
        buffer->next = nic.free;
        nic.free = buffer;
    }
}

/* From the tap to the NIC.  Returns false if there was nothing, or no room. */
static bool send_frames(void)
{
    GuestlessRing *ring = &nic.dev.ring[SEND];
    unsigned done = 0;

    reclaim();
    while (done < BATCH && nic.free) {
        Buffer *buffer = nic.free;
        ssize_t n = read(nic.tap, buffer->data, BUFFER);

        if (n < 0 && errno != EAGAIN) {
            guestless_fail("tap: %s", strerror(errno));
        }
        if (n < 0) {
            break;
        }
        nic.free = buffer->next;
        guestless_ring_add(ring, &(GuestlessPart) { buffer->gpa, n, false }, 1,
                           buffer);
        done++;
    }
    if (done) {
        guestless_ring_kick(ring);
    }
    return done;
}

/* Waits for work.  Returns false when standard input has ended. */
static bool wait_for_work(void)
{
    struct pollfd pfd[] = {
        { .fd = guestless_interrupt_fd(), .events = POLLIN },
        { .fd = STDIN_FILENO, .events = POLLIN },
        { .fd = nic.tap, .events = POLLIN },
    };
    GuestlessRing *ring = nic.dev.ring;
    uint64_t count;
    bool idle = guestless_ring_arm(&ring[RECEIVE]);

    if (!nic.free) {
        /* Without room it waits for the NIC, not for the tap. */
        pfd[2].fd = -1;
        idle = guestless_ring_arm(&ring[SEND]) && idle;
    }
    if (idle) {
        poll(pfd, G_N_ELEMENTS(pfd), -1);
        if (pfd[0].revents) {
            (void)!read(pfd[0].fd, &count, sizeof(count));
        }
    }
    guestless_ring_disarm(&ring[RECEIVE]);
    guestless_ring_disarm(&ring[SEND]);
    return !pfd[1].revents;
}

void guestless_net(int tap)
{
    nic.tap = tap;
    start();
    do {
        while (receive() | send_frames()) {
            /* both directions in turn */
        }
    } while (wait_for_work());
}
