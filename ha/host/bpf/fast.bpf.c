/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fast path of the home agent: forwards simple packets in the kernel
 *
 * Theory of operation
 *
 * All packets for the agent and for bound home addresses are routed to the
 * agent's TUN device. tc runs this program on the egress of that device. A
 * simple packet is encapsulated or decapsulated, and is then received from the
 * device, as if the agent had read it and written the result
 * (agent/encapsulate.c, agent/decapsulate.c); the kernel forwards it. All other
 * packets are left unchanged and reach the agent.
 *
 * There are two kinds of simple packets:
 *
 *   - Packets for a bound home address that fit into the tunnel without
 *     fragments and are not sent by the agent.
 *   - Packets for the agent from the care-of address of a binding, with next
 *     header 41, an inner source that is the binding's home address, and an
 *     inner destination that is neither multicast, link-local nor the agent.
 *
 * Packets of a node that sends a lot at the time are not simple: the agent
 * coalesces their TCP segments (net/stage/gather), which saves more work in all
 * routers after it than its wakeups cost. The node returns to the fast path
 * after a pause, in which the agent has sent everything it had, so packets stay
 * in order.
 *
 * A simple packet has a hop limit above 1, which excludes reports about groups,
 * and has the length in its header. It is no TCP SYN: the agent lowers the MSS.
 *
 * The map "bindings" has the bindings that agent/registration.c lets pass, with
 * their end: no packet passes after that, even if the agent is slow or was
 * killed. An element of this kind of map can be reused for another key while it
 * is being read, because elements are taken from a free list at once. So the
 * home address in the element is compared last.
 *
 * TCP super-frames (GSO) are encapsulated whole if each of their segments fits;
 * gso_size is unchanged, so the segments stay as the sender made them.
 * Super-frames are not decapsulated here, because a program cannot clear
 * skb->encapsulation.
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "ha/host/bpf/fast.h"

#define IP6_LEN         40u
#define HOPS            64      /* of packets that the agent sends */
#define TCP_DATA_OFFSET 12u     /* offset in the TCP header */
#define TCP_FLAGS       13u     /* the same */
#define TCP_SYN         0x02

#define SPAN            1000000 /* interval for counting octets, ns */
#define PAUSE           5000000 /* a pause that ends bulk mode, ns */

#define ECN_ECT_1       1u      /* RFC 3168 section 5 */
#define ECN_ECT_0       2u
#define ECN_CE          3u

struct ip6 {
    __be32 first;               /* version, traffic class, flow label */
    __be16 payload;
    __u8 next;
    __u8 hops;
    struct mip6_fast_addr src, dst;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct mip6_fast_settings);
} settings SEC(".maps");

/* The loader sets the maximum number of elements of both. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1);
    __type(key, struct mip6_fast_addr);
    __type(value, struct mip6_fast_binding);
} bindings SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1);
    __type(key, struct mip6_fast_addr);
    __type(value, struct mip6_fast_counters);
} counters SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct mip6_fast_counters);
} totals SEC(".maps");

static __always_inline bool equal(const struct mip6_fast_addr *a,
                                  const struct mip6_fast_addr *b)
{
    return a->word[0] == b->word[0] && a->word[1] == b->word[1];
}

/* Is it in ff00::/8 or fe80::/10? */
static __always_inline bool is_local_or_group(const struct mip6_fast_addr *a)
{
    __u64 first = bpf_be64_to_cpu(a->word[0]);

    return first >> 56 == 0xff || first >> 54 == 0xfe80 >> 6;
}

/* Returns: the ECN field of the traffic class (RFC 3168) */
static __always_inline __u32 ecn(const struct ip6 *ip)
{
    return bpf_ntohl(ip->first) >> 20 & 3;
}

/*
 * Reads the header at @offset of a packet with @len octets from there on.
 * Returns: false if the packet is not simple.
 */
