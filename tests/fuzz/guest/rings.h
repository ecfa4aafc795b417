/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef GUEST_FUZZ_RINGS_H
#define GUEST_FUZZ_RINGS_H

#include <sys/socket.h>

#include "random.h"

/* The source of arguments, and a function for new descriptors. */
struct ring_source {
    int (*fd)(struct random *r);
    void *(*pointer)(struct random *r);
    size_t (*length)(struct random *r);
    int (*flags)(struct random *r);
    struct msghdr *(*message)(struct random *r);
    struct iovec *(*vector)(struct random *r, unsigned long *num);
    void *(*address)(struct random *r, socklen_t *len);
    void (*keep)(struct random *r, int fd);
};

/*
 * Makes a ring, asks it for a few operations on any socket and leaves it,
 * whatever is still under way.  Returns how many were done by then, or -1 if
 * there is no ring.
 */
long rings_storm(struct random *r, const struct ring_source *from);

#endif /* GUEST_FUZZ_RINGS_H */
