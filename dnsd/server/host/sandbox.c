/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The privileges of this process */
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dnsd/server/host/sandbox.h"

#define SOCKET_KINDS    0xf     /* the type of a socket; other bits are flags */

static bool sandbox_fail(DnsdError *error, const char *what)
{
    snprintf(error->text, sizeof(error->text), "%s: %s", what,
             strerror(errno));
    return false;
}

bool dnsd_sandbox_files(uint64_t wanted, DnsdError *error)
{
    struct rlimit limit;
    uint64_t allowed;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) {
        return sandbox_fail(error, "no limit of descriptors");
    }
    if (limit.rlim_cur >= wanted) {
        return true;
    }
    allowed = limit.rlim_max;
    limit.rlim_cur = wanted;
    if (limit.rlim_max < wanted) {
        limit.rlim_max = wanted;
    }
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0) {
        snprintf(error->text, sizeof(error->text),
                 "%" PRIu64 " descriptors are needed, for connections and for "
                 "zones that change, and LimitNOFILE= allows %" PRIu64
                 ": raise it, or lower tcp.connections", wanted, allowed);
        return false;
    }
    return true;
}

/* --- the user ------------------------------------------------------------- */

static const struct passwd *find_user(const char *user, DnsdError *error)
{
    const struct passwd *entry = getpwnam(user);

    if (!entry) {
        snprintf(error->text, sizeof(error->text),
                 "server.user: there is no user '%s'; name one that may read "
                 "the images, or add it", user);
        return NULL;
    }
    if (!entry->pw_uid) {
        snprintf(error->text, sizeof(error->text),
                 "server.user: '%s' is root; name a user without privileges",
                 user);
        return NULL;
    }
    return entry;
}

bool dnsd_sandbox_uid(const char *user, uid_t *uid, DnsdError *error)
{
    const struct passwd *entry = geteuid() ? NULL : find_user(user, error);

    *uid = entry ? entry->pw_uid : geteuid();
    return *uid;
}

static bool become(const char *user, DnsdError *error)
{
    const struct passwd *entry = find_user(user, error);

    if (!entry) {
        return false;
    }
    if (setgroups(0, NULL) < 0 || initgroups(user, entry->pw_gid) < 0 ||
        setgid(entry->pw_gid) < 0 || setuid(entry->pw_uid) < 0) {
        return sandbox_fail(error, "server.user: cannot become it");
    }
    return true;
}

/* Of the capabilities that the process has, those to keep */
static uint32_t kept(bool keep_ports)
{
    struct __user_cap_header_struct header = {
        .version = _LINUX_CAPABILITY_VERSION_3,
    };
    struct __user_cap_data_struct has[2] = { 0 };

    return keep_ports && !syscall(SYS_capget, &header, has)
           ? has[0].permitted & UINT32_C(1) << CAP_NET_BIND_SERVICE : 0;
}

bool dnsd_sandbox_user(const char *user, bool keep_ports,
                       DnsdError *error)
{
    struct __user_cap_header_struct header = {
        .version = _LINUX_CAPABILITY_VERSION_3,
    };
    uint32_t keep = kept(keep_ports);
    struct __user_cap_data_struct rest[2] = { { keep, keep, 0 } };

    prctl(PR_SET_KEEPCAPS, keep != 0, 0, 0, 0);
    if (!geteuid() && !become(user, error)) {
        return false;
    }
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capset, &header, rest) < 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
        return sandbox_fail(error, "cannot give up privileges");
    }
    return true;
}

/* --- system calls --------------------------------------------------------- */

static const int allowed[] = {
    /* to serve requests */
    SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_ctl),
    SCMP_SYS(epoll_create1), SCMP_SYS(eventfd2), SCMP_SYS(recvmmsg),
    SCMP_SYS(sendmmsg), SCMP_SYS(recvfrom), SCMP_SYS(recvmsg),
    SCMP_SYS(sendto), SCMP_SYS(sendmsg), SCMP_SYS(accept4),
    SCMP_SYS(getsockopt), SCMP_SYS(setsockopt), SCMP_SYS(read),
    SCMP_SYS(write), SCMP_SYS(close), SCMP_SYS(shutdown),
    /* to read zones and the configuration, also at a reload */
    SCMP_SYS(openat), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(lseek),
    SCMP_SYS(fcntl), SCMP_SYS(unlink), SCMP_SYS(unlinkat),
    /* for memory; mmap and mprotect have rules of their own */
    SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(brk),
    /* for threads, time and exit */
    SCMP_SYS(futex), SCMP_SYS(set_robust_list), SCMP_SYS(rseq),
    SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_getaffinity),
    SCMP_SYS(sched_getattr), SCMP_SYS(sched_setattr),
    SCMP_SYS(sched_yield), SCMP_SYS(nanosleep), SCMP_SYS(clock_nanosleep),
    SCMP_SYS(clock_gettime), SCMP_SYS(getrandom), SCMP_SYS(restart_syscall),
    SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(exit), SCMP_SYS(exit_group),
};

/* To write journals, and images from them */
static const int allowed_journal[] = {
    SCMP_SYS(pread64), SCMP_SYS(pwrite64), SCMP_SYS(fdatasync),
    SCMP_SYS(fsync), SCMP_SYS(ftruncate), SCMP_SYS(fallocate),
    SCMP_SYS(rename), SCMP_SYS(renameat), SCMP_SYS(renameat2),
};

/* To connect to primaries */
static const int allowed_connect[] = {
    SCMP_SYS(bind), SCMP_SYS(connect), SCMP_SYS(poll), SCMP_SYS(ppoll),
};

