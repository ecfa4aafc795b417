/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Common code of the qtests of virtio-vmrpc
 *
 * Theory of operation
 * ===================
 *
 * The test is the guest (vmrpc-driver.c), and it is the peer on the network
 * too (netns.c): both ends of every socket are at hand here.  The network is
 * a namespace with these addresses on lo:
 *
 *   VM6      the virtual machine's own, property address6
 *   PEER6    a peer; one of the host's own addresses, which the policy opens
 *   DNS6     a DNS server that answers with the address a test wants
 *
 * The guest comes to know a peer as a virtual IPv4 address, from DNS, as any
 * guest does.
 *
 * With $VMRPC_BUS=mmio the device is on virtio-mmio, in a microvm.  A test
 * writes options for PCI; vm_qemu() turns them into those for the other bus.
 */
#ifndef TESTS_QTEST_VMRPC_FIXTURE_H
#define TESTS_QTEST_VMRPC_FIXTURE_H

#include "qobject/qdict.h"
#include "vmrpc-driver.h"

#define VM6             "fd00:6::1"
#define PEER6           "fd00:6::2"
#define DNS6            "fd00:6::53"
#define DNS_PORT        53
#define GUEST4          "192.0.0.2"
#define RESOLVER4       "192.0.0.1"

#define SLOT            (on_mmio() ? 0 : 4)
#define EVENTS          64
#define BACKEND         backend_path()
#define COMMON_ARGS     "-machine pc -nodefaults -m 64 "
#define DEVICE          "virtio-vmrpc-pci,id=vmrpc,addr=0x4"

#define NO_INDIRECT     (1ull << VIRTIO_RING_F_INDIRECT_DESC)
#define NO_EVENT_IDX    (1ull << VIRTIO_RING_F_EVENT_IDX)
#define PLAIN_RING      (NO_INDIRECT | NO_EVENT_IDX)

extern char *tmp_dir;           /* emptied and removed at the end */
extern char *policy_file;       /* opens the peers to the guest */
extern int home_ns;             /* where all of this happens */

typedef struct Vm {
    QTestState *qts;
    VmrpcGuest *guest;
    VmrpcDriver *d;
} Vm;

/* Kinds of rings. */
typedef struct RingKind {
    const char *name;
    const char *options;
    uint64_t unwanted;
} RingKind;

/* --- a guest with the device --------------------------------------------- */

/* Is the device on virtio-mmio? */
bool on_mmio(void);
/* The QOM path of the virtio device. */
const char *backend_path(void);
/* QEMU, with these arguments after they are adapted to the bus. */
QTestState *vm_qemu(const char *format, ...) G_GNUC_PRINTF(1, 2);
char *device_args(const char *options);
/* QEMU with the device; the driver has not touched it yet. */
Vm vm_boot(const char *options, const char *more);
Vm vm_start(const char *options, uint64_t unwanted);
/* Plugs the device into a running machine and starts a driver for it. */
void vm_plug(Vm *vm, const char *options);
void vm_quit(Vm *vm);
/* Lets QEMU's main loop process everything pending. */
void settle(QTestState *qts);
char *try_device(QTestState *qts, const char *options);

/* --- what the monitor says ----------------------------------------------- */

/* The reply of query-vmrpc; @arguments are JSON members. */
QList *query(QTestState *qts, const char *arguments);
/* The only device in @list. */
QDict *only_device(QList *list);
/* A counter of the device at @path, by its name in the source. */
uint64_t counter(QTestState *qts, const char *path, const char *field);
QDict *find_socket(QDict *device, uint32_t handle);
size_t count_sockets(QDict *device);
void assert_state(QDict *device, uint32_t handle, const char *type,
                  const char *backing, const char *state);
/* @text NULL: the address is missing */
void assert_address(QDict *device, uint32_t handle, const char *which,
                    const char *text, uint16_t port);

/* --- the guest's socket calls -------------------------------------------- */

void guest_socket(VmrpcDriver *d, uint32_t sock, int type);
int guest_close(VmrpcDriver *d, uint32_t sock);
VmrpcReply guest_op_addr(VmrpcDriver *d, uint16_t op, uint32_t sock,
                         const struct sockaddr_in *addr);
/* A listening socket on any port; returns the port. */
uint16_t guest_listen(VmrpcDriver *d, uint32_t sock);
/* Takes a connection of the listening @sock as socket @child. */
void guest_accept(VmrpcDriver *d, uint32_t sock, uint32_t child);
void guest_send(VmrpcDriver *d, uint32_t sock, const void *buf,
                size_t len);
VmrpcReply guest_recv_once(VmrpcDriver *d, uint32_t sock, void *buf,
                           size_t len);
/* Reads exactly @len bytes of a stream, sleeping on events in between. */
void guest_recv(VmrpcDriver *d, uint32_t sock, void *buf, size_t len);
/* Asks for a name by the new @sock. */
void guest_ask(VmrpcDriver *d, uint32_t sock);
/* Waits for the answer, a virtual address, and closes @sock. */
struct in_addr guest_told(VmrpcDriver *d, uint32_t sock);
/* The virtual address of @address, as DNS tells the guest. */
struct in_addr guest_resolve(VmrpcDriver *d, const char *address);
/* Connects @sock to @address; returns the peer's end. */
int guest_connect(VmrpcDriver *d, uint32_t sock, const char *address);
/* Both directions of a connection, each waiting for the other. */
void converse(VmrpcDriver *d, uint32_t sock, int conn);
/* Everything at once: DNS, connect, both directions, the peer's end. */
void round_trip(VmrpcDriver *d);
/* The result of connecting a datagram socket to the peer. */
int try_peer(Vm *vm, const struct sockaddr_in *peer);

/* --- files and texts ----------------------------------------------------- */

void assert_says(const char *what, const char *text,
                 const char *const *says, unsigned num);
void replace_file(const char *path, const char *text);
unsigned count_entries(const char *path);
unsigned count_fds(QTestState *qts);

/* --- main ---------------------------------------------------------------- */

/* Adds a test of what there is on PCI alone. */
void add_for_pci(const char *path, GTestFunc func);
/* Adds a test for each kind of ring that has none of the features @must. */
void add_for_kinds(const char *name, GTestDataFunc func, uint64_t must);
/* The whole of main(): make the network, run the tests of @add_tests. */
int vmrpc_test_main(int argc, char **argv, void (*add_tests)(void));

#endif
