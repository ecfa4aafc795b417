/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The agent's host: a TUN device, routes, the home link
 *
 * Theory of operation
 * ===================
 *
 * The host has routes into a TUN device for the agent's address and for each
 * bound home address. So the kernel forwards packets for these to the agent,
 * and forwards the packets that the agent writes. The kernel does not process
 * them as its own; it would refuse the Home Address option. No kernel module
 * and no address on the host are needed, only forwarding.
 *
 * On the home link, no interface has these addresses. This file answers
 * neighbour solicitations for them with the interface's MAC address (RFC 6275
 * section 10.4.1), through a packet socket that receives all multicast.
 * Duplicate address detection is answered, too, so no other node takes the
 * address of a VM that is away. The host is a member of the addresses' groups,
 * as switches may deliver a solicitation only to those who have reported that.
 *
 * The interface is untagged: frames with a VLAN tag are of other links, though
 * the kernel gives them to packet sockets, with the tag taken off. The socket
 * is one for all protocols, because only those see what this host sends: its
 * own router daemon's advertisements.
 *
 * Interfaces and routes are watched. A route that is gone, or that another one
 * has replaced, is put back: at once, or once a second while another program
 * fights over it. Another MAC address is announced. If the TUN device or the
 * interface itself is gone, the process ends; the next one waits for the interface.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/systemd.h"
#include "ha/base/addr.h"
#include "ha/host/host.h"
#include "ha/host/tagged.h"
#include "net/packet/eth.h"
#include "net/packet/ip6.h"
#include "net/packet/nd.h"

#define ROUTE_METRIC    1
#define PUT_BACK_S      2       /* in ticks: at least 1 s */
#define FOUGHT_OVER_S   10
#define TUN_DEVICE      "TUN device"
#define LIST_TRIES      10
#define HOME_INTERFACE  "home link's interface"

static GQuark error_quark(void)
{
    return g_quark_from_static_string("mip6-ha-host-error");
}

static bool host_fail(GError **errp, const char *what, const char *name)
{
    g_set_error(errp, error_quark(), errno, "%s '%s': %s", what, name,
                strerror(errno));
    return false;
}

/* --- netlink -------------------------------------------------------------- */

/* Returns: false with errno set */
static bool make(Mip6HaHost *h, RtnlRequest *r)
{
    errno = -rtnl_do(&h->netlink, r);
    return errno == 0;
}

static bool set_route(Mip6HaHost *h, const struct in6_addr *home, bool on)
{
    const uint32_t metric = ROUTE_METRIC;
    const struct rtmsg route = {
        .rtm_family = AF_INET6,
        .rtm_dst_len = 128,
        .rtm_table = RT_TABLE_MAIN,
        .rtm_protocol = RTPROT_STATIC,
        .rtm_scope = RT_SCOPE_UNIVERSE,
        .rtm_type = RTN_UNICAST,
    };
    RtnlRequest r;

    rtnl_request(&r, on ? RTM_NEWROUTE : RTM_DELROUTE,
                 on ? NLM_F_CREATE | NLM_F_REPLACE : 0, &route, sizeof(route));
    rtnl_put(&r, RTA_DST, home, sizeof(*home));
    rtnl_put(&r, RTA_OIF, &h->tun_index, sizeof(h->tun_index));
    rtnl_put(&r, RTA_PRIORITY, &metric, sizeof(metric));
    return make(h, &r);
}

typedef struct Sweep {
    Mip6HaHost *host;
    GArray *stale;              /* struct in6_addr */
} Sweep;

/* Is it a route into the TUN device for an address without a proxy entry? */
static void look_at_route(void *opaque, const struct nlmsghdr *head)
{
    Sweep *s = opaque;
    const struct rtmsg *route = NLMSG_DATA(head);
    RtnlEvent event;

    if (route->rtm_protocol == RTPROT_STATIC && rtnl_parse(head, &event) &&
        event.prefix_len == 128 && (int)event.index == s->host->tun_index &&
        !g_hash_table_contains(s->host->homes, &event.addr)) {
        g_array_append_val(s->stale, event.addr);
    }
}

