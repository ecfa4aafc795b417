/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: the policy file, read at the start and again when it changes
 *
 * The file is read and parsed without the server's lock.  Under the lock, the
 * new policy replaces the old one.  If the file is wrong, the old one stays.
 */
#include "hw/vmrpc/server/policy-file.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>

#include "hw/vmrpc/peer/bind.h"
#include "hw/vmrpc/peer/evidence.h"
#include "hw/vmrpc/peer/first-bytes.h"
#include "hw/vmrpc/peer/first-datagrams.h"
#include "hw/vmrpc/policy/policy-hits.h"
#include "hw/vmrpc/policy/policy-parse.h"
#include "hw/vmrpc/reach/judge.h"
#include "hw/vmrpc/reach/translate.h"
#include "hw/vmrpc/server/resolver.h"
#include "hw/vmrpc/server/server.h"
#include "hw/vmrpc/sock/budget.h"
#include "hw/vmrpc/sock/files.h"
#include "hw/vmrpc/sock/groups.h"
#include "hw/vmrpc/sock/ready.h"
#include "hw/vmrpc/sock/table.h"
#include "hw/vmrpc/sock/timer.h"

static GQuark error_quark(void)
{
    return g_quark_from_static_string("vmrpc-policy-file-error");
}

/* --- secrets of proxies ------------------------------------------------- */

static void secret_free(gpointer text)
{
    explicit_bzero(text, strlen(text));
    g_free(text);
}

/*
 * The secret @id: as it is now, if this thread may ask (@asks), or as it was
 * when one last did.
 */
static const char *find_secret(VmrpcServer *srv, const char *id, bool asks,
                               GError **errp)
{
    const char *known;
    char *text;

    if (asks && srv->config.secret) {
        text = srv->config.secret(id, errp);
        if (!text) {
            return NULL;
        }
        if (!srv->secrets) {
            srv->secrets = g_hash_table_new_full(g_str_hash, g_str_equal,
                                                 g_free, secret_free);
        }
        g_hash_table_insert(srv->secrets, g_strdup(id), text);
        return text;
    }
    known = srv->secrets ? g_hash_table_lookup(srv->secrets, id) : NULL;
    if (!known) {
        g_set_error(errp, error_quark(), ENOENT, "%s",
                    asks ? "there are no secrets here"
                         : "it is new: 'vmrpc-reload-policy' reads it");
    }
    return known;
}

/* Gives the proxies of @policy their users and passwords. */
static bool find_secrets(VmrpcServer *srv, const VmrpcPolicy *policy, bool asks,
                         GError **errp)
{
    const GPtrArray *proxies = vmrpc_policy_proxies(policy);

    for (guint i = 0; i < proxies->len; i++) {
        VmrpcProxy *proxy = g_ptr_array_index(proxies, i);
        const char *text;

        if (!proxy->secret) {
            continue;
        }
        text = find_secret(srv, proxy->secret, asks, errp);
        if (text && !vmrpc_via_read_secret(text, &proxy->user,
                                           &proxy->password)) {
            g_set_error(errp, error_quark(), EINVAL, "it is not "
                        "'USER:PASSWORD', of 1 to %d characters each",
                        VMRPC_VIA_SECRET_MAX);
            text = NULL;
        }
        if (!text) {
            g_prefix_error(errp, "proxy %s: secret %s: ", proxy->name,
                           proxy->secret);
            return false;
        }
    }
    return true;
}

/* --- the file ----------------------------------------------------------- */

/* @asks: this thread may ask for secrets */
static VmrpcPolicy *load(VmrpcServer *srv, WatchedFile *file, bool asks,
                         GError **errp)
    VMMNET_REQUIRES(file->lock)
{
    g_autoptr(VmrpcPolicy) policy = NULL;
    g_autofree char *text = NULL;
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
        return NULL;
    }
    if (!find_secrets(srv, policy, asks, errp)) {
        g_prefix_error(errp, "policy=%s: ", file->name);
        return NULL;
    }
    return g_steal_pointer(&policy);
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
    srv->reach.policy = load(srv, file, true, errp);
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
    g_clear_pointer(&srv->secrets, g_hash_table_unref);
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

