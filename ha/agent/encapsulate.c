/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Encapsulates packets */
#include <string.h>

#include "base/octets.h"
#include "ha/agent/internal.h"
#include "ha/parts/path.h"
#include "net/packet/mtu.h"
#include "net/packet/nd.h"
#include "net/packet/tcp.h"

#define TUNNELLED_MAX   2048u
#define HOMES_MAX       64u     /* at a care-of address */
#define PATH_MTU_LIVES  (600 * SECOND)          /* RFC 8201 section 4 */

static void forward_behind(Mip6Agent *a, const void *head, size_t head_len,
                           const void *packet, size_t len)
{
    uint8_t joined[TUNNELLED_MAX];

    if (a->ops->forward_behind) {
        a->ops->forward_behind(a->opaque, head, head_len, packet, len);
        return;
    }
    memcpy(joined, head, head_len);
    memcpy(joined + head_len, packet, len);
    a->ops->forward(a->opaque, joined, head_len + len);
}

/* Returns: space after the tunnel's header for a path MTU of @mtu */
static size_t path_room(const Mip6Agent *a, uint32_t mtu)
{
    return MIN(MIN(a->config.mtu, TUNNELLED_MAX), mtu) - PACKET_IP6_LEN;
}

/* Returns: space after the tunnel's header, without fragments */
static size_t tunnel_room(const Mip6Agent *a, int64_t now,
                          const Mip6AgentBinding *b)
{
    return path_room(a, now < b->path_until ? b->path_mtu : UINT32_MAX);
}

/*
 * Returns: space for a packet of @b in the tunnel's packet of @room octets,
 * without fragments
 */
static size_t packet_room(const Mip6Agent *a, const Mip6AgentBinding *b,
                          size_t room)
{
    const Mip6Keys *keys = mip6_keyring_of(a->config.keys, &b->home);

    return keys ? mip6_protect_tunnel_room(keys->protect, room) : room;
}

void mip6_agent_clamp(const Mip6Agent *a, int64_t now,
                      const Mip6AgentBinding *b, uint8_t *p, size_t len)
{
    if (p[NEXT_AT] == PACKET_PROTO_TCP &&
        len > PACKET_IP6_LEN + PACKET_TCP_FLAGS &&
        p[PACKET_IP6_LEN + PACKET_TCP_FLAGS] & PACKET_TCP_SYN) {
        packet_mtu_clamp(p, len, packet_room(a, b, tunnel_room(a, now, b)),
                         false);
    }
}

void mip6_agent_let_pass(Mip6Agent *a, Mip6AgentBinding *b)
{
    const Mip6AgentPass pass = {
        .home = b->home,
        .care_of = b->care_of,
        .expires = b->expires,
        .room = path_room(a, UINT32_MAX),
        .path_room = path_room(a, b->path_until ? b->path_mtu : UINT32_MAX),
        .path_until = b->path_until,
    };

    if (!a->ops->let_pass) {
        return;
    }
    if (mip6_keyring_of(a->config.keys, &b->home)) {
        mip6_agent_stop_pass(a, b);
        return;
    }
    a->ops->let_pass(a->opaque, &pass);
    b->passes = true;
}

void mip6_agent_stop_pass(Mip6Agent *a, Mip6AgentBinding *b)
{
    Mip6AgentPassed passed;

    if (!b->passes) {
        return;
    }
    if (a->ops->passed(a->opaque, &b->home, &passed)) {
        b->sent += passed.sent;
        b->received += passed.received;
    }
    a->ops->stop_pass(a->opaque, &b->home);
    b->passes = false;
}

static void send_fragments(Mip6Agent *a, const PacketIp6 *outer, size_t room,
                           const uint8_t *p, size_t len)
{
    size_t most = (room - PACKET_IP6_FRAGMENT_LEN) & ~(size_t)7;
    uint8_t head[MIP6_PATH_HEAD_LEN];

    a->fragment_id++;
    for (size_t done = 0, size; done < len; done += size) {
        size = MIN(len - done, most);
        mip6_path_fragment(head, outer, a->fragment_id, done, size,
                           done + size < len);
        forward_behind(a, head, sizeof(head), p + done, size);
    }
}