static __always_inline bool read_header(struct __sk_buff *skb, __u32 offset,
                                        __u32 len, struct ip6 *ip)
{
    return len >= IP6_LEN && !bpf_skb_load_bytes(skb, offset, ip, IP6_LEN) &&
           bpf_ntohl(ip->first) >> 28 == 6 && ip->hops > 1 &&
           bpf_ntohs(ip->payload) == len - IP6_LEN;
}

/* Is the packet at @offset a TCP SYN? */
static __always_inline bool is_syn(struct __sk_buff *skb, __u32 offset,
                                   const struct ip6 *ip)
{
    __u8 flags;

    return ip->next == IPPROTO_TCP &&
           !bpf_skb_load_bytes(skb, offset + IP6_LEN + TCP_FLAGS, &flags,
                               sizeof(flags)) && flags & TCP_SYN;
}

/*
 * Copies the binding of @home. Returns: the element; NULL: none, or it has
 * ended
 */
static __always_inline struct mip6_fast_binding *
find(const struct mip6_fast_addr *home, __s64 now, struct mip6_fast_binding *b)
{
    struct mip6_fast_binding *found = bpf_map_lookup_elem(&bindings, home);

    if (!found) {
        return NULL;
    }
    b->care_of = found->care_of;
    b->expires = found->expires;
    b->path_until = found->path_until;
    b->room = found->room;
    b->path_room = found->path_room;
    /* Compiler barrier: compare after the copy. */
    asm volatile("" : : : "memory");
    b->home = found->home;
    return equal(&b->home, home) && now < b->expires ? found : NULL;
}

/*
 * Counts the packets, of at most @room octets each, in a (super-)frame of @len
 * octets. Returns: 0 if they are longer, or that is unknown.
 */
static __always_inline __u32 packets(struct __sk_buff *skb, __u32 offset,
                                     __u32 len, const struct ip6 *ip,
                                     __u32 room)
{
    __u32 head, size = skb->gso_size;
    __u8 tcp_len;

    if (!size) {
        return len <= room;
    }
    if (ip->next != IPPROTO_TCP ||
        bpf_skb_load_bytes(skb, offset + IP6_LEN + TCP_DATA_OFFSET, &tcp_len,
                           sizeof(tcp_len))) {
        return 0;
    }
    head = IP6_LEN + (tcp_len >> 4) * 4;
    return head < len && head + size <= room ? (len - head + size - 1) / size
                                             : 0;
}

static __always_inline void count(const struct mip6_fast_addr *home,
                                  __u32 sent, __u32 received)
{
    const uint32_t zero = 0;
    struct mip6_fast_counters *one = bpf_map_lookup_elem(&counters, home);
    struct mip6_fast_counters *all = bpf_map_lookup_elem(&totals, &zero);

    if (one) {
        one->sent += sent;
        one->received += received;
    }
    if (all) {
        all->sent += sent;
        all->received += received;
    }
}

/* Receives it from the TUN device, like a packet that the agent writes. */
static __always_inline int receive_from_tun(struct __sk_buff *skb)
{
    skb->mark = 0;
    bpf_set_hash_invalid(skb);
    return bpf_redirect(skb->ifindex, BPF_F_INGRESS);
}

