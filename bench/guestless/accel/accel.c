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

#include <sys/eventfd.h>

#include "bench/guestless/loads/machine.h"
#include "bench/guestless/accel/net.h"
#include "bench/guestless/loads/sockets.h"
#include "hw/core/cpu.h"
#include "hw/pci/pci.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/guest-random.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "qemu/rcu.h"
#include "qemu/units.h"
#include "qom/object.h"
#include "system/cpus.h"
#include "system/runstate.h"
#include "vmmnet/qemu-compat.h"

#define TYPE_GUESTLESS_ACCEL    ACCEL_CLASS_NAME("guestless")

/* A page of no device in the memory map of PC and microvm. */
#define DOORBELL                0xfed80000ull
/* The program's memory begins here. */
#define HEAP                    (1 * MiB)

static struct Guestless {
    char *script;
    int tap;
    MemoryRegion doorbell;
    uint64_t used;              /* of the memory, from its start */
    int interrupt_fd;
} machine = { .tap = -1 };
static bool allowed;

/* --- what the program has of the machine ---------------------------------- */

void guestless_fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fprintf(stderr, "guestless: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    exit(1);
}

void *guestless_alloc(size_t size, uint64_t *gpa)
{
    MemoryRegion *ram = current_machine->ram;

    *gpa = machine.used;
    machine.used += ROUND_UP(size, 4 * KiB);
    if (machine.used > memory_region_size(ram)) {
        guestless_fail("the guest needs more memory: -m");
    }
    return memset((uint8_t *)memory_region_get_ram_ptr(ram) + *gpa, 0, size);
}

static void reach(AddressSpace *as, uint64_t addr, unsigned size,
                   uint64_t *value, bool is_write)
{
    address_space_rw(as, addr, MEMTXATTRS_UNSPECIFIED, value, size, is_write);
}

uint64_t guestless_read(uint64_t gpa, unsigned size)
{
    uint64_t value = 0;

    reach(&address_space_memory, gpa, size, &value, false);
    return le64_to_cpu(value);
}

void guestless_write(uint64_t gpa, unsigned size, uint64_t value)
{
    value = cpu_to_le64(value);
    reach(&address_space_memory, gpa, size, &value, true);
}

static void config_select(unsigned devfn, unsigned offset)
{
    uint64_t address = cpu_to_le64(0x80000000 | devfn << 8 | (offset & ~3));

    reach(&address_space_io, 0xcf8, 4, &address, true);
}

uint32_t guestless_config_read(unsigned devfn, unsigned offset, unsigned size)
{
    uint64_t value = 0;

    config_select(devfn, offset);
    reach(&address_space_io, 0xcfc + (offset & 3), size, &value, false);
    return le64_to_cpu(value);
}

void guestless_config_write(unsigned devfn, unsigned offset, unsigned size,
                            uint32_t value)
{
    uint64_t wide = cpu_to_le64(value);

    config_select(devfn, offset);
    reach(&address_space_io, 0xcfc + (offset & 3), size, &wide, true);
}

uint64_t guestless_msi_address(void)
{
    return DOORBELL;
}

int guestless_interrupt_fd(void)
{
    return machine.interrupt_fd;
}

/* --- interrupts ------------------------------------------------------------ */

static uint64_t doorbell_read(void *opaque, hwaddr addr, unsigned size)
{
    return 0;
}

static void doorbell_write(void *opaque, hwaddr addr, uint64_t value,
                           unsigned size)
{
    eventfd_write(machine.interrupt_fd, 1);
}

static const MemoryRegionOps doorbell_ops = {
    .read = doorbell_read,
    .write = doorbell_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
};

/* --- the vCPUs -------------------------------------------------------------- */

static void run_program(void)
{
    static const GuestlessPath paths[] = {
        { "native", guestless_native },
        { "vmrpc", guestless_vmrpc },
    };

    memory_region_init_io(&machine.doorbell, NULL, &doorbell_ops, NULL,
                          "guestless-doorbell", 4 * KiB);
    memory_region_add_subregion_overlap(get_system_memory(), DOORBELL,
                                        &machine.doorbell, 1);
    machine.used = HEAP;
    bql_unlock();
    if (machine.tap >= 0) {
        guestless_net(machine.tap);
    } else {
        guestless_run(machine.script, paths, G_N_ELEMENTS(paths));
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
    g_free(machine.script);
    machine.script = g_strdup(value);
}

static void set_tap(Object *obj, const char *value, Error **errp)
{
    uint64_t fd;

    if (!g_ascii_string_to_unsigned(value, 10, 0, INT_MAX, &fd, NULL) ||
        fcntl(fd, F_GETFD) < 0) {
        error_setg(errp, "tap=%s is not an open file descriptor", value);
        return;
    }
    machine.tap = fd;
}

static int init_machine(ACCEL_INIT_ARGUMENTS)
{
    if (!machine.script == (machine.tap < 0)) {
        error_report("-accel guestless needs script=FILE or tap=FD");
        return -EINVAL;
    }
    machine.interrupt_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return machine.interrupt_fd < 0 ? -errno : 0;
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
