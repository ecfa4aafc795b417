/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-vmrpc behind a vIOMMU (iommu_platform=on)
 *
 * Theory of operation
 * ===================
 *
 * The vIOMMU maps the guest's memory onto itself and nothing else, so whatever
 * is above it faults.  A fault is an interrupt, which QEMU raises under its big
 * lock only: TCG looks whether the thread has it, so that is what runs here.
 *
 * The processor has a program of its own, which writes where the test tells it
 * to.  That is how a request comes from a vCPU, and not from the main loop,
 * which does what the test asks of QEMU itself.  It stays in real mode, as TCG
 * knows no limits of segments there.
 */
#include "qemu/osdep.h"

#include "hw/i386/intel_iommu_internal.h"
#include "hw/pci-host/q35.h"
#include "netns.h"
#include "standard-headers/linux/virtio_config.h"
#include "vmrpc-fixture.h"

#define MSI_ADDRESS     0xfee00000      /* of the first processor */
#define MSI_NMI         (4 << 8)        /* which needs no preparation there */

#define MEMORY          (64 * MiB)      /* as in -m; all of it is mapped */
#define LARGE_PAGE      (2 * MiB)
#define UNMAPPED        (1 * GiB)
#define SL_LARGE        (1ull << 7)

/* Words that control the processor's program. */
#define GO              0x500
#define VALUE           0x504
#define WHERE           0x508
#define NMI_VECTOR      (2 * 4)

#define PROGRAM_SIZE    (64 * KiB)
#define PROGRAM_SEGMENT 0xf000
#define PROGRAM_IRET    0x100
#define PROGRAM_RESET   0xfff0

static const uint8_t program[] = {
    0x31, 0xc0,                 /*       xor   ax, ax */
    0x8e, 0xd8,                 /*       mov   ds, ax */
    0x8e, 0xd0,                 /*       mov   ss, ax */
    0xbc, 0x00, 0x7c,           /*       mov   sp, 0x7c00 */
    0xf3, 0x90,                 /* next: pause */
    0xa1, 0x00, 0x05,           /*       mov   ax, [GO] */
    0x85, 0xc0,                 /*       test  ax, ax */
    0x74, 0xf7,                 /*       jz    next */
    0x66, 0x8b, 0x3e, 0x08, 0x05,       /* mov edi, [WHERE] */
    0xa1, 0x04, 0x05,           /*       mov   ax, [VALUE] */
    0x67, 0x89, 0x07,           /*       mov   [edi], ax */
    0x31, 0xc0,                 /*       xor   ax, ax */
    0xa3, 0x00, 0x05,           /*       mov   [GO], ax */
    0xeb, 0xe5,                 /*       jmp   next */
};
static const uint8_t jump_to_program[] = { 0xea, 0, 0, 0, 0xf0 };

/* Kinds of the guest's machine. */
typedef struct Kind {
    const char *name;
    const char *iommu;          /* options of the vIOMMU */
    const char *device;         /* of the device */
} Kind;

static const Kind kinds[] = {
    { "plain", "intremap=off", "" },
    { "intremap", "intremap=on", "" },
    { "ats", "intremap=on,device-iotlb=on", ",ats=on" },
    { "packed", "intremap=on", ",packed=on" },
};

/* --- the machine ---------------------------------------------------------- */

static char *write_program(void)
{
    char *path = g_build_filename(tmp_dir, "program", NULL);
    g_autofree uint8_t *rom = g_malloc0(PROGRAM_SIZE);

    memcpy(rom, program, sizeof(program));
    rom[PROGRAM_IRET] = 0xcf;
    memcpy(rom + PROGRAM_RESET, jump_to_program, sizeof(jump_to_program));
    g_assert_true(g_file_set_contents(path, (char *)rom, PROGRAM_SIZE, NULL));
    return path;
}

