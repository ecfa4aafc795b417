/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random calls, to break the kernel
 *
 * Theory of operation
 * ===================
 *
 * Some processes of some threads each call the system about sockets.  Numbers
 * are drawn from those that are interesting somewhere; pointers are good, bad,
 * at the edge of what is mapped, or the kernel's; structures are sound with
 * unsound contents, or unsound altogether.  Some calls are rings (rings.c) that
 * ask for operations of the same kind.  Meanwhile one thread of each
 * process takes memory away from under the calls and puts other memory there,
 * another interrupts calls, and the parent kills processes in the middle of
 * everything.  The peer (peer_storm()) does the same from outside.
 *
 * Nothing is compared.  What counts is the kernel's log, and what is left when
 * all processes are gone; run.py looks after that.
 *
 * The calls can hurt their own process only: descriptors 0 to 2 lead nowhere,
 * memory for results is the arena, signals stay in the process's own session,
 * and the privileged half of the processes keeps to ioctls that leave the
 * interfaces alone.
 */
#include "storm.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "op.h"
#include "peer.h"
#include "random.h"
#include "rings.h"
#include "world.h"

#define PROCESSES       4
#define CALLERS         4       /* threads that make calls, in each process */
#define FDS             48      /* descriptors to choose from */
#define MEMORY          (4u << 20)
#define PAGE            4096u
#define NOBODY          65534
/* Time that processes may take to die. */
#define DEATH_MS        30000

struct caller {
    pthread_t thread;
    _Atomic pid_t tid;
    struct random r;
};

struct counts {
    atomic_ulong calls, successes, rings, completions;
};

static struct caller callers[CALLERS];
static _Atomic int fds[FDS];
static uint8_t *memory;         /* MEMORY bytes, and a page without access */
static bool privileged;
static struct in_addr peer_address;
static struct in6_addr peer_address6;
static struct counts *counts;   /* shared by all processes */

/* --- arguments ------------------------------------------------------------ */

static uint32_t any_number(struct random *r)
{
    static const uint32_t some[] = {
        0, 1, 2, 3, 4, 7, 8, 16, 17, 64, 100, 255, 256, 1024, 1025, 4095,
        4096, 4097, 65507, 65508, 65535, 65536, 1 << 20, (1 << 20) + 1,
        INT_MAX, INT_MIN, -1, -2, -4096,
    };

    return random_percent(r, 80) ? random_of(r, some) : random_next(r);
}

static size_t any_length(struct random *r)
{
    static const size_t some[] = {
        0, 1, 16, 100, 1024, 4096, 4097, 65536, 1 << 20, 3 << 20, -1,
        SSIZE_MAX, (size_t)INT_MAX + 1,
    };

    return random_percent(r, 60) ? random_below(r, 5000) : random_of(r, some);
}

/* A pointer into the arena, most often, or an invalid one. */
static void *any_pointer(struct random *r)
{
    static const uintptr_t bad[] = {
        0, 1, 4096, 0x7ffffffff000, 0x800000000000, 0xffff888000000000,
        0xffffffff81000000, -1, -4096,
    };

    switch (random_below(r, 10)) {
    case 0:
        return (void *)random_of(r, bad);
    case 1:
        return memory + MEMORY - random_below(r, 64);
    default:
        return memory + random_below(r, MEMORY);
    }
}

static int any_fd(struct random *r)
{
    int fd = atomic_load(&fds[random_below(r, FDS)]);

    return random_percent(r, 97) && fd > 2 ? fd
                                           : 3 + (int)random_below(r, 200);
}

static void keep_fd(struct random *r, int fd)
{
    int old;

    if (fd > 2) {
        old = atomic_exchange(&fds[random_below(r, FDS)], fd);
        if (old > 2) {
            close(old);
        }
    }
}

