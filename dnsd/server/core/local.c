/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does this host have an address? */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "dnsd/server/core/local.h"

static void put(DnsdLocalQuestion *q, uint16_t type, const void *value,
                size_t len)
{
    size_t at = NLMSG_ALIGN(q->head.nlmsg_len) - NLMSG_LENGTH(sizeof(q->msg));
    struct rtattr *rta = (void *)(q->attributes + at);

    *rta = (struct rtattr) { .rta_len = RTA_LENGTH(len), .rta_type = type };
    memcpy(RTA_DATA(rta), value, len);
    q->head.nlmsg_len = NLMSG_ALIGN(q->head.nlmsg_len) + RTA_SPACE(len);
}

void dnsd_local_ask(DnsdLocalQuestion *question,
                    const struct sockaddr_storage *addr, unsigned link,
                    uint32_t number)
{
    const struct sockaddr_in *four = (const void *)addr;
    const struct sockaddr_in6 *six = (const void *)addr;
    bool is_four = addr->ss_family == AF_INET;
    size_t len = is_four ? sizeof(four->sin_addr) : sizeof(six->sin6_addr);

    *question = (DnsdLocalQuestion) {
        .head = {
            .nlmsg_len = NLMSG_LENGTH(sizeof(question->msg)),
            .nlmsg_type = RTM_GETROUTE, .nlmsg_flags = NLM_F_REQUEST,
            .nlmsg_seq = number,
        },
        .msg = { .rtm_family = addr->ss_family, .rtm_dst_len = 8 * len },
    };
    put(question, RTA_DST, is_four ? (const void *)&four->sin_addr
                                   : &six->sin6_addr, len);
    if (link) {
        put(question, RTA_OIF, &link, sizeof(link));
    }
}

/* No route, or one of type unreachable, prohibit or blackhole */
static DnsdLocal of_error(int error)
{
    return error == -ENETUNREACH || error == -EHOSTUNREACH ||
           error == -EACCES || error == -EINVAL
           ? DNSD_LOCAL_NO : DNSD_LOCAL_UNKNOWN;
}

static DnsdLocal of_type(unsigned type)
{
    return type == RTN_UNICAST || type == RTN_UNREACHABLE ||
           type == RTN_BLACKHOLE || type == RTN_PROHIBIT
           ? DNSD_LOCAL_NO : DNSD_LOCAL_YES;
}

DnsdLocal dnsd_local_hear(const void *octets, size_t len, uint32_t number)
{
    const struct nlmsghdr *head = octets;

    if (len < sizeof(*head) || !NLMSG_OK(head, len) ||
        head->nlmsg_seq != number) {
        return DNSD_LOCAL_UNKNOWN;
    }
    if (head->nlmsg_type == NLMSG_ERROR &&
        head->nlmsg_len >= NLMSG_LENGTH(sizeof(struct nlmsgerr))) {
        return of_error(((const struct nlmsgerr *)NLMSG_DATA(head))->error);
    }
    if (head->nlmsg_type == RTM_NEWROUTE &&
        head->nlmsg_len >= NLMSG_LENGTH(sizeof(struct rtmsg))) {
        return of_type(((const struct rtmsg *)NLMSG_DATA(head))->rtm_type);
    }
    return DNSD_LOCAL_UNKNOWN;
}