bool mip6_agent_into_tunnel(Mip6Agent *a, int64_t now, Mip6AgentBinding *b,
                            const PacketIp6 *ip, uint8_t *p, size_t len)
{
    const Mip6Keys *keys = mip6_keyring_of(a->config.keys, &b->home);
    size_t room = tunnel_room(a, now, b);
    size_t most = MAX(packet_room(a, b, room), PACKET_IP6_MTU_MIN);
    uint8_t head[PACKET_IP6_LEN], sealed[TUNNELLED_MAX];
    struct iovec iov = { p, len };
    PacketIp6 outer = {
        .src = a->config.address,
        .dst = b->care_of,
        .tclass = ip->tclass,
        .flow = ip->flow,
        .next = keys ? PACKET_PROTO_ESP : PACKET_PROTO_IP6,
        .hops = HOPS,
    };

    if (len > most) {
        mip6_agent_send_icmp6_error(a, now, PACKET_ICMP6_TOO_BIG, 0, most, p,
                                    len);
        mip6_agent_drop(a, MIP6_AGENT_TOO_BIG);
        return false;
    }
    mip6_agent_clamp(a, now, b, p, len);
    if (keys) {
        p = sealed;
        len = mip6_protect_tunnel(keys->protect, &iov, 1, sealed,
                                  sizeof(sealed));
        if (!len) {
            mip6_agent_drop(a, MIP6_AGENT_ESP);
            return false;
        }
    }
    b->sent++;
    a->sent++;
    if (len > room) {
        send_fragments(a, &outer, room, p, len);
        return true;
    }
    outer.payload = len;
    packet_ip6_build(head, &outer);
    forward_behind(a, head, sizeof(head), p, len);
    return true;
}

/*
 * Finds the binding that an error is about; NULL: none. With ESP it is found by
 * care-of address and SPI. A node has few home addresses, so at most HOMES_MAX
 * with the same care-of address are compared.
 */
static Mip6AgentBinding *binding_of_error(const Mip6Agent *a,
                                          const Mip6PathError *error)
{
    const Mip6GroupsNode *node = mip6_groups_node(&a->groups, &error->care_of);
    Mip6AgentBinding *b;
    const Mip6Keys *keys;

    if (error->inner) {
        b = mip6_agent_bound(a, &error->home);
        return b && packet_ip6_equal(&b->care_of, &error->care_of) &&
               !mip6_keyring_of(a->config.keys, &b->home) ? b : NULL;
    }
    for (guint i = 0; node && i < MIN(node->owners->len, HOMES_MAX); i++) {
        b = g_ptr_array_index(node->owners, i);
        keys = mip6_keyring_of(a->config.keys, &b->home);
        if (keys && mip6_protect_is_ours(keys->protect, error->outer,
                                         error->outer_len)) {
            return b;
        }
    }
    return NULL;
}

bool mip6_agent_path_error(Mip6Agent *a, int64_t now, const uint8_t *p,
                           size_t offset, size_t len)
{
    Mip6AgentBinding *b;
    Mip6PathError error;
    uint8_t type, code;
    uint32_t arg;

    if (!mip6_path_error(&error, &a->config.address, p, offset, len)) {
        return false;
    }
    b = binding_of_error(a, &error);
    if (!b) {
        return false;
    }
    if (error.type == PACKET_ICMP6_TOO_BIG &&
        error.mtu < tunnel_room(a, now, b) + PACKET_IP6_LEN) {
        b->path_mtu = error.mtu;
        b->path_until = now + PATH_MTU_LIVES;
        mip6_agent_let_pass(a, b);
    }
    if (mip6_path_translate(&error,
                            MAX(tunnel_room(a, now, b), PACKET_IP6_MTU_MIN),
                            &type, &code, &arg)) {
        mip6_agent_send_icmp6_error(a, now, type, code, arg, error.inner,
                                    error.inner_len);
    }
    return true;
}