bool mip6_ha_host_sweep(Mip6HaHost *h)
{
    g_autoptr(GArray) stale = g_array_new(FALSE, FALSE,
                                          sizeof(struct in6_addr));
    const struct rtmsg all = { .rtm_family = AF_INET6 };
    Sweep s = { h, stale };
    RtnlRequest r;
    int ret;

    rtnl_request(&r, RTM_GETROUTE, 0, &all, sizeof(all));
    /* Others may change routes meanwhile: a list with a gap is asked for again. */
    for (unsigned i = 0; i < LIST_TRIES; i++) {
        ret = rtnl_list(&h->netlink, &r, look_at_route, &s);
        if (ret != -EINTR) {
            break;
        }
    }
    for (guint i = 0; i < stale->len; i++) {
        set_route(h, &g_array_index(stale, struct in6_addr, i), false);
    }
    errno = -ret;
    return ret == 0;
}

/* Removes the fast path of an agent that was killed (host/fast.c). */
static void remove_filters(Mip6HaHost *h)
{
    const struct tcmsg clsact = {
        .tcm_ifindex = h->tun_index,
        .tcm_handle = TC_H_MAKE(TC_H_CLSACT, 0),
        .tcm_parent = TC_H_CLSACT,
    };
    RtnlRequest r;

    rtnl_request(&r, RTM_DELQDISC, 0, &clsact, sizeof(clsact));
    rtnl_do(&h->netlink, &r);   /* usually, there is none */
}

static bool set_up(Mip6HaHost *h)
{
    const struct ifinfomsg link = {
        .ifi_index = h->tun_index,
        .ifi_flags = IFF_UP,
        .ifi_change = IFF_UP,
    };
    RtnlRequest r;

    rtnl_request(&r, RTM_NEWLINK, 0, &link, sizeof(link));
    return make(h, &r);
}

/* --- frames --------------------------------------------------------------- */

/* Sends the packet of @len octets after the Ethernet header in @frame. */
static void send_nd(Mip6HaHost *h, uint8_t *frame, size_t len,
                    const struct in6_addr *dst, const uint8_t *dst_mac)
{
    uint8_t group[PACKET_ETH_ADDR_LEN];

    packet_eth_group6(group, dst);
    packet_eth_build(frame, dst_mac ? dst_mac : group, h->mac,
                     PACKET_ETH_IP6);
    /* A lost message will be solicited again. */
    if (send(h->link_fd, frame, PACKET_ETH_LEN + len, 0) < 0) {
        g_debug("neighbour discovery: %s", strerror(errno));
    }
}

static void send_na(Mip6HaHost *h, const struct in6_addr *target,
                    const struct in6_addr *dst, const uint8_t *dst_mac,
                    unsigned flags)
{
    uint8_t frame[PACKET_ETH_LEN + PACKET_ND_SHORT_MAX];
    size_t len = packet_nd_build_na(frame + PACKET_ETH_LEN, target, dst,
                                    target, flags, h->mac);

    send_nd(h, frame, len, dst, dst_mac);
}

/* --- start ---------------------------------------------------------------- */

/* Cheaper than all addresses, but true of any with ip_nonlocal_bind. */
static bool can_bind(const struct in6_addr *addr)
{
    struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_addr = *addr };
    int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool can = fd < 0 || bind(fd, (const void *)&to, sizeof(to)) == 0;

    if (fd >= 0) {
        close(fd);
    }
    return can;
}

bool mip6_ha_host_has(const struct in6_addr *addr, char *name)
{
    struct ifaddrs *all = NULL;
    bool found = false;

    if (!can_bind(addr) || getifaddrs(&all) < 0) {
        return false;
    }
    for (const struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
        const struct sockaddr_in6 *a = (const void *)i->ifa_addr;

        if (a && a->sin6_family == AF_INET6 &&
            packet_ip6_equal(&a->sin6_addr, addr)) {
            found = true;
            g_strlcpy(name, i->ifa_name, IF_NAMESIZE);
        }
    }
    freeifaddrs(all);
    return found;
}

