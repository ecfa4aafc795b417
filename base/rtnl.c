/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks and watches the host's interfaces, addresses and routes */
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/rtnl.h"

/* --- requests ------------------------------------------------------------- */

int rtnl_open(Rtnl *n)
{
    const struct sockaddr_nl addr = { .nl_family = AF_NETLINK };

    n->serial = 0;
    n->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
                   NETLINK_ROUTE);
    if (n->fd >= 0 &&
        bind(n->fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0) {
        int error = -errno;

        rtnl_close(n);
        return error;
    }
    return n->fd < 0 ? -errno : 0;
}

void rtnl_close(Rtnl *n)
{
    if (n->fd >= 0) {
        close(n->fd);
    }
    n->fd = -1;
}

void rtnl_request(RtnlRequest *r, uint16_t type, uint16_t flags,
                  const void *body, size_t len)
{
    memset(r, 0, sizeof(*r));
    r->head.nlmsg_type = type;
    r->head.nlmsg_flags = NLM_F_REQUEST | flags;
    r->head.nlmsg_len = NLMSG_LENGTH(len);
    memcpy(NLMSG_DATA(&r->head), body, len);
}

void rtnl_put(RtnlRequest *r, uint16_t type, const void *data, size_t len)
{
    size_t at = NLMSG_ALIGN(r->head.nlmsg_len);
    struct rtattr *rta = (void *)((uint8_t *)r + at);

    g_assert(at + RTA_SPACE(len) <= sizeof(*r));
    rta->rta_type = type;
    rta->rta_len = RTA_LENGTH(len);
    memcpy(RTA_DATA(rta), data, len);
    r->head.nlmsg_len = at + RTA_LENGTH(len);
}

int rtnl_answer(const void *octets, size_t len, uint32_t serial, uint16_t type,
                size_t body)
{
    const struct nlmsghdr *head = octets;

    if (len < sizeof(*head) || !NLMSG_OK(head, len)) {
        return -EPROTO;
    }
    if (head->nlmsg_seq != serial) {
        return -EAGAIN;
    }
    if (head->nlmsg_type == NLMSG_ERROR &&
        head->nlmsg_len >= NLMSG_LENGTH(sizeof(struct nlmsgerr))) {
        int error = ((const struct nlmsgerr *)NLMSG_DATA(head))->error;

        return error || !type ? error : -EPROTO;
    }
    return type && head->nlmsg_type == type &&
           head->nlmsg_len >= NLMSG_LENGTH(body) ? 0 : -EPROTO;
}

/* Sends a request with the next number. Returns: 0 or -errno */
static int send_request(Rtnl *n, RtnlRequest *r, uint16_t flags)
{
    r->head.nlmsg_flags |= flags;
    r->head.nlmsg_seq = ++n->serial;
    return send(n->fd, r, r->head.nlmsg_len, 0) < 0 ? -errno : 0;
}

/* Reads a datagram. Returns: its octets, or -errno */
static ssize_t receive(Rtnl *n, void *to, size_t size)
{
    ssize_t len;

    do {
        len = recv(n->fd, to, size, MSG_TRUNC);
    } while (len < 0 && errno == EINTR);
    return len < 0 ? -errno : len > (ssize_t)size ? -EMSGSIZE : len;
}

/* Sends a request and reads until its answer. Returns: 0 or -errno */
static int exchange(Rtnl *n, RtnlRequest *r, uint16_t flags, uint16_t type,
                    size_t body, RtnlAnswer *answer)
{
    ssize_t ret = send_request(n, r, flags);

    while (ret == 0) {
        ret = receive(n, answer, sizeof(*answer));
        if (ret < 0) {
            break;
        }
        ret = rtnl_answer(answer, ret, n->serial, type, body);
        if (ret != -EAGAIN) {
            break;
        }
        ret = 0;
    }
    return ret;
}

int rtnl_do(Rtnl *n, RtnlRequest *r)
{
    RtnlAnswer answer;

    return exchange(n, r, NLM_F_ACK, 0, 0, &answer);
}

