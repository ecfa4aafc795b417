/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "world.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE            ((size_t)4096)

/* Sleep time after which a call counts as waiting. */
#define BLOCKED_MS      25
/* The same, where a timeout could end it. */
#define BLOCKED_LONG_MS 250
/* A polling call never sleeps so long, but it waits, too. */
#define BUSY_MS         1500

struct addresses addresses;
unsigned world_family;
const char *const world_family_names[WORLD_FAMILIES] = {
    "", "mapped", "plain",
};
bool world_has_timeouts;
int gift_file;
uint8_t *gift;

static __thread struct worker *self;

int64_t world_now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/* --- signals -------------------------------------------------------------- */

static void on_interrupt(int number)
{
    pid_t child = self ? atomic_load(&self->child) : 0;
    int saved = errno;

    if (child > 0) {
        kill(child, number);
    }
    errno = saved;
}

static void on_news(int number)
{
    if (self) {
        atomic_fetch_add(number == SIGURG ? &self->world->sigurg
                                          : &self->world->sigio, 1);
    }
}

static void handle_signals(void)
{
    struct sigaction interrupt = { .sa_handler = on_interrupt };
    struct sigaction news = { .sa_handler = on_news, .sa_flags = SA_RESTART };

    sigaction(SIGUSR1, &interrupt, NULL);
    interrupt.sa_flags = SA_RESTART;
    sigaction(SIGUSR2, &interrupt, NULL);
    sigaction(SIGIO, &news, NULL);
    sigaction(SIGURG, &news, NULL);
}

/* --- memory --------------------------------------------------------------- */

/* Maps @size bytes and, behind them, a page without access. */
static uint8_t *map_part(size_t size)
{
    uint8_t *p = mmap(NULL, size + PAGE, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED || mprotect(p + size, PAGE, PROT_NONE)) {
        return NULL;
    }
    return p;
}

static int arena_make(struct arena *arena)
{
    size_t iovecs = (IOVECS * sizeof(struct iovec) + PAGE - 1) & -PAGE;
    uint8_t *iov = map_part(iovecs);

    arena->tx = map_part(DATA_MAX + DATA_SLACK);
    arena->rx = map_part(DATA_MAX + DATA_SLACK);
    arena->out = map_part(DATA_MAX + DATA_SLACK);
    arena->readonly = map_part(PAGE);
    arena->small = map_part(PAGE);
    arena->outcome = (struct outcome *)map_part(PAGE);
    if (!iov || !arena->tx || !arena->rx || !arena->out || !arena->readonly ||
        !arena->small || !arena->outcome) {
        return -1;
    }
    arena->iov = (struct iovec *)(iov + iovecs) - IOVECS;
    arena->hole = arena->small + PAGE;
    return mprotect(arena->readonly, PAGE, PROT_READ);
}

/* --- threads -------------------------------------------------------------- */

static void futex_wait(_Atomic uint32_t *word, uint32_t value, int ms)
{
    struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

    syscall(SYS_futex, word, FUTEX_WAIT, value, ms < 0 ? NULL : &ts, NULL, 0);
}

