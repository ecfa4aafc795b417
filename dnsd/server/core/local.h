/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does this host have an address?  A question for the kernel's routes, whose
 * answer also knows of duplicate address detection, and of local prefixes
 */
#ifndef DNSD_SERVER_CORE_LOCAL_H
#define DNSD_SERVER_CORE_LOCAL_H

#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

typedef enum DnsdLocal {
    DNSD_LOCAL_UNKNOWN,         /* no answer, or none of these */
    DNSD_LOCAL_NO,
    DNSD_LOCAL_YES,
} DnsdLocal;

typedef struct DnsdLocalQuestion {
    struct nlmsghdr head;
    struct rtmsg msg;
    uint8_t attributes[64] __attribute__((aligned(NLMSG_ALIGNTO)));
} DnsdLocalQuestion;

/**
 * dnsd_local_ask: make a question; it has head.nlmsg_len octets
 * @addr: of IPv4 or IPv6
 * @link: index of a VRF, or of the interface of a link-local address; 0: none
 * @number: the answer has it
 */
void dnsd_local_ask(DnsdLocalQuestion *question,
                    const struct sockaddr_storage *addr, unsigned link,
                    uint32_t number);

/** dnsd_local_hear: what @len octets from the kernel say to a question */
DnsdLocal dnsd_local_hear(const void *octets, size_t len, uint32_t number);

#endif /* DNSD_SERVER_CORE_LOCAL_H */
