/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tap: its tunnel offloads, and its interface */
#include "qemu/osdep.h"

#include "net/stage/stage.h"
#include "net/stage/tap.h"
#include "net/tap.h"
#include "qemu/cutils.h"

#ifdef CONFIG_LINUX

#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include "net/tap-linux.h"

/* In linux/if_tun.h since Linux 6.17. */
#define TUN_F_UDP_TUNNEL_GSO            0x080
#define TUN_F_UDP_TUNNEL_GSO_CSUM       0x100
#define TUN_F_TUNNELS   (TUN_F_UDP_TUNNEL_GSO | TUN_F_UDP_TUNNEL_GSO_CSUM)

/* Returns: the tap's file descriptor, or -1 */
static int tap_of(NetClientState *nc)
{
    return nc->info->type == NET_CLIENT_DRIVER_TAP ? tap_get_fd(nc) : -1;
}

static bool set_offload(int fd, unsigned long offload)
{
    return ioctl(fd, TUNSETOFFLOAD, offload) == 0;
}

/* A kernel before 6.17 refuses unknown bits. */
static bool tap_probe_has_tunnel(int fd)
{
    return set_offload(fd, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TUNNELS) &&
           set_offload(fd, 0);
}

bool net_stage_tap_has_tunnels(NetClientState *nc)
{
    int fd = tap_of(nc);

    return fd >= 0 && qemu_has_vnet_hdr(nc) && tap_probe_has_tunnel(fd);
}

void net_stage_tap_take_tunnels(NetClientState *nc, unsigned offloads)
{
    static const struct {
        unsigned offload;
        unsigned long tun;
    } map[] = {
        { NET_STAGE_CSUM, TUN_F_CSUM },
        { NET_STAGE_TSO4, TUN_F_TSO4 },
        { NET_STAGE_TSO6, TUN_F_TSO6 },
        { NET_STAGE_ECN, TUN_F_TSO_ECN },
        { NET_STAGE_UFO, TUN_F_UFO },
        { NET_STAGE_USO4, TUN_F_USO4 },
        { NET_STAGE_USO6, TUN_F_USO6 },
    };
    unsigned long tun = TUN_F_TUNNELS;

    if (!(offloads & NET_STAGE_CSUM) ||
        !(offloads & (NET_STAGE_TSO4 | NET_STAGE_TSO6))) {
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(map); i++) {
        tun |= offloads & map[i].offload ? map[i].tun : 0;
    }
    /* If this fails, the offloads that QEMU has set stay in effect. */
    set_offload(tap_of(nc), tun);
}

/* --- the tap as an interface ---------------------------------------------- */

typedef struct Link {
    char name[IFNAMSIZ];
    uint8_t mac[6];
} Link;

/* Works on the file descriptor, so also in another network namespace. */
static bool link_of(int fd, Link *link)
{
    struct ifreq ifr = { 0 };

    if (fd < 0 || ioctl(fd, TUNGETIFF, &ifr)) {
        return false;
    }
    memcpy(link->name, ifr.ifr_name, sizeof(link->name));
    if (ioctl(fd, SIOCGIFHWADDR, &ifr)) {
        return false;
    }
    memcpy(link->mac, ifr.ifr_hwaddr.sa_data, sizeof(link->mac));
    return true;
}

bool net_stage_tap_ask_link(unsigned index, const char *name, RtnlEvent *link)
{
    const struct ifinfomsg info = { .ifi_index = index };
    RtnlRequest request;
    RtnlAnswer answer;
    Rtnl host;
    bool done;

    rtnl_request(&request, RTM_GETLINK, 0, &info, sizeof(info));
    if (!index) {
        rtnl_put(&request, IFLA_IFNAME, name, strlen(name) + 1);
    }
    if (rtnl_open(&host) < 0) {
        return false;
    }
    done = rtnl_ask(&host, &request, &answer) == 0 &&
           rtnl_parse(&answer.head, link);
    rtnl_close(&host);
    return done;
}

int net_stage_tap_link(NetClientState *nc, RtnlEvent *link)
{
    Link own;

    if (!link_of(tap_of(nc), &own)) {
        return -ENODEV;
    }
    return net_stage_tap_ask_link(0, own.name, link) && link->has_mac &&
           !memcmp(link->mac, own.mac, sizeof(own.mac)) ? 0 : -EXDEV;
}

bool net_stage_tap_is_port(NetClientState *nc)
{
    RtnlEvent link;

    return net_stage_tap_link(nc, &link) == 0 && link.master;
}

#else

bool net_stage_tap_has_tunnels(NetClientState *nc)
{
    return false;
}

void net_stage_tap_take_tunnels(NetClientState *nc, unsigned offloads)
{
}

bool net_stage_tap_is_port(NetClientState *nc)
{
    return false;
}

#endif