static void futex_set(_Atomic uint32_t *word, uint32_t value)
{
    atomic_store(word, value);
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* A child makes the call with inherited descriptors. */
static void make_in_child(struct worker *worker)
{
    pid_t parent = getpid(), child;
    int status;

    child = fork();
    if (child == 0) {
        /* A sequence may end before its calls: none may outlive it. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) {
            call_make(worker);
        }
        _exit(0);
    }
    atomic_store(&worker->child, child);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        /* The handler passes the signal on. */
    }
    atomic_store(&worker->child, 0);
    if (child < 0 || !WIFEXITED(status)) {
        worker->arena.outcome->ret = -1;
        worker->arena.outcome->error = ECHILD;
    }
}

static void *work(void *opaque)
{
    struct worker *worker = opaque;
    uint32_t state;

    self = worker;
    if (worker->world->netns >= 0 &&
        setns(worker->world->netns, CLONE_NEWNET)) {
        perror("setns");
        abort();
    }
    futex_set((_Atomic uint32_t *)&worker->tid, syscall(SYS_gettid));
    for (;;) {
        state = atomic_load(&worker->state);
        if (state == WORKER_END) {
            return NULL;
        }
        if (state != WORKER_BUSY) {
            futex_wait(&worker->state, state, -1);
            continue;
        }
        memset(worker->arena.outcome, 0, sizeof(*worker->arena.outcome));
        if (worker->op.fork) {
            make_in_child(worker);
        } else {
            call_make(worker);
        }
        futex_set(&worker->state, WORKER_DONE);
    }
}

int gift_make(void)
{
    gift_file = memfd_create("fuzz", MFD_CLOEXEC);
    if (gift_file < 0 || ftruncate(gift_file, DATA_MAX)) {
        return -1;
    }
    gift = mmap(NULL, DATA_MAX, PROT_READ | PROT_WRITE, MAP_SHARED, gift_file,
                0);
    if (gift == MAP_FAILED) {
        return -1;
    }
    peer_pattern(gift, DATA_MAX, 0, 0);
    return 0;
}

int world_start(struct world *world)
{
    unsigned i;

    handle_signals();
    memset(world->fd, -1, sizeof(world->fd));
    if (pipe2(world->pipe, O_CLOEXEC | O_NONBLOCK) ||
        pipe2(world->pipe2, O_CLOEXEC | O_NONBLOCK)) {
        return -1;
    }
    for (i = 0; i < THREADS; i++) {
        struct worker *worker = &world->worker[i];

        worker->world = world;
        if (arena_make(&worker->arena) ||
            pthread_create(&worker->thread, NULL, work, worker)) {
            return -1;
        }
        while (!atomic_load(&worker->tid)) {
            futex_wait((_Atomic uint32_t *)&worker->tid, 0, 100);
        }
    }
    return 0;
}

void world_begin(struct worker *worker, const struct op *op, uint32_t step)
{
    worker->op = *op;
    worker->step = step;
    futex_set(&worker->state, WORKER_BUSY);
}

bool world_is_done(struct worker *worker)
{
    if (atomic_load(&worker->state) == WORKER_BUSY) {
        futex_wait(&worker->state, WORKER_BUSY, 2);
    }
    return atomic_load(&worker->state) == WORKER_DONE;
}

/* Reads a thread's state, and how often it has slept and been pushed aside. */
static char thread_state(pid_t tid, unsigned long *switches)
{
    unsigned long willing = 0, forced = 0;
    char path[64], text[4096], state = '?', *at;
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/status", tid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return state;
    }
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    at = strstr(text, "\nState:\t");
    if (at) {
        state = at[8];
    }
    at = strstr(text, "\nvoluntary_ctxt_switches:");
    if (at) {
        sscanf(at, "\nvoluntary_ctxt_switches: %lu\n"
               "nonvoluntary_ctxt_switches: %lu", &willing, &forced);
    }
    *switches = willing + forced;
    return state;
}

static char call_state(struct worker *worker, unsigned long *switches)
{
    pid_t child = atomic_load(&worker->child);

    return thread_state(child > 0 ? child : atomic_load(&worker->tid),
                        switches);
}

bool world_is_asleep(struct worker *worker)
{
    unsigned long switches;

    return call_state(worker, &switches) == 'S';
}

bool world_is_blocked(struct worker *worker, struct blocked *seen)
{
    int hold = world_has_timeouts ? BLOCKED_LONG_MS : BLOCKED_MS;
    int64_t now = world_now_ms();
    unsigned long switches = 0;
    char state = call_state(worker, &switches);

    if (!seen->begin_ms) {
        seen->begin_ms = now;
    }
    if (state != 'S' || switches != seen->switches || !seen->since_ms) {
        seen->since_ms = now;
        seen->switches = switches;
    }
    return now - seen->since_ms >= hold ||
           (state == 'S' && now - seen->begin_ms >= BUSY_MS);
}

void world_interrupt(struct worker *worker, bool restart)
{
    syscall(SYS_tgkill, getpid(), atomic_load(&worker->tid),
            restart ? SIGUSR2 : SIGUSR1);
}

/* --- the peer ------------------------------------------------------------- */

int world_ask(struct world *world, struct peer_request *request)
{
    request->id = ++world->request;
    return peer_write(world->channel, request, sizeof(*request));
}

int world_answer(struct world *world, struct peer_reply *reply, uint8_t *data)
{
    /* Answers to an aborted sequence may come first. */
    do {
        if (peer_read(world->channel, reply, sizeof(*reply)) ||
            reply->data_len > PEER_DATA_MAX ||
            peer_read(world->channel, data, reply->data_len)) {
            return -1;
        }
    } while (reply->id != world->request);
    return 0;
}

/* --- for a report --------------------------------------------------------- */

static void print_file(const char *path)
{
    char text[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    while (fd >= 0 && (n = read(fd, text, sizeof(text))) > 0) {
        fwrite(text, 1, n, stdout);
    }
    if (fd >= 0) {
        close(fd);
    }
}

void world_print_stacks(pid_t pid)
{
    char path[64];
    struct dirent *entry;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    dir = opendir(path);
    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        snprintf(path, sizeof(path), "/proc/%d/task/%.16s/stack", pid,
                 entry->d_name);
        printf("  thread %s\n", entry->d_name);
        print_file(path);
    }
    if (dir) {
        closedir(dir);
    }
}
