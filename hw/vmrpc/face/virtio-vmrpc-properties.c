/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-vmrpc: the properties of the command line
 */
#include "qemu/osdep.h"

#include <arpa/inet.h>

#include "crypto/secret.h"
#include "hw/vmrpc/face/virtio-vmrpc-properties.h"
#include "qapi/error.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"

/* Neither 0.0.0.0/8 nor loopback nor multicast nor above */
static bool is_unicast4(struct in_addr addr)
{
    uint32_t host = ntohl(addr.s_addr);

    return host >> IN_CLASSA_NSHIFT != 0 &&
           host >> IN_CLASSA_NSHIFT != IN_LOOPBACKNET &&
           host < INADDR_UNSPEC_GROUP;
}

static bool parse_prefix4(const char *name, const char *value,
                          unsigned default_len, struct in_addr *addr,
                          unsigned *len, Error **errp)
{
    g_auto(GStrv) part = g_strsplit(value, "/", 2);
    uint64_t bits = default_len;

    if (!part[0] || inet_pton(AF_INET, part[0], addr) != 1 ||
        (part[1] && (parse_uint_full(part[1], 10, &bits) < 0 || bits > 32)) ||
        (!part[1] && !default_len)) {
        error_setg(errp, "%s=%s is not %s", name, value, default_len
                   ? "an IPv4 address, ADDR or ADDR/LENGTH"
                   : "an IPv4 prefix, ADDR/LENGTH");
        return false;
    }
    *len = bits;
    return true;
}

static bool parse_guest4(VirtIOVmrpc *s, VmrpcServerConfig *config,
                         Error **errp)
{
    const char *value = s->guest4 ?: "192.0.0.2";

    if (!parse_prefix4("guest4", value, 29, &config->reach.guest4,
                       &config->reach.guest4_prefix, errp)) {
        return false;
    }
    if (!is_unicast4(config->reach.guest4)) {
        error_setg(errp, "guest4=%s is not an IPv4 unicast address", value);
        return false;
    }
    return true;
}

static bool parse_pool4(VirtIOVmrpc *s, VmrpcServerConfig *config,
                        Error **errp)
{
    if (s->pool4 && !s->translate) {
        error_setg(errp, "pool4=%s has no use with translate=off: peers then "
                   "have their own IPv4 addresses", s->pool4);
        return false;
    }
    return parse_prefix4("pool4", s->pool4 ?: VIRTIO_VMRPC_POOL4, 0,
                         &config->reach.pool4, &config->reach.pool4_prefix,
                         errp);
}

static bool parse_address6(VirtIOVmrpc *s, VmrpcServerConfig *config,
                           Error **errp)
{
    if (!s->address6) {
        return true;
    }
    if (!s->translate) {
        error_setg(errp, "address6=%s has no use with translate=off; the "
                   "VM's address on the host is then guest4", s->address6);
        return false;
    }
    if (inet_pton(AF_INET6, s->address6, &config->reach.address6) != 1 ||
        IN6_IS_ADDR_UNSPECIFIED(&config->reach.address6) ||
        IN6_IS_ADDR_LOOPBACK(&config->reach.address6) ||
        IN6_IS_ADDR_LINKLOCAL(&config->reach.address6) ||
        IN6_IS_ADDR_V4MAPPED(&config->reach.address6) ||
        IN6_IS_ADDR_MULTICAST(&config->reach.address6)) {
        error_setg(errp, "address6=%s is not a global or unique local IPv6 "
                   "unicast address", s->address6);
        return false;
    }
    config->reach.has_address6 = true;
    return true;
}

static bool parse_nat64(VirtIOVmrpc *s, VmrpcServerConfig *config,
                        Error **errp)
{
    GError *err = NULL;

    if (!s->nat64_prefix || !strcmp(s->nat64_prefix, "off")) {
        config->nat64_mode = VMRPC_NAT64_OFF;
    } else if (!strcmp(s->nat64_prefix, "auto")) {
        config->nat64_mode = VMRPC_NAT64_AUTO;
    } else if (nat64_prefix_parse(s->nat64_prefix, &config->nat64_prefix,
                                  &err)) {
        config->nat64_mode = VMRPC_NAT64_FIXED;
    } else {
        error_setg(errp, "nat64-prefix=%s is neither 'auto' nor 'off' nor a "
                   "NAT64 prefix: %s", s->nat64_prefix, err->message);
        g_error_free(err);
        return false;
    }
    return true;
}

