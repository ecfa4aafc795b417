/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random operations by io_uring
 *
 * A ring lives for one call of the storm's: operations are submitted, perhaps
 * in several rounds, what is done by then is taken, and the ring is closed with
 * the rest under way.  So requests end in every way there is: at once, by a
 * worker of the kernel's, by what the socket tells, cancelled, or with their
 * process.
 */
#include "rings.h"

#include <linux/io_uring.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENTRIES_MAX     16u
#define ROUNDS_MAX      3u
#define GROUPS          4u      /* of provided buffers */
/* Time that a ring's own thread polls without work. */
#define IDLE_MS         1

struct ring {
    int fd;
    struct io_uring_params params;
    uint8_t *memory;            /* both queues */
    size_t size;
    struct io_uring_sqe *sqe;
};

/* --- a ring --------------------------------------------------------------- */

static uint32_t *word(const struct ring *ring, uint32_t offset)
{
    return (uint32_t *)(ring->memory + offset);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void ring_unmap(struct ring *ring)
{
    if (ring->sqe != MAP_FAILED) {
        munmap(ring->sqe, ring->params.sq_entries * sizeof(*ring->sqe));
    }
    if (ring->memory != MAP_FAILED) {
        munmap(ring->memory, ring->size);
    }
}

static bool ring_map(struct ring *ring)
{
    const struct io_uring_params *p = &ring->params;

    ring->size = larger(p->sq_off.array + p->sq_entries * sizeof(uint32_t),
                        p->cq_off.cqes +
                        p->cq_entries * sizeof(struct io_uring_cqe));
    ring->memory = mmap(NULL, ring->size, PROT_READ | PROT_WRITE, MAP_SHARED,
                        ring->fd, IORING_OFF_SQ_RING);
    ring->sqe = mmap(NULL, p->sq_entries * sizeof(*ring->sqe),
                     PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd,
                     IORING_OFF_SQES);
    if (ring->memory != MAP_FAILED && ring->sqe != MAP_FAILED) {
        return true;
    }
    ring_unmap(ring);
    return false;
}

static bool ring_open(struct ring *ring, struct random *r)
{
    static const uint32_t flags[] = {
        0, 0, 0, 0, IORING_SETUP_SQPOLL, IORING_SETUP_SUBMIT_ALL,
        IORING_SETUP_COOP_TASKRUN,
        IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
    };

    memset(ring, 0, sizeof(*ring));
    ring->params.flags = random_of(r, flags);
    ring->params.sq_thread_idle = IDLE_MS;
    ring->fd = syscall(SYS_io_uring_setup, 1 + random_below(r, ENTRIES_MAX),
                       &ring->params);
    return ring->fd >= 0;
}

/* --- operations ----------------------------------------------------------- */

/* The meaning of the address field depends on the operation. */
static void fill_address(struct io_uring_sqe *sqe, struct random *r,
                         const struct ring_source *from)
{
    unsigned long num;
    socklen_t len;

    switch (sqe->opcode) {
    case IORING_OP_READV:
    case IORING_OP_WRITEV:
        sqe->addr = (uintptr_t)from->vector(r, &num);
        sqe->len = num;
        break;
    case IORING_OP_SENDMSG:
    case IORING_OP_RECVMSG:
    case IORING_OP_SENDMSG_ZC:
        sqe->addr = (uintptr_t)from->message(r);
        sqe->len = 1;
        break;
    case IORING_OP_CONNECT:
        sqe->addr = (uintptr_t)from->address(r, &len);
        sqe->off = len;
        break;
    case IORING_OP_SOCKET:
        sqe->fd = random_percent(r, 60) ? AF_INET : AF_INET6;
        sqe->off = random_percent(r, 50) ? SOCK_STREAM : SOCK_DGRAM;
        sqe->len = 0;
        break;
    case IORING_OP_SHUTDOWN:
        sqe->len = random_below(r, 4);
        break;
    case IORING_OP_SPLICE:
    case IORING_OP_TEE:
        sqe->splice_fd_in = from->fd(r);
        sqe->splice_off_in = -1;
        sqe->off = -1;
        break;
    case IORING_OP_ACCEPT:
        sqe->addr = random_percent(r, 50) ? (uintptr_t)from->pointer(r) : 0;
        sqe->addr2 = sqe->addr ? (uintptr_t)from->pointer(r) : 0;
        sqe->len = 0;
        break;
    case IORING_OP_ASYNC_CANCEL:
    case IORING_OP_POLL_REMOVE:
        sqe->addr = random_below(r, 64);
        break;
    case IORING_OP_URING_CMD:
        sqe->cmd_op = random_below(r, 6);
        break;
    default:
        sqe->addr = (uintptr_t)from->pointer(r);
        sqe->len = from->length(r);
    }
}

static void fill(struct io_uring_sqe *sqe, struct random *r,
                 const struct ring_source *from)
{
    static const uint8_t ops[] = {
        IORING_OP_READV, IORING_OP_WRITEV, IORING_OP_POLL_ADD,
        IORING_OP_POLL_ADD, IORING_OP_POLL_REMOVE, IORING_OP_SENDMSG,
        IORING_OP_RECVMSG, IORING_OP_TIMEOUT, IORING_OP_ACCEPT,
        IORING_OP_ASYNC_CANCEL, IORING_OP_LINK_TIMEOUT, IORING_OP_CONNECT,
        IORING_OP_CONNECT, IORING_OP_CLOSE, IORING_OP_READ, IORING_OP_WRITE,
        IORING_OP_SEND, IORING_OP_SEND, IORING_OP_RECV, IORING_OP_RECV,
        IORING_OP_SPLICE, IORING_OP_TEE, IORING_OP_PROVIDE_BUFFERS,
        IORING_OP_REMOVE_BUFFERS, IORING_OP_SHUTDOWN, IORING_OP_SOCKET,
        IORING_OP_URING_CMD, IORING_OP_SEND_ZC, IORING_OP_SENDMSG_ZC,
    };

    memset(sqe, 0, sizeof(*sqe));
    sqe->opcode = random_of(r, ops);
    sqe->fd = from->fd(r);
    fill_address(sqe, r, from);
    if (random_percent(r, 40)) {
        sqe->ioprio = random_below(r, 32);
    }
    if (random_percent(r, 60)) {
        sqe->msg_flags = random_percent(r, 50) ? from->flags(r)
                                               : (int)random_below(r, 64);
    }
    if (random_percent(r, 40)) {
        sqe->flags = random_below(r, 128);
    }
    sqe->buf_group = random_below(r, GROUPS);
    sqe->user_data = sqe->opcode;
}

static void submit(struct ring *ring, struct random *r,
                   const struct ring_source *from)
{
    const struct io_sqring_offsets *off = &ring->params.sq_off;
    uint32_t num = 1 + random_below(r, ring->params.sq_entries);
    uint32_t tail = *word(ring, off->tail), i;

    for (i = 0; i < num; i++, tail++) {
        uint32_t slot = tail & (ring->params.sq_entries - 1);

        fill(&ring->sqe[slot], r, from);
        word(ring, off->array)[slot] = slot;
    }
    atomic_store((_Atomic uint32_t *)word(ring, off->tail), tail);
    syscall(SYS_io_uring_enter, ring->fd, num, 0,
            IORING_ENTER_GETEVENTS | IORING_ENTER_SQ_WAKEUP, NULL, 0);
}

/*
 * Takes what is done, and returns how much that was; descriptors that were
 * made are the storm's.
 */
static unsigned collect(struct ring *ring, struct random *r,
                        const struct ring_source *from)
{
    const struct io_cqring_offsets *off = &ring->params.cq_off;
    uint32_t tail = atomic_load((_Atomic uint32_t *)word(ring, off->tail));
    uint32_t head = *word(ring, off->head);
    unsigned num = tail - head;

    for (; head != tail; head++) {
        const struct io_uring_cqe *cqe =
            (struct io_uring_cqe *)(ring->memory + off->cqes) +
            (head & (ring->params.cq_entries - 1));

        if (cqe->user_data == IORING_OP_ACCEPT ||
            cqe->user_data == IORING_OP_SOCKET) {
            from->keep(r, cqe->res);
        }
    }
    atomic_store((_Atomic uint32_t *)word(ring, off->head), head);
    return num;
}

long rings_storm(struct random *r, const struct ring_source *from)
{
    struct ring ring;
    unsigned rounds;
    long done = 0;

    if (!ring_open(&ring, r)) {
        return -1;
    }
    if (ring_map(&ring)) {
        for (rounds = 1 + random_below(r, ROUNDS_MAX); rounds; rounds--) {
            submit(&ring, r, from);
            done += collect(&ring, r, from);
        }
        ring_unmap(&ring);
    }
    /* Others may poll it, or close it, after this call has returned. */
    if (random_percent(r, 20)) {
        from->keep(r, ring.fd);
    } else {
        close(ring.fd);
    }
    return done;
}