/* Why there can be no TUN device @name: errno of TUNSETIFF says little. */
static const char *why_no_tun(const char *name)
{
    switch (errno) {
    case EBUSY:
        return "another program has it, such as another agent";
    case EINVAL:
        if (if_nametoindex(name)) {
            return "an interface of another kind has this name";
        }
        errno = EINVAL;
        /* fall through */
    default:
        return strerror(errno);
    }
}

static bool open_tun(Mip6HaHost *h, const char *name, GError **errp)
{
    struct ifreq ifr = { .ifr_flags = IFF_TUN | IFF_NO_PI };

    h->tun_fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (h->tun_fd < 0) {
        return host_fail(errp, "cannot open", "/dev/net/tun");
    }
    g_strlcpy(ifr.ifr_name, name, sizeof(ifr.ifr_name));
    if (ioctl(h->tun_fd, TUNSETIFF, &ifr) < 0) {
        g_set_error(errp, error_quark(), errno, "cannot make tun '%s': %s",
                    name, why_no_tun(name));
        return false;
    }
    h->tun_index = if_nametoindex(ifr.ifr_name);
    remove_filters(h);
    if (!set_up(h)) {
        return host_fail(errp, "cannot set up the TUN device", name);
    }
    return true;
}

/*
 * Receives only ICMPv6 right after the IPv6 header, with hop limit 255, in
 * frames of no other VLAN.
 */
static bool filter_nd(int fd)
{
    struct sock_filter code[] = {
        MIP6_HA_TAGGED_FILTER(5, 0),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 2 * ETH_ALEN),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, 0, 3),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, ETH_HLEN + 6),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_PROTO_ICMP6 << 8 | 255,
                 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0xffff),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog program = { G_N_ELEMENTS(code), code };

    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
                      sizeof(program)) == 0;
}

static bool open_link(Mip6HaHost *h, const char *name, GError **errp)
{
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(ETH_P_ALL),
        .sll_ifindex = if_nametoindex(name),
    };
    struct packet_mreq all = {
        .mr_ifindex = address.sll_ifindex,
        .mr_type = PACKET_MR_ALLMULTI,
    };
    struct ifreq ifr = { 0 };

    if (!address.sll_ifindex) {
        return host_fail(errp, "there is no interface", name);
    }
    h->link_index = address.sll_ifindex;
    h->link_fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    g_strlcpy(ifr.ifr_name, name, sizeof(ifr.ifr_name));
    if (h->link_fd < 0 || !filter_nd(h->link_fd) ||
        ioctl(h->link_fd, SIOCGIFHWADDR, &ifr) < 0 ||
        setsockopt(h->link_fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all,
                   sizeof(all)) < 0 ||
        bind(h->link_fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        return host_fail(errp, "cannot listen on interface", name);
    }
    memcpy(h->mac, ifr.ifr_hwaddr.sa_data, sizeof(h->mac));
    g_strlcpy(h->link_name, name, sizeof(h->link_name));
    if (ioctl(h->link_fd, SIOCGIFFLAGS, &ifr) == 0) {
        h->link_up = ifr.ifr_flags & IFF_UP;
        h->link_running = ifr.ifr_flags & IFF_RUNNING;
    }
    if (!h->link_up || !h->link_running) {
        g_message("interface '%s' %s", name,
                  h->link_up ? "has no carrier" : "is down");
    }
    return true;
}

static void announce(void *opaque, const struct in6_addr *home)
{
    send_na(opaque, home, &packet_ip6_all_nodes, NULL, PACKET_NA_OVERRIDE);
}

static void drop_events(Mip6HaHost *h)
{
    RtnlEvent event;

    while (rtnl_watch_next(&h->watch, &event)) {
        /* of what is looked at later */
    }
}

