/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets to and from multicast groups of the home link
 *
 * Theory of operation
 * ===================
 *
 * A UDP socket, which is never read, is a member of the groups: so the kernel
 * makes the interface receive their frames, and sends MLD reports on the link.
 * A packet socket reads the frames. It is one for all protocols: the kernel
 * forgets the tag of an unknown VLAN before it gives a frame to those for IPv6.
 * It uses virtio-net headers: a sender on the same host leaves the checksum to
 * the hardware, and a tunnel has no such hardware.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ha/host/multicast.h"
#include "base/octets.h"
#include "ha/host/tagged.h"
#include "net/packet/eth.h"
#include "net/packet/ip6.h"
#include "net/packet/sum.h"

#define DST_AT  (ETH_HLEN + 24)

void mip6_ha_multicast_init(Mip6HaMulticast *m)
{
    m->fd = m->member_fd = -1;
}

/*
 * Receives only packets of other nodes to groups with more than link-local
 * scope, in frames of no other VLAN.
 */
static bool filter_groups(int fd)
{
    struct sock_filter code[] = {
        MIP6_HA_TAGGED_FILTER(10, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, SKF_AD_OFF + SKF_AD_PKTTYPE),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 8, 0),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 2 * ETH_ALEN),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, 0, 6),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, DST_AT),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xff, 0, 4),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, DST_AT + 1),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x0f),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0xffff),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog program = { G_N_ELEMENTS(code), code };

    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
                      sizeof(program)) == 0;
}

bool mip6_ha_multicast_open(Mip6HaMulticast *m, const char *name,
                            const uint8_t mac[6], GError **errp)
{
    const int on = 1;
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(ETH_P_ALL),
        .sll_ifindex = if_nametoindex(name),
    };

    m->link_index = address.sll_ifindex;
    memcpy(m->mac, mac, sizeof(m->mac));
    m->member_fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    m->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (m->member_fd < 0 || m->fd < 0 || !filter_groups(m->fd) ||
        setsockopt(m->fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)) < 0 ||
        bind(m->fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        g_set_error(errp, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                    "cannot listen to groups on interface '%s': %s", name,
                    strerror(errno));
        return false;
    }
    return true;
}

void mip6_ha_multicast_close(Mip6HaMulticast *m)
{
    if (m->fd >= 0) {
        close(m->fd);
    }
    if (m->member_fd >= 0) {
        close(m->member_fd);
    }
}

bool mip6_ha_multicast_join(Mip6HaMulticast *m, const struct in6_addr *group,
                            bool on)
{
    struct ipv6_mreq request = {
        .ipv6mr_multiaddr = *group,
        .ipv6mr_interface = m->link_index,
    };

    return setsockopt(m->member_fd, IPPROTO_IPV6,
                      on ? IPV6_JOIN_GROUP : IPV6_LEAVE_GROUP, &request,
                      sizeof(request)) == 0;
}

void mip6_ha_multicast_send(Mip6HaMulticast *m, const void *packet, size_t len)
{
    struct virtio_net_hdr offload = { 0 };
    uint8_t head[PACKET_ETH_LEN], mac[PACKET_ETH_ADDR_LEN];
    const struct iovec iov[] = {
        { &offload, sizeof(offload) },
        { head, sizeof(head) },
        { (void *)packet, len },
    };
    struct in6_addr group;

    memcpy(&group, (const uint8_t *)packet + 24, sizeof(group));
    packet_eth_group6(mac, &group);
    packet_eth_build(head, mac, m->mac, PACKET_ETH_IP6);
    if (writev(m->fd, iov, G_N_ELEMENTS(iov)) < 0) {
        g_debug("to a group: %s", strerror(errno));
    }
}

/* Returns: false if the offload request in the header is invalid */
static bool complete_checksum(const struct virtio_net_hdr *offload,
                              uint8_t *frame, size_t len)
{
    size_t start = offload->csum_start, at = start + offload->csum_offset;

    if (offload->gso_type != VIRTIO_NET_HDR_GSO_NONE) {
        return false;           /* too big for the tunnel */
    }
    if (offload->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) {
        if (at + 2 > len) {
            return false;
        }
        put_be16(frame + at,
                 packet_sum_fold(packet_sum_add(0, frame + start,
                                                len - start)));
    }
    return true;
}

ssize_t mip6_ha_multicast_read(Mip6HaMulticast *m, void *buf, size_t room)
{
    struct virtio_net_hdr offload;
    uint8_t frame[ETH_HLEN + 2048];
    struct iovec iov[] = {
        { &offload, sizeof(offload) }, { frame, sizeof(frame) },
    };
    struct msghdr message = {
        .msg_iov = iov,
        .msg_iovlen = G_N_ELEMENTS(iov),
    };
    ssize_t len = recvmsg(m->fd, &message, 0);
    PacketEth eth;

    if (len < 0) {
        return -1;
    }
    len -= sizeof(offload);
    if (message.msg_flags & MSG_TRUNC || len < 0 ||
        !packet_eth_parse(&eth, frame, len) || eth.tags ||
        eth.type != PACKET_ETH_IP6 || len - eth.len > room ||
        !complete_checksum(&offload, frame, len)) {
        return 0;
    }
    memcpy(buf, frame + eth.len, len - eth.len);
    return len - eth.len;
}
