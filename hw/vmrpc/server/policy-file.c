/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: the policy file, read at the start and again when it changes
 *
 * The file is read and parsed without the server's lock.  Under the lock, the
 * new policy replaces the old one.  If the file is wrong, the old one stays.
 */
#include "hw/vmrpc/server/policy-file.h"

#include <errno.h>

#include "hw/vmrpc/reach/policy-hits.h"
#include "hw/vmrpc/reach/policy-parse.h"
#include "hw/vmrpc/server/budget.h"
#include "hw/vmrpc/server/evidence.h"
#include "hw/vmrpc/server/files.h"
#include "hw/vmrpc/server/groups.h"
#include "hw/vmrpc/server/resolver.h"

static GQuark error_quark(void)
{
    return g_quark_from_static_string("vmrpc-policy-file-error");
}

static VmrpcPolicy *load(WatchedFile *file, GError **errp)
    VMMNET_REQUIRES(file->lock)
{
    g_autofree char *text = NULL;
    VmrpcPolicy *policy;
    gsize len;

    watched_file_reading(file);
    if (!g_file_get_contents(file->path, &text, &len, errp)) {
        g_prefix_error(errp, "policy=%s: ", file->name);
        return NULL;
    }
    watched_file_read(file);
    policy = vmrpc_policy_parse(text, len, file->name, errp);
    if (!policy) {
        g_prefix_error(errp, "policy=");
    }
    return policy;
}

/* --- life --------------------------------------------------------------- */

/* Not checked: no other thread knows the server yet. */
VMMNET_NOT_CHECKED
bool vmrpc_policy_file_init(VmrpcServer *srv, GError **errp)
{
    WatchedFile *file = &srv->policy_file;

    if (!srv->config.policy_file) {
        return true;
    }
    /* Watch first, or a change in between is lost. */
    if (!vmrpc_files_open(srv, file, srv->config.policy_file, errp)) {
        g_prefix_error(errp, "policy=");
        return false;
    }
    srv->reach.policy = load(file, errp);
    if (srv->reach.policy) {
        vmrpc_limits_init(&srv->reach.limits,
                          vmrpc_policy_limits(srv->reach.policy),
                          g_get_monotonic_time());
        vmrpc_evidence_policy(srv, NULL);
    }
    return srv->reach.policy;
}

void vmrpc_policy_file_cleanup(VmrpcServer *srv)
{
    watched_file_destroy(&srv->policy_file);
}

/* --- limits ------------------------------------------------------------- */

/* Counts the buffers of @s and its receivers, or stops that. */
static void change_sock(VmrpcServer *srv, VmrpcSock *s, bool comes)
{
    if (comes) {
        vmrpc_budget_adopt(srv, s->fd, &s->buffers);
    } else {
        vmrpc_budget_release(srv, &s->buffers);
    }
    for (unsigned i = 0; i < vmrpc_groups_num(s); i++) {
        if (comes) {
            vmrpc_budget_adopt(srv, vmrpc_groups_fd(s, i),
                               vmrpc_groups_buffers(s, i));
        } else {
            vmrpc_budget_release(srv, vmrpc_groups_buffers(s, i));
        }
    }
}

void vmrpc_change_limits(VmrpcServer *srv, const VmrpcLimitsConfig *config)
{
    bool was_limited = vmrpc_budget_is_limited(srv);
    bool comes = !was_limited && config->buffers;
    bool goes = was_limited && !config->buffers;

    for (uint32_t i = 0; (comes || goes) && i < srv->config.max_sockets; i++) {
        if (srv->socks[i]) {
            change_sock(srv, srv->socks[i], comes);
        }
    }
    vmrpc_limits_change(&srv->reach.limits, config, g_get_monotonic_time());
}

/* --- changes of the file ------------------------------------------------ */

static bool reload(VmrpcServer *srv, WatchedFile *file, GError **errp)
    VMMNET_REQUIRES(file->lock)
{
    VmrpcPolicy *policy = load(file, errp), *old = NULL;

    vmrpc_lock(srv);
    if (policy) {
        old = srv->reach.policy;
        vmrpc_policy_inherit(policy, old);
        srv->reach.policy = policy;
        vmrpc_resolver_forget(srv);
        vmrpc_change_limits(srv, vmrpc_policy_limits(policy));
        srv->counters.policy_reloads++;
        vmrpc_evidence_policy(srv, NULL);
    } else {
        srv->counters.policy_errors++;
        vmrpc_evidence_policy(srv, (*errp)->message);
    }
    vmrpc_unlock(srv);
    vmrpc_policy_free(old);
    return policy;
}

bool vmrpc_server_reload_policy(VmrpcServer *srv, GError **errp)
{
    WatchedFile *file = &srv->policy_file;
    bool ok;

    if (!file->path) {
        g_set_error(errp, error_quark(), EINVAL, "there is no policy file: "
                    "the device has no option 'policy'");
        return false;
    }
    vmrpc_mutex_lock(&file->lock);
    ok = reload(srv, file, errp);
    vmrpc_mutex_unlock(&file->lock);
    return ok;
}

void vmrpc_policy_file_follow(VmrpcServer *srv)
{
    WatchedFile *file = &srv->policy_file;
    g_autoptr(GError) err = NULL;

    if (!vmrpc_files_changed(srv, file)) {
        return;
    }
    vmrpc_server_reload_policy(srv, &err);
    if (srv->tracer.policy) {
        srv->tracer.policy(srv->tracer.opaque, err ? err->message : NULL);
    }
}