/* An address of AF_INET6: that of an IPv4 address, or one of its own. */
static void *any_address6(struct random *r, const struct sockaddr_in *sin,
                          socklen_t *len)
{
    struct sockaddr_in6 sin6 = {
        .sin6_family = AF_INET6,
        .sin6_port = sin->sin_port,
        .sin6_flowinfo = random_percent(r, 90) ? 0 : random_next(r),
        .sin6_scope_id = random_percent(r, 90) ? 0 : random_below(r, 4),
    };
    uint8_t *at = memory + random_below(r, MEMORY - sizeof(sin6));
    unsigned i;

    *len = random_percent(r, 90) ? sizeof(sin6) : any_number(r);
    switch (random_below(r, 8)) {
    case 0:
        break;
    case 1:
        sin6.sin6_addr = in6addr_loopback;
        break;
    case 2:
        for (i = 0; i < 4; i++) {
            sin6.sin6_addr.s6_addr32[i] = random_next(r);
        }
        break;
    case 3:
        inet_pton(AF_INET6, "ff12::4d7c", &sin6.sin6_addr);
        break;
    case 4:
    case 5:
        sin6.sin6_addr = peer_address6;
        sin6.sin6_port = htons(PEER_STORM_PORT);
        break;
    default:
        sin6.sin6_addr.s6_addr16[5] = 0xffff;
        sin6.sin6_addr.s6_addr32[3] = sin->sin_addr.s_addr;
    }
    memcpy(at, &sin6, sizeof(sin6));
    return at;
}

static void *any_address(struct random *r, socklen_t *len)
{
    struct sockaddr_in sin = { .sin_family = AF_INET };
    void *at = any_pointer(r);

    *len = random_percent(r, 90) ? sizeof(sin) : any_number(r);
    if (random_percent(r, 10)) {
        return at;              /* whatever is there */
    }
    at = memory + random_below(r, MEMORY - sizeof(sin));
    switch (random_below(r, 6)) {
    case 0:
        sin.sin_family = AF_UNSPEC;
        break;
    case 1:
        sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        sin.sin_port = htons(10000 + random_below(r, 16));
        break;
    case 2:
        sin.sin_port = htons(10000 + random_below(r, 16));
        break;
    case 3:
        sin.sin_addr.s_addr = random_next(r);
        sin.sin_port = random_next(r);
        break;
    default:
        sin.sin_addr = peer_address;
        sin.sin_port = htons(PEER_STORM_PORT);
    }
    if (sin.sin_family == AF_INET && random_percent(r, 40)) {
        return any_address6(r, &sin, len);
    }
    memcpy(at, &sin, sizeof(sin));
    return at;
}

/* A vector of pieces that may be anywhere; @num is set. */
static struct iovec *any_vector(struct random *r, unsigned long *num)
{
    struct iovec *iov;
    unsigned i, have = 1 + random_below(r, random_percent(r, 90) ? 8 : 1030);

    *num = random_percent(r, 97) ? have : any_number(r);
    iov = (struct iovec *)(memory + random_below(r, MEMORY / 2) / 16 * 16);
    for (i = 0; i < have; i++) {
        iov[i].iov_base = any_pointer(r);
        iov[i].iov_len = any_length(r);
    }
    return iov;
}

static size_t any_control(struct random *r, uint8_t *at)
{
    struct cmsghdr header = {
        .cmsg_len = random_percent(r, 80) ? CMSG_LEN(4) : any_length(r),
        .cmsg_level = random_percent(r, 50) ? SOL_IP :
                      random_percent(r, 60) ? SOL_IPV6 : (int)any_number(r),
        .cmsg_type = random_below(r, random_percent(r, 50) ? 30 : 80),
    };

    memcpy(at, &header, sizeof(header));
    return random_percent(r, 80) ? CMSG_SPACE(4) : random_below(r, 2000);
}

static struct msghdr *any_message(struct random *r)
{
    struct msghdr msg = { .msg_flags = any_number(r) };
    uint8_t *at = memory + random_below(r, MEMORY - 8192);
    unsigned long num;

