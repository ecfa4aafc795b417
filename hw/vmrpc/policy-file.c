/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: the policy file, read at the start and again when it changes
 *
 * All that leads to the file is watched (net/watch), as a file is best replaced
 * by renaming another over it: then it is never half written.  One that is
 * written in place is read when the writer closes it.  That a file goes away
 * changes nothing.  Where not all can be watched, the timer looks once a
 * second, and reads what has stayed the same for that long.
 *
 * A file is read and parsed without the server's lock, then takes the place of
 * the old one under it.  If it is wrong, the old one stays.
 */
#include "hw/vmrpc/server-internal.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#define LOOK_EVERY_MS   1000

static GQuark error_quark(void)
{
    return g_quark_from_static_string("vmrpc-policy-file-error");
}

/* Caller must hold file->lock.  False: there is none. */
static bool look(const VmrpcPolicyFile *file, VmrpcPolicyStamp *stamp)
{
    struct stat st;

    *stamp = (VmrpcPolicyStamp) { };
    if (stat(file->path, &st) < 0) {
        return false;
    }
    *stamp = (VmrpcPolicyStamp) {
        .dev = st.st_dev,
        .ino = st.st_ino,
        .size = st.st_size,
        .changed = st.st_ctim,
    };
    return true;
}

static bool is_same(const VmrpcPolicyStamp *a, const VmrpcPolicyStamp *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
           a->changed.tv_sec == b->changed.tv_sec &&
           a->changed.tv_nsec == b->changed.tv_nsec;
}

/* Caller must hold file->lock. */
static VmrpcPolicy *load(VmrpcPolicyFile *file, GError **errp)
{
    g_autofree char *text = NULL;
    VmrpcPolicy *policy;
    gsize len;

    /* Before: if it changes now, it will be read once more. */
    look(file, &file->seen);
    file->unread = true;
    if (!g_file_get_contents(file->path, &text, &len, errp)) {
        g_prefix_error(errp, "policy=%s: ", file->name);
        return NULL;
    }
    file->unread = false;
    policy = vmrpc_policy_parse(text, len, file->name, errp);
    if (!policy) {
        g_prefix_error(errp, "policy=");
    }
    return policy;
}

/* --- life --------------------------------------------------------------- */

int vmrpc_policy_file_timeout_ms(const VmrpcServer *srv)
{
    int64_t due_ms = srv->policy_file.due_ms;

    return due_ms < 0 ? -1 : CLAMP(due_ms - vmrpc_now_ms(), 0, LOOK_EVERY_MS);
}

static void set_due(VmrpcServer *srv)
{
    bool looks = !path_watch_is_complete(&srv->policy_file.watch);

    pthread_mutex_lock(&srv->lock);
    srv->policy_file.due_ms = looks ? vmrpc_now_ms() + LOOK_EVERY_MS : -1;
    vmrpc_timer_rearm(srv);
    pthread_mutex_unlock(&srv->lock);
}

static bool follow_fd(VmrpcServer *srv, GError **errp)
{
    struct epoll_event ev = { .events = EPOLLIN,
                              .data.u64 = VMRPC_EPOLL_POLICY };
    int fd = srv->policy_file.watch.fd;

    if (fd >= 0 && epoll_ctl(srv->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0) {
        g_set_error(errp, error_quark(), errno, "policy=%s: its changes "
                    "cannot be followed: %s", srv->policy_file.name,
                    g_strerror(errno));
        return false;
    }
    return true;
}

bool vmrpc_policy_file_init(VmrpcServer *srv, GError **errp)
{
    VmrpcPolicyFile *file = &srv->policy_file;

    if (!srv->config.policy_file) {
        return true;
    }
    /* A daemon changes its directory. */
    file->name = g_strdup(srv->config.policy_file);
    file->path = g_canonicalize_filename(file->name, NULL);
    /* Watch first, or a change in between is lost. */
    path_watch_init(&file->watch, file->path);
    if (!follow_fd(srv, errp)) {
        return false;
    }
    srv->policy = load(file, errp);
    set_due(srv);
    if (srv->policy) {
        vmrpc_limits_init(&srv->limits, vmrpc_policy_limits(srv->policy),
                          g_get_monotonic_time());
    }
    return srv->policy;
}

void vmrpc_policy_file_cleanup(VmrpcServer *srv)
{
    path_watch_destroy(&srv->policy_file.watch);
    g_free(srv->policy_file.name);
    g_free(srv->policy_file.path);
    vmrpc_policy_free(srv->policy);
}

/* Caller must hold file->lock. */
static bool reload(VmrpcServer *srv, GError **errp)
{
    VmrpcPolicy *policy = load(&srv->policy_file, errp), *old = NULL;

    pthread_mutex_lock(&srv->lock);
    if (policy) {
        old = srv->policy;
        vmrpc_policy_inherit(policy, old);
        srv->policy = policy;
        vmrpc_budget_change(srv, vmrpc_policy_limits(policy));
        srv->counters.policy_reloads++;
    } else {
        srv->counters.policy_errors++;
    }
    pthread_mutex_unlock(&srv->lock);
    vmrpc_policy_free(old);
    return policy;
}

bool vmrpc_server_reload_policy(VmrpcServer *srv, GError **errp)
{
    VmrpcPolicyFile *file = &srv->policy_file;
    bool ok;

    if (!file->path) {
        g_set_error(errp, error_quark(), EINVAL, "there is no policy file: "
                    "the device has no option 'policy'");
        return false;
    }
    pthread_mutex_lock(&file->lock);
    ok = reload(srv, errp);
    pthread_mutex_unlock(&file->lock);
    return ok;
}

/* --- watching ----------------------------------------------------------- */

/*
 * Is there something to read that was not read last?  Caller must hold
 * file->lock.
 */
static bool is_due(VmrpcPolicyFile *file, unsigned news, bool by_time)
{
    VmrpcPolicyStamp stamp;

    if (!look(file, &stamp) || is_same(&stamp, &file->seen)) {
        return false;
    }
    /* A file that may be half written is read if it can be read at all now. */
    if (news & PATH_WATCH_WHOLE || (news && file->unread)) {
        return true;
    }
    if (by_time && is_same(&stamp, &file->looked)) {
        return true;
    }
    file->looked = stamp;
    return false;
}

void vmrpc_policy_file_follow(VmrpcServer *srv)
{
    VmrpcPolicyFile *file = &srv->policy_file;
    bool was_complete = path_watch_is_complete(&file->watch);
    bool by_time = vmrpc_policy_file_timeout_ms(srv) == 0;
    unsigned news = path_watch_read(&file->watch);
    g_autoptr(GError) err = NULL;
    bool due;

    if (by_time) {
        path_watch_set(&file->watch);
        /* Nobody has told of what came before it was watched. */
        news |= path_watch_is_complete(&file->watch) ? PATH_WATCH_WHOLE : 0;
    }
    pthread_mutex_lock(&file->lock);
    due = is_due(file, news, by_time);
    if (due) {
        reload(srv, &err);
    }
    pthread_mutex_unlock(&file->lock);
    if (due && srv->tracer.policy) {
        srv->tracer.policy(srv->tracer.opaque, err ? err->message : NULL);
    }
    if (by_time || was_complete != path_watch_is_complete(&file->watch)) {
        set_due(srv);
    }
}