static uint64_t table_new(Vm *vm)
{
    uint64_t table = guest_alloc(&vm->guest->alloc, VTD_PAGE_SIZE);

    qtest_memset(vm->qts, table, 0, VTD_PAGE_SIZE);
    return table;
}

static void table_set(Vm *vm, uint64_t table, unsigned index, uint64_t value)
{
    qtest_writeq(vm->qts, table + index * sizeof(uint64_t), value);
}

static uint32_t iommu_read(Vm *vm, unsigned reg)
{
    return qtest_readl(vm->qts, Q35_HOST_BRIDGE_IOMMU_ADDR + reg);
}

static void iommu_write(Vm *vm, unsigned reg, uint32_t value)
{
    qtest_writel(vm->qts, Q35_HOST_BRIDGE_IOMMU_ADDR + reg, value);
}

/* The whole memory of the guest at the addresses that it has. */
static uint64_t map_memory(Vm *vm)
{
    uint64_t top = table_new(vm), middle = table_new(vm);

    for (unsigned i = 0; i < MEMORY / LARGE_PAGE; i++) {
        table_set(vm, middle, i, i * LARGE_PAGE | SL_LARGE | VTD_SL_RW_MASK);
    }
    table_set(vm, top, 0, middle | VTD_SL_RW_MASK);
    return top;
}

/* A 39-bit map for the device; faults are told by an NMI. */
static void iommu_start(Vm *vm)
{
    uint64_t root = table_new(vm), context = table_new(vm);
    const unsigned devfn = QPCI_DEVFN(SLOT, 0);

    table_set(vm, context, 2 * devfn, map_memory(vm) | VTD_CONTEXT_ENTRY_P);
    table_set(vm, context, 2 * devfn + 1, 1);
    table_set(vm, root, 0, context | VTD_ROOT_ENTRY_P);

    iommu_write(vm, DMAR_FEDATA_REG, MSI_NMI);
    iommu_write(vm, DMAR_FEADDR_REG, MSI_ADDRESS);
    iommu_write(vm, DMAR_FECTL_REG, 0);
    qtest_writeq(vm->qts, Q35_HOST_BRIDGE_IOMMU_ADDR + DMAR_RTADDR_REG, root);
    iommu_write(vm, DMAR_GCMD_REG, VTD_GCMD_SRTP);
    iommu_write(vm, DMAR_GCMD_REG, VTD_GCMD_TE);
    g_assert_cmphex(iommu_read(vm, DMAR_GSTS_REG) & VTD_GSTS_TES, !=, 0);
}

/* Returns: did the device fault?  The next fault can be reported again. */
static bool iommu_faulted(Vm *vm)
{
    bool faulted = iommu_read(vm, DMAR_FSTS_REG) & VTD_FSTS_PPF;

    for (unsigned i = 0; i < DMAR_FRCD_REG_NR; i++) {
        iommu_write(vm, DMAR_FRCD_REG_OFFSET + 16 * i + 12, 1u << 31);
    }
    return faulted;
}

static Vm iommu_boot(const Kind *kind, const char *more)
{
    g_autofree char *bios = write_program();
    g_autofree char *options = g_strdup_printf(
        "address6=" VM6 ",iommu_platform=on%s%s",
        kind->device, more);
    g_autofree char *device = device_args(options);
    Vm vm = { };

    vm.qts = qtest_initf("-machine q35 -accel tcg -nodefaults -m 64 -bios %s "
                         "-object iothread,id=io0 "
                         "-device intel-iommu,%s %s", bios, kind->iommu,
                         device);
    qtest_writew(vm.qts, NMI_VECTOR, PROGRAM_IRET);
    qtest_writew(vm.qts, NMI_VECTOR + 2, PROGRAM_SEGMENT);
    vm.guest = vmrpc_guest_new(vm.qts, !on_mmio());
    vm.d = vmrpc_driver_new(vm.guest, SLOT);
    iommu_start(&vm);
    return vm;
}