/* The types of a kind are four numbers in a row: NEW, DEL, GET, SET. */
static uint16_t type_of_answer(const RtnlRequest *r)
{
    return r->head.nlmsg_type & ~3;
}

/* Octets of the kind's struct, which begins its messages */
static size_t body_of(const RtnlRequest *r)
{
    switch (type_of_answer(r)) {
    case RTM_NEWLINK:
        return sizeof(struct ifinfomsg);
    case RTM_NEWADDR:
        return sizeof(struct ifaddrmsg);
    default:
        return sizeof(struct rtmsg);
    }
}

int rtnl_ask(Rtnl *n, RtnlRequest *r, RtnlAnswer *answer)
{
    return exchange(n, r, 0, type_of_answer(r), body_of(r), answer);
}

/* Returns: 0: there is more; 1: that was all; or -errno */
static int take_list(Rtnl *n, const RtnlRequest *r, const void *octets,
                     size_t len, RtnlEachFn *each, void *opaque)
{
    const struct nlmsghdr *head = octets;

    for (; len >= sizeof(*head) && NLMSG_OK(head, len);
         head = NLMSG_NEXT(head, len)) {
        int ret = rtnl_answer(head, head->nlmsg_len, n->serial,
                              type_of_answer(r), body_of(r));

        if (ret == -EAGAIN) {
            continue;
        }
        if (head->nlmsg_flags & NLM_F_DUMP_INTR) {
            return -EINTR;
        }
        if (head->nlmsg_type == NLMSG_DONE) {
            return 1;
        }
        if (ret < 0) {
            return ret;
        }
        each(opaque, head);
    }
    return 0;
}

int rtnl_list(Rtnl *n, RtnlRequest *r, RtnlEachFn *each, void *opaque)
{
    g_autofree void *buf = g_malloc(RTNL_BUF);
    ssize_t ret = send_request(n, r, NLM_F_DUMP);

    while (ret == 0) {
        ret = receive(n, buf, RTNL_BUF);
        if (ret >= 0) {
            ret = take_list(n, r, buf, ret, each, opaque);
        }
    }
    return MIN(ret, 0);
}

/* --- messages ------------------------------------------------------------- */

/* Copies an attribute if it has at least @len octets. */
static bool read_attribute(const struct rtattr *rta, void *to, size_t len)
{
    if (RTA_PAYLOAD(rta) < len) {
        return false;
    }
    memcpy(to, RTA_DATA(rta), len);
    return true;
}

bool rtnl_attribute(const struct nlmsghdr *head, size_t body, uint16_t type,
                    void *to, size_t len)
{
    const struct rtattr *rta = (const void *)((const uint8_t *)head +
                                              NLMSG_SPACE(body));
    int left = (int)head->nlmsg_len - (int)NLMSG_SPACE(body);

    for (; RTA_OK(rta, left); rta = RTA_NEXT(rta, left)) {
        if (rta->rta_type == type && read_attribute(rta, to, len)) {
            return true;
        }
    }
    return false;
}

/* Does an attribute IFLA_LINKINFO have this kind? */
static bool is_of_kind(const struct rtattr *info, const char *kind)
{
    const struct rtattr *rta = RTA_DATA(info);
    int left = RTA_PAYLOAD(info);

    for (; RTA_OK(rta, left); rta = RTA_NEXT(rta, left)) {
        if (rta->rta_type == IFLA_INFO_KIND) {
            return RTA_PAYLOAD(rta) == strlen(kind) + 1 &&
                   memcmp(RTA_DATA(rta), kind, strlen(kind) + 1) == 0;
        }
    }
    return false;
}

