/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows the interfaces of this host */
#include <errno.h>
#include <stdlib.h>

#include "dnsd/server/host/interfaces.h"

struct DnsdInterfaces {
    RtnlWatch watch;
    DnsdLinks *links;
    bool wants_list;            /* of all links, as some were missed */
};

DnsdInterfaces *dnsd_interfaces_new(void)
{
    DnsdInterfaces *all = calloc(1, sizeof(*all));
    int ret = -ENOMEM;

    if (all) {
        all->watch.fd = -1;
        all->links = dnsd_links_new();
        ret = all->links ? rtnl_watch_open(&all->watch, RTNL_LINKS) : ret;
        all->wants_list = true;
    }
    if (ret) {
        dnsd_interfaces_free(all);
        errno = -ret;
        return NULL;
    }
    dnsd_interfaces_look(all);
    return all;
}

void dnsd_interfaces_free(DnsdInterfaces *all)
{
    if (all) {
        rtnl_watch_close(&all->watch);
        dnsd_links_free(all->links);
        free(all);
    }
}

int dnsd_interfaces_fd(const DnsdInterfaces *all)
{
    return all->watch.fd;
}

/* One list a look: where links change all the time, the next one is later. */
bool dnsd_interfaces_look(DnsdInterfaces *all)
{
    bool has_changed = false;
    RtnlEvent event;

    if (all->wants_list) {
        all->wants_list = rtnl_watch_list(&all->watch);
    }
    while (rtnl_watch_next(&all->watch, &event)) {
        has_changed |= dnsd_links_take(all->links, &event);
        all->wants_list |= event.kind == RTNL_LOST;
    }
    return has_changed;
}

const DnsdLinks *dnsd_interfaces_links(const DnsdInterfaces *all)
{
    return all->links;
}
