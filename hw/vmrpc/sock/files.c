/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmrpc server: its files, followed while it runs */
#include "hw/vmrpc/sock/files.h"

#include <errno.h>
#include <sys/epoll.h>

#include "hw/vmrpc/sock/timer.h"

static GQuark error_quark(void)
{
    return g_quark_from_static_string("vmrpc-files-error");
}

/* The clock is read only where there is something to wait for. */
static int timeout_ms(const WatchedFile *file)
{
    return file->due_ms < 0
           ? -1 : watched_file_timeout_ms(file, vmrpc_now_ms());
}

static void set_due(VmrpcServer *srv, WatchedFile *file)
{
    vmrpc_lock(srv);
    watched_file_set_due(file, vmrpc_now_ms());
    vmrpc_timer_rearm(srv);
    vmrpc_unlock(srv);
}

bool vmrpc_files_open(VmrpcServer *srv, WatchedFile *file, const char *name,
                      GError **errp)
{
    struct epoll_event ev = { .events = EPOLLIN,
                              .data.u64 = VMRPC_EPOLL_FILES };

    watched_file_open(file, name);
    if (file->watch.fd >= 0 &&
        epoll_ctl(srv->epoll_fd, EPOLL_CTL_ADD, file->watch.fd, &ev) < 0) {
        g_set_error(errp, error_quark(), errno,
                    "%s: its changes cannot be followed: %s", name,
                    g_strerror(errno));
        return false;
    }
    set_due(srv, file);
    return true;
}

bool vmrpc_files_changed(VmrpcServer *srv, WatchedFile *file)
{
    bool was_complete = path_watch_is_complete(&file->watch);
    bool by_time = timeout_ms(file) == 0;
    bool due = watched_file_news(file, by_time);

    if (by_time || was_complete != path_watch_is_complete(&file->watch)) {
        set_due(srv, file);
    }
    return due;
}

int vmrpc_files_timeout_ms(VmrpcServer *srv)
{
    int ms = timeout_ms(&srv->policy_file);

    for (unsigned i = 0; i < srv->zone_num; i++) {
        ms = vmrpc_earlier(ms, timeout_ms(&srv->zone_file[i]));
    }
    return ms;
}