static bool parse_link(const struct nlmsghdr *head, RtnlEvent *event)
{
    const struct ifinfomsg *msg = NLMSG_DATA(head);
    const struct rtattr *rta = IFLA_RTA(msg);
    int left = IFLA_PAYLOAD(head);

    /*
     * A bridge tells of its ports in messages of family AF_BRIDGE; a port that
     * leaves its bridge is no interface that is gone.
     */
    if (left < 0 || msg->ifi_family != AF_UNSPEC) {
        return false;
    }
    event->index = msg->ifi_index;
    event->link_flags = msg->ifi_flags;
    for (; RTA_OK(rta, left); rta = RTA_NEXT(rta, left)) {
        if (rta->rta_type == IFLA_IFNAME) {
            size_t len = strnlen(RTA_DATA(rta), RTA_PAYLOAD(rta));

            len = MIN(len, sizeof(event->name) - 1);
            memcpy(event->name, RTA_DATA(rta), len);
            event->name[len] = '\0';
        } else if (rta->rta_type == IFLA_ADDRESS &&
                   RTA_PAYLOAD(rta) == RTNL_MAC_LEN) {
            event->has_mac = read_attribute(rta, event->mac, RTNL_MAC_LEN);
        } else if (rta->rta_type == IFLA_MASTER) {
            read_attribute(rta, &event->master, sizeof(event->master));
        } else if (rta->rta_type == IFLA_LINKINFO) {
            event->is_vrf = is_of_kind(rta, "vrf");
            event->is_bridge = is_of_kind(rta, "bridge");
        }
    }
    return event->name[0] != '\0';
}

/* NLMSG_DONE has a negative errno; the kernel also marks a list with a gap. */
static bool parse_done(const struct nlmsghdr *head, RtnlEvent *event)
{
    int error;

    memcpy(&error, NLMSG_DATA(head), sizeof(error));
    if (error || head->nlmsg_flags & NLM_F_DUMP_INTR) {
        event->kind = RTNL_LOST;
    }
    return true;
}

static bool parse_address(const struct nlmsghdr *head, RtnlEvent *event)
{
    const struct ifaddrmsg *msg = NLMSG_DATA(head);
    const struct rtattr *rta = IFA_RTA(msg);
    int left = IFA_PAYLOAD(head);
    bool has_local = false, has_address = false;

    if (left < 0 || msg->ifa_family != AF_INET6) {
        return false;
    }
    event->index = msg->ifa_index;
    event->prefix_len = msg->ifa_prefixlen;
    event->addr_flags = msg->ifa_flags;
    for (; RTA_OK(rta, left); rta = RTA_NEXT(rta, left)) {
        switch (rta->rta_type) {
        case IFA_LOCAL:         /* the own one, where IFA_ADDRESS is a peer's */
            has_local = read_attribute(rta, &event->addr, sizeof(event->addr));
            break;
        case IFA_ADDRESS:
            has_address = has_local ||
                read_attribute(rta, &event->addr, sizeof(event->addr));
            break;
        case IFA_FLAGS:         /* has more bits than ifa_flags */
            read_attribute(rta, &event->addr_flags, sizeof(event->addr_flags));
            break;
        }
    }
    return has_local || has_address;
}

static bool parse_route(const struct nlmsghdr *head, RtnlEvent *event)
{
    const struct rtmsg *msg = NLMSG_DATA(head);
    const struct rtattr *rta = RTM_RTA(msg);
    int left = RTM_PAYLOAD(head);

    if (left < 0 || msg->rtm_family != AF_INET6) {
        return false;
    }
    event->prefix_len = msg->rtm_dst_len;
    event->table = msg->rtm_table;
    event->replaces = head->nlmsg_flags & NLM_F_REPLACE;
    for (; RTA_OK(rta, left); rta = RTA_NEXT(rta, left)) {
        switch (rta->rta_type) {
        case RTA_DST:
            read_attribute(rta, &event->addr, sizeof(event->addr));
            break;
        case RTA_OIF:
            read_attribute(rta, &event->index, sizeof(event->index));
            break;
        case RTA_PRIORITY:
            read_attribute(rta, &event->metric, sizeof(event->metric));
            break;
        case RTA_TABLE:         /* has more bits than rtm_table */
            read_attribute(rta, &event->table, sizeof(event->table));
            break;
        }
    }
    return true;
}

