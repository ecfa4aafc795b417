/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Announces addresses to the nodes of a link
 *
 * Nodes that have communicated with the VM have the other host's link-layer
 * address in their caches. An unsolicited neighbour advertisement with the
 * Override flag replaces it by ours. Three are sent, because one may be lost.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if_arp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hostd/host/announce.h"
#include "net/packet/eth.h"
#include "net/packet/ip6.h"
#include "net/packet/nd.h"

#define RETRANS_MS      1000    /* RETRANS_TIMER */

typedef struct Entry {
    HostdAnnounce *queue;
    HostdAddress address;
    unsigned left;              /* remaining announcements */
    guint timer;
} Entry;

/* --- the advertisement ---------------------------------------------------- */

static bool mac_of(const HostdAnnounce *q, const char *dev,
                   uint8_t mac[PACKET_ETH_ADDR_LEN])
{
    struct ifreq ifr = { 0 };

    g_strlcpy(ifr.ifr_name, dev, sizeof(ifr.ifr_name));
    if (ioctl(q->fd, SIOCGIFHWADDR, &ifr) < 0) {
        return false;
    }
    if (ifr.ifr_hwaddr.sa_family != ARPHRD_ETHER) {
        errno = ENOTSUP;
        return false;
    }
    memcpy(mac, ifr.ifr_hwaddr.sa_data, PACKET_ETH_ADDR_LEN);
    return true;
}

static bool send_na(const HostdAnnounce *q, const HostdAddress *a)
{
    uint8_t frame[PACKET_ETH_LEN + PACKET_ND_SHORT_MAX];
    uint8_t group[PACKET_ETH_ADDR_LEN], mac[PACKET_ETH_ADDR_LEN];
    struct sockaddr_ll to = {
        .sll_family = AF_PACKET,
        .sll_ifindex = if_nametoindex(a->dev),
    };
    size_t len;

    if (!to.sll_ifindex || !mac_of(q, a->dev, mac)) {
        return false;
    }
    packet_eth_group6(group, &packet_ip6_all_nodes);
    len = packet_eth_build(frame, group, mac, PACKET_ETH_IP6);
    len += packet_nd_build_na(frame + len, &a->addr, &packet_ip6_all_nodes,
                              &a->addr, PACKET_NA_OVERRIDE, mac);
    return sendto(q->fd, frame, len, 0, (struct sockaddr *)&to,
                  sizeof(to)) >= 0;
}

static void announce(const HostdAnnounce *q, const HostdAddress *a)
{
    char text[INET6_ADDRSTRLEN];

    if (!send_na(q, a) && errno != ENOTSUP) {
        int error = errno;

        inet_ntop(AF_INET6, &a->addr, text, sizeof(text));
        g_warning("cannot announce %s on %s: %s", text, a->dev,
                  strerror(error));
    }
}

/* --- repetition ----------------------------------------------------------- */

static guint address_hash(gconstpointer opaque)
{
    const HostdAddress *a = opaque;
    guint hash = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(a->addr.s6_addr32); i++) {
        hash = hash * 31 + a->addr.s6_addr32[i];
    }
    return hash;
}

static gboolean address_equal(gconstpointer a, gconstpointer b)
{
    const HostdAddress *x = a, *y = b;

    return IN6_ARE_ADDR_EQUAL(&x->addr, &y->addr);
}

static void entry_free(gpointer opaque)
{
    Entry *e = opaque;

    g_source_remove(e->timer);
    g_free(e);
}

static gboolean repeat(gpointer opaque)
{
    Entry *e = opaque;

    announce(e->queue, &e->address);
    if (--e->left == 0) {
        g_hash_table_remove(e->queue->going_on, &e->address);
    }
    return G_SOURCE_CONTINUE;   /* entry_free() has removed it */
}

void hostd_announce_begin(HostdAnnounce *q, const HostdAddress *address)
{
    Entry *e = g_new0(Entry, 1);

    announce(q, address);
    e->queue = q;
    e->address = *address;
    e->left = HOSTD_ANNOUNCE_TIMES - 1;
    e->timer = g_timeout_add(RETRANS_MS, repeat, e);
    g_hash_table_replace(q->going_on, &e->address, e);
}

void hostd_announce_end(HostdAnnounce *q, const HostdAddress *address)
{
    g_hash_table_remove(q->going_on, address);
}

bool hostd_announce_open(HostdAnnounce *q, GError **errp)
{
    /* Protocol 0: this socket receives nothing. */
    q->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (q->fd < 0) {
        g_set_error(errp, HOSTD_ERROR, HOSTD_ERROR_HOST, "cannot open a packet "
                    "socket: %s", strerror(errno));
        return false;
    }
    q->going_on = g_hash_table_new_full(address_hash, address_equal, NULL,
                                        entry_free);
    return true;
}

void hostd_announce_close(HostdAnnounce *q)
{
    g_hash_table_destroy(q->going_on);
    close(q->fd);
}
