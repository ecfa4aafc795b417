/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of other VLANs on the home link's interface
 *
 * A packet socket that nobody reads counts them: when its small buffer is full,
 * the kernel only counts, so a busy VLAN costs the agent nothing.
 */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ha/host/tagged.h"

#define DST_AT  (ETH_HLEN + 24)

static bool set_up(int fd, int index, bool groups)
{
    struct sock_filter code[] = {
        MIP6_HA_TAGGED_FILTER(0, 11),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, SKF_AD_OFF + SKF_AD_PKTTYPE),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 9, 0),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 2 * ETH_ALEN),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, 0, 7),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, ETH_HLEN + 6),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_ICMPV6 << 8 | 255, 6, 0),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, DST_AT),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, groups ? 0xff : UINT32_MAX, 0, 3),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, DST_AT + 1),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x0f),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 2, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, 1),
    };
    const struct sock_fprog program = {
        sizeof(code) / sizeof(code[0]), code,
    };
    const struct sockaddr_ll address = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(ETH_P_ALL),
        .sll_ifindex = index,
    };
    const int least = 1;        /* the kernel's minimum */

    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
                      sizeof(program)) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least)) == 0 &&
           bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
}

int mip6_ha_tagged_open(int index, bool groups)
{
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0 && !set_up(fd, index, groups)) {
        close(fd);
        return -1;
    }
    return fd;
}

uint64_t mip6_ha_tagged_read(int fd)
{
    struct tpacket_stats stats = { 0 };
    socklen_t len = sizeof(stats);

    /* The packets include those that had no room. */
    return getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len) == 0
           ? stats.tp_packets : 0;
}