bool rtnl_parse(const struct nlmsghdr *head, RtnlEvent *event)
{
    static const struct {
        uint16_t type;
        RtnlKind kind;
        size_t len;
        bool (*parse)(const struct nlmsghdr *head, RtnlEvent *event);
    } kinds[] = {
        { RTM_NEWLINK, RTNL_LINK, sizeof(struct ifinfomsg), parse_link },
        { RTM_DELLINK, RTNL_LINK_GONE, sizeof(struct ifinfomsg), parse_link },
        { RTM_NEWADDR, RTNL_ADDRESS, sizeof(struct ifaddrmsg), parse_address },
        { RTM_DELADDR, RTNL_ADDRESS_GONE, sizeof(struct ifaddrmsg),
          parse_address },
        { RTM_NEWROUTE, RTNL_ROUTE, sizeof(struct rtmsg), parse_route },
        { RTM_DELROUTE, RTNL_ROUTE_GONE, sizeof(struct rtmsg), parse_route },
        { NLMSG_DONE, RTNL_LISTED, sizeof(int), parse_done },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (head->nlmsg_type == kinds[i].type) {
            *event = (RtnlEvent) { .kind = kinds[i].kind };
            return head->nlmsg_len >= NLMSG_LENGTH(kinds[i].len) &&
                   kinds[i].parse(head, event);
        }
    }
    return false;
}

/* --- the socket ----------------------------------------------------------- */

int rtnl_watch_open(RtnlWatch *w, unsigned what)
{
    const struct sockaddr_nl addr = {
        .nl_family = AF_NETLINK,
        .nl_groups = (what & RTNL_LINKS ? RTMGRP_LINK : 0) |
                     (what & RTNL_ADDRESSES ? RTMGRP_IPV6_IFADDR : 0) |
                     (what & RTNL_ROUTES ? RTMGRP_IPV6_ROUTE : 0),
    };

    w->len = w->pos = 0;
    w->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
                   NETLINK_ROUTE);
    if (w->fd >= 0 &&
        bind(w->fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0) {
        return 0;
    } else {
        int error = -errno;

        rtnl_watch_close(w);
        return error;
    }
}

int rtnl_watch_list(RtnlWatch *w)
{
    const struct ifinfomsg all = { .ifi_family = AF_UNSPEC };
    const uint32_t mask = RTEXT_FILTER_SKIP_STATS;
    RtnlRequest r;

    rtnl_request(&r, RTM_GETLINK, NLM_F_DUMP, &all, sizeof(all));
    rtnl_put(&r, IFLA_EXT_MASK, &mask, sizeof(mask));
    return send(w->fd, &r, r.head.nlmsg_len, 0) < 0 ? -errno : 0;
}

void rtnl_watch_close(RtnlWatch *w)
{
    if (w->fd >= 0) {
        close(w->fd);
    }
    w->fd = -1;
}

/* Returns: 1: messages were read; 0: there are none; -1: some were lost */
static int fill(RtnlWatch *w)
{
    ssize_t len;

    w->len = w->pos = 0;
    for (;;) {
        struct sockaddr_nl from = { 0 };
        socklen_t from_len = sizeof(from);

        len = recvfrom(w->fd, w->buf, sizeof(w->buf), MSG_TRUNC,
                       (struct sockaddr *)&from, &from_len);
        if (len < 0 && errno == EINTR) {
            continue;
        } else if (len < 0) {
            return errno == ENOBUFS ? -1 : 0;
        } else if (len > (ssize_t)sizeof(w->buf)) {
            return -1;
        } else if (from.nl_pid == 0) {      /* no other program's */
            w->len = len;
            return 1;
        }
    }
}

bool rtnl_watch_next(RtnlWatch *w, RtnlEvent *event)
{
    if (w->fd < 0) {
        return false;
    }
    for (;;) {
        const struct nlmsghdr *head = (const void *)(w->buf + w->pos);
        size_t left = w->len - w->pos;

        if (left < sizeof(*head) || !NLMSG_OK(head, left)) {
            switch (fill(w)) {
            case 0:
                return false;
            case -1:
                *event = (RtnlEvent) { .kind = RTNL_LOST };
                return true;
            }
            continue;
        }
        w->pos = MIN(w->len, w->pos + NLMSG_ALIGN(head->nlmsg_len));
        if (rtnl_parse(head, event)) {
            return true;
        }
    }
}