    if (random_percent(r, 3)) {
        return any_pointer(r);
    }
    if (random_percent(r, 50)) {
        msg.msg_name = any_address(r, &msg.msg_namelen);
    }
    msg.msg_iov = any_vector(r, &num);
    msg.msg_iovlen = num;
    if (random_percent(r, 30)) {
        msg.msg_control = random_percent(r, 90) ? at + 1024 : any_pointer(r);
        msg.msg_controllen = any_control(r, at + 1024);
    }
    memcpy(at, &msg, sizeof(msg));
    return (struct msghdr *)at;
}

static int any_flags(struct random *r)
{
    int flags = random_percent(r, 60) ? MSG_DONTWAIT : 0;

    while (random_percent(r, 40)) {
        flags |= 1u << random_below(r, 32);
    }
    return flags;
}

/* --- calls ---------------------------------------------------------------- */

static long make_socket(struct random *r)
{
    int type = random_percent(r, 60) ? SOCK_STREAM : SOCK_DGRAM;
    int family = random_percent(r, 60) ? AF_INET : AF_INET6;

    if (random_percent(r, 5)) {
        type = any_number(r);
    }
    if (random_percent(r, 40)) {
        type |= SOCK_NONBLOCK;
    }
    keep_fd(r, socket(family, type, random_percent(r, 95) ? 0 :
                      random_below(r, 256)));
    return 0;
}

static long make_accept(struct random *r)
{
    socklen_t *len = any_pointer(r);
    int fd = syscall(SYS_accept4, any_fd(r), any_pointer(r), len,
                     random_percent(r, 50) ? SOCK_NONBLOCK : 0);

    keep_fd(r, fd);
    return fd;
}

static long make_name_call(struct random *r)
{
    static const long calls[] = { SYS_bind, SYS_connect, SYS_connect };
    socklen_t len;
    void *at = any_address(r, &len);

    return syscall(random_of(r, calls), any_fd(r), at, len);
}

static long make_listen(struct random *r)
{
    return listen(any_fd(r), any_number(r));
}

static long make_getname(struct random *r)
{
    return syscall(random_percent(r, 50) ? SYS_getsockname : SYS_getpeername,
                   any_fd(r), any_pointer(r), any_pointer(r));
}

static long make_send(struct random *r)
{
    socklen_t len = 0;
    void *to = random_percent(r, 50) ? any_address(r, &len) : NULL;
    unsigned long num;
    struct iovec *iov;

    switch (random_below(r, 5)) {
    case 0:
        return syscall(SYS_sendmsg, any_fd(r), any_message(r), any_flags(r));
    case 1:
        return syscall(SYS_sendmmsg, any_fd(r), any_message(r),
                       random_below(r, 4), any_flags(r));
    case 2:
        iov = any_vector(r, &num);
        return syscall(SYS_writev, any_fd(r), iov, num);
    case 3:
        return syscall(SYS_write, any_fd(r), any_pointer(r), any_length(r));
    default:
        return syscall(SYS_sendto, any_fd(r), any_pointer(r), any_length(r),
                       any_flags(r), to, len);
    }
}

static long make_recv(struct random *r)
{
    unsigned long num;
    struct iovec *iov;

    switch (random_below(r, 5)) {
    case 0:
        return syscall(SYS_recvmsg, any_fd(r), any_message(r), any_flags(r));
    case 1:
        return syscall(SYS_recvmmsg, any_fd(r), any_message(r),
                       random_below(r, 4), any_flags(r), NULL);
    case 2:
        iov = any_vector(r, &num);
        return syscall(SYS_readv, any_fd(r), iov, num);
    case 3:
        return syscall(SYS_read, any_fd(r), any_pointer(r), any_length(r));
    default:
        return syscall(SYS_recvfrom, any_fd(r), any_pointer(r),
                       any_length(r), any_flags(r), any_pointer(r),
                       any_pointer(r));
    }
}

static long make_shutdown(struct random *r)
{
    return shutdown(any_fd(r), (int)random_below(r, 5) - 1);
}

/* Options that load modules only cost time. */
static bool is_netfilter(uint32_t level, uint32_t name)
{
    return (level == SOL_IP || level == SOL_IPV6) && name >= 64 &&
           (level == SOL_IP || name < 66);
}

