/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-vmrpc: migration
 *
 * The stream carries the server's tables; it cannot carry host sockets.
 * saved.c and arriving.c explain what becomes of these.
 */
#include "qemu/osdep.h"

#include <arpa/inet.h>

#include "hw/vmrpc/face/virtio-vmrpc-claim.h"
#include "hw/vmrpc/face/virtio-vmrpc-migration.h"
#include "hw/vmrpc/policy/policy-hits.h"
#include "qemu/error-report.h"
#include "vmmnet/qemu-compat.h"

static bool map_num_is_valid(void *opaque, int version_id)
{
    VirtIOVmrpc *s = opaque;

    return s->saved_map_num >= 0 &&
           s->saved_map_num <= 1 << (32 - VMRPC_ADDRMAP_MIN_PREFIX);
}

static bool name_num_is_valid(void *opaque, int version_id)
{
    VirtIOVmrpc *s = opaque;

    return s->saved_name_num >= 0 &&
           s->saved_name_num <= VMRPC_SAVED_NAMES_MAX;
}

static bool has_names(void *opaque)
{
    VirtIOVmrpc *s = opaque;

    return vmrpc_server_save_names(s->server, NULL, NULL) > 0;
}

static bool has_nat64(void *opaque)
{
    VirtIOVmrpc *s = opaque;

    return s->saved_nat64_num;
}

static bool has_audit(void *opaque)
{
    VirtIOVmrpc *s = opaque;

    return s->saved_audit_seq;
}

static bool has_budgets(void *opaque)
{
    VirtIOVmrpc *s = opaque;

    return s->saved_budgets_len;
}

static bool budgets_len_is_valid(void *opaque, int version_id)
{
    VirtIOVmrpc *s = opaque;

    return s->saved_budgets_len <= VMRPC_SAVED_BUDGETS_MAX;
}

static bool nat64_num_is_valid(void *opaque, int version_id)
{
    VirtIOVmrpc *s = opaque;

    return s->saved_nat64_num <= VMRPC_NAT64_MAX;
}

static bool sock_num_is_valid(void *opaque, int version_id)
{
    VirtIOVmrpc *s = opaque;

    return s->saved_sock_num >= 0 &&
           (uint32_t)s->saved_sock_num <= s->max_sockets;
}

static bool option_num_is_valid(void *opaque, int version_id)
{
    VmrpcSavedSock *saved = opaque;

    return saved->option_num <= VMRPC_SAVED_OPTIONS;
}

