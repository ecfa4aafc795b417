/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guestless: an accelerator whose guest is a native program
 *
 * Theory of operation
 * ===================
 *
 * A guest under TCG costs the host so much that what QEMU itself does for a
 * byte, a call or a frame disappears in it.  With "-accel guestless" QEMU
 * models the same machine, with the same devices and threads, but the thread
 * of the first vCPU runs a program that is compiled into QEMU (loads.c): a
 * driver for virtio over PCI, which lays descriptors into the guest's memory
 * and rings doorbells.  It executes no instruction of the guest.
 *
 * An access to a device takes the path of KVM_EXIT_MMIO and KVM_EXIT_IO: to the
 * address space, without the BQL.  What is missing is the world switch of the
 * processor, and KVM's own work; the layer "kvm" of the tests counts those.
 * With KVM, the host's kernel writes to the eventfd of a doorbell (ioeventfd)
 * and takes an interrupt from one (irqfd).  Here QEMU writes to the first one
 * in the vCPU's thread, which is the same system call.  An interrupt that does
 * not come from the vCPU's thread passes the main loop, which costs more.
 *
 * An interrupt is an MSI to a page of ours.  Its handler writes to an eventfd,
 * which the vCPU waits for.
 *
 *     -accel guestless,script=FILE    makes socket calls: loads.c
 *     -accel guestless,tap=FD         carries frames to a tap: net.c
 */
#include "qemu/osdep.h"

#include "bench/guestless/accel/machine.h"
#include "bench/guestless/accel/net.h"
#include "bench/guestless/loads/sockets.h"
#include "hw/core/cpu.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/guest-random.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "qemu/rcu.h"
#include "qom/object.h"
#include "system/cpus.h"
#include "system/runstate.h"
#include "vmmnet/qemu-compat.h"

#define TYPE_GUESTLESS_ACCEL    ACCEL_CLASS_NAME("guestless")

static char *script;            /* NULL: none */
static int tap = -1;
static bool allowed;

/* --- the vCPUs -------------------------------------------------------------- */

static void run_program(void)
{
    static const GuestlessPath paths[] = {
        { "native", guestless_native },
        { "vmrpc", guestless_vmrpc },
    };

    guestless_machine_start();
    bql_unlock();
    if (tap >= 0) {
        guestless_net(tap);
    } else {
        guestless_run(script, paths, G_N_ELEMENTS(paths));
    }
    bql_lock();
    qemu_system_shutdown_request(SHUTDOWN_CAUSE_GUEST_SHUTDOWN);
}

static void *vcpu_thread(void *opaque)
{
    CPUState *cpu = opaque;
    bool has_run = false;
    sigset_t kicks;
    int sig;

    sigemptyset(&kicks);
    sigaddset(&kicks, SIG_IPI);
    rcu_register_thread();
    bql_lock();
    qemu_thread_get_self(cpu->thread);
    cpu->thread_id = qemu_get_thread_id();
    current_cpu = cpu;
    cpu_thread_signal_created(cpu);
    qemu_guest_random_seed_thread_part2(cpu->random_seed);
    do {
        if (cpu->cpu_index == 0 && !has_run && !cpu_is_stopped(cpu)) {
            has_run = true;
            run_program();
        }
        bql_unlock();
        sigwait(&kicks, &sig);
        bql_lock();
        qemu_process_cpu_events(cpu);
    } while (!cpu->unplug);
    bql_unlock();
    rcu_unregister_thread();
    return NULL;
}

static void create_vcpu_thread(CPUState *cpu)
{
    g_autofree char *name = g_strdup_printf("CPU %d/guestless", cpu->cpu_index);

    qemu_thread_create(cpu->thread, name, vcpu_thread, cpu,
                       QEMU_THREAD_JOINABLE);
}

/* --- the accelerator -------------------------------------------------------- */

static void set_script(Object *obj, const char *value, Error **errp)
{
    if (access(value, R_OK) < 0) {
        error_setg_errno(errp, errno, "script=%s", value);
        return;
    }
    g_free(script);
    script = g_strdup(value);
}

static void set_tap(Object *obj, const char *value, Error **errp)
{
    uint64_t fd;

    if (!g_ascii_string_to_unsigned(value, 10, 0, INT_MAX, &fd, NULL) ||
        fcntl(fd, F_GETFD) < 0) {
        error_setg(errp, "tap=%s is not an open file descriptor", value);
        return;
    }
    tap = fd;
}

static int init_machine(ACCEL_INIT_ARGUMENTS)
{
    if (!script == (tap < 0)) {
        error_report("-accel guestless needs script=FILE or tap=FD");
        return -EINVAL;
    }
    return 0;
}

static void accel_class_init(ObjectClass *oc, QomClassData *data)
{
    AccelClass *ac = ACCEL_CLASS(oc);

    ac->name = "guestless";
    ac->init_machine = init_machine;
    ac->allowed = &allowed;
    object_class_property_add_str(oc, "script", NULL, set_script);
    object_class_property_add_str(oc, "tap", NULL, set_tap);
}

static void ops_class_init(ObjectClass *oc, QomClassData *data)
{
    AccelOpsClass *ops = ACCEL_OPS_CLASS(oc);

    ops->create_vcpu_thread = create_vcpu_thread;
    ACCEL_SET_HANDLE_INTERRUPT(ops);
}

static const TypeInfo types[] = {
    {
        .name = TYPE_GUESTLESS_ACCEL,
        .parent = TYPE_ACCEL,
        .class_init = accel_class_init,
    }, {
        .name = ACCEL_OPS_NAME("guestless"),
        .parent = TYPE_ACCEL_OPS,
        .class_init = ops_class_init,
        .abstract = true,
    },
};
DEFINE_TYPES(types)