/* A signal ends the process meanwhile. */
static void await_interface(Mip6HaHost *h, const char *name)
{
    struct pollfd pollfd = { .fd = h->watch.fd, .events = POLLIN };

    if (if_nametoindex(name)) {
        return;
    }
    g_message("waiting for the interface '%s', which does not exist", name);
    base_systemd_notify("READY=1\nSTATUS=Waiting for an interface");
    while (!if_nametoindex(name)) {
        poll(&pollfd, 1, -1);
        drop_events(h);         /* only the name counts */
    }
    g_message("the interface '%s' exists", name);
}

bool mip6_ha_host_open(Mip6HaHost *h, const char *interface, const char *tun,
                       GError **errp)
{
    int error;

    memset(h, 0, sizeof(*h));
    h->tun_fd = h->link_fd = h->netlink.fd = h->watch.fd = -1;
    h->tun_up = h->link_up = true;
    mip6_ha_solicited_init(&h->solicited);
    h->homes = g_hash_table_new_full(mip6_addr_hash, mip6_addr_equal,
                                     g_free, NULL);
    h->missed = g_hash_table_new_full(mip6_addr_hash, mip6_addr_equal,
                                      g_free, NULL);
    mip6_announce_init(&h->announce, announce, h);
    error = rtnl_open(&h->netlink);
    if (!error) {
        error = rtnl_watch_open(&h->watch, RTNL_LINKS | RTNL_ROUTES);
    }
    if (error) {
        errno = -error;
        return host_fail(errp, "cannot open", "netlink");
    }
    await_interface(h, interface);
    if (!open_tun(h, tun, errp)) {
        return false;
    }
    drop_events(h);             /* this agent has made the device, and set it up */
    return open_link(h, interface, errp);
}