static bool reload(VmrpcServer *srv, WatchedFile *file, bool asks,
                   GError **errp)
    VMMNET_REQUIRES(file->lock)
{
    VmrpcPolicy *policy = load(srv, file, asks, errp), *old = NULL;

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

static VMRPC_UNLOCKED bool reload_now(VmrpcServer *srv, bool asks,
                                      GError **errp)
{
    WatchedFile *file = &srv->policy_file;
    bool ok;

    if (!file->path) {
        g_set_error(errp, error_quark(), EINVAL, "there is no policy file: "
                    "the device has no option 'policy'");
        return false;
    }
    vmrpc_mutex_lock(&file->lock);
    ok = reload(srv, file, asks, errp);
    vmrpc_mutex_unlock(&file->lock);
    return ok;
}

bool vmrpc_server_reload_policy(VmrpcServer *srv, GError **errp)
{
    return reload_now(srv, true, errp);
}

void vmrpc_policy_file_follow(VmrpcServer *srv)
{
    WatchedFile *file = &srv->policy_file;
    g_autoptr(GError) err = NULL;

    if (!vmrpc_files_changed(srv, file)) {
        return;
    }
    reload_now(srv, false, &err);
    if (srv->tracer.policy) {
        srv->tracer.policy(srv->tracer.opaque, err ? err->message : NULL);
    }
}

/* --- connections that exist --------------------------------------------- */

/* Sockets and flows that are judged again while the lock is held. */
#define JUDGE_BATCH     64

/* Of a stream, the host tells its peer when that has answered. */
static bool is_connecting(const VmrpcSock *s)
{
    struct tcp_info info = { };
    socklen_t len = sizeof(info);

    return s->race || (s->type == SOCK_STREAM &&
                       getsockopt(s->fd, IPPROTO_TCP, TCP_INFO, &info,
                                  &len) == 0 &&
                       info.tcpi_state == TCP_SYN_SENT);
}

/*
 * The host's address of the peer of @s, which is not the proxy's.  Returns
 * false if the host does not know it any more.
 */
static VMRPC_LOCKED bool find_peer(VmrpcServer *srv, const VmrpcSock *s,
                                   struct sockaddr_storage *host)
{
    socklen_t len = sizeof(*host);

    if ((s->terms && s->terms->via) || is_connecting(s)) {
        return vmrpc_addr_to_host(&srv->reach, s->peer4, s->peer_port,
                                  host) >= 0;
    }
    return getpeername(s->fd, (struct sockaddr *)host, &len) == 0;
}

static bool is_same_way(const VmrpcTerms *a, const VmrpcTerms *b)
{
    const VmrpcProxy *via_a = a ? a->via : NULL, *via_b = b ? b->via : NULL;

    return via_a && via_b ? strcmp(via_a->name, via_b->name) == 0
                          : via_a == via_b;
}

void vmrpc_policy_judge_again(VmrpcServer *srv, VmrpcSock *s)
{
    struct sockaddr_storage host;
    VmrpcTerms *terms;
    VmrpcSays says;

    if (s->accepted || s->peer != VMRPC_PEER_REMOTE || !vmrpc_sock_is_host(s) ||
        !find_peer(srv, s, &host)) {
        return;
    }
    if (vmrpc_dest_terms(&srv->reach, &host, s->proto, &terms, &says) == 0) {
        if (is_same_way(s->terms, terms) &&
            (s->type == SOCK_DGRAM ||
             vmrpc_first_may_go_on(srv, s, &host, says))) {
            vmrpc_sock_take_terms(s, terms);
            s->says = says;
            return;
        }
        vmrpc_terms_unref(terms);
    }
    srv->counters.connections_ended++;
    vmrpc_sock_stop_connecting(srv, s);
    vmrpc_host_abort(srv, s, s->type == SOCK_DGRAM ? ECONNRESET : 0);
    vmrpc_sock_take_terms(s, NULL);     /* it goes by no proxy any more */
    vmrpc_sock_notify(srv, s);
}

void vmrpc_server_end_refused(VmrpcServer *srv)
{
    uint32_t next = 0;

    vmrpc_lock(srv);
    srv->policy_ends++;         /* for a connect() that is under way */
    vmrpc_unlock(srv);
    while (next < srv->config.max_sockets) {
        vmrpc_lock(srv);
        for (unsigned n = 0; n < JUDGE_BATCH && next < srv->config.max_sockets;
             next++) {
            VmrpcSock *s = srv->socks[next];

            if (s) {
                vmrpc_policy_judge_again(srv, s);
                n += 1 + vmrpc_datagrams_judge_again(srv, s);
            }
        }
        vmrpc_timer_wake(srv);
        vmrpc_unlock(srv);
    }
}
