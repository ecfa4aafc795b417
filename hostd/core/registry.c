/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The VMs that may ask for addresses, by UUID */
#include <arpa/inet.h>
#include <string.h>

#include "hostd/core/registry.h"

struct HostdRegistry {
    GHashTable *vms;            /* by their uuid */
};

GQuark hostd_error_quark(void)
{
    return g_quark_from_static_string("hostd-error");
}

/* --- a VM ----------------------------------------------------------------- */

HostdVm *hostd_vm_new(const char *uuid, const char *pid_file)
{
    HostdVm *vm = g_new0(HostdVm, 1);

    g_strlcpy(vm->uuid, uuid, sizeof(vm->uuid));
    vm->pid_file = g_strdup(pid_file);
    vm->addresses = g_array_new(FALSE, FALSE, sizeof(HostdAddress));
    return vm;
}

void hostd_vm_free(HostdVm *vm)
{
    if (!vm) {
        return;
    }
    g_array_free(vm->addresses, TRUE);
    g_free(vm->pid_file);
    g_free(vm);
}

static bool has_address(const HostdVm *vm, const struct in6_addr *addr)
{
    for (guint i = 0; i < vm->addresses->len; i++) {
        if (IN6_ARE_ADDR_EQUAL(&g_array_index(vm->addresses, HostdAddress,
                                              i).addr, addr)) {
            return true;
        }
    }
    return false;
}

static bool refuse(GError **errp, const struct in6_addr *addr,
                   const char *format, ...) G_GNUC_PRINTF(3, 4);

static bool refuse(GError **errp, const struct in6_addr *addr,
                   const char *format, ...)
{
    char text[INET6_ADDRSTRLEN];
    g_autofree char *why = NULL;
    va_list args;

    va_start(args, format);
    why = g_strdup_vprintf(format, args);
    va_end(args);
    inet_ntop(AF_INET6, addr, text, sizeof(text));
    g_set_error(errp, HOSTD_ERROR, HOSTD_ERROR_REFUSED, "address6 %s %s", text,
                why);
    return false;
}

bool hostd_vm_add(HostdVm *vm, const HostdAddress *address, GError **errp)
{
    if (has_address(vm, &address->addr)) {
        return refuse(errp, &address->addr, "is named twice");
    }
    if (vm->addresses->len == HOSTD_ADDRESSES_MAX) {
        return refuse(errp, &address->addr, "is too many: a VM has at "
                      "most %u", HOSTD_ADDRESSES_MAX);
    }
    g_array_append_vals(vm->addresses, address, 1);
    g_array_index(vm->addresses, HostdAddress,
                  vm->addresses->len - 1).lost = false;
    return true;
}

bool hostd_vm_equal(const HostdVm *a, const HostdVm *b)
{
    if (strcmp(a->pid_file, b->pid_file) ||
        a->addresses->len != b->addresses->len) {
        return false;
    }
    for (guint i = 0; i < a->addresses->len; i++) {
        const HostdAddress *x = &g_array_index(a->addresses, HostdAddress, i);
        const HostdAddress *y = &g_array_index(b->addresses, HostdAddress, i);

        if (!IN6_ARE_ADDR_EQUAL(&x->addr, &y->addr) ||
            strcmp(x->dev, y->dev)) {
            return false;
        }
    }
    return true;
}

/* --- all of them ---------------------------------------------------------- */

static void free_vm(gpointer vm)
{
    hostd_vm_free(vm);
}

HostdRegistry *hostd_registry_new(void)
{
    HostdRegistry *r = g_new0(HostdRegistry, 1);

    r->vms = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_vm);
    return r;
}

void hostd_registry_free(HostdRegistry *r)
{
    g_hash_table_destroy(r->vms);
    g_free(r);
}

HostdVm *hostd_registry_find(const HostdRegistry *r, const char *uuid)
{
    return g_hash_table_lookup(r->vms, uuid);
}

/* Returns: an address that both have; NULL: none */
static const struct in6_addr *common_address(const HostdVm *a, const HostdVm *b)
{
    for (guint i = 0; i < a->addresses->len; i++) {
        const HostdAddress *x = &g_array_index(a->addresses, HostdAddress, i);

        if (has_address(b, &x->addr)) {
            return &x->addr;
        }
    }
    return NULL;
}

bool hostd_registry_check(const HostdRegistry *r, const HostdVm *vm,
                          GError **errp)
{
    GHashTableIter iter;
    gpointer value;

    if (!hostd_registry_find(r, vm->uuid) &&
        g_hash_table_size(r->vms) == HOSTD_VMS_MAX) {
        g_set_error(errp, HOSTD_ERROR, HOSTD_ERROR_REFUSED, "register %s: "
                    "there are %u VMs already, and there can be no more",
                    vm->uuid, HOSTD_VMS_MAX);
        return false;
    }
    g_hash_table_iter_init(&iter, r->vms);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const HostdVm *other = value;
        const struct in6_addr *addr = common_address(vm, other);

        if (addr && strcmp(other->uuid, vm->uuid)) {
            return refuse(errp, addr, "is the address of VM %s already",
                          other->uuid);
        }
    }
    return true;
}

void hostd_registry_put(HostdRegistry *r, HostdVm *vm)
{
    g_hash_table_replace(r->vms, vm->uuid, vm);
}

void hostd_registry_steal(HostdRegistry *r, HostdVm *vm)
{
    g_hash_table_steal(r->vms, vm->uuid);
}

static int by_uuid(gconstpointer a, gconstpointer b)
{
    const HostdVm *x = a, *y = b;

    return strcmp(x->uuid, y->uuid);
}

GList *hostd_registry_list(const HostdRegistry *r)
{
    return g_list_sort(g_hash_table_get_values(r->vms), by_uuid);
}