static __always_inline int into_tunnel(struct __sk_buff *skb,
                                       const struct mip6_fast_settings *s,
                                       __u32 len, const struct ip6 *ip)
{
    const __u64 flags = BPF_F_ADJ_ROOM_ENCAP_L3_IPV6 |
                        BPF_F_ADJ_ROOM_FIXED_GSO;
    __s64 now = bpf_ktime_get_boot_ns();
    struct mip6_fast_binding b;
    __u32 before = skb->len, head = s->head, sent;
    struct ip6 outer = {
        .first = ip->first,
        .next = IPPROTO_IPV6,
        .hops = HOPS,
        .src = s->agent,
    };

    /* A packet from the agent would loop; the agent handles it. */
    if (equal(&ip->src, &s->agent) || !find(&ip->dst, now, &b) ||
        len > 0xffff || is_syn(skb, head, ip)) {
        return TC_ACT_UNSPEC;
    }
    sent = packets(skb, head, len, ip,
                   now < b.path_until ? b.path_room : b.room);
    if (!sent) {
        return TC_ACT_UNSPEC;
    }
    /* A failure leaves the packet unchanged, or memory is exhausted. */
    if (bpf_skb_adjust_room(skb, IP6_LEN, BPF_ADJ_ROOM_MAC, flags)) {
        return skb->len == before ? TC_ACT_UNSPEC : TC_ACT_SHOT;
    }
    outer.payload = bpf_htons(len);
    outer.dst = b.care_of;
    if (bpf_skb_store_bytes(skb, head, &outer, sizeof(outer),
                            BPF_F_RECOMPUTE_CSUM)) {
        return TC_ACT_SHOT;
    }
    count(&ip->dst, sent, 0);
    return receive_from_tun(skb);
}

/*
 * Does decapsulation leave the inner header unchanged (RFC 6040 section 4.2)?
 * With other marks the header must be changed, or the packet dropped.
 */
static __always_inline bool keeps_ecn(const struct ip6 *outer,
                                      const struct ip6 *inner)
{
    return ecn(outer) == ECN_CE ? ecn(inner) == ECN_CE :
           ecn(outer) != ECN_ECT_1 || ecn(inner) != ECN_ECT_0;
}

/*
 * Is a packet of @len octets part of bulk traffic? Packets of one node on two
 * CPUs may be counted as one, which shifts the limit a little.
 */
static __always_inline bool is_bulk(struct mip6_fast_binding *b, __s64 now,
                                    __u32 len, __u32 limit)
{
    if (now - b->span_began >= SPAN) {
        b->span_began = now;
        b->span_octets = 0;
    }
    b->span_octets += len;
    if (now >= b->bulk_until && b->span_octets <= limit) {
        return false;
    }
    b->bulk_until = now + PAUSE;
    return true;
}

static __always_inline int out_of_tunnel(struct __sk_buff *skb,
                                         const struct mip6_fast_settings *s,
                                         __u32 len, const struct ip6 *outer)
{
    __s64 now = bpf_ktime_get_boot_ns();
    struct mip6_fast_binding *found, b;
    struct ip6 ip;

    if (outer->next != IPPROTO_IPV6 || skb->gso_size ||
        !read_header(skb, s->head + IP6_LEN, len - IP6_LEN, &ip) ||
        is_local_or_group(&ip.dst) || equal(&ip.dst, &s->agent) ||
        !keeps_ecn(outer, &ip) || is_syn(skb, s->head + IP6_LEN, &ip)) {
        return TC_ACT_UNSPEC;
    }
    found = find(&ip.src, now, &b);
    if (!found || !equal(&b.care_of, &outer->src) ||
        is_bulk(found, now, len, s->bulk)) {
        return TC_ACT_UNSPEC;
    }
    if (bpf_skb_adjust_room(skb, -(int)IP6_LEN, BPF_ADJ_ROOM_MAC, 0)) {
        return TC_ACT_UNSPEC;   /* the packet is still unchanged */
    }
    count(&ip.src, 0, 1);
    return receive_from_tun(skb);
}

SEC("tc")
int mip6_fast(struct __sk_buff *skb)
{
    const uint32_t zero = 0;
    const struct mip6_fast_settings *s =
        bpf_map_lookup_elem(&settings, &zero);
    struct ip6 ip;
    __u32 len;

    if (!s || skb->protocol != bpf_htons(ETH_P_IPV6) || skb->len < s->head) {
        return TC_ACT_UNSPEC;
    }
    len = skb->len - s->head;
    if (!read_header(skb, s->head, len, &ip)) {
        return TC_ACT_UNSPEC;
    }
    return equal(&ip.dst, &s->agent) ? out_of_tunnel(skb, s, len, &ip)
                                     : into_tunnel(skb, s, len, &ip);
}

char mip6_fast_license[] SEC("license") = "GPL";