static long make_option(struct random *r)
{
    const struct option_row *row =
        &option_rows[random_below(r, option_rows_num)];
    uint32_t level = row->level, name = row->name, value = any_number(r);
    void *at = any_pointer(r);
    socklen_t len = random_percent(r, 80) ? 4 : any_number(r);

    if (random_percent(r, 10)) {
        level = random_percent(r, 80) ? random_below(r, 20) : any_number(r);
        name = any_number(r);
    } else if (random_percent(r, 25)) {
        level = SOL_IPV6;
        name = random_below(r, 80);
    }
    /* Avoid waits of unknown length. */
    if (is_netfilter(level, name) ||
        (level == SOL_SOCKET && (name == SO_LINGER || name == SO_RCVTIMEO ||
                                 name == SO_SNDTIMEO))) {
        return 0;
    }
    if (random_percent(r, 60)) {
        at = memory + random_below(r, MEMORY - 64);
        memcpy(at, &value, sizeof(value));
    }
    if (random_percent(r, 50)) {
        return syscall(SYS_setsockopt, any_fd(r), level, name, at, len);
    }
    return syscall(SYS_getsockopt, any_fd(r), level, name, any_pointer(r),
                   at);
}

static long make_ioctl(struct random *r)
{
    static const unsigned long harmless[] = {
        SIOCINQ, SIOCOUTQ, SIOCOUTQNSD, SIOCATMARK, FIONBIO, FIOASYNC,
        FIOCLEX, FIONCLEX, SIOCGSTAMP_OLD, SIOCGIFCONF, SIOCGIFADDR,
        SIOCGIFNAME, FIOGETOWN,
    };
    unsigned long command = random_of(r, harmless);

    if (!privileged && random_percent(r, 20)) {
        command = random_percent(r, 80) ? 0x8900 + random_below(r, 256)
                                        : any_number(r);
    }
    return syscall(SYS_ioctl, any_fd(r), command, any_pointer(r));
}

static long make_fcntl(struct random *r)
{
    static const int commands[] = {
        F_GETFL, F_SETFL, F_SETFL, F_GETFD, F_SETFD, F_SETOWN, F_GETOWN,
        F_SETSIG, F_GETSIG,
    };
    int command = random_of(r, commands);
    long value = any_number(r);

    if (command == F_SETOWN) {
        value = random_percent(r, 80) ? getpid() : -getpid();
    } else if (command == F_SETSIG) {
        value = random_percent(r, 95) ? 0 : SIGURG;
    }
    return syscall(SYS_fcntl, any_fd(r), command, value);
}

static long make_poll(struct random *r)
{
    struct pollfd pfd[8];
    unsigned i;

    for (i = 0; i < 8; i++) {
        pfd[i].fd = any_fd(r);
        pfd[i].events = random_next(r);
    }
    return random_percent(r, 90) ? poll(pfd, 8, random_below(r, 5))
                                 : syscall(SYS_poll, any_pointer(r),
                                           random_below(r, 9), 1);
}

static long make_epoll(struct random *r)
{
    struct epoll_event event = { .events = random_next(r) };

    switch (random_below(r, 8)) {
    case 0:
        keep_fd(r, epoll_create1(EPOLL_CLOEXEC));
        return 0;
    case 1 ... 5:
        return syscall(SYS_epoll_ctl, any_fd(r), 1 + random_below(r, 3),
                       any_fd(r), random_percent(r, 95) ? &event
                                                        : any_pointer(r));
    default:
        return syscall(SYS_epoll_wait, any_fd(r), any_pointer(r),
                       1 + random_below(r, 9), random_below(r, 5));
    }
}