void mip6_ha_host_close(Mip6HaHost *h)
{
    const int fds[] = { h->tun_fd, h->link_fd };

    for (unsigned i = 0; i < G_N_ELEMENTS(fds); i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    rtnl_close(&h->netlink);
    rtnl_watch_close(&h->watch);
    mip6_announce_destroy(&h->announce);
    mip6_ha_solicited_destroy(&h->solicited);
    g_hash_table_destroy(h->homes);
    g_hash_table_destroy(h->missed);
}

bool mip6_ha_host_keep(Mip6HaHost *h, bool on)
{
    return ioctl(h->tun_fd, TUNSETPERSIST, on) == 0;
}

/* --- the home link -------------------------------------------------------- */

void mip6_ha_host_probe(Mip6HaHost *h, const struct in6_addr *home)
{
    uint8_t frame[PACKET_ETH_LEN + PACKET_ND_SHORT_MAX];
    struct in6_addr group = packet_ip6_solicited(home);
    size_t len = packet_nd_build_ns(frame + PACKET_ETH_LEN, &in6addr_any,
                                    &group, home, NULL);

    send_nd(h, frame, len, &group, NULL);
}

void mip6_ha_host_listen(Mip6HaHost *h, const struct in6_addr *home, bool on)
{
    if (!on) {
        mip6_ha_solicited_leave(&h->solicited, h->link_index, home);
    } else if (!mip6_ha_solicited_join(&h->solicited, h->link_index, home)) {
        g_warning("cannot join the solicited-node group of an address: %s; "
                  "behind a switch that snoops it may not be reached",
                  strerror(errno));
    }
}

bool mip6_ha_host_proxy(Mip6HaHost *h, int64_t now,
                        const struct in6_addr *home, bool on,
                        unsigned announcements)
{
    if (!set_route(h, home, on) && on) {
        return false;
    }
    if (!on) {
        mip6_announce_remove(&h->announce, home);
        if (g_hash_table_remove(h->homes, home)) {
            mip6_ha_host_listen(h, home, false);
        }
        return true;
    }
    if (g_hash_table_add(h->homes, g_memdup2(home, sizeof(*home)))) {
        mip6_ha_host_listen(h, home, true);
    }
    if (announcements > 1) {
        mip6_announce_at_once(&h->announce, now, home, announcements);
    } else if (announcements) {
        mip6_announce_add(&h->announce, now, home, announcements);
    }
    return true;
}

static unsigned put_routes(Mip6HaHost *h)
{
    GHashTableIter iter;
    gpointer home;
    unsigned failed = 0;

    g_hash_table_iter_init(&iter, h->homes);
    while (g_hash_table_iter_next(&iter, &home, NULL)) {
        failed += !set_route(h, home, true);
    }
    return failed;
}

static void tun_changed(Mip6HaHost *h, bool up)
{
    if (up == h->tun_up) {
        return;
    }
    h->tun_up = up;
    if (!up) {
        g_warning("the TUN device is down: nothing passes the tunnels");
    } else {
        unsigned failed = put_routes(h);

        g_message("the TUN device is up: its routes are put back");
        if (failed) {
            g_warning("%u of them are refused: %s", failed, strerror(errno));
        }
    }
}

static void announce_all(Mip6HaHost *h, int64_t now)
{
    GHashTableIter iter;
    gpointer home;

    g_hash_table_iter_init(&iter, h->homes);
    while (g_hash_table_iter_next(&iter, &home, NULL)) {
        mip6_announce_add(&h->announce, now, home, MIP6_ANNOUNCE_TIMES);
    }
}

/* The agent stays on the interface; its configuration has the first name. */
static void name_changed(Mip6HaHost *h, const RtnlEvent *event)
{
    if (!strcmp(h->link_name, event->name)) {
        return;
    }
    g_message("interface '%s' was renamed '%s': the agent stays on it; at a "
              "restart it looks for the name in its configuration",
              h->link_name, event->name);
    g_strlcpy(h->link_name, event->name, sizeof(h->link_name));
}

/*
 * What was announced without a carrier (a bridge without a port that forwards)
 * has reached nobody.
 */
static void link_changed(Mip6HaHost *h, int64_t now, const RtnlEvent *event)
{
    bool up = event->link_flags & IFF_UP;
    bool running = event->link_flags & IFF_RUNNING;

    if (up != h->link_up) {
        h->link_up = up;
        g_message("interface '%s' is %s", event->name, up ? "up" : "down");
    }
    if (running != h->link_running) {
        h->link_running = running;
        g_message("interface '%s' has %s carrier", event->name,
                  running ? "a" : "no");
        if (running) {
            announce_all(h, now);
        }
    }
}

static void mac_changed(Mip6HaHost *h, int64_t now, const RtnlEvent *event)
{
    if (!event->has_mac || !memcmp(h->mac, event->mac, sizeof(h->mac))) {
        return;
    }
    memcpy(h->mac, event->mac, sizeof(h->mac));
    g_message("interface '%s' has another MAC address: it is announced",
              event->name);
    announce_all(h, now);
}

/*
 * Is one of our routes gone: removed, or replaced by one that leads elsewhere?
 * What this agent removes is in @homes no more.
 */
static bool is_missed(const Mip6HaHost *h, const RtnlEvent *event)
{
    bool is_tun = (int)event->index == h->tun_index;

    return event->table == RT_TABLE_MAIN && event->prefix_len == 128 &&
           event->metric == ROUTE_METRIC && h->tun_up &&
           (event->kind == RTNL_ROUTE ? event->replaces && !is_tun : is_tun) &&
           g_hash_table_contains(h->homes, &event->addr);
}

static void set_rest(Mip6HaHost *h, Mip6HaRest rest)
{
    static const unsigned seconds[] = {
        [MIP6_HA_PUT_BACK] = PUT_BACK_S, [MIP6_HA_FOUGHT_OVER] = FOUGHT_OVER_S,
    };

    h->rest = rest;
    h->rest_s = seconds[rest];
}

/* With the TUN device down, tun_changed() puts all back later. */
static void put_missed_back(Mip6HaHost *h)
{
    GHashTableIter iter;
    unsigned done = 0;
    gpointer home;
    int error = 0;

    g_hash_table_iter_init(&iter, h->missed);
    while (g_hash_table_iter_next(&iter, &home, NULL)) {
        if (h->tun_up && g_hash_table_contains(h->homes, home)) {
            if (!set_route(h, home, true)) {
                error = errno;
                continue;
            }
            done++;
        }
        g_hash_table_iter_remove(&iter);
    }
    if (error && !h->is_refused) {
        g_warning("routes into the TUN device were removed, and are refused: "
                  "%s", strerror(error));
    }
    h->is_refused = error;
    if (done && h->rest != MIP6_HA_FOUGHT_OVER) {
        g_warning("%u routes into the TUN device were removed or replaced: put "
                  "back", done);
        set_rest(h, MIP6_HA_PUT_BACK);
    }
}

/* Some of our routes are gone. */
static void routes_missed(Mip6HaHost *h)
{
    switch (h->rest) {
    case MIP6_HA_AT_REST:
        put_missed_back(h);
        return;
    case MIP6_HA_PUT_BACK:
        g_warning("routes into the TUN device are gone again, soon after they "
                  "were put back: they are put back once a second, without a "
                  "line until they stay");
        break;
    case MIP6_HA_FOUGHT_OVER:
        break;
    }
    set_rest(h, MIP6_HA_FOUGHT_OVER);
}

void mip6_ha_host_tick(Mip6HaHost *h)
{
    if (g_hash_table_size(h->missed)) {
        put_missed_back(h);
    } else if (h->rest_s && !--h->rest_s) {
        if (h->rest == MIP6_HA_FOUGHT_OVER) {
            g_message("the routes into the TUN device stay");
        }
        set_rest(h, MIP6_HA_AT_REST);
    }
}

/*
 * Events were lost: look at all that they could have told. Returns: what is
 * gone; or NULL
 */
static const char *look_again(Mip6HaHost *h, int64_t now)
{
    RtnlEvent link = { .index = h->link_index };
    struct ifreq tun = { 0 }, ifr = { 0 };

    if (!if_indextoname(h->tun_index, tun.ifr_name) ||
        ioctl(h->link_fd, SIOCGIFFLAGS, &tun) < 0) {
        return TUN_DEVICE;
    }
    if (!if_indextoname(h->link_index, link.name)) {
        return HOME_INTERFACE;
    }
    g_strlcpy(ifr.ifr_name, link.name, sizeof(ifr.ifr_name));
    if (ioctl(h->link_fd, SIOCGIFHWADDR, &ifr) < 0) {
        return HOME_INTERFACE;
    }
    memcpy(link.mac, ifr.ifr_hwaddr.sa_data, sizeof(link.mac));
    link.has_mac = true;
    name_changed(h, &link);
    mac_changed(h, now, &link);
    tun_changed(h, tun.ifr_flags & IFF_UP);
    if (h->tun_up) {
        put_routes(h);
    }
    return NULL;
}

bool mip6_ha_host_changed(Mip6HaHost *h, int64_t now, GError **errp)
{
    const char *gone = NULL;
    bool missed = false;
    RtnlEvent event;

    while (!gone && rtnl_watch_next(&h->watch, &event)) {
        bool is_tun = (int)event.index == h->tun_index;
        bool is_link = (int)event.index == h->link_index;

        switch (event.kind) {
        case RTNL_LINK:
            if (is_tun) {
                tun_changed(h, event.link_flags & IFF_UP);
            } else if (is_link) {
                name_changed(h, &event);
                link_changed(h, now, &event);
                mac_changed(h, now, &event);
            }
            break;
        case RTNL_LINK_GONE:
            gone = is_tun ? TUN_DEVICE : is_link ? HOME_INTERFACE : NULL;
            break;
        case RTNL_ROUTE:
        case RTNL_ROUTE_GONE:
            if (is_missed(h, &event)) {
                g_hash_table_add(h->missed,
                                 g_memdup2(&event.addr, sizeof(event.addr)));
                missed = true;
            }
            break;
        case RTNL_LOST:
            gone = look_again(h, now);
            break;
        default:
            break;
        }
    }
    if (missed) {
        routes_missed(h);
    }
    if (gone) {
        g_set_error(errp, error_quark(), ENODEV, "the %s is gone", gone);
    }
    return !gone;
}

/* --- settings that others change ------------------------------------------ */

/* Returns: false also if the setting cannot be read */
static bool is_set_to(const char *wrong, const char *path)
{
    g_autofree char *text = NULL;

    return g_file_get_contents(path, &text, NULL, NULL) && *text == *wrong;
}

static void setting_seen(Mip6HaHost *h, Mip6HaSetting setting, bool wrong,
                         const char *path)
{
    const char *name = path + strlen("/proc/sys/");

    if (wrong == h->is_wrong[setting]) {
        return;
    }
    h->is_wrong[setting] = wrong;
    if (!wrong) {
        g_message("%s is right again", name);
        put_routes(h);
    } else if (setting == MIP6_HA_FORWARDING) {
        g_warning("the kernel does not forward IPv6, and so no packet to or "
                  "from a mobile node: sysctl -w %s=1", name);
    } else {
        g_warning("IPv6 is off: nothing passes the tunnels: sysctl -w %s=0",
                  name);
    }
}

void mip6_ha_host_settings(Mip6HaHost *h)
{
    static const char all[] = "/proc/sys/net/ipv6/conf/all/forwarding";
    const int index[] = {
        [MIP6_HA_LINK_IPV6] = h->link_index, [MIP6_HA_TUN_IPV6] = h->tun_index,
    };

    setting_seen(h, MIP6_HA_FORWARDING, is_set_to("0", all), all);
    for (unsigned i = MIP6_HA_LINK_IPV6; i < MIP6_HA_SETTINGS; i++) {
        g_autofree char *path = NULL;
        char name[IF_NAMESIZE];

        if (if_indextoname(index[i], name)) {
            path = g_strdup_printf("/proc/sys/net/ipv6/conf/%s/disable_ipv6",
                                   name);
            setting_seen(h, i, is_set_to("1", path), path);
        }
    }
}

static void answer(Mip6HaHost *h, const PacketNd *nd, const uint8_t *src_mac)
{
    bool probe = IN6_IS_ADDR_UNSPECIFIED(&nd->src);

    send_na(h, &nd->target, probe ? &packet_ip6_all_nodes : &nd->src,
            probe ? NULL : nd->has_slla ? nd->slla : src_mac,
            PACKET_NA_OVERRIDE | (probe ? 0 : PACKET_NA_SOLICITED));
}

Mip6HaEvent mip6_ha_host_link(Mip6HaHost *h, PacketNd *nd)
{
    struct sockaddr_ll from;
    socklen_t from_len = sizeof(from);
    uint8_t frame[1514];
    ssize_t len;
    PacketEth eth;

    len = recvfrom(h->link_fd, frame, sizeof(frame), 0,
                   (struct sockaddr *)&from, &from_len);
    if (len < 0 || !packet_eth_parse(&eth, frame, len) ||
        eth.type != PACKET_ETH_IP6 ||
        !packet_nd_parse(nd, frame + eth.len, len - eth.len)) {
        return MIP6_HA_NOTHING;
    }
    if (nd->type == PACKET_ND_RA) {
        return MIP6_HA_ROUTER;  /* also one that this host has sent */
    }
    if (from.sll_pkttype == PACKET_OUTGOING) {
        return MIP6_HA_NOTHING;
    }
    if (nd->type == PACKET_ND_NS &&
        g_hash_table_contains(h->homes, &nd->target)) {
        answer(h, nd, eth.src);
        return MIP6_HA_NOTHING;
    }
    return nd->type == PACKET_ND_NA ||
           (nd->type == PACKET_ND_NS && IN6_IS_ADDR_UNSPECIFIED(&nd->src))
           ? MIP6_HA_CLAIM : MIP6_HA_NOTHING;
}