static const VMStateDescription vmstate_identity = {
    .name = "virtio-vmrpc/identity",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(translate, VirtIOVmrpcIdentity),
        VMSTATE_UINT32(guest4, VirtIOVmrpcIdentity),
        VMSTATE_UINT32(resolver4, VirtIOVmrpcIdentity),
        VMSTATE_UINT32(pool4, VirtIOVmrpcIdentity),
        VMSTATE_UINT32(pool4_prefix, VirtIOVmrpcIdentity),
        VMSTATE_UINT32(max_sockets, VirtIOVmrpcIdentity),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_mapping = {
    .name = "virtio-vmrpc/mapping",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(addr4, VirtIOVmrpcMapping),
        VMSTATE_UINT8_ARRAY(addr6, VirtIOVmrpcMapping, 16),
        VMSTATE_INT64(remaining_ms, VirtIOVmrpcMapping),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_name = {
    .name = "virtio-vmrpc/name",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(len, VmrpcSavedName),
        VMSTATE_UINT8_ARRAY(name, VmrpcSavedName, DNS_NAME_MAX),
        VMSTATE_UINT8_ARRAY(addr6, VmrpcSavedName, 16),
        VMSTATE_UINT32(ttl_s, VmrpcSavedName),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_names = {
    .name = "virtio-vmrpc/names",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = has_names,
    .fields = (const VMStateField[]) {
        VMSTATE_INT32(saved_name_num, VirtIOVmrpc),
        VMSTATE_VALIDATE("number of names", name_num_is_valid),
        VMSTATE_STRUCT_VARRAY_ALLOC(saved_name, VirtIOVmrpc, saved_name_num, 1,
                                    vmstate_name, VmrpcSavedName),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_nat64_prefix = {
    .name = "virtio-vmrpc/nat64-prefix",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT8_ARRAY(addr6, VmrpcSavedNat64, 16),
        VMSTATE_UINT32(len, VmrpcSavedNat64),
        VMSTATE_UINT32(in_use, VmrpcSavedNat64),
        VMSTATE_UINT32(age_s, VmrpcSavedNat64),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_nat64 = {
    .name = "virtio-vmrpc/nat64",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = has_nat64,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(saved_nat64_num, VirtIOVmrpc),
        VMSTATE_VALIDATE("number of NAT64 prefixes", nat64_num_is_valid),
        VMSTATE_STRUCT_VARRAY_UINT32(saved_nat64, VirtIOVmrpc, saved_nat64_num,
                                     1, vmstate_nat64_prefix, VmrpcSavedNat64),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_audit = {
    .name = "virtio-vmrpc/audit",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = has_audit,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(saved_audit_seq, VirtIOVmrpc),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_budgets = {
    .name = "virtio-vmrpc/budgets",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = has_budgets,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(saved_budgets_len, VirtIOVmrpc),
        VMSTATE_VALIDATE("octets of budgets", budgets_len_is_valid),
        VMSTATE_VBUFFER_ALLOC_UINT32(saved_budgets, VirtIOVmrpc, 1, NULL,
                                     saved_budgets_len),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_option = {
    .name = "virtio-vmrpc/option",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(level, VmrpcSavedOption),
        VMSTATE_UINT32(name, VmrpcSavedOption),
        VMSTATE_UINT32(len, VmrpcSavedOption),
        VMSTATE_UINT8_ARRAY(value, VmrpcSavedOption, VMRPC_OPTVAL_MAX),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_sock = {
    .name = "virtio-vmrpc/socket",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(handle, VmrpcSavedSock),
        VMSTATE_UINT32(gen, VmrpcSavedSock),
        VMSTATE_UINT32(type, VmrpcSavedSock),
        VMSTATE_UINT32(flags, VmrpcSavedSock),
        VMSTATE_UINT32(ready_seq, VmrpcSavedSock),
        /* of a datagram socket: bound_group */
        VMSTATE_UINT32(backlog, VmrpcSavedSock),
        VMSTATE_UINT16(local_port, VmrpcSavedSock),
        VMSTATE_UINT16(peer_port, VmrpcSavedSock),
        VMSTATE_UINT32(peer4, VmrpcSavedSock),
        VMSTATE_UINT32(option_num, VmrpcSavedSock),
        VMSTATE_VALIDATE("number of options", option_num_is_valid),
        VMSTATE_STRUCT_VARRAY_UINT32(option, VmrpcSavedSock, option_num, 1,
                                     vmstate_option, VmrpcSavedOption),
        VMSTATE_END_OF_LIST()
    },
};

void virtio_vmrpc_drop_saved(VirtIOVmrpc *s)
{
    g_clear_pointer(&s->saved_map, g_free);
    g_clear_pointer(&s->saved_name, g_free);
    g_clear_pointer(&s->saved_sock, g_free);
    g_clear_pointer(&s->saved_budgets, g_free);
    s->saved_map_num = 0;
    s->saved_name_num = 0;
    s->saved_sock_num = 0;
    s->saved_nat64_num = 0;
    s->saved_audit_seq = 0;
    s->saved_budgets_len = 0;
}

static void save_mapping(const VmrpcAddrMapEntry *entry, void *opaque)
{
    VirtIOVmrpc *s = opaque;
    VirtIOVmrpcMapping *m = &s->saved_map[s->saved_map_num++];

    m->addr4 = entry->addr4.s_addr;
    memcpy(m->addr6, &entry->addr6, sizeof(m->addr6));
    m->remaining_ms = entry->remaining_ms;
}

static void save_name(void *opaque, const VmrpcSavedName *saved)
{
    VirtIOVmrpc *s = opaque;

    s->saved_name[s->saved_name_num++] = *saved;
}

static void save_sock(void *opaque, const VmrpcSavedSock *saved)
{
    VirtIOVmrpc *s = opaque;

    s->saved_sock[s->saved_sock_num++] = *saved;
}

static void save_budgets(VirtIOVmrpc *s)
{
    GBytes *saved = vmrpc_server_save_budgets(s->server);
    gsize len = 0;

    if (saved) {
        s->saved_budgets = g_bytes_unref_to_data(saved, &len);
    }
    s->saved_budgets_len = len;
}

static int64_t monotonic_ms(void)
{
    return g_get_monotonic_time() / 1000;
}

static int virtio_vmrpc_pre_save(void *opaque)
{
    VirtIOVmrpc *s = opaque;
    VmrpcAddrMap *map = vmrpc_server_addrmap(s->server);
    VmrpcAddrMapStats stats;

    virtio_vmrpc_claim_saved(s);
    virtio_vmrpc_drop_saved(s);
    s->saved_identity = s->identity;
    if (map) {
        vmrpc_addrmap_stats(map, &stats);
        s->saved_map = g_new(VirtIOVmrpcMapping, stats.entries);
        vmrpc_addrmap_foreach(map, monotonic_ms(), save_mapping, s);
    }
    s->saved_name = g_new(VmrpcSavedName,
                          vmrpc_server_save_names(s->server, NULL, NULL));
    vmrpc_server_save_names(s->server, save_name, s);
    s->saved_audit_seq = s->audit ? vmrpc_audit_next_seq(s->audit) : 0;
    save_budgets(s);
    s->saved_nat64_num = vmrpc_server_save_nat64(s->server, s->saved_nat64);
    s->saved_sock = g_new(VmrpcSavedSock, vmrpc_server_sockets(s->server));
    vmrpc_server_save(s->server, save_sock, s);
    return 0;
}

DEFINE_POST_SAVE(virtio_vmrpc_post_save, virtio_vmrpc_drop_saved)

static void G_GNUC_PRINTF(2, 3) report(VirtIOVmrpc *s, const char *format, ...)
{
    g_autofree char *path = object_get_canonical_path(OBJECT(s));
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    error_report("virtio-vmrpc '%s': %s", virtio_vmrpc_id(s) ?: path, text);
}

static int restore_map(VirtIOVmrpc *s)
{
    VmrpcAddrMap *map = vmrpc_server_addrmap(s->server);

    for (int32_t i = 0; i < s->saved_map_num; i++) {
        const VirtIOVmrpcMapping *m = &s->saved_map[i];
        struct in_addr addr4 = { .s_addr = m->addr4 };
        struct in6_addr addr6;

        memcpy(&addr6, m->addr6, sizeof(addr6));
        if (!map || vmrpc_addrmap_restore(map, addr4, &addr6, m->remaining_ms,
                                          monotonic_ms()) < 0) {
            report(s, "address map entry %d of the migration stream does not "
                   "fit", i);
            return -EINVAL;
        }
    }
    return 0;
}

static int restore_names(VirtIOVmrpc *s)
{
    for (int32_t i = 0; i < s->saved_name_num; i++) {
        if (vmrpc_server_restore_name(s->server, &s->saved_name[i]) < 0) {
            report(s, "name %d of the migration stream does not make sense",
                   i);
            return -EINVAL;
        }
    }
    return 0;
}

static int restore_nat64(VirtIOVmrpc *s)
{
    char text[INET6_ADDRSTRLEN];
    const VmrpcSavedNat64 *bad;
    uint32_t good;

    /* The source knew none, or its version does not send them. */
    if (!s->saved_nat64_num) {
        return 0;
    }
    good = vmrpc_server_restore_nat64(s->server, s->saved_nat64,
                                      s->saved_nat64_num);
    if (good == s->saved_nat64_num) {
        return 0;
    }
    bad = &s->saved_nat64[good];
    inet_ntop(AF_INET6, bad->addr6, text, sizeof(text));
    report(s, "NAT64 prefix %" PRIu32 " of the migration stream, %s/%" PRIu32
           " with in_use=%" PRIu32 ", does not make sense behind those before "
           "it", good, text, bad->len, bad->in_use);
    return -EINVAL;
}

static int restore_budgets(VirtIOVmrpc *s)
{
    g_autoptr(GBytes) saved = g_bytes_new(s->saved_budgets,
                                          s->saved_budgets_len);

    if (s->saved_budgets_len &&
        !vmrpc_server_restore_budgets(s->server, saved)) {
        report(s, "the budgets of the migration stream do not make sense");
        return -EINVAL;
    }
    return 0;
}

static bool same_number(VirtIOVmrpc *s, const char *name, uint32_t source,
                        uint32_t here)
{
    if (source != here) {
        report(s, "%s=%" PRIu32 " on the source, %" PRIu32 " here: they must "
               "be the same", name, source, here);
    }
    return source == here;
}

static bool same_addr4(VirtIOVmrpc *s, const char *name, uint32_t source,
                       uint32_t here)
{
    char text[2][INET_ADDRSTRLEN];

    if (source != here) {
        inet_ntop(AF_INET, &source, text[0], sizeof(text[0]));
        inet_ntop(AF_INET, &here, text[1], sizeof(text[1]));
        report(s, "%s=%s on the source, %s here: they must be the same", name,
               text[0], text[1]);
    }
    return source == here;
}

/* The guest has read these, so they must be the same on both sides. */
static bool check_identity(VirtIOVmrpc *s)
{
    const VirtIOVmrpcIdentity *source = &s->saved_identity;
    const VirtIOVmrpcIdentity *here = &s->identity;
    /* As the guest has read it last; 0: it has not. */
    const struct vmrpc_config *read = VIRTIO_DEVICE(s)->config;
    uint16_t queues = le16_to_cpu(read->num_queues);

    return same_number(s, "num-queues", queues ?: s->num_queues,
                       s->num_queues) &&
           same_number(s, "translate", source->translate, here->translate) &&
           same_addr4(s, "guest4", source->guest4, here->guest4) &&
           same_addr4(s, "resolver4", source->resolver4, here->resolver4) &&
           same_addr4(s, "pool4", source->pool4, here->pool4) &&
           same_number(s, "prefix length of pool4", source->pool4_prefix,
                       here->pool4_prefix) &&
           same_number(s, "max-sockets", source->max_sockets,
                       here->max_sockets);
}

static int virtio_vmrpc_post_load(void *opaque, int version_id)
{
    VirtIOVmrpc *s = opaque;
    g_autoptr(GError) err = NULL;
    int ret = -EINVAL;

    if (!check_identity(s)) {
        goto out;
    }
    if (s->audit) {
        vmrpc_audit_follow_seq(s->audit, s->saved_audit_seq);
    }
    if (!vmrpc_server_forget(s->server, &err)) {
        report(s, "%s", err->message);
        ret = -ENOMEM;
        goto out;
    }
    ret = restore_map(s);
    if (ret == 0) {
        ret = restore_names(s);
    }
    if (ret == 0) {
        ret = restore_nat64(s);
    }
    if (ret == 0) {
        ret = restore_budgets(s);
    }
    for (int32_t i = 0; ret == 0 && i < s->saved_sock_num; i++) {
        ret = vmrpc_server_restore(s->server, &s->saved_sock[i]);
        if (ret < 0) {
            report(s, "socket %d of the migration stream does not make sense",
                   i);
        }
    }
out:
    virtio_vmrpc_drop_saved(s);
    return ret;
}

const VMStateDescription vmstate_virtio_vmrpc = {
    .name = "virtio-vmrpc",
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = virtio_vmrpc_pre_save,
    .post_save = virtio_vmrpc_post_save,
    .post_load = virtio_vmrpc_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_VIRTIO_DEVICE,
        VMSTATE_STRUCT(saved_identity, VirtIOVmrpc, 1, vmstate_identity,
                       VirtIOVmrpcIdentity),
        VMSTATE_INT32(saved_map_num, VirtIOVmrpc),
        VMSTATE_VALIDATE("number of mappings", map_num_is_valid),
        VMSTATE_STRUCT_VARRAY_ALLOC(saved_map, VirtIOVmrpc, saved_map_num, 1,
                                    vmstate_mapping, VirtIOVmrpcMapping),
        VMSTATE_INT32(saved_sock_num, VirtIOVmrpc),
        VMSTATE_VALIDATE("number of sockets", sock_num_is_valid),
        VMSTATE_STRUCT_VARRAY_ALLOC(saved_sock, VirtIOVmrpc, saved_sock_num, 1,
                                    vmstate_sock, VmrpcSavedSock),
        VMSTATE_END_OF_LIST()
    },
    .subsections = (const VMStateDescription * const []) {
        &vmstate_names,
        &vmstate_nat64,
        &vmstate_audit,
        &vmstate_budgets,
        NULL
    },
};
