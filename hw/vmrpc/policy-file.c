/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: the policy file, read at the start and again when it changes
 *
 * What is watched is the directory, as a file is best replaced by renaming
 * another over it: then it is never half written.  One that is written in
 * place is read when the writer closes it.  That a file goes away changes
 * nothing.  If its name is a symbolic link, a change of anything beside it may
 * mean that the link now leads elsewhere (Kubernetes replaces files so).
 *
 * A file is read and parsed without the server's lock, then takes the place of
 * the old one under it.  If it is wrong, the old one stays.
 */
#include "hw/vmrpc/server-internal.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

static GQuark error_quark(void)
{
    return g_quark_from_static_string("vmrpc-policy-file-error");
}

static VmrpcPolicy *load(VmrpcPolicyFile *file, GError **errp)
{
    g_autofree char *text = NULL;
    VmrpcPolicy *policy;
    struct stat st;
    gsize len;

    /* Before: if it changes now, it will be read once more. */
    memset(&file->seen, 0, sizeof(file->seen));
    if (stat(file->path, &st) == 0) {
        file->seen = st.st_ctim;
        file->ino = st.st_ino;
    }
    if (!g_file_get_contents(file->path, &text, &len, errp)) {
        g_prefix_error(errp, "policy=%s: ", file->name);
        return NULL;
    }
    policy = vmrpc_policy_parse(text, len, file->name, errp);
    if (!policy) {
        g_prefix_error(errp, "policy=");
    }
    return policy;
}

/* --- watching ----------------------------------------------------------- */

/* Returns 0 or a negative errno. */
static int watch(VmrpcServer *srv)
{
    g_autofree char *directory = g_path_get_dirname(srv->policy_file.path);
    struct epoll_event ev = { .events = EPOLLIN,
                              .data.u64 = VMRPC_EPOLL_POLICY };
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

    srv->policy_file.watch_fd = fd;
    if (fd < 0 ||
        inotify_add_watch(fd, directory, IN_CLOSE_WRITE | IN_MOVED_TO |
                          IN_CREATE | IN_ONLYDIR) < 0 ||
        epoll_ctl(srv->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0) {
        return -errno;
    }
    return 0;
}

/* The name is a link, and leads to another file than before. */
static bool leads_elsewhere(const VmrpcPolicyFile *file)
{
    struct stat st;

    return lstat(file->path, &st) == 0 && S_ISLNK(st.st_mode) &&
           stat(file->path, &st) == 0 &&
           (st.st_ino != file->ino ||
            st.st_ctim.tv_sec != file->seen.tv_sec ||
            st.st_ctim.tv_nsec != file->seen.tv_nsec);
}

static bool is_change(const VmrpcPolicyFile *file,
                      const struct inotify_event *ev)
{
    if (ev->mask & IN_Q_OVERFLOW) {
        return true;
    }
    if (ev->len && strcmp(ev->name, file->base) == 0) {
        /* What was just created is empty; a link or rename is whole. */
        return !(ev->mask & IN_CREATE) || leads_elsewhere(file);
    }
    return leads_elsewhere(file);
}

bool vmrpc_policy_file_changed(VmrpcServer *srv)
{
    char buf[4096] __attribute__((aligned(8)));
    bool changed = false;
    ssize_t len;

    while ((len = read(srv->policy_file.watch_fd, buf, sizeof(buf))) > 0) {
        const struct inotify_event *ev;

        for (char *p = buf; p < buf + len; p += sizeof(*ev) + ev->len) {
            ev = (const struct inotify_event *)p;
            changed |= is_change(&srv->policy_file, ev);
        }
    }
    return changed;
}

/* --- life --------------------------------------------------------------- */

bool vmrpc_policy_file_init(VmrpcServer *srv, GError **errp)
{
    VmrpcPolicyFile *file = &srv->policy_file;

    if (!srv->config.policy_file) {
        return true;
    }
    /* A daemon changes its directory. */
    file->name = g_strdup(srv->config.policy_file);
    file->path = g_canonicalize_filename(file->name, NULL);
    file->base = g_path_get_basename(file->path);
    /* Watch first, or a change in between is lost. */
    file->watch_error = watch(srv);
    srv->policy = load(file, errp);
    if (srv->policy) {
        vmrpc_limits_init(&srv->limits, vmrpc_policy_limits(srv->policy),
                          g_get_monotonic_time());
    }
    return srv->policy;
}

void vmrpc_policy_file_cleanup(VmrpcServer *srv)
{
    if (srv->policy_file.watch_fd >= 0) {
        close(srv->policy_file.watch_fd);
    }
    g_free(srv->policy_file.name);
    g_free(srv->policy_file.path);
    g_free(srv->policy_file.base);
    vmrpc_policy_free(srv->policy);
}

bool vmrpc_server_reload_policy(VmrpcServer *srv, GError **errp)
{
    VmrpcPolicyFile *file = &srv->policy_file;
    VmrpcPolicy *policy, *old = NULL;

    if (!file->path) {
        g_set_error(errp, error_quark(), EINVAL, "there is no policy file: "
                    "the device has no option 'policy'");
        return false;
    }
    pthread_mutex_lock(&file->lock);
    policy = load(file, errp);
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
    pthread_mutex_unlock(&file->lock);
    vmrpc_policy_free(old);
    return policy;
}

void vmrpc_policy_file_reload(VmrpcServer *srv)
{
    g_autoptr(GError) err = NULL;

    vmrpc_server_reload_policy(srv, &err);
    if (srv->tracer.policy) {
        srv->tracer.policy(srv->tracer.opaque, err ? err->message : NULL);
    }
}