static long make_splice(struct random *r)
{
    unsigned long num;
    struct iovec *iov;
    int pair[2];

    switch (random_below(r, 6)) {
    case 0:
        if (!pipe2(pair, O_CLOEXEC | O_NONBLOCK)) {
            keep_fd(r, pair[0]);
            keep_fd(r, pair[1]);
        }
        return 0;
    case 1:
        keep_fd(r, memfd_create("storm", MFD_CLOEXEC));
        return 0;
    case 2:
        iov = any_vector(r, &num);
        return syscall(SYS_vmsplice, any_fd(r), iov, num,
                       random_below(r, 16) | SPLICE_F_NONBLOCK);
    case 3:
        return syscall(SYS_tee, any_fd(r), any_fd(r), any_length(r),
                       SPLICE_F_NONBLOCK);
    case 4:
        return syscall(SYS_sendfile, any_fd(r), any_fd(r), NULL,
                       random_below(r, 1 << 20));
    default:
        return syscall(SYS_splice, any_fd(r), NULL, any_fd(r), NULL,
                       random_below(r, 1 << 20), random_below(r, 16));
    }
}

static long make_end(struct random *r)
{
    unsigned i = random_below(r, FDS);
    int fd = atomic_load(&fds[i]);

    if (fd <= 2) {
        return 0;
    }
    switch (random_below(r, 4)) {
    case 0:
        keep_fd(r, fcntl(fd, F_DUPFD_CLOEXEC, 3));
        return 0;
    case 1:
        /* Another thread may be in the middle of a call. */
        return close(fd);
    default:
        atomic_store(&fds[i], -1);
        return close(fd);
    }
}

/* A short-lived copy of the process, with memory that is being written. */
static long make_child(struct random *r)
{
    pid_t child;

    if (!random_percent(r, 2)) {
        return 0;
    }
    child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) {
        shutdown(any_fd(r), random_below(r, 3));
        memory[0] = 1;
        syscall(SYS_exit_group, 0);
    }
    if (child > 0) {
        waitpid(child, NULL, 0);
    }
    return child;
}

static long make_ring(struct random *r)
{
    static const struct ring_source from = {
        .fd = any_fd,
        .pointer = any_pointer,
        .length = any_length,
        .flags = any_flags,
        .message = any_message,
        .vector = any_vector,
        .address = any_address,
        .keep = keep_fd,
    };

    long done = rings_storm(r, &from);

    if (done >= 0) {
        atomic_fetch_add(&counts->rings, 1);
        atomic_fetch_add(&counts->completions, done);
    }
    return done;
}

static const struct {
    unsigned weight;
    long (*make)(struct random *r);
} calls[] = {
    { 8, make_socket }, { 6, make_accept }, { 16, make_name_call },
    { 5, make_listen }, { 3, make_getname }, { 22, make_send },
    { 22, make_recv }, { 3, make_shutdown }, { 14, make_option },
    { 5, make_ioctl }, { 4, make_fcntl }, { 5, make_poll },
    { 8, make_epoll }, { 8, make_splice }, { 5, make_end },
    { 1, make_child }, { 3, make_ring },
};

static long make_call(struct random *r)
{
    unsigned total = 0, i, at;

    for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        total += calls[i].weight;
    }
    at = random_below(r, total);
    for (i = 0; at >= calls[i].weight; i++) {
        at -= calls[i].weight;
    }
    return calls[i].make(r);
}

/* --- threads -------------------------------------------------------------- */

static void *call_on(void *opaque)
{
    struct caller *caller = opaque;

    atomic_store(&caller->tid, syscall(SYS_gettid));
    for (;;) {
        if (make_call(&caller->r) >= 0) {
            atomic_fetch_add(&counts->successes, 1);
        }
        atomic_fetch_add(&counts->calls, 1);
    }
    return NULL;
}

/*
 * Takes memory from under the calls.  The arena is put back at once: the
 * callers themselves write to it.
 */
