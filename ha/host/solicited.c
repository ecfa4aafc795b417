/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Membership of the solicited-node groups of proxied addresses */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ha/base/addr.h"
#include "ha/host/solicited.h"
#include "net/packet/ip6.h"

typedef struct Group {
    unsigned num;               /* addresses that have it */
    int fd;                     /* the member; -1: the kernel has refused */
} Group;

void mip6_ha_solicited_init(Mip6HaSolicited *s)
{
    s->groups = g_hash_table_new_full(mip6_addr_hash, mip6_addr_equal, g_free,
                                      g_free);
    s->fds = g_array_new(FALSE, FALSE, sizeof(int));
}

void mip6_ha_solicited_destroy(Mip6HaSolicited *s)
{
    for (guint i = 0; i < s->fds->len; i++) {
        close(g_array_index(s->fds, int, i));
    }
    g_array_free(s->fds, TRUE);
    g_hash_table_destroy(s->groups);
}

static bool set_member(int fd, int index, const struct in6_addr *group,
                       int option)
{
    const struct ipv6_mreq request = {
        .ipv6mr_multiaddr = *group,
        .ipv6mr_interface = index,
    };

    return setsockopt(fd, IPPROTO_IPV6, option, &request,
                      sizeof(request)) == 0;
}

/* Returns: a socket that is a member; -1 with errno set */
static int member(Mip6HaSolicited *s, int index, const struct in6_addr *group)
{
    int fd;

    /* Each has a limit (net.core.optmem_max); the last one has most room. */
    for (guint i = s->fds->len; i > 0; i--) {
        fd = g_array_index(s->fds, int, i - 1);
        if (set_member(fd, index, group, IPV6_JOIN_GROUP)) {
            return fd;
        } else if (errno != ENOMEM && errno != ENOBUFS) {
            return -1;
        }
    }
    fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    g_array_append_val(s->fds, fd);
    return set_member(fd, index, group, IPV6_JOIN_GROUP) ? fd : -1;
}

bool mip6_ha_solicited_join(Mip6HaSolicited *s, int index,
                            const struct in6_addr *addr)
{
    struct in6_addr group = packet_ip6_solicited(addr);
    Group *g = g_hash_table_lookup(s->groups, &group);

    if (!g) {
        g = g_new0(Group, 1);
        g->fd = -1;
        g_hash_table_insert(s->groups, g_memdup2(&group, sizeof(group)), g);
    }
    if (g->fd < 0) {
        g->fd = member(s, index, &group);
    }
    g->num++;
    return g->fd >= 0;
}

void mip6_ha_solicited_leave(Mip6HaSolicited *s, int index,
                             const struct in6_addr *addr)
{
    struct in6_addr group = packet_ip6_solicited(addr);
    Group *g = g_hash_table_lookup(s->groups, &group);

    if (g && --g->num == 0) {
        if (g->fd >= 0) {
            set_member(g->fd, index, &group, IPV6_LEAVE_GROUP);
        }
        g_hash_table_remove(s->groups, &group);
    }
}