static bool parse_dnssec(VirtIOVmrpc *s, VmrpcServerConfig *config,
                         Error **errp)
{
    static const char *const modes[] = {
        [DNS_DNSSEC_OFF] = "off",
        [DNS_DNSSEC_PERMISSIVE] = "permissive",
        [DNS_DNSSEC_STRICT] = "strict",
    };
    DnsDnssec mode = DNS_DNSSEC_OFF;

    while (s->dnssec && mode < G_N_ELEMENTS(modes) &&
           strcmp(s->dnssec, modes[mode])) {
        mode++;
    }
    if (mode == G_N_ELEMENTS(modes)) {
        error_setg(errp, "dnssec=%s is none of 'off', 'permissive' and "
                   "'strict'", s->dnssec);
        return false;
    }
    if (mode == DNS_DNSSEC_OFF && s->validator) {
        error_setg(errp, "validator=%s has no use with dnssec=off: give "
                   "dnssec=strict or dnssec=permissive as well", s->validator);
        return false;
    }
    if (mode != DNS_DNSSEC_OFF && !(s->validator && *s->validator)) {
        error_setg(errp, "dnssec=%s needs validator=PATH, the socket of a "
                   "vmmnet-validate(8) that validates for this VM", s->dnssec);
        return false;
    }
    if (s->dnssec && !s->translate) {
        error_setg(errp, "dnssec=%s has no use with translate=off: the guest "
                   "then asks its DNS servers itself", s->dnssec);
        return false;
    }
    config->dnssec = mode;
    config->validator = s->validator;
    return true;
}

/* Without translation the guest asks the network's DNS servers itself. */
static bool parse_resolver(VirtIOVmrpc *s, VmrpcServerConfig *config,
                           Error **errp)
{
    const char *value = s->resolver4 ?: "192.0.0.1";

    if (!s->translate && (s->resolver4 || s->dns || s->zone)) {
        error_setg(errp, "%s=%s has no use with translate=off: the guest then "
                   "asks its DNS servers itself",
                   s->resolver4 ? "resolver4" : s->dns ? "dns" : "zone",
                   s->resolver4 ?: s->dns ?: s->zone);
        return false;
    }
    if (!s->translate) {
        return true;
    }
    if (s->dns && !*s->dns) {
        error_setg(errp, "dns= names no server; leave it out for those of the "
                   "host");
        return false;
    }
    if (s->zone && !*s->zone) {
        error_setg(errp, "zone= names no image; leave it out if there is none");
        return false;
    }
    if (inet_pton(AF_INET, value, &config->reach.resolver4) != 1 ||
        !is_unicast4(config->reach.resolver4)) {
        error_setg(errp, "resolver4=%s is not an IPv4 unicast address", value);
        return false;
    }
    if (config->reach.resolver4.s_addr == config->reach.guest4.s_addr) {
        error_setg(errp, "resolver4=%s is the same address as guest4", value);
        return false;
    }
    return true;
}

/* VmrpcServerConfig.secret: objects need the BQL. */
static char *find_secret(const char *id, GError **errp)
{
    Error *err = NULL;
    char *text = qcrypto_secret_lookup_as_utf8(id, &err);

    if (!text) {
        g_set_error(errp, g_quark_from_static_string("vmrpc-secret-error"), 0,
                    "%s", error_get_pretty(err));
        error_free(err);
    }
    return text;
}

bool virtio_vmrpc_parse_properties(VirtIOVmrpc *s, VmrpcServerConfig *config,
                                   Error **errp)
{
    if (s->num_queues < 1 || s->num_queues > VMRPC_QUEUES_MAX) {
        error_setg(errp, "num-queues=%u is not in 1..%u", s->num_queues,
                   VMRPC_QUEUES_MAX);
        return false;
    }
    if (s->max_sockets < 1 || s->max_sockets > VMRPC_SOCKETS_MAX) {
        error_setg(errp, "max-sockets=%u is not in 1..%u", s->max_sockets,
                   VMRPC_SOCKETS_MAX);
        return false;
    }
    if (s->nat64_prefix && !s->translate) {
        error_setg(errp, "nat64-prefix=%s has no use with translate=off",
                   s->nat64_prefix);
        return false;
    }
    config->reach.translate = s->translate;
    config->alg = s->alg;
    config->happy_eyeballs = s->happy_eyeballs;
    config->max_sockets = s->max_sockets;
    config->policy_file = s->policy;
    config->secret = find_secret;
    return parse_address6(s, config, errp) && parse_guest4(s, config, errp) &&
           parse_pool4(s, config, errp) && parse_resolver(s, config, errp) &&
           parse_dnssec(s, config, errp) && parse_nat64(s, config, errp);
}