static void disturb_memory(struct random *r)
{
    uint8_t *at = memory + random_below(r, MEMORY / PAGE) * PAGE;
    size_t len = PAGE * (1 + random_below(r, 64));

    if (at + len > memory + MEMORY) {
        len = memory + MEMORY - at;
    }
    switch (random_below(r, 3)) {
    case 0:
        madvise(at, len, MADV_DONTNEED);
        break;
    case 1:
        mmap(at, len, PROT_READ | PROT_WRITE,
             MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        break;
    default:
        mmap(at, len, PROT_READ | PROT_WRITE,
             MAP_FIXED | MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    }
}

static void on_signal(int number)
{
}

static void *disturb(void *opaque)
{
    struct caller *caller = opaque;
    struct random *r = &caller->r;
    unsigned i;

    for (;;) {
        usleep(3000);
        disturb_memory(r);
        i = random_below(r, CALLERS);
        if (atomic_load(&callers[i].tid)) {
            syscall(SYS_tgkill, getpid(), atomic_load(&callers[i].tid),
                    random_percent(r, 50) ? SIGUSR1 : SIGUSR2);
        }
    }
    return NULL;
}

static void handle_signals(void)
{
    struct sigaction action = { .sa_handler = on_signal };
    static const int ignored[] = { SIGPIPE, SIGIO, SIGURG };
    size_t i;

    sigaction(SIGUSR1, &action, NULL);
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR2, &action, NULL);
    for (i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++) {
        signal(ignored[i], SIG_IGN);
    }
}

static void lead_nowhere(void)
{
    int null = open("/dev/null", O_RDWR), i;

    for (i = 0; i < 3; i++) {
        dup2(null, i);
    }
    for (i = 3; i < 256; i++) {
        close(i);
    }
}

static void live(uint64_t seed)
{
    struct rlimit files = { 256, 256 };
    struct caller last = { .r = { seed } };
    unsigned i;

    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    lead_nowhere();
    setrlimit(RLIMIT_NOFILE, &files);
    handle_signals();
    memory = mmap(NULL, MEMORY + PAGE, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory + MEMORY, PAGE, PROT_NONE)) {
        _exit(2);
    }
    privileged = random_percent(&last.r, 50);
    if (!privileged && (setgroups(0, NULL) ||
                        setresgid(NOBODY, NOBODY, NOBODY) ||
                        setresuid(NOBODY, NOBODY, NOBODY))) {
        _exit(2);
    }
    for (i = 0; i < CALLERS; i++) {
        callers[i].r.state = random_next(&last.r);
        if (pthread_create(&callers[i].thread, NULL, call_on, &callers[i])) {
            _exit(2);
        }
    }
    disturb(&last);
}

/* --- processes ------------------------------------------------------------ */

static pid_t start(struct random *r)
{
    uint64_t seed = random_next(r);
    pid_t child = fork();

    if (child == 0) {
        live(seed);
        _exit(2);
    }
    return child;
}

/* Kills a process; false if it does not die. */
static bool end(pid_t child)
{
    int64_t limit = world_now_ms() + DEATH_MS;

    kill(child, SIGKILL);
    while (waitpid(child, NULL, WNOHANG) == 0) {
        if (world_now_ms() > limit) {
            printf("process %d cannot be killed; its threads are here:\n",
                   child);
            world_print_stacks(child);
            return false;
        }
        usleep(2000);
    }
    return true;
}

int storm_main(const char *peer, const char *peer6, uint64_t seed,
               unsigned seconds)
{
    struct random r = { seed };
    int64_t limit = world_now_ms() + seconds * 1000LL;
    pid_t children[PROCESSES] = { 0 };
    unsigned long started = 0;
    bool alive = true;
    unsigned i;

    counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (counts == MAP_FAILED ||
        inet_pton(AF_INET, peer, &peer_address) != 1 ||
        inet_pton(AF_INET6, peer6, &peer_address6) != 1) {
        return 2;
    }
    fflush(NULL);
    while (alive && world_now_ms() < limit) {
        i = random_below(&r, PROCESSES);
        if (children[i] > 0) {
            alive = end(children[i]);
        }
        children[i] = start(&r);
        started++;
        usleep(200000 + random_below(&r, 600000));
    }
    for (i = 0; i < PROCESSES; i++) {
        alive &= children[i] <= 0 || end(children[i]);
    }
    printf("summary: processes=%lu calls=%lu successes=%lu rings=%lu"
           " completions=%lu\n", started, atomic_load(&counts->calls),
           atomic_load(&counts->successes), atomic_load(&counts->rings),
           atomic_load(&counts->completions));
    return alive ? 0 : 1;
}
