/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guestless: what a native program has of the virtual machine it runs in
 */
#include "qemu/osdep.h"

#include <sys/eventfd.h>

#include "bench/guestless/accel/machine.h"
#include "bench/guestless/loads/sockets.h"
#include "qemu/units.h"
#include "vmmnet/qemu-compat.h"

/* A page of no device in the memory map of PC and microvm. */
#define DOORBELL                0xfed80000ull
/* The program's memory begins here. */
#define HEAP                    (1 * MiB)

static struct {
    MemoryRegion doorbell;
    uint64_t used;              /* of the memory, from its start */
    int interrupt_fd;
} machine;

/* --- memory and devices ----------------------------------------------------- */

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

void guestless_machine_start(void)
{
    machine.used = HEAP;
    machine.interrupt_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (machine.interrupt_fd < 0) {
        guestless_fail("eventfd: %s", strerror(errno));
    }
    memory_region_init_io(&machine.doorbell, NULL, &doorbell_ops, NULL,
                          "guestless-doorbell", 4 * KiB);
    memory_region_add_subregion_overlap(get_system_memory(), DOORBELL,
                                        &machine.doorbell, 1);
}