/* The processor kicks the first request queue. */
static void kick_by_vcpu(Vm *vm)
{
    QVirtQueuePCI *queue = &vmrpc_request_ring(vm->d, 0)->pci;
    gint64 end = g_get_monotonic_time() + VMRPC_TEST_TIMEOUT_US;

    qtest_writel(vm->qts, WHERE, vmrpc_driver_registers(vm->d) + queue->notify_offset);
    qtest_writew(vm->qts, VALUE, queue->vq.index);
    qtest_writew(vm->qts, GO, 1);
    while (qtest_readw(vm->qts, GO)) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
    }
}

/* The guest has got the error; after a reset everything works. */
static void assert_fault_is_told(Vm *vm)
{
    vmrpc_driver_wait_broken(vm->d);
    g_assert_true(iommu_faulted(vm));
    vmrpc_driver_start(vm->d, 0, EVENTS);
    round_trip(vm->d);
}

/* --- tests ---------------------------------------------------------------- */

static void test_works(const void *data)
{
    Vm vm = iommu_boot(data, "");

    vmrpc_driver_start(vm.d, 0, EVENTS);
    round_trip(vm.d);
    g_assert_false(iommu_faulted(&vm));
    vm_quit(&vm);
}

/* A request of a vCPU, which works, and one whose response is not mapped. */
static void test_request(const void *data)
{
    Vm vm = iommu_boot(data, "");
    const VmrpcArgs args = {
        .op = VMRPC_SOCKET, .sock = 1, .arg = { SOCK_STREAM },
    };
    VmrpcSegment seg[2];
    VmrpcPending pending;

    vmrpc_driver_start(vm.d, 0, EVENTS);
    vmrpc_submit(vm.d, &args, &pending);
    kick_by_vcpu(&vm);
    g_assert_cmpint(vmrpc_finish(vm.d, &args, &pending).error, ==, 0);

    seg[0] = (VmrpcSegment) {
        guest_alloc(&vm.guest->alloc, VTD_PAGE_SIZE),
        sizeof(struct vmrpc_req), false
    };
    seg[1] = (VmrpcSegment) { UNMAPPED, sizeof(struct vmrpc_resp), true };
    vmrpc_ring_add(vmrpc_request_ring(vm.d, 0), seg, ARRAY_SIZE(seg), false);
    kick_by_vcpu(&vm);
    assert_fault_is_told(&vm);
    vm_quit(&vm);
}

/* An event whose buffer is not mapped. */
static void test_event(const void *data)
{
    Vm vm = iommu_boot(data, ",iothread=io0");
    VmrpcSegment seg = { UNMAPPED, sizeof(struct vmrpc_event), true };
    uint16_t port;
    int conn;

    vmrpc_driver_start(vm.d, 0, 0);
    port = guest_listen(vm.d, 1);
    vmrpc_ring_add(&vm.d->ring[VMRPC_QUEUE_EVENT], &seg, 1, false);
    vmrpc_ring_kick(&vm.d->ring[VMRPC_QUEUE_EVENT]);
    conn = peer_connect(SOCK_STREAM, PEER6, VM6, port);
    assert_fault_is_told(&vm);
    close(conn);
    vm_quit(&vm);
}

static void add_for_iommus(const char *name, GTestDataFunc func)
{
    for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
        g_autofree char *path = g_strdup_printf("/vmrpc/iommu/%s/%s", name,
                                                kinds[i].name);

        qtest_add_data_func(path, &kinds[i], func);
    }
}

static void add_tests(void)
{
    if (!qtest_has_accel("tcg")) {
        g_test_message("without TCG nobody looks who has the big lock");
        return;
    }
    add_for_iommus("works", test_works);
    add_for_iommus("request", test_request);
    add_for_iommus("event", test_event);
}

int main(int argc, char **argv)
{
    return vmrpc_test_main(argc, argv, add_tests);
}