static int allow(scmp_filter_ctx filter, const int *calls, size_t count)
{
    int ret = 0;

    for (size_t i = 0; !ret && i < count; i++) {
        ret = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
    }
    return ret;
}

/* To send to other servers over IP */
static const int allowed_resolver[] = {
    SCMP_SYS(bind), SCMP_SYS(connect), SCMP_SYS(readv), SCMP_SYS(writev),
};

static int allow_resolve(scmp_filter_ctx filter)
{
    int ret = allow(filter, allowed_resolver,
                    sizeof(allowed_resolver) / sizeof(allowed_resolver[0]));

    ret = ret ? ret : seccomp_rule_add(filter, SCMP_ACT_ALLOW,
        SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_EQ, AF_INET));
    return ret ? ret : seccomp_rule_add(filter, SCMP_ACT_ALLOW,
        SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_EQ, AF_INET6));
}

/* Allow sockets of these kinds over IPv4 and IPv6. */
static int allow_sockets(scmp_filter_ctx filter, int kind)
{
    static const int families[] = { AF_INET, AF_INET6 };
    int ret = 0;

    for (unsigned i = 0; !ret && i < 2; i++) {
        ret = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 2,
            SCMP_A0(SCMP_CMP_EQ, families[i]),
            SCMP_A1(SCMP_CMP_MASKED_EQ, SOCKET_KINDS, kind));
    }
    return ret;
}

static int allow_connect(scmp_filter_ctx filter)
{
    int ret = allow(filter, allowed_connect,
                    sizeof(allowed_connect) / sizeof(allowed_connect[0]));

    return ret ? ret : allow_sockets(filter, SOCK_STREAM);
}

/* To make the control socket again; none of this connects */
static const int allowed_control[] = {
    SCMP_SYS(bind), SCMP_SYS(listen), SCMP_SYS(fchmod), SCMP_SYS(chmod),
    SCMP_SYS(fchmodat), SCMP_SYS(dup3),
};

static int allow_control(scmp_filter_ctx filter)
{
    int ret = allow(filter, allowed_control,
                    sizeof(allowed_control) / sizeof(allowed_control[0]));

    return ret ? ret : seccomp_rule_add(filter, SCMP_ACT_ALLOW,
        SCMP_SYS(socket), 2, SCMP_A0(SCMP_CMP_EQ, AF_UNIX),
        SCMP_A1(SCMP_CMP_MASKED_EQ, SOCKET_KINDS, SOCK_STREAM));
}

/* To listen at interfaces that come late */
static const int allowed_listen[] = {
    SCMP_SYS(bind), SCMP_SYS(listen), SCMP_SYS(dup3),
};

static int allow_listen(scmp_filter_ctx filter)
{
    int ret = allow(filter, allowed_listen,
                    sizeof(allowed_listen) / sizeof(allowed_listen[0]));

    ret = ret ? ret : allow_sockets(filter, SOCK_STREAM);
    return ret ? ret : allow_sockets(filter, SOCK_DGRAM);
}

static int allow_interfaces(scmp_filter_ctx filter)
{
    int ret = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(getpeername), 0);

    ret = ret ? ret : seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl),
        1, SCMP_A1(SCMP_CMP_EQ, SIOCGIFINDEX));
    return ret ? ret : seccomp_rule_add(filter, SCMP_ACT_ALLOW,
        SCMP_SYS(ioctl), 1, SCMP_A1(SCMP_CMP_EQ, SIOCGIFNAME));
}

static int add_rules(scmp_filter_ctx filter, unsigned more)
{
    int ret = allow(filter, allowed, sizeof(allowed) / sizeof(allowed[0]));

    if (more & DNSD_CALLS_JOURNAL) {
        ret = ret ? ret : allow(filter, allowed_journal,
            sizeof(allowed_journal) / sizeof(allowed_journal[0]));
    }
    if (more & DNSD_CALLS_RESOLVE) {
        ret = ret ? ret : allow_resolve(filter);
    }
    if (more & DNSD_CALLS_CONNECT) {
        ret = ret ? ret : allow_connect(filter);
    }
    if (more & DNSD_CALLS_LISTEN) {
        ret = ret ? ret : allow_listen(filter);
    }
    if (more & DNSD_CALLS_CONTROL) {
        ret = ret ? ret : allow_control(filter);
    }
    if (more & DNSD_CALLS_INTERFACES) {
        ret = ret ? ret : allow_interfaces(filter);
    }
    /* Signals are for threads of its own, and not for others of its user. */
    ret = ret ? ret : seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill),
        1, SCMP_A0(SCMP_CMP_EQ, getpid()));
    /* Forbid memory that is writable and executable. */
    ret = ret ? ret : seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap),
        1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    ret = ret ? ret : seccomp_rule_add(filter, SCMP_ACT_ALLOW,
        SCMP_SYS(mprotect), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    /* Allow threads but no processes; the flags of clone3() are not visible. */
    ret = ret ? ret : seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone),
        1, SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
    return ret ? ret : seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS),
                                        SCMP_SYS(clone3), 0);
}

bool dnsd_sandbox_calls(unsigned more, DnsdError *error)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int ret = filter ? add_rules(filter, more) : -ENOMEM;

    ret = ret ? ret : seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    ret = ret ? ret : seccomp_load(filter);
    seccomp_release(filter);
    errno = -ret;
    return ret ? sandbox_fail(error, "no seccomp filter") : true;
}
